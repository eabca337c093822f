"""What the keys of a drive with a clock come to: the engine's words for it, checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from flashgc import _core, _places
from flashgc._core import ConfigError
from flashgc._places import Places
from flashgc.timed.refusals import refuse_clock, refuse_counting
from flashgc.timed.sections import KEYS
from flashgc.timed.timeline import timeline
from flashgc.units import parse_count, parse_pages

if TYPE_CHECKING:
    from flashgc.experiment import Experiment

T = TypeVar("T")

#: Host requests of a run if nobody says otherwise.
DEFAULT_REQUESTS = 1_000_000
#: Drive writes, without the clock, before it.
DEFAULT_WARMUP = "2x"
_COUNTS = ("channels", "ways", "dies", "planes", "queue_depth")
_FLAGS = ("multi_plane", "cache_commands", "copy_back", "holds_unit")
_THRESHOLDS = {"gc_low": "low", "gc_high": "high", "gc_hard": "hard"}


def configuration(asked: Experiment, page_size: int, places: Places) -> dict[str, Any] | None:
    """What the engine is told of the clock, all but the preemption; ``None`` for a counting drive.

    ``page_size`` is that of the drive, in bytes.

    Raises :class:`flashgc.ConfigError` with the value's place.
    """

    def at(path: str, read: Callable[..., T], *values: Any) -> T:
        return _places.read(places, path, read, *values)

    if asked.drive.kind != "timed":
        refuse_clock(asked, places)
        return None
    refuse_counting(asked, places)
    made: dict[str, Any] = {}
    for section, keys in KEYS.items():
        for key in keys:
            value = getattr(getattr(asked, section), key)
            path = f"{section}.{key}"
            if value is None or key in ("preemption", "timeline", "window"):
                continue
            if key == "write_cache":
                value = at(path, parse_pages, value, page_size)
                _places.in_range(places, path, value, 0, 2**32 - 1)
            elif key in _COUNTS:
                value = at(path, parse_count, value)
                _places.in_range(places, path, value, 0, 2**32 - 1)
            elif key in _FLAGS:
                value = value == "yes"
            elif key == "rate_scale":
                value = at(path, _number, value)
            elif key not in ("device",):
                value = str(value)
                at(path, _core.check, key, value)
            made[_THRESHOLDS.get(key, key)] = value
    if (single := timeline(asked, places)) is not None:
        made["timeline"] = single
    if asked.drive.times is None:
        raise ConfigError(
            f"{places.get('drive.times', 'times')}: a timed drive needs the times of its flash; "
            "hint: write read=60us,program=800us,erase=1.5ms,transfer=20us, or name a device"
        )
    return made


def preemptions(asked: Experiment, places: Places) -> list[str]:
    """The variants of preemption to run."""
    given = asked.gc.preemption
    variants = given if isinstance(given, list) else [given or "none"]
    _places.refuse_twins(_places.elements(places, "gc.preemption", variants), variants)
    for index, text in enumerate(variants):
        path = _places.element(places, "gc.preemption", index)
        _places.read(places, path, _core.check, "preemption", text)
    return variants


def _number(value: str | float) -> float:
    try:
        return float(value)
    except ValueError:
        raise ConfigError(f"'{value}' is not a number; hint: write 2") from None
