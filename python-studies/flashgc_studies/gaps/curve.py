"""The error of a predictor that is as good as a scheme, read off the measured curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Equal:
    """The standing of a scheme among predictors."""

    #: ``at`` (as good as one), ``between`` (the curve crosses it several times, or falls),
    #: ``ahead`` or ``behind`` (of all that were run), or ``unknown`` (too few were).
    standing: str
    #: The error, on a straight line between the two next to it that were run; ``None`` where it is
    #: not ``at`` one.
    sigma: float | None = None
    #: Errors at which the curve has the scheme's figure, on such lines.
    crossings: tuple[float, ...] = ()
    #: The errors that were run on the two sides of each crossing; both are the crossing where that
    #: was run itself. No more is known of it.
    brackets: tuple[tuple[float, float], ...] = ()
    #: Smallest and largest error that was run.
    least: float | None = None
    most: float | None = None


def equal(curve: Sequence[tuple[float, float]], figure: float) -> Equal:
    """The error at which ``curve`` (error, write amplification) has this ``figure``.

    Straight lines between neighbours; nothing is said beyond the smallest and the largest error.

    >>> equal([(0, 1.0), (1, 2.0), (2, 4.0)], 2.5).sigma
    1.25
    >>> equal([(0, 1.0), (1, 2.0), (2, 4.0)], 2.5).brackets
    ((1, 2),)
    >>> equal([(0, 1.0), (1, 2.0)], 2.5).standing
    'behind'
    """
    points = sorted(curve)
    if len(points) < 2:
        return Equal("unknown")
    least, most = points[0][0], points[-1][0]
    if all(y > figure for _, y in points):
        return Equal("ahead", least=least, most=most)
    if all(y < figure for _, y in points):
        return Equal("behind", least=least, most=most)
    found = [(x, (x, x)) for x, y in points if y == figure]
    for (x0, y0), (x1, y1) in pairwise(points):
        if (y0 - figure) * (y1 - figure) < 0:
            found.append((x0 + (figure - y0) / (y1 - y0) * (x1 - x0), (x0, x1)))
    found.sort()
    crossings, brackets = tuple(at for at, _ in found), tuple(both for _, both in found)
    falls = points[0][1] > figure or points[-1][1] < figure
    if len(crossings) > 1 or falls:
        return Equal("between", None, crossings, brackets, least, most)
    return Equal("at", crossings[0], crossings, brackets, least, most)
