"""Fits a scheme's curve to a measured one. This module runs no simulation.

Errors are relative, so all computations use logarithms. A fit has a spare factor for each drive
and, if only the shape matters, a factor between simulated and measured values. The best fit has the
least chi-square: the sum of squared errors over the variances of measurement and simulation.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flashgc.studies.identifying.curves import SIMULATION_ERROR, Curve, Numbers
from flashgc.studies.identifying.measurements import Point

#: Two schemes differ significantly if their chi-squares differ by more than this: three standard
#: deviations. `experiments/identify/recover.py` measures how often a true scheme is lost by this
#: limit.
TOLD_APART = 9.0
#: The best explanation is rejected if the probability that chance gives a fit at least as bad is
#: below this.
REJECTED = 0.05
#: The number of measurements that are drawn at random around the best explanation, to learn how bad
#: a fit by chance can be.
_DRAWN = 499
#: The least probability that this number of measurements can show.
LEAST_CHANCE = 1 / (_DRAWN + 1)


@dataclass(frozen=True)
class Fit:
    """The best fit of a scheme to one drive."""

    spare: float
    #: Measured / simulated values; 1 if absolute values matter.
    scale: float
    #: The predicted measurement of each point.
    predicted: tuple[float, ...]
    #: Predicted / measured, minus 1, for each point.
    errors: tuple[float, ...]
    chi_square: float
    #: True if the best spare factor is the smallest simulated one (``at_least``), or the largest
    #: one (``at_most``).
    at_least: bool
    at_most: bool


@dataclass(frozen=True)
class Interval:
    """The spare factors whose fit to a measurement is within a limit."""

    low: float
    high: float
    #: True if the smallest, or the largest, simulated spare factor also fits, so that the interval
    #: may go beyond it.
    is_open_below: bool
    is_open_above: bool

    def joined(self, other: Interval) -> Interval:
        """The smallest interval that contains both."""
        first = min(self, other, key=lambda interval: interval.low)
        last = max(self, other, key=lambda interval: interval.high)
        return Interval(first.low, last.high, first.is_open_below, last.is_open_above)


def logs_of(points: Sequence[Point]) -> Numbers:
    """The logarithms of the measured values."""
    return np.log([point.write_amplification for point in points])


def weights_of(points: Sequence[Point]) -> Numbers:
    """1 / variance of each point; the variances of measurement and simulation are added."""
    return 1 / (SIMULATION_ERROR**2 + np.array([point.error for point in points]) ** 2)


def chi_squares(logs: Numbers, measured: Numbers, weights: Numbers, *, relative: bool) -> Numbers:
    """The chi-square between each row of ``logs`` and each row of ``measured``.

    >>> chi_squares(np.zeros((1, 2)), np.array([[1.0, 2.0]]), np.array([1.0, 3.0]), relative=False)
    array([[13.]])
    """
    if relative:  # The best factor removes the mean.
        logs = logs - (logs @ weights / weights.sum())[:, None]
        measured = measured - (measured @ weights / weights.sum())[:, None]
    own, others = (logs**2) @ weights, (measured**2) @ weights
    squares: Numbers = own[:, None] - 2 * (logs * weights) @ measured.T + others
    return np.maximum(squares, 0.0)


def fit(
    points: Sequence[Point], curve: Curve, *, relative: bool, left_out: int | None = None
) -> Fit:
    """The best fit of a curve, whose columns are the points, to the measurement.

    The point ``left_out`` is predicted, and does not affect the fit.
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
    """The number of points minus that of fitted values: spare factors, scales, and blocks."""
    return points - drives * (2 if relative else 1) - int(varied)


def within(
    points: Sequence[Point], curve: Curve, limit: float, *, relative: bool
) -> Interval | None:
    """The spare factors whose chi-square is at most ``limit``; ``None`` if there are none.

    This is the profile likelihood over the spare factor.
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
    """The quality of the best explanation's fit, compared with fits by chance."""

    #: The probability that a measurement of a drive with this explanation fits as badly, or worse.
    chance: float
    #: The chi-square that a share of :data:`REJECTED` of such measurements exceeds.
    limit: float

    @property
    def is_explained(self) -> bool:
        """True if chance can explain the remaining errors."""
        return self.chance >= REJECTED


def goodness(
    drives: Sequence[Sequence[Point]],
    best: Sequence[Fit],
    curves: Sequence[Sequence[Curve]],
    *,
    relative: bool,
) -> Goodness:
    """The quality of the best explanation's fit to these drives, compared with fits by chance.

    Measurements are drawn around its predictions, with the errors of measurement and simulation.
    Each is fitted with all ``curves``, as the real one was; a scheme has one curve per drive. So
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
    """Standard normal random numbers, the same for equal numbers of ``points`` and ``index``."""
    return np.random.default_rng((points, index)).standard_normal((_DRAWN, points))


def distance(chi_square: float, best: float, degrees: int) -> float:
    """Return the distance of a fit from the best one, in units of chi-square.

    If even the best fit is worse than the errors allow, the errors are scaled up until it fits
    (Birge ratio).

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
