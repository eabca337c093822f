"""The timeline of single operations that an experiment asks for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from flashgc import _core, _files, _places, _timelines
from flashgc._core import ConfigError
from flashgc._places import Places

if TYPE_CHECKING:
    from flashgc.experiment import Experiment

#: The beginning of a run.
DEFAULT_WINDOW = "0ms:50ms"
#: Endings of the names of timelines.
_TIMELINES = (".json", *_timelines.PICTURES)


def timeline(asked: Experiment, places: Places) -> dict[str, str] | None:
    """The timeline to write: its file and its window; ``None`` where none is asked for.

    Raises :class:`flashgc.ConfigError` with the value's place.
    """
    file, window = asked.run.timeline, asked.run.window
    if file is None:
        if window is not None:
            raise ConfigError(
                f"{places.get('run.window', 'window')}: is of a timeline, and none is asked for; "
                "hint: name its file"
            )
        return None
    place = places.get("run.timeline", "timeline")
    stem, ending = os.path.splitext(file)
    if ending and ending.lower() not in _TIMELINES:
        raise ConfigError(
            f"{place}: {file}: found '{ending}', expected .json, .svg, .pdf or .png; hint: name it "
            f"{stem}.svg"
        )
    _files.check(file, place, "timeline.json")
    window = window or DEFAULT_WINDOW
    _places.read(places, "run.window", _core.check, "window", window)
    return {"file": file, "window": window}
