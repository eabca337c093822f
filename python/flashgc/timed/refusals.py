"""Words of one kind of drive that the other kind would ignore: each is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flashgc._core import ConfigError
from flashgc._places import Places
from flashgc.registry import request_generators
from flashgc.timed.sections import KEYS

if TYPE_CHECKING:
    from flashgc.experiment import Experiment

#: Keys that a timed drive has not, by section.
_COUNTING: Mapping[str, tuple[str, ...]] = {
    "drive": ("endurance",),
    "gc": ("frontier", "wear_levelling"),
    "run": ("writes", "collections", "until"),
}
_INSTEAD = {
    "frontier": "every plane has a pool; gc_low says how many blocks it keeps",
    **dict.fromkeys(
        ("writes", "collections", "until"), "its length is in requests, or passes of a trace"
    ),
}


def refuse_clock(asked: Experiment, places: Places) -> None:
    """Says no word on time where there is no clock, rather than ignore it."""
    for section, keys in KEYS.items():
        for key in keys:
            if getattr(getattr(asked, section), key) is not None:
                raise ConfigError(
                    f"{places.get(f'{section}.{key}', key)}: is of drives with a clock; "
                    f"hint: {_choose(places)}"
                )
    _refuse_requests(asked, places)


def refuse_counting(asked: Experiment, places: Places) -> None:
    """Says no word that a timed drive would ignore."""
    for section, keys in _COUNTING.items():
        for key in keys:
            given = getattr(asked, section)
            if key in given.model_fields_set and getattr(given, key) is not None:
                hint = _INSTEAD.get(key, "leave it out")
                raise ConfigError(
                    f"{places.get(f'{section}.{key}', key)}: is of counting drives, and this one "
                    f"has a clock; hint: {hint}"
                )


def _refuse_requests(asked: Experiment, places: Places) -> None:
    """Refuses a generator of requests with times where there is no clock."""
    name = asked.workload.source.split(":")[0].strip()
    if any(name == known.name for known in request_generators()):
        raise ConfigError(
            f"{places.get('workload.source', 'workload')}: {name} makes requests with times; "
            f"hint: {_choose(places)}"
        )


def _choose(places: Places) -> str:
    """How to choose the timed drive, as the person writes."""
    flag = places.get("drive.kind", "kind")
    return "--drive timed" if flag.startswith("--") else 'kind = "timed" in [drive]'
