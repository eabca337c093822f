"""BSGC and SFL: Figure 4, how the writes of the three traces lie, as they are read here."""

from __future__ import annotations

import math
from collections.abc import Mapping

from flashgc_papers.published import Drawing
from flashgc_papers.reproduce.runner import Figure, Table


def traces(shares: Mapping[str, float]) -> Figure:
    """Figure 4: how the writes of the three traces lie under a reading, by their hot shares."""
    points = [at / 200 for at in range(1, 200)]
    cells = tuple(
        (trace, 100 * at, density(hot, at)) for trace, hot in shares.items() for at in points
    )

    def draw() -> Drawing:
        from flashgc.plot import Series, against

        series = [
            Series(
                f"{trace}, {hot * 100:.0f}% hot",
                [100 * at for at in points],
                [density(hot, at) for at in points],
            )
            for trace, hot in shares.items()
        ]
        return against(series, x_label="address (% of all)", y_label="writes a page, mean 1")

    table = Table(("trace", "address", "writes a page"), cells)
    return Figure("bsgc.fig4", "the three traces as they are read: writes by address", table, draw)


def density(hot: float, at: float) -> float:
    """Writes of the page at the share ``at`` of the addresses, by the mean of all pages.

    A bell curve cut at both ends, whose central share ``hot`` gets the share 1 - ``hot``.

    >>> round(density(0.15, 0.5), 2), round(density(0.15, 0.575) / density(0.15, 0.5), 2)
    (7.66, 0.35)
    """
    half = half_width(hot)
    z = 2 * half * (at - 0.5)
    inside = math.erf(half / math.sqrt(2))
    return 2 * half * math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / inside


def half_width(hot: float) -> float:
    """Half the addresses in standard deviations of the trace."""
    low, high = 1e-3, 1.0

    def central(half: float) -> float:
        return math.erf(hot * half / math.sqrt(2)) / math.erf(half / math.sqrt(2))

    while central(high) < 1 - hot:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if central(middle) < 1 - hot else (low, middle)
    return high


def hot_of_deviation(sigma: float) -> float:
    """The central share h of the addresses that gets 1 - h of the writes.

    ``sigma`` is the standard deviation, as a share of the addresses.

    >>> [round(hot_of_deviation(one), 4) for one in (0.048, 0.15)]
    [0.1412, 0.3064]
    """
    half = 0.5 / sigma  # The addresses are so many standard deviations to each side of the middle.
    low, high = 0.0, 0.5
    for _ in range(60):
        hot = (low + high) / 2
        central = math.erf(hot * half / math.sqrt(2)) / math.erf(half / math.sqrt(2))
        low, high = (hot, high) if central < 1 - hot else (low, hot)
    return round(high, 6)
