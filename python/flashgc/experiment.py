"""Experiments: the values of options, checked against their declarations.

The command's options, the keyword arguments of the API and experiment files all become one
:class:`Experiment`. The engine's configuration is made in :mod:`flashgc.configuration`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flashgc import _core, options
from flashgc._core import ConfigError
from flashgc._origins import Places
from flashgc.presets import devices


@dataclass(frozen=True)
class Experiment:
    """One drive and one workload, or several to compare: values by path (``drive.blocks``)."""

    #: The values that were given; the rest is as by default.
    given: Mapping[str, Any]

    def __getitem__(self, path: str) -> Any:
        """The value as given, or the default as typed; ``None`` without either.

        >>> asked = experiment({"drive": {"blocks": 1000}})
        >>> asked["drive.blocks"], asked["gc.frontier"], asked["drive.times"]
        (1000, 'single', None)
        """
        return self.given[path] if path in self.given else options.PATHS[path].usual

    def __contains__(self, path: str) -> bool:
        return path in self.given

    def __iter__(self) -> Iterator[str]:
        """The paths of what was given, in the order of the declarations."""
        return (path for path in options.PATHS if path in self.given)


def experiment(values: Mapping[str, Mapping[str, Any]], places: Places | None = None) -> Experiment:
    """The experiment with these values (``{"drive": {"blocks": 1000}}``), the rest by default.

    Raises :class:`flashgc.ConfigError` with the value's place.
    """
    places = dict(places or {})
    return Experiment(_core.experiment(_with_device(values, places), places))


def _with_device(values: Mapping[str, Any], places: Places) -> Mapping[str, Any]:
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
        path in alternatives and others & alternatives for alternatives in options.ALTERNATIVES
    )
