"""Published points in figures, and bars side by side, as the papers draw them.

A point is a number that the paper prints: one marker, and one entry "published" in the legend.
If the paper prints a range, the marker has bars to both ends. If it prints a bound, the marker is a
triangle that points to the side on which the values are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Drawing: TypeAlias = Figure
else:  # Matplotlib is imported late: commands that draw nothing start without it.
    Drawing = object

#: The word for published points in the legend.
LABEL = "published"
_INK = "#111111"
_SIZE = 5.5
_MARKERS = {"": "D", "below": "v", "above": "^"}


@dataclass(frozen=True)
class Point:
    """A published number at its place of the horizontal axis."""

    x: float
    y: float
    #: Half of the range that the paper gives, along each axis.
    half: float = 0.0
    half_x: float = 0.0
    #: ``above`` or ``below`` if the paper gives ``y`` only as a bound; empty if ``y`` is the value.
    bound: Literal["", "below", "above"] = ""
    #: The curve of the point, if its place in the figure does not show it.
    of: str = ""


def ranged(x: float, lo: float, hi: float) -> Point:
    """A published range of values.

    >>> ranged(4, -18, -14)
    Point(x=4, y=-16.0, half=2.0, half_x=0.0, bound='', of='')
    """
    return Point(x, (lo + hi) / 2, abs(hi - lo) / 2)


def marked(figure: Drawing, points: Mapping[int, Sequence[Point]]) -> Drawing:
    """The figure with published points drawn in its panels; ``points`` has panels by number."""
    from flashgc.plot.look import drawing

    shown = {at: some for at, some in points.items() if some}
    with drawing(figure):
        for at, some in shown.items():
            mark(figure.axes[at], some)
        for at in list(shown)[:1]:
            name(figure.axes[at])
    return figure


def mark(axes: Axes, points: Sequence[Point]) -> None:
    """Draws published points on ``axes``, above everything else."""
    for point in points:
        axes.errorbar(
            [point.x],
            [point.y],
            yerr=[point.half] if point.half else None,
            xerr=[point.half_x] if point.half_x else None,
            fmt=_MARKERS[point.bound],
            markersize=_SIZE,
            markerfacecolor="white",
            markeredgecolor=_INK,
            markeredgewidth=1.3,
            ecolor=_INK,
            elinewidth=1.3,
            capsize=3,
            zorder=6,
        )
        axes.annotate(
            point.of,
            (point.x, point.y),
            xytext=(_SIZE + 1, 0),
            textcoords="offset points",
            verticalalignment="center",
            size="small",
            color=_INK,
        )


def name(axes: Axes) -> None:
    """Puts the word "published" with its marker where ``axes`` have room."""
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

    sample = Line2D([], [], linestyle="none", marker="D", color=_INK, markersize=_SIZE)
    sample.set_markerfacecolor("white")
    legend = Legend(
        axes,
        [sample],
        [LABEL],
        loc="best",
        frameon=True,
        framealpha=0.85,
        borderpad=0.5,
        borderaxespad=0.6,
        handlelength=1.0,
        handletextpad=0.5,
    )
    legend.set_zorder(5.5)  # Published points are drawn above the legend.
    axes.add_artist(legend)


#: Fills of the bars of a group, in order. Their hatching tells them apart without colour.
_FILLS = (("#D9D9D9", "///"), ("#0072B2", ""), ("#D55E00", "..."), ("#F0E442", "xx"))


@dataclass(frozen=True)
class Bars:
    """A panel: groups along the axis, and in each group a bar of every series."""

    y_label: str
    groups: Sequence[str]
    #: By the name of the series, the value of each group and half its interval; NaN if unknown.
    series: Mapping[str, Sequence[tuple[float, float]]]
    #: By the name of the series, the paper's value for each group; NaN if the paper prints none.
    published: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def width(self) -> float:
        """Return the width of a bar as a share of the distance between groups."""
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
