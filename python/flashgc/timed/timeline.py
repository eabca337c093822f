"""The timeline and the trace events that an experiment asks for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from flashgc import _files, _timelines
from flashgc._core import ConfigError

if TYPE_CHECKING:
    from flashgc._origins import Places
    from flashgc.experiment import Experiment

#: Endings of the names of timelines.
_TIMELINES = (".json", *_timelines.PICTURES)


def timeline(asked: Experiment, places: Places) -> dict[str, str] | None:
    """The timeline to write: its file and its window; ``None`` where none is asked for.

    Raises :class:`flashgc.ConfigError` with the value's place.
    """
    file, window = asked["run.timeline"], asked["run.window"]
    if file is None:
        return None
    place = places.get("run.timeline", "timeline")
    stem, ending = os.path.splitext(file)
    if ending and ending.lower() not in _TIMELINES:
        raise ConfigError(
            f"{place}: {file}: found '{ending}', expected .json, .svg, .pdf or .png; hint: name it "
            f"{stem}.svg"
        )
    _files.check(file, place, "timeline.json")
    return {"file": file, "window": window}


def trace_events(asked: Experiment, places: Places) -> dict[str, str | None] | None:
    """The trace events to write: their file and window; ``None`` where none are asked for.

    Raises :class:`flashgc.ConfigError` with the value's place.
    """
    file = asked["run.trace_events"]
    if file is None:
        return None
    place = places.get("run.trace_events", "trace_events")
    stem, ending = os.path.splitext(file)
    if ending.lower() != ".json":
        found = f"'{ending}'" if ending else "no ending"
        raise ConfigError(
            f"{place}: {file}: found {found}, expected .json; hint: name it {stem}.json"
        )
    if file == asked["run.timeline"]:
        raise ConfigError(f"{place}: {file} is also the timeline's file; hint: give another file")
    _files.check(file, place, "events.json")
    if "run.window" in asked and asked["run.window"].strip().startswith("worst"):
        raise ConfigError(
            f"{places.get('run.window', 'window')}: trace events are written while the run goes, "
            "and which request is the slowest is known at its end; hint: two times, as "
            "20ms:60ms, or the timeline alone"
        )
    given = "run.window" in asked
    return {"file": file, "window": asked["run.window"] if given else None}
