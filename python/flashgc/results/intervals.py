"""The 95% interval of the mean of independent values."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: The 0.975 quantile of Student's t for 2, 3, ... values, from a table.
_T95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045,
)  # fmt: skip
#: The quantile of a normal distribution for 95% intervals.
_Z95 = 1.959964


def mean(values: Sequence[float]) -> float:
    """The mean of values, independent of their order.

    >>> mean([50.0, 40.0])
    45.0
    """
    return math.fsum(values) / len(values)


def half_width(values: Sequence[float]) -> float | None:
    """Half the 95% interval of the mean of independent values; ``None`` for fewer than two.

    >>> half_width([50.0, 40.0])
    63.53
    """
    if len(values) < 2:
        return None
    centre = mean(values)
    variance = math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)
    return _quantile(len(values)) * math.sqrt(variance / len(values))


def welch(before: Sequence[float], after: Sequence[float]) -> tuple[float, float] | None:
    """The difference of the means of two samples, and half its 95% interval.

    The interval is Welch's: the samples are independent and may have different variances. Its
    degrees of freedom are rounded down, so that it is never too narrow. ``None`` if a sample has
    fewer than two values.

    >>> change, half = welch([1.0, 2.0, 3.0], [5.0, 6.0, 7.0])
    >>> round(change, 3), round(half, 3)
    (4.0, 2.267)
    """
    if min(len(before), len(after)) < 2:
        return None
    change, parts = mean(after) - mean(before), []
    for values in (before, after):
        centre = mean(values)
        variance = math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)
        parts.append((variance / len(values), len(values) - 1))
    whole = math.fsum(part for part, _ in parts)
    if whole == 0:
        return change, 0.0
    freedom = whole**2 / math.fsum(part**2 / free for part, free in parts)
    return change, _quantile(max(1, int(freedom + 1e-9)) + 1) * math.sqrt(whole)


def _quantile(count: int) -> float:
    """The quantile for ``count`` values, to three decimals.

    Beyond the table it is the expansion of Abramowitz and Stegun, 26.7.5, in 1 / degrees of
    freedom.
    """
    if count - 2 < len(_T95):
        return _T95[count - 2]
    freedom, z = count - 1, _Z95
    first = (z**3 + z) / (4 * freedom)
    return z + first + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
