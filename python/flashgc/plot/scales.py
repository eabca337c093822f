"""Axes of numbers: logarithmic if the range is wide, and ticks with units."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import (
    EngFormatter,
    FixedLocator,
    Formatter,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from flashgc.units import format_size

#: An axis is logarithmic if its largest value is at least this many times the least.
WIDE = 30
#: From this number on, ticks have unit prefixes: 250 k.
_MANY = 1e5


def ticks(most: float) -> MaxNLocator:
    """Ticks at round numbers, at most ``most`` + 1."""
    return MaxNLocator(int(most), steps=(1, 2, 2.5, 5, 10))


def logarithmic(axes: Axes, which: Literal["x", "y"], least: float, most: float) -> None:
    """Make an axis from ``least`` to ``most`` logarithmic, with plain numbers at its ticks."""
    axis = _axis(axes, which)
    axes.set(**{f"{which}scale": "log"})
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if most < 300 * least else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def fit(
    axes: Axes,
    which: Literal["x", "y"],
    column: str,
    values: Sequence[float],
    most: float,
    *,
    at_values: bool = False,
) -> None:
    """Set the scale and the ticks of an axis for a column, with at most about ``most`` ticks.

    With ``at_values`` the ticks are at the values, if these are few and far apart.
    """
    axis = _axis(axes, which)
    least, greatest = min(values), max(values)
    if least > 0 and greatest >= WIDE * least:
        logarithmic(axes, which, least, greatest)
    else:
        axis.set_major_locator(ticks(most))
    if at_values and _apart(sorted(set(values)), most, scale=axis.get_scale()):
        axis.set_major_locator(FixedLocator(sorted(set(values))))
        axis.set_minor_locator(NullLocator())
    written = formatter(column, greatest)
    if written is not None:
        axis.set_major_formatter(written)


def formatter(column: str, greatest: float) -> Formatter | None:
    """Return the formatter of sizes and large numbers; ``None`` if plain digits are enough."""
    if column.endswith("_bytes"):
        return FuncFormatter(lambda value, _: format_size(value))
    return EngFormatter(sep=" ") if greatest >= _MANY else None


def _apart(values: Sequence[float], most: float, *, scale: str) -> bool:
    """True if ticks at all values are far enough apart to be read."""
    places = [math.log(value) if scale == "log" else value for value in values]
    gaps = [after - before for before, after in itertools.pairwise(places)]
    return bool(gaps) and most * min(gaps) >= places[-1] - places[0]


def _axis(axes: Axes, which: Literal["x", "y"]) -> Axis:
    return axes.xaxis if which == "x" else axes.yaxis
