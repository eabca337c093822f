"""The fit of a scheme's curve to a measured one. Arithmetic only.

Errors are relative, so everything is done in logarithms. A fit has a spare factor for each drive
and, where only the shape counts, a factor between simulated and measured values. It is the one
with the least chi-square: the sum of squared errors over the variances of measurement and
simulation.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flashgc.studies.identifying.curves import SIMULATION_ERROR, Curve, Numbers
from flashgc.studies.identifying.measurements import Point

#: Two schemes are told apart where their chi-squares differ by more: three standard deviations.
#: `experiments/identify/recover.py` measures how often a true scheme is then lost.
TOLD_APART = 9.0
#: A rule of the list is rejected so often: where chance makes it fit as badly as the best does.
REJECTED = 0.05
#: Measurements of the best explanation that are drawn, to see how badly chance makes it fit.
_DRAWN = 499
#: The least chance that this many can show.
LEAST_CHANCE = 1 / (_DRAWN + 1)


@dataclass(frozen=True)
class Fit:
    """A scheme's best fit to one drive."""

    spare: float
    #: Measured over simulated values; 1 where the absolute value counts.
    scale: float
    #: The measurements that the drive would give, a value a point.
    predicted: tuple[float, ...]
    #: Predicted over measured, minus 1.
    errors: tuple[float, ...]
    chi_square: float
    #: True if the best spare factor is the least or the largest that was simulated.
    at_least: bool
    at_most: bool


@dataclass(frozen=True)
class Interval:
    """The spare factors that fit a measurement within a limit."""

    low: float
    high: float
    #: True if the least or the largest spare factor that was simulated fits, too.
    is_open_below: bool
    is_open_above: bool

    def joined(self, other: Interval) -> Interval:
        """The least interval that has both."""
        first = min(self, other, key=lambda interval: interval.low)
        last = max(self, other, key=lambda interval: interval.high)
        return Interval(first.low, last.high, first.is_open_below, last.is_open_above)


def logs_of(points: Sequence[Point]) -> Numbers:
    """The logarithms of what was measured."""
    return np.log([point.write_amplification for point in points])


def weights_of(points: Sequence[Point]) -> Numbers:
    """One over the variance of each point: that of the measurement and of the simulation."""
    return 1 / (SIMULATION_ERROR**2 + np.array([point.error for point in points]) ** 2)


def chi_squares(logs: Numbers, measured: Numbers, weights: Numbers, *, relative: bool) -> Numbers:
    """The chi-square of each row of ``logs`` to each row of ``measured``.

    >>> chi_squares(np.zeros((1, 2)), np.array([[1.0, 2.0]]), np.array([1.0, 3.0]), relative=False)
    array([[13.]])
    """
    if relative:  # The best factor takes the mean away.
        logs = logs - (logs @ weights / weights.sum())[:, None]
        measured = measured - (measured @ weights / weights.sum())[:, None]
    own, others = (logs**2) @ weights, (measured**2) @ weights
    squares: Numbers = own[:, None] - 2 * (logs * weights) @ measured.T + others
    return np.maximum(squares, 0.0)


def fit(
    points: Sequence[Point], curve: Curve, *, relative: bool, left_out: int | None = None
) -> Fit:
    """The best fit of a curve, whose columns are the points, to what was measured.

    The point ``left_out`` is predicted, and does not count.
    """
    spares, logs = curve.fine()
    measured, weights = logs_of(points), weights_of(points)
    if left_out is not None:
        weights[left_out] = 0
    off = logs - measured
    scale = np.zeros(len(spares))
    if relative:
        scale = -(weights * off).sum(axis=1) / weights.sum()
    errors = off + scale[:, None]
    squares: Numbers = (weights * errors**2).sum(axis=1)
    best = int(squares.argmin())
    predicted = np.exp(logs[best] + scale[best])
    return Fit(
        spare=float(spares[best]),
        scale=float(np.exp(scale[best])),
        predicted=tuple(map(float, predicted)),
        errors=tuple(map(float, np.expm1(errors[best]))),
        chi_square=float(squares[best]),
        at_least=best == 0,
        at_most=best == len(spares) - 1,
    )


def freedom(points: int, drives: int, *, relative: bool, varied: bool) -> int:
    """Points less what is fitted: spare factor and scale of each drive, the number of blocks."""
    return points - drives * (2 if relative else 1) - int(varied)


def within(
    points: Sequence[Point], curve: Curve, limit: float, *, relative: bool
) -> Interval | None:
    """The spare factors whose chi-square is at most ``limit``; ``None`` without any.

    This is the profile of the likelihood over the spare factor.
    """
    spares, logs = curve.fine()
    squares = chi_squares(logs, logs_of(points)[None], weights_of(points), relative=relative)[:, 0]
    inside = np.flatnonzero(squares <= limit)
    if not len(inside):
        return None
    low, high = int(inside[0]), int(inside[-1])
    last = len(spares) - 1
    return Interval(float(spares[low]), float(spares[high]), low == 0, high == last)


@dataclass(frozen=True)
class Goodness:
    """The fit of the best explanation, beside the fits that chance would give it."""

    #: The share of measurements of a drive with this explanation that fit as badly or worse.
    chance: float
    #: The chi-square that all but :data:`REJECTED` of them stay below.
    limit: float

    @property
    def is_explained(self) -> bool:
        """True if chance explains what is left."""
        return self.chance >= REJECTED


def goodness(
    drives: Sequence[Sequence[Point]],
    best: Sequence[Fit],
    curves: Sequence[Sequence[Curve]],
    *,
    relative: bool,
) -> Goodness:
    """The fit of the best explanation to these drives, beside the fits that chance gives it.

    Measurements are drawn around its predictions, with the errors of measurement and simulation,
    and each is fitted with all ``curves`` as the real one was: a scheme has a curve a drive. So
    the limit is right for any list of schemes, any number of points and any errors.
    """
    drawn = [
        np.log(fit.predicted) + _noise(len(points), index) / np.sqrt(weights_of(points))
        for index, (points, fit) in enumerate(zip(drives, best, strict=True))
    ]
    least = np.full(_DRAWN, np.inf)
    for scheme in curves:
        squares = np.zeros(_DRAWN)
        for points, curve, some in zip(drives, scheme, drawn, strict=True):
            _, logs = curve.fine()
            squares += chi_squares(logs, some, weights_of(points), relative=relative).min(axis=0)
        least = np.minimum(least, squares)
    chi_square = sum(fit.chi_square for fit in best)
    worse = int((least >= chi_square).sum())
    return Goodness((worse + 1) * LEAST_CHANCE, float(np.quantile(least, 1 - REJECTED)))


@functools.lru_cache(maxsize=64)
def _noise(points: int, index: int) -> Numbers:
    """Draws of standard normal errors: the same for every drive of this many points."""
    return np.random.default_rng((points, index)).standard_normal((_DRAWN, points))


def distance(chi_square: float, best: float, degrees: int) -> float:
    """Return the distance of a fit from the best one, in units of chi-square.

    Where even the best is further off than the errors allow, errors are taken to be as large as it
    shows (Birge's ratio).

    >>> distance(30.0, 20.0, 10), distance(12.0, 5.0, 10)
    (5.0, 7.0)
    """
    return (chi_square - best) / max(1.0, best / degrees)


def together(errors: Sequence[float]) -> float:
    """The root mean square of relative errors.

    >>> together([0.03, -0.04])
    0.035355339059327376
    """
    return math.sqrt(sum(error**2 for error in errors) / len(errors))
