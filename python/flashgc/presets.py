"""Presets of devices (``devices.toml``): values for keys that are missing in an experiment."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flashgc._documents import Scalar

if TYPE_CHECKING:
    from flashgc.registry import Entry


@dataclass(frozen=True)
class Device:
    """A preset of a timed drive."""

    name: str
    #: A summary in one line.
    summary: str
    #: The source of its figures.
    source: str
    #: Values of keys, by section.
    values: Mapping[str, Mapping[str, Scalar]]


@functools.cache
def devices() -> tuple[Device, ...]:
    """Every preset of a timed drive.

    >>> [device.name for device in devices()]
    [..., 'consumer', 'micron-7450-max', 'micron-7450-pro', 'samsung-pm9a3', ..., 'kingston-nv2']
    """
    import tomllib

    with open(os.path.join(os.path.dirname(__file__), "devices.toml"), "rb") as file:
        tables = tomllib.load(file)
    return tuple(
        Device(
            name,
            table["summary"],
            " ".join(table["source"].split()),
            {key: value for key, value in table.items() if key not in ("summary", "source")},
        )
        for name, table in tables.items()
    )


def device_entries() -> tuple[Entry, ...]:
    """The presets as entries of a listing, with their keys and values."""
    from flashgc.registry import Entry

    entries = []
    for device in devices():
        keys = [
            f"| `{key}` | {value} |"
            for part in device.values.values()
            for key, value in part.items()
        ]
        table = "\n".join(["| key | value |", "|---|---|", *keys])
        doc = f"{device.summary}.\n\n{table}\n\n# Source\n\n{device.source}"
        entries.append(Entry(device.name, device.summary, doc, ()))
    return tuple(entries)


@functools.cache
def device_values() -> Mapping[str, Mapping[str, Mapping[str, Scalar]]]:
    """The values that each preset gives to keys, by preset and section."""
    return {device.name: device.values for device in devices()}


#: The minimum numbers of blocks and of spare blocks in a plane of a scaled preset. Two blocks stay
#: erased, one is open for the host, and one is open for a collection.
LEAST_BLOCKS, LEAST_SPARE = 16, 6


@dataclass(frozen=True)
class Scaled:
    """A preset scaled to a smaller drive: it has fewer of the preset's dies, planes and blocks."""

    device: str
    #: The number of parts of each kind: ``channels``, ``ways``, ``dies``, ``planes``.
    parts: Mapping[str, int]
    #: The number of parts of each kind in the preset.
    whole: Mapping[str, int]
    blocks: int
    pages_per_block: int
    #: The pages per block of the preset.
    whole_pages: int
    page_bytes: int

    @property
    def bytes(self) -> int:
        """Bytes of flash in the drive."""
        return self.blocks * self.pages_per_block * self.page_bytes

    @property
    def how(self) -> str:
        """A description of the scaling.

        >>> scaled("tlc", 512 << 20, 450 << 20).how
        'tlc on 1 of 8 channels, 1 of 2 ways, 2 planes: 64 blocks of 256 pages a plane'
        """
        kinds = [
            f"{here} of {there} {kind}" if here < there else f"{here} {kind}"
            for kind, here, there in (
                (kind, self.parts[kind], there) for kind, there in self.whole.items() if there > 1
            )
        ]
        planes = math.prod(self.parts.values())
        on = f" on {', '.join(kinds)}" if kinds else ""
        of = f"{self.blocks // planes} blocks of {self.pages_per_block} pages a plane"
        less = "" if self.pages_per_block == self.whole_pages else f", for {self.whole_pages} pages"
        return f"{self.device}{on}: {of}{less}"


def scaled(name: str, physical_bytes: int, host_bytes: int) -> Scaled:
    """The preset ``name`` with ``physical_bytes`` of flash and ``host_bytes`` of logical capacity.

    Channels, ways, dies and then planes are halved until each plane has enough blocks for
    collections. The pages per block stay, unless a single plane has too few blocks. The times of
    the flash stay; the drive works on fewer requests at a time than the preset.

    >>> small = scaled("tlc", 192 << 20, 172 << 20)
    >>> small.parts, small.blocks, small.pages_per_block
    ({'channels': 1, 'ways': 1, 'dies': 1, 'planes': 1}, 96, 128)
    """
    from flashgc._core import parse_page_size

    drive = device_values()[name]["drive"]

    def number(key: str) -> int:
        return int(str(drive.get(key, 1)))

    pages = of_preset = number("pages_per_block")
    page_bytes = parse_page_size(str(drive["page_size"]))
    whole = {kind: number(kind) for kind in ("channels", "ways", "dies", "planes")}
    parts = dict(whole)

    def fits() -> bool:
        each = math.prod(parts.values()) * pages * page_bytes
        spare = physical_bytes - host_bytes
        return physical_bytes >= LEAST_BLOCKS * each and spare >= LEAST_SPARE * each

    for kind in whole:
        while parts[kind] > 1 and not fits():
            parts[kind] //= 2
    while pages > 1 and not fits():
        pages //= 2
    planes = math.prod(parts.values())
    each = -(-physical_bytes // (planes * pages * page_bytes))
    return Scaled(name, parts, whole, planes * each, pages, of_preset, page_bytes)
