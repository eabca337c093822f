"""Axes of numbers: logarithmic where the range asks for it, and ticks with units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import (
    EngFormatter,
    FixedLocator,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from flashgc.units import format_size

#: From so many times the least value on an axis is logarithmic.
WIDE = 30
#: Numbers from which on ticks have prefixes: 250 k.
_MANY = 1e5


def ticks(most: float) -> MaxNLocator:
    """Ticks at round numbers, not more than ``most`` and one."""
    return MaxNLocator(int(most), steps=(1, 2, 2.5, 5, 10))


def logarithmic(axes: Axes, which: Literal["x", "y"], least: float, most: float) -> None:
    """Makes an axis from ``least`` to ``most`` logarithmic, with plain numbers at its ticks."""
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
    """Gives an axis the scale and the ticks of a column, at most about ``most`` of them.

    With ``at_values``, a logarithmic axis has its ticks at the values, if these are few.
    """
    axis = _axis(axes, which)
    least, greatest = min(values), max(values)
    if least > 0 and greatest >= WIDE * least:
        logarithmic(axes, which, least, greatest)
        if at_values and len(set(values)) <= most:
            axis.set_major_locator(FixedLocator(sorted(set(values))))
            axis.set_minor_locator(NullLocator())
    else:
        axis.set_major_locator(ticks(most))
    if column.endswith("_bytes"):
        axis.set_major_formatter(FuncFormatter(lambda value, _: format_size(value)))
    elif greatest >= _MANY:
        axis.set_major_formatter(EngFormatter(sep=" "))


def _axis(axes: Axes, which: Literal["x", "y"]) -> Axis:
    return axes.xaxis if which == "x" else axes.yaxis
