"""The fit of a scheme's curve to a measured one. Arithmetic only.

Errors are relative, so everything is done in logarithms. A fit has a spare factor for each drive
and, where only the shape counts, a factor between simulated and measured values. It is the one
with the least chi-square: the sum of squared errors over the variances of measurement and
simulation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flashgc.studies.identify.curves import SIMULATION_ERROR, Curve, Numbers
from flashgc.studies.identify.measurements import Point

#: Two schemes are told apart where their chi-squares differ by more: three standard deviations.
#: `scripts/identify/recover.py` measures how often a true scheme is then lost.
TOLD_APART = 9.0
#: A curve is explained where the chance of a larger chi-square is above one in a thousand: so many
#: standard deviations.
_RARE = 3.09


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


def fit(
    points: Sequence[Point], curve: Curve, *, relative: bool, left_out: int | None = None
) -> Fit:
    """The best fit of a curve, whose columns are the points, to what was measured.

    The point ``left_out`` is predicted, and does not count.
    """
    spares, logs = curve.fine()
    measured = np.log([point.write_amplification for point in points])
    weights = 1 / (SIMULATION_ERROR**2 + np.array([point.error for point in points]) ** 2)
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


def is_explained(chi_square: float, degrees: int) -> bool:
    """True if chance alone gives so large a chi-square in one of a thousand measurements or more.

    By Wilson and Hilferty's approximation. The table has 29.59 for 10 degrees of freedom.

    >>> is_explained(29.0, 10), is_explained(30.2, 10)
    (True, False)
    """
    spread = 2 / (9 * degrees)
    return chi_square <= degrees * (1 - spread + _RARE * math.sqrt(spread)) ** 3


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
