"""Predictions for a changed drive, by the closed models of amplification.

No log says which pages the host overwrites. So each change is computed for two kinds of writes
(uniform, and 80% of the writes to 20% of the pages) and two collectors (greedy and FIFO). The
result is the range over these. Under each assumption the spare factor is the one with which the
model gives the measured amplification, unless the user knows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from flashgc import model
from flashgc._core import ConfigError
from flashgc.logs.counts import Range
from flashgc.logs.outcome import Change
from flashgc.units import format_share, format_size

#: The assumptions: a model of a collector, the same with separation, and the parameters of writes.
_SKEWED: dict[str, Any] = {"f": 0.2, "r": 0.8}
_ASSUMED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("greedy", "desnoyers", {}),
    ("fifo", "fifo", {}),
    ("desnoyers", "desnoyers", _SKEWED),
    ("fifo", "fifo", _SKEWED),
)
#: Shares of the capacity that are left unused.
UNUSED = (0.07, 0.2)
#: Mapping units of drives, in bytes.
UNITS = (4 << 10, 16 << 10, 64 << 10)
#: The width of a range that changes no digit of a prediction.
_NARROW = 1e-3
#: Gives the changes for an amplification, a spare factor if known, and the mean size of a write.
Changes: TypeAlias = Callable[[float, float | None, float | None], tuple[Change, ...]]
_WORDS = "greedy or FIFO; uniform writes or 80/20"


def changes_within(
    amplification: Range,
    spare: float | None,
    mean_write: float | None,
    changes: Changes | None = None,
) -> tuple[Change, ...]:
    """The changes for a drive whose amplification lies in a range, from end to end.

    ``changes`` gives those of one amplification, by default :func:`all_changes`. A range without an
    upper end is no base for a prediction.
    """
    if amplification.high is None:
        return ()
    changes = changes or all_changes
    middle = changes(amplification.value, spare, mean_write)
    if amplification.width < _NARROW:
        return middle
    ends = [
        {change.change: change for change in changes(end, spare, mean_write)}
        for end in (amplification.low, amplification.high)
    ]
    return tuple(
        replace(
            change,
            # Without copies at the lower end, nothing is left to change there.
            low=min(
                change.low, ends[0].get(change.change, Change("", amplification.low, 0, "")).low
            ),
            high=max(change.high, ends[1][change.change].high),
        )
        for change in middle
        if change.change in ends[1]
    )


def all_changes(
    amplification: float, spare: float | None, mean_write: float | None
) -> tuple[Change, ...]:
    """The changes for a drive with this amplification.

    Without copies (amplification 1 and below) nothing can be predicted for them.
    """
    predicted: list[Change] = []
    if amplification > 1:
        predicted += _more_spare(amplification, spare)
        predicted += _separated(amplification, spare)
    predicted += of_unit(amplification, spare, mean_write)
    return tuple(predicted)


def _amplified(name: str, spare: float, parameters: dict[str, Any]) -> float:
    return float(model.write_amplification(name, spare=spare, **parameters))


def _spare(
    name: str, amplification: float, spare: float | None, parameters: dict[str, Any]
) -> float | None:
    """The spare factor; ``None`` if the model has none with this amplification."""
    if spare is not None:
        return spare
    try:
        return model.spare_for(name, amplification, **parameters).spare_factor
    except ConfigError:
        return None


def _scaled(amplification: float, before: float, after: float) -> float:
    """The measured amplification, with its copies changed as those of the model are."""
    return 1 + (amplification - 1) * (after - 1) / (before - 1)


def _more_spare(amplification: float, spare: float | None) -> Iterator[Change]:
    for unused in UNUSED:
        predicted = []
        for name, _, parameters in _ASSUMED:
            now = _spare(name, amplification, spare, parameters)
            if now is None:
                continue
            before = _amplified(name, now, parameters)
            after = _amplified(name, 1 - (1 - now) * (1 - unused), parameters)
            predicted.append(_scaled(amplification, before, after))
        if predicted:
            yield Change(
                f"{format_share(unused)} of the capacity left unused",
                min(predicted),
                max(predicted),
                _WORDS,
            )


def _separated(amplification: float, spare: float | None) -> Iterator[Change]:
    predicted = []
    for name, cleaner, parameters in _ASSUMED:
        if not parameters:
            continue
        now = _spare(name, amplification, spare, parameters)
        if now is None:
            continue
        before = _amplified(name, now, parameters)
        after = _amplified("separation", now, {**parameters, "cleaner": cleaner})
        predicted.append(_scaled(amplification, before, min(before, after)))
    if predicted:
        yield Change(
            "placement by lifetime (FDP)",
            min(predicted),
            amplification,
            "80/20 in two handles; uniform writes: no change",
        )


def of_unit(
    amplification: float, _spare: float | None, mean_write: float | None
) -> tuple[Change, ...]:
    """The changes to larger mapping units, which depend on the size of the writes alone."""
    if mean_write is None or mean_write <= 0:
        return ()
    return tuple(
        Change(
            f"a mapping unit of {format_size(unit)}",
            amplification,
            amplification * unit / mean_write,
            f"writes of {format_size(mean_write)}, merged or not; unit now no larger",
        )
        for unit in UNITS
        if unit > mean_write
    )
