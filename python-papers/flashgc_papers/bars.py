"""Bars side by side, as the papers draw figures of a few traces or collectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flashgc_papers.published import Drawing, Point, marked

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Fills of the bars of a group in their order, told apart without colour by their hatching.
_FILLS = (("#D9D9D9", "///"), ("#0072B2", ""), ("#D55E00", "..."), ("#F0E442", "xx"))


@dataclass(frozen=True)
class Bars:
    """A panel: groups along the axis, and a bar of every series in each."""

    y_label: str
    groups: Sequence[str]
    #: By the name of the series, a value a group and half its interval; NaN where there is none.
    series: Mapping[str, Sequence[tuple[float, float]]]
    #: By the name of the series, what the paper prints for each group; NaN where it prints nothing.
    published: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def width(self) -> float:
        """Return the width of a bar, of the distance between groups."""
        return 0.8 / len(self.series)

    def place(self, name: str, group: int) -> float:
        """Return the middle of the bar of a series in a group."""
        at = list(self.series).index(name)
        return group + (at - (len(self.series) - 1) / 2) * self.width

    def points(self) -> list[Point]:
        """Return the published numbers, each at its bar."""
        return [
            Point(self.place(name, group), value)
            for name, values in self.published.items()
            for group, value in enumerate(values)
            if not math.isnan(value)
        ]


def bars(parts: Sequence[Bars], x_label: str) -> Drawing:
    """The panels below each other, with one legend."""
    from flashgc.plot import panels

    figure = panels([_panel(part) for part in parts], x_label=x_label)
    for axes, part in zip(figure.axes, parts, strict=True):
        axes.set_ylabel(part.y_label)
        axes.set_xticks(range(len(part.groups)), part.groups)
        if part is parts[0] or part.series.keys() != parts[0].series.keys():
            axes.legend(ncols=len(part.series), loc="lower left", bbox_to_anchor=(0, 1))
    return marked(figure, {at: part.points() for at, part in enumerate(parts)})


def _panel(part: Bars) -> Callable[[Axes], None]:
    def draw(axes: Axes) -> None:
        for at, (name, values) in enumerate(part.series.items()):
            fill, hatch = _FILLS[at % len(_FILLS)]
            axes.bar(
                [part.place(name, group) for group in range(len(values))],
                [value for value, _ in values],
                part.width,
                yerr=[half for _, half in values],
                label=name,
                color=fill,
                edgecolor="#333333",
                hatch=hatch,
                capsize=2,
            )

    return draw
