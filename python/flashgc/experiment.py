"""Experiments: the values of options, checked against their declarations.

The command's options, the keyword arguments of the API and experiment files all become one
:class:`Experiment`. The engine's configuration is made in :mod:`flashgc.configuration`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flashgc import _core, options
from flashgc._origins import Places
from flashgc.presets import device_values


@dataclass(frozen=True)
class Experiment:
    """Values of options by path (``drive.blocks``): one drive and workload, or several of them."""

    #: The values that were given; all others have their defaults.
    given: Mapping[str, Any]

    def __getitem__(self, path: str) -> Any:
        """The value as given, or else the default as typed; ``None`` if there is neither.

        >>> asked = experiment({"drive": {"blocks": 1000}})
        >>> asked["drive.blocks"], asked["gc.frontier"], asked["drive.times"]
        (1000, 'single', None)
        """
        return self.given[path] if path in self.given else options.PATHS[path].usual

    def __contains__(self, path: str) -> bool:
        return path in self.given

    def __iter__(self) -> Iterator[str]:
        """The paths of the given values, in the order of the declarations."""
        return (path for path in options.PATHS if path in self.given)


def experiment(values: Mapping[str, Mapping[str, Any]], places: Places | None = None) -> Experiment:
    """The experiment with these values (``{"drive": {"blocks": 1000}}``), the rest by default.

    Raises :class:`flashgc.ConfigError`, which names the place of the wrong value.
    """
    places = dict(places or {})
    drive = values.get("drive")
    is_device = isinstance(drive, Mapping) and "device" in drive
    devices = device_values() if is_device else {}
    return Experiment(_core.experiment(values, places, devices))
