"""Presets of devices (``devices.toml``): values for keys that an experiment does not give."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flashgc import _core
from flashgc._core import ConfigError
from flashgc._documents import Scalar
from flashgc._origins import Places
from flashgc.options import ALTERNATIVES

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


def with_device(values: Mapping[str, Any], places: Places) -> Mapping[str, Any]:
    """``values`` with what the device that they name says of keys that are not given.

    Raises :class:`flashgc.ConfigError` where there is no such device.
    """
    drive = values.get("drive")
    name = drive.get("device") if isinstance(drive, Mapping) else None
    if not isinstance(name, str):
        return values
    device = next((device for device in devices() if device.name == name), None)
    if device is None:
        hint = _core.suggest(name, [device.name for device in devices()])
        raise ConfigError(
            f"{places.get('drive.device', 'device')}: unknown device '{name}'; hint: {hint}"
        )
    merged = dict(values)
    for section, keys in device.values.items():
        given = values.get(section, {})
        if isinstance(given, Mapping):
            kept = {
                key: value
                for key, value in keys.items()
                if not _replaced(f"{section}.{key}", given)
            }
            merged[section] = {**kept, **given}
    return merged


def _replaced(path: str, given: Mapping[str, Any]) -> bool:
    """True if ``given`` says the same thing in another way."""
    section, key = path.split(".")
    others = {f"{section}.{other}" for other in given} - {path}
    return key not in given and any(
        path in alternatives and others & alternatives for alternatives in ALTERNATIVES
    )
