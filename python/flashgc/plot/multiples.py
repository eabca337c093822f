"""Small multiples: a panel for each value of an option, with the same axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from flashgc.plot.labels import text_width, wrapped
from flashgc.plot.look import Look, Style, looks, new_figure
from flashgc.plot.series import literal
from flashgc.reports.view import Pane, Point, View
from flashgc.reports.wording import label, texts

#: The maximum number of panels in a row.
COLUMNS = 3
#: The least width of a panel, as a multiple of the font size.
_LEAST = 13.0
#: The greatest width of a name beside a panel, as a share of the panel.
_SHARE = 0.4


@dataclass(frozen=True)
class Multiples:
    """A picture with a panel for each pane."""

    figure: Figure
    panels: tuple[tuple[Pane, Axes], ...]
    #: Width of a panel including the space beside it, in inches.
    width: float


def names(column: str | None, values: Sequence[object]) -> list[str]:
    """The values of a column as a picture shows them."""
    return [] if column is None else [literal(name) for name in texts(column, values)]


def looks_of(keys: Sequence[object]) -> dict[object, Look]:
    """A look for each value of an option."""
    return dict(zip(keys, looks(map(str, range(len(keys)))).values(), strict=True))


def markers(view: View, look: Mapping[object, Look]) -> list[Line2D]:
    """The legend of markers, with the value of ``by`` that each stands for."""
    return [
        Line2D([], [], color=look[key].colour, marker=look[key].marker, linestyle="", label=name)
        for key, name in zip(look, names(view.by, list(look)), strict=False)
    ]


def beside(column: str | None, values: Sequence[object], style: Style) -> list[str]:
    """Names at the ends of lines, broken so that enough space is left for the curves."""
    room = _SHARE * style.size[0] * (0.7 if style.medium.widths[0] > 5 else 1)
    return [wrapped(name, room, style.medium.small) for name in names(column, values)]


def multiples(
    view: View,
    style: Style,
    *,
    x_label: str,
    y_label: str,
    height: float,
    right: float = 0.0,
    left: float = 0.0,
) -> Multiples:
    """Panels in rows, ``height`` inches each, with room for names at their sides.

    ``left`` is space needed once per row, ``right`` space needed by each panel. Titles are the
    values of the option.
    """
    count, width, medium = len(view.panes), style.size[0], style.medium
    least = _LEAST * medium.text / 72 + right
    columns = max(1, min(COLUMNS, count, int((width - left) / least)))
    # Rows have equal length: four panels become two rows of two.
    rows = math.ceil(count / columns)
    columns = math.ceil(count / rows)
    each = (width - left) / columns
    under = 3.4 * medium.text / 72
    titles = titles_of(view, each - 0.1, medium.text)
    above = max((1.25 * (title.count("\n") + 1) for title in titles if title), default=0)
    tall = rows * (height + above * medium.text / 72) + under
    figure = new_figure(width, tall)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    panels = []
    for index, axes in enumerate(grid.flat):
        if index >= count:
            axes.remove()
            continue
        axes.set_title(titles[index])
        if index + columns >= count:
            axes.set_xlabel(wrapped(x_label, 0.95 * (each - right), medium.text))
            axes.tick_params(axis="x", labelbottom=True)
        if rows == 1 and index == 0:
            axes.set_ylabel(wrapped(y_label, 0.9 * height, medium.text))
        panels.append((view.panes[index], axes))
    if rows > 1:
        figure.supylabel(y_label, size=medium.text)
    return Multiples(figure, tuple(panels), each)


def titles_of(view: View, room: float, points: float) -> list[str]:
    """The titles of panels; empty for a single panel."""
    if view.panels is None:
        return [""] * len(view.panes)
    heads = names(view.panels, [pane.at for pane in view.panes])
    if view.panels not in ("workload", "experiment"):
        what = label(view.panels).removesuffix(" (%)")
        heads = [f"{what} {name}" for name in heads]
    return [wrapped(head, room, points) for head in heads]


def widest(labels: Sequence[str], points: float) -> float:
    """The width in inches of the widest label."""
    return max((text_width(label, points) for label in labels), default=0.0)


def configurations(view: View, points: Sequence[Point], by: Sequence[object]) -> list[str]:
    """Names of points: the options in which they differ, or else the value of ``by``."""
    options = list(points[0].at or {}) if points else []
    columns = {
        name: texts(name, [(point.at or {}).get(name) for point in points]) for name in options
    }
    if not options:
        return names(view.by, by)
    return [
        literal(", ".join(columns[name][index] for name in options)) for index in range(len(points))
    ]
