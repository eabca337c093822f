"""The timeline of single operations that an experiment asks for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from flashgc import _files, _timelines
from flashgc._core import ConfigError

if TYPE_CHECKING:
    from flashgc._places import Places
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
