"""Two figures of each configuration, and the front of those that no other one beats in both."""

from __future__ import annotations

import itertools

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flashgc.plot.grid_lines import caption, groups
from flashgc.plot.labels import header
from flashgc.plot.look import INK, SOFT_INK, Look, Style
from flashgc.plot.multiples import configurations, looks_of, markers, multiples
from flashgc.plot.placing import Label, place
from flashgc.plot.scales import fit
from flashgc.plot.series import Numbers
from flashgc.reports.view import Pane, Point, View, front
from flashgc.reports.wording import label, more_is_better, scaled

#: The opacity of a point that another one beats.
_PALE = 0.35


def pareto(view: View, style: Style, title: str | None) -> Figure:
    """Draws a point for each configuration; those of the front are full, joined and named."""
    medium, keys = style.medium, groups(view)
    layout = multiples(
        view,
        style,
        x_label=label(view.x) + _arrow(view.x),
        y_label=label(view.y) + _arrow(view.y),
        height=style.size[1] - 0.6 if len(view.panes) == 1 else 0.6 * style.size[1],
        left=0.5,
    )
    look = looks_of(keys)
    for pane, axes in layout.panels:
        best = front(view, pane)
        _steps(axes, view, best)
        for line in pane.lines:
            for point in line.points:
                _dot(axes, view, point, look[line.by], style, full=point in best)
    across = [_at(view, point)[0] for pane in view.panes for p in pane.lines for point in p.points]
    up = [_at(view, point)[1] for pane in view.panes for p in pane.lines for point in p.points]
    fit(layout.panels[0][1], "x", view.x, across, min(8, 72 * layout.width / medium.small / 6))
    fit(layout.panels[0][1], "y", view.y, up, 6)
    layout.panels[0][1].margins(x=0.08, y=0.08)
    note = "; ".join(part for part in (caption(view, "colours", "bars"), "line: the front") if part)
    header(layout.figure, style, title, [markers(view, look)], note)
    layout.figure.draw_without_rendering()
    for pane, axes in layout.panels:
        _name(axes, view, pane, look, style)
    return layout.figure


def _arrow(name: str) -> str:
    return "" if not more_is_better(name) else ", more is better"


def _at(view: View, point: Point) -> tuple[float, float]:
    assert point.y is not None
    return scaled(view.x, point.x), scaled(view.y, point.y)


def corners(view: View, best: list[Point]) -> Numbers:
    """The step line through the front: the border of the region that its points beat."""
    places = [_at(view, point) for point in best]
    # The corner between two points has the worse value of each figure.
    rising = more_is_better(view.x)
    steps = places[:1]
    for (x, y), (x2, y2) in itertools.pairwise(places):
        steps += [(x, y2) if rising else (x2, y), (x2, y2)]
    return np.array(steps)


def _steps(axes: Axes, view: View, best: list[Point]) -> None:
    line = corners(view, best)
    axes.plot(line[:, 0], line[:, 1], color=INK, linewidth=0.9, zorder=2, label="front")


def _dot(axes: Axes, view: View, point: Point, look: Look, style: Style, *, full: bool) -> None:
    x, y = _at(view, point)
    half = None if point.high is None or point.y is None else scaled(view.y, point.high - point.y)
    axes.errorbar(
        x,
        y,
        yerr=half,
        fmt=look.marker,
        color=look.colour,
        alpha=1 if full else _PALE,
        markeredgewidth=0,
        markersize=style.medium.marker * (1.25 if full else 1),
        elinewidth=0.6 * style.medium.line,
        zorder=3 if full else 2.5,
    )


def _taken(view: View, point: Point) -> Numbers:
    """Return the ends of a point's interval, which names must not cover."""
    x, y = _at(view, point)
    ends = [scaled(view.y, end) for end in (point.low, point.high) if end is not None]
    return np.array([(x, end) for end in (ends or [y])])


def _name(axes: Axes, view: View, pane: Pane, look: dict[object, Look], style: Style) -> None:
    """Names the points of the front."""
    best = front(view, pane)
    owner = {id(point): line.by for line in pane.lines for point in line.points}
    labels = configurations(view, best, [owner[id(point)] for point in best])
    captions = [
        Label(text, [_at(view, point)], look[owner[id(point)]].colour)
        for point, text in zip(best, labels, strict=True)
        if text
    ]
    taken = [_taken(view, point) for line in pane.lines for point in line.points]
    missing = place(axes, captions, style.medium.small, [*taken, corners(view, best)])
    if missing:
        axes.annotate(
            f"{missing} more on the front", (1, 1), (-2, -2), xycoords="axes fraction",
            textcoords="offset points", ha="right", va="top", size=style.medium.small,
            color=SOFT_INK,
        )  # fmt: skip
