"""Presets of devices (``devices.toml``): values for keys that an experiment does not give."""

from __future__ import annotations

import functools
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
    #: One line.
    summary: str
    #: The source of its figures.
    source: str
    #: Values of keys, by section.
    values: Mapping[str, Mapping[str, Scalar]]


@functools.cache
def devices() -> tuple[Device, ...]:
    """Every preset of a timed drive.

    >>> [device.name for device in devices()]
    [..., 'consumer', 'micron-7450-max', 'micron-7450-pro']
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
    """The presets as entries of a listing: keys of an experiment and their values."""
    from flashgc.registry import Entry

    made = []
    for device in devices():
        keys = [
            f"| `{key}` | {value} |"
            for part in device.values.values()
            for key, value in part.items()
        ]
        table = "\n".join(["| key | value |", "|---|---|", *keys])
        doc = f"{device.summary}.\n\n{table}\n\n# Source\n\n{device.source}"
        made.append(Entry(device.name, device.summary, doc, ()))
    return tuple(made)


@functools.cache
def device_values() -> Mapping[str, Mapping[str, Mapping[str, Scalar]]]:
    """The values of keys that each preset gives, by its name and by section."""
    return {device.name: device.values for device in devices()}
