"""The drive writes until the amplification of a run is, and stays, near a level."""

from __future__ import annotations

import random
import statistics
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

#: The length of a window, and the distance between the starts of windows, in drive writes.
WIDTH, STEP = 0.5, 0.1
#: One standard deviation of chance may be a quarter of the tolerance.
NOISE = 1 / 4
_DRAWS = 400

#: Points of a run: drive writes so far, and the write amplification since the point before.
Series = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Settled:
    """The drive writes after which windows are within a tolerance of the level."""

    #: `None` if the last windows are outside, or if chance is too large to tell.
    after: float | None
    #: The 95% interval: the 2.5 and 97.5% quantiles over draws of the runs and of the level.
    low: float | None
    high: float | None
    #: The standard deviation of the mean of a window, as a share of the level.
    noise: float


def behind(series: Series, begin: float) -> Series:
    """The series from `begin` on. Up to there each write must have been one program.

    Raises `ValueError` if a slice before `begin` has copies.
    """
    before = [point for point in series if point[0] < begin]
    if any(value != 1 for _, value in before):
        raise ValueError("the first writes have copies")
    (end, value), *later = series[len(before) :]
    last = before[-1][0] if before else 0.0
    programs = (end - last) * value - (begin - last)
    points = [(end, programs / (end - begin)), *later]
    return [(at - begin, value) for at, value in points]


def windows(series: Series) -> list[float]:
    """The mean of each window; a point's amplification holds since the last point."""
    ends, totals = [0.0], [0.0]
    for end, value in series:
        totals.append(totals[-1] + (end - ends[-1]) * value)
        ends.append(end)

    def until(at: float) -> float:
        after = min(max(bisect_left(ends, at), 1), len(ends) - 1)
        share = (at - ends[after - 1]) / (ends[after] - ends[after - 1])
        return totals[after - 1] + share * (totals[after] - totals[after - 1])

    count = int((ends[-1] - WIDTH) / STEP + 1e-9) + 1
    begins = [STEP * at for at in range(count)]
    return [(until(begin + WIDTH) - until(begin)) / WIDTH for begin in begins]


def settled(
    runs: Sequence[Sequence[float]], level: float, half: float, tolerance: float
) -> Settled:
    """The first window from which the mean of the runs stays within the tolerance of `level`.

    `half` is half the 95% interval of the level. It is part of the interval of the answer.
    """
    noise = _noise(runs) / level
    if not is_told(noise, half / level, tolerance):
        return Settled(None, None, None, noise)
    draw = random.Random(1)
    drawn = []
    for _ in range(_DRAWS):
        again = draw.choices(runs, k=len(runs))
        drawn.append(_first(again, level + draw.gauss(0, half / 1.96), tolerance))
    drawn.sort()
    last = len(drawn) - 1
    found = _first(runs, level, tolerance)
    low, high = drawn[round(0.025 * last)], drawn[round(0.975 * last)]
    count = min(map(len, runs))
    return Settled(*(_writes(at, count) for at in (found, low, high)), noise)


def is_told(noise: float, half: float, tolerance: float) -> bool:
    """Returns `True` if chance is small enough to judge by.

    `noise` is the standard deviation of a window, `half` half the 95% interval of the level, both
    as shares of the level. In a run of ten drive writes some twenty windows must all stay inside.
    """
    return (noise**2 + (half / 1.96) ** 2) ** 0.5 <= NOISE * tolerance


def _first(runs: Sequence[Sequence[float]], level: float, tolerance: float) -> int:
    """The number of windows up to the last one outside; all of them if the last is outside."""
    means = [statistics.fmean(values) for values in zip(*runs, strict=False)]
    outside = [at for at, mean in enumerate(means) if abs(mean / level - 1) > tolerance]
    return outside[-1] + 1 if outside else 0


def _writes(window: int, count: int) -> float | None:
    """The drive writes before a window; `None` behind the last one."""
    return None if window >= count else round(window * STEP, 6)


def _noise(runs: Sequence[Sequence[float]]) -> float:
    """The standard deviation of the mean of the runs, of a window in the second half."""
    later = [values[len(values) // 2 :] for values in runs]
    spread = [statistics.variance(values) for values in zip(*later, strict=False)]
    return float((statistics.fmean(spread) / len(runs)) ** 0.5)
