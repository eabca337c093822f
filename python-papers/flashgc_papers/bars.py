"""Bars side by side, as the papers draw figures of a few traces or collectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

#: Fills of the bars of a group in their order, told apart without colour by their hatching.
_FILLS = (("#D9D9D9", "///"), ("#0072B2", ""), ("#D55E00", "..."), ("#F0E442", "xx"))


@dataclass(frozen=True)
class Bars:
    """A panel: groups along the axis, and a bar of every series in each."""

    y_label: str
    groups: Sequence[str]
    #: By the name of the series, a value a group and half its interval; NaN where there is none.
    series: Mapping[str, Sequence[tuple[float, float]]]


def bars(parts: Sequence[Bars], x_label: str) -> Drawing:
    """The panels below each other, with one legend."""
    from flashgc.plot import panels

    made = panels([_panel(part) for part in parts], x_label=x_label)
    for axes, part in zip(made.axes, parts, strict=True):
        axes.set_ylabel(part.y_label)
        axes.set_xticks(range(len(part.groups)), part.groups)
    made.axes[0].legend(ncols=len(parts[0].series), loc="lower left", bbox_to_anchor=(0, 1))
    return made


def _panel(part: Bars) -> Callable[[Axes], None]:
    def draw(axes: Axes) -> None:
        width = 0.8 / len(part.series)
        for at, (name, values) in enumerate(part.series.items()):
            fill, hatch = _FILLS[at % len(_FILLS)]
            axes.bar(
                [group + (at - (len(part.series) - 1) / 2) * width for group in range(len(values))],
                [value for value, _ in values],
                width,
                yerr=[half for _, half in values],
                label=name,
                color=fill,
                edgecolor="#333333",
                hatch=hatch,
                capsize=2,
            )

    return draw
