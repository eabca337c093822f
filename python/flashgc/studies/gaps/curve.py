"""The error of a predictor that is as good as a scheme, read off the measured curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Equal:
    """The standing of a scheme among predictors."""

    #: ``at`` (those with less error write less, those with more write more, and some may be
    #: alike), ``alike`` (it cannot be told apart from any), ``between`` (one with less error
    #: writes more than one with more error, with the scheme between them), ``ahead`` or ``behind``
    #: (of all that were run), or ``unknown`` (too few were).
    standing: str
    #: The error, on a straight line between the two next to it that were run; ``None`` where it is
    #: not ``at`` one, or where some predictors are alike.
    sigma: float | None = None
    #: Errors at which the curve has the scheme's figure, on such lines.
    crossings: tuple[float, ...] = ()
    #: The errors that were run on the two sides of each crossing. No more is known of it.
    brackets: tuple[tuple[float, float], ...] = ()
    #: Errors whose predictors cannot be told apart from the scheme.
    alike: tuple[float, ...] = ()
    #: Errors whose predictors write less than the scheme, and those that write more.
    less: tuple[float, ...] = ()
    more: tuple[float, ...] = ()


@dataclass(frozen=True)
class Point:
    """A predictor beside the scheme."""

    sigma: float
    #: Its write amplification.
    figure: float
    #: True if the interval of the difference holds 0.
    is_alike: bool = False


def equal(curve: Sequence[Point], figure: float) -> Equal:
    """The standing of a scheme with this ``figure`` among the predictors of a ``curve``.

    Straight lines between neighbours; nothing is said beyond the smallest and the largest error,
    nor of points that are alike.

    >>> rising = [Point(0, 1.0), Point(1, 2.0), Point(2, 4.0)]
    >>> equal(rising, 2.5).sigma, equal(rising, 2.5).brackets
    (1.25, ((1, 2),))
    >>> equal(rising, 5.0).standing
    'behind'
    """
    points = sorted(curve, key=lambda point: point.sigma)
    if len(points) < 2:
        return Equal("unknown")
    apart = [point for point in points if not point.is_alike and point.figure != figure]
    alike = tuple(point.sigma for point in points if point not in apart)
    less = tuple(point.sigma for point in apart if point.figure < figure)
    more = tuple(point.sigma for point in apart if point.figure > figure)
    crossings, brackets = [], []
    for near, far in pairwise(apart):
        if (near.figure - figure) * (far.figure - figure) < 0:
            share = (figure - near.figure) / (far.figure - near.figure)
            crossings.append(near.sigma + share * (far.sigma - near.sigma))
            brackets.append((near.sigma, far.sigma))
    if not apart:
        standing = "alike"
    elif not alike and not less:
        standing = "ahead"
    elif not alike and not more:
        standing = "behind"
    elif less and more and less[-1] > more[0]:
        standing = "between"
    else:
        standing = "at"
    sigma = crossings[0] if standing == "at" and not alike else None
    return Equal(standing, sigma, tuple(crossings), tuple(brackets), alike, less, more)
