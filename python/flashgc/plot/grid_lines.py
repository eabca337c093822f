"""A figure over an option: a line with its band for each policy, or rows of dots."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flashgc.plot.curves import draw
from flashgc.plot.labels import EndLabel, header, led_to, wrapped
from flashgc.plot.look import Look, Style
from flashgc.plot.multiples import beside, looks_of, markers, multiples, names, widest
from flashgc.plot.scales import fit
from flashgc.plot.series import Series
from flashgc.reports.view import Line, Point, View
from flashgc.reports.wording import label, scaled

#: The distance of text lines, as a multiple of the font size.
_LEADING = 1.25


def lines(view: View, style: Style, title: str | None) -> Figure:
    """Draw lines if the option is a number, and dots in rows if not."""
    return _curves(view, style, title) if view.numeric else _dots(view, style, title)


def groups(view: View) -> list[object]:
    """The values of ``by``, in the order of the grid."""
    values = [line.by for pane in view.panes for line in pane.lines]
    return list(dict.fromkeys(values))


def caption(view: View, mark: str, way: str) -> str:
    """Return the caption: the option that ``mark`` shows, the seeds, and what shows intervals."""
    parts = []
    if view.by is not None and not isinstance(groups(view)[0], str):
        parts.append(f"{mark}: {label(view.by).removesuffix(' (%)')}")
    points = [point for point in _points(view) if point.y is not None]
    counts = sorted({point.count for point in points if point.same == 1})
    if counts and counts[-1] > 1:
        several = " to ".join(dict.fromkeys([str(counts[0]), str(counts[-1])]))
        parts.append(f"mean of {several} seeds")
    if any(point.low is not None for point in points):
        parts.append(f"{way}: 95% interval")
    return "; ".join(parts)


def _curves(view: View, style: Style, title: str | None) -> Figure:
    medium = style.medium
    keys = groups(view)
    shown = beside(view.by, keys, style)
    look = looks_of(keys)
    captions = dict(zip(keys, shown, strict=True)) if view.by else {}
    rows = sum(name.count("\n") + 1 for name in shown)
    least = (rows * _LEADING + 1) * medium.small / 72
    height = max(least, style.size[1] - 0.6 if len(view.panes) == 1 else 0.52 * style.size[1])
    right = widest(shown, medium.small) + 0.3 if shown else 0.0
    layout = multiples(
        view,
        style,
        x_label=label(view.x),
        y_label=label(view.y),
        height=height,
        right=right,
        left=0.5,
    )
    across = [scaled(view.x, point.x) for point in _points(view)]
    up = [scaled(view.y, end) for point in _points(view) for end in _reach(point)]
    for pane, axes in layout.panels:
        for line in pane.lines:
            if line.points:
                _curve(axes, view, line, look[line.by], style)
    most = 72 * (layout.width - right) / medium.small / 3.5
    for _, axes in layout.panels[:1]:
        fit(axes, "x", view.x, across, min(8, max(3, most)), at_values=True)
        fit(axes, "y", view.y, up, min(6, max(3, 72 * height / medium.small / 3.5)))
    header(layout.figure, style, title, [], caption(view, "lines", "bands"))
    for pane, axes in layout.panels:
        ended = [line for line in pane.lines if line.points and view.by is not None]
        labels = [
            EndLabel(captions[line.by], _last(view, line)[1], look[line.by].colour)
            for line in ended
        ]
        led_to(axes, labels, [_last(view, line)[0] for line in ended], medium.small)
    return layout.figure


def _points(view: View) -> list[Point]:
    return [point for pane in view.panes for line in pane.lines for point in line.points]


def _reach(point: Point) -> list[float]:
    ends = (point.y, point.low, point.high)
    return [end for end in ends if end is not None]


def _curve(axes: Axes, view: View, line: Line, look: Look, style: Style) -> None:
    x = [scaled(view.x, point.x) for point in line.points]
    y, half = [], []
    for point in line.points:
        assert point.y is not None
        y.append(scaled(view.y, point.y))
        far = math.nan if point.high is None else point.high - point.y
        half.append(scaled(view.y, far))
    kind = "line" if len(x) > 1 else "points"
    series = Series("line", x, y, half, kind)  # type: ignore[arg-type]
    draw(axes, series, look, style.medium, marked=True)


def _last(view: View, line: Line) -> tuple[float, float]:
    """The right end of a line."""
    point = line.points[-1]
    assert point.y is not None
    return scaled(view.x, point.x), scaled(view.y, point.y)


def _dots(view: View, style: Style, title: str | None) -> Figure:
    """Draw a row of dots for each value; the figure is on the horizontal axis."""
    medium, keys = style.medium, groups(view)
    values = list(dict.fromkeys(point.x for point in _points(view)))
    rows = [wrapped(name, 0.36 * style.size[0], medium.small) for name in names(view.x, values)]
    look = looks_of(keys)
    tall = max(name.count("\n") + 1 for name in rows)
    row = (0.9 + max(0.9 * tall, 0.5 * len(keys))) * medium.text / 72
    layout = multiples(
        view,
        style,
        x_label=label(view.y),
        y_label="",
        height=row * (len(rows) + 0.3),
        left=widest(rows, medium.small) + 0.1,
    )
    place = {value: at for at, value in enumerate(values)}
    for pane, axes in layout.panels:
        for line in pane.lines:
            step = 0.56 / max(1, len(keys) - 1)
            up = (keys.index(line.by) - (len(keys) - 1) / 2) * step
            _row_dots(axes, view, line, [place[p.x] + up for p in line.points], look, style)
        axes.set_yticks(range(len(rows)), rows)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    up_ = [scaled(view.y, end) for point in _points(view) for end in _reach(point)]
    most = 72 * layout.width / medium.small / 7
    fit(layout.panels[0][1], "x", view.y, up_, min(8, max(3, most)))
    header(layout.figure, style, title, [markers(view, look)], caption(view, "colours", "bars"))
    return layout.figure


def _row_dots(
    axes: Axes,
    view: View,
    line: Line,
    heights: Sequence[float],
    look: dict[object, Look],
    style: Style,
) -> None:
    x, reach = [], []
    for point in line.points:
        assert point.y is not None
        x.append(scaled(view.y, point.y))
        far = math.nan if point.high is None else point.high - point.y
        reach.append(scaled(view.y, far))
    if x:
        axes.errorbar(
            x,
            list(heights),
            xerr=reach,
            fmt=look[line.by].marker,
            color=look[line.by].colour,
            elinewidth=0.7 * style.medium.line,
            capsize=0.5 * style.medium.marker,
        )
