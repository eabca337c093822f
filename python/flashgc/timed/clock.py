"""The engine's values for the options of a timed drive."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from flashgc import _engine_values
from flashgc._core import ConfigError
from flashgc._drive_kinds import checked
from flashgc.options import of_holder
from flashgc.timed.timeline import timeline, trace_events

if TYPE_CHECKING:
    from flashgc._origins import Places
    from flashgc.experiment import Experiment


def clocks(asked: Experiment, unit: int, places: Places) -> list[dict[str, Any] | None]:
    """Return the clock for the engine: one for each combination of what may be several.

    ``[None]`` for a drive without one; ``unit`` is a mapping unit of the drive, in bytes.

    Raises :class:`flashgc.ConfigError` with the value's place.
    """
    if asked["drive.kind"] != "timed":
        return [None]
    common = _engine_values.values("timed", asked, unit, places)
    if (single := timeline(asked, places)) is not None:
        common["timeline"] = single
    if (events := trace_events(asked, places)) is not None:
        common["trace_events"] = events
    if asked["drive.times"] is None:
        raise ConfigError(
            f"{places.get('drive.times', 'times')}: a timed drive needs the times of its flash; "
            "hint: write read=60us,program=800us,erase=1.5ms,transfer=20us, or name a device"
        )
    varied = [option for option in of_holder("timed") if option.several]
    choices = [checked(option, asked, places) for option in varied]
    return [
        {**common, **dict(zip((option.field for option in varied), chosen, strict=True))}
        for chosen in itertools.product(*choices)
    ]
