"""A figure as colour over two options."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize, to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from flashgc.plot.grid_lines import caption
from flashgc.plot.labels import header, text_width, wrapped
from flashgc.plot.look import GRID, SOFT_INK, Style, contrast
from flashgc.plot.multiples import multiples, names, widest
from flashgc.plot.scales import WIDE, formatter
from flashgc.plot.series import Numbers
from flashgc.reports.view import Pane, View
from flashgc.reports.wording import label, scaled

#: A perceptually uniform map that looks alike to colour-blind readers (Nuñez, Anderton and Renslow,
#: 2018).
MAP = "cividis"
#: The maximum number of characters of the reason why cells have no result.
_REASON = 160


def heatmap(view: View, style: Style, title: str | None) -> Figure:
    """Draws a cell for each pair of values; a cell without a result is hatched."""
    medium = style.medium
    across = _ordered(view, [point.x for p in view.panes for li in p.lines for point in li.points])
    down = _ordered(view, [line.by for pane in view.panes for line in pane.lines], by=True)
    rows = [wrapped(name, 0.3 * style.size[0], medium.small) for name in names(view.by, down)]
    columns = names(view.x, across)
    tall = max(name.count("\n") + 1 for name in rows)
    row = max(0.9 + 1.25 * tall, 2.2) * medium.small / 72
    left, bar = widest(rows, medium.small) + 0.35, 0.9
    layout = multiples(
        view, style, x_label=_plain_label(view.x), y_label=_plain_label(view.by or ""),
        height=max(row * len(rows), 0.9), left=left + bar,
    )  # fmt: skip
    arrays = [_array(view, pane, across, down) for pane in view.panes]
    values = np.concatenate([array.ravel() for array in arrays])
    norm = _norm(values[~np.isnan(values)])
    cell = (layout.width - 0.15) / len(columns)
    texts, size = _written(view.y, values, medium.small, cell)
    for index, ((_, axes), array) in enumerate(zip(layout.panels, arrays, strict=True)):
        edges = [np.arange(size + 1) - 0.5 for size in array.shape]
        image = axes.pcolormesh(edges[1], edges[0], array, cmap=MAP, norm=norm)
        axes.set(xlim=edges[1][[0, -1]], ylim=edges[0][[-1, 0]])
        own = texts[index * array.size : (index + 1) * array.size]
        _cells(axes, array, norm, own, size)
        axes.set_yticks(range(len(rows)), rows)
        _columns(axes, columns, cell, medium.small)
        axes.tick_params(length=0)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
    colours = layout.figure.colorbar(image, ax=[axes for _, axes in layout.panels], pad=0.02)
    colours.formatter = formatter(view.y, norm.vmax or 0) or colours.formatter
    colours.set_label(wrapped(label(view.y), layout.figure.get_figheight() * 0.8, medium.text))
    colours.outline.set_visible(False)
    # Draw the colour bar as shapes, since the sharpness of an image depends on the resolution.
    assert colours.solids is not None
    colours.solids.set(rasterized=False, edgecolor="face")
    header(layout.figure, style, title, [], _note(view))
    return layout.figure


def _plain_label(name: str) -> str:
    """The label of an axis without a unit, because the names of the cells have the unit."""
    return label(name).removesuffix(" (%)")


def _ordered(view: View, values: list[Any], *, by: bool = False) -> list[Any]:
    distinct_values = list(dict.fromkeys(values))
    numeric = all(isinstance(value, int | float) for value in distinct_values)
    return sorted(distinct_values, reverse=by) if numeric else distinct_values


def _array(view: View, pane: Pane, across: list[Any], down: list[Any]) -> Numbers:
    grid = np.full((len(down), len(across)), np.nan)
    for line in pane.lines:
        for point in line.points:
            if point.y is not None:
                grid[down.index(line.by), across.index(point.x)] = scaled(view.y, point.y)
    return grid


def _norm(values: Numbers) -> Normalize:
    least, most = float(values.min()), float(values.max())
    if least > 0 and most >= WIDE * least:
        return LogNorm(least, most)
    return Normalize(least, most if most > least else least + 1)


def _written(name: str, values: Numbers, points: float, cell: float) -> tuple[list[str], float]:
    """The texts of all cells, and the size of their letters; texts are empty if they do not fit."""
    for digits, size in itertools.product((3, 2), (points, 0.85 * points)):
        texts = [significant(name, value, digits) for value in values]
        if max(text_width(text, size) for text in texts if text) <= 0.88 * cell:
            return texts, size
    return [""] * len(values), points


def significant(name: str, value: float, digits: int) -> str:
    """A number of a column with at least ``digits`` digits, without an exponent.

    >>> significant("erases", 12738, 3), significant("wear_cv", 0.1234, 3)
    ('12738', '0.123')
    >>> significant("erases", 8, 2), significant("host_bytes", 2048, 3)
    ('8.0', '2 KiB')
    """
    if np.isnan(value):
        return ""
    written = formatter(name, abs(value))
    if written is not None:
        return written(value)
    before = 1 if value == 0 else int(np.floor(np.log10(abs(value)))) + 1
    return f"{value:.{max(0, digits - before)}f}"


def _cells(
    axes: Axes, array: Numbers, norm: Normalize, texts: Sequence[str], points: float
) -> None:
    """Draw numbers in cells, and hatching in cells without one."""
    colours = matplotlib.colormaps[MAP]
    for ((row, column), value), text in zip(np.ndenumerate(array), texts, strict=True):
        if np.isnan(value):
            axes.add_patch(
                Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor="white", edgecolor=SOFT_INK,
                          hatch="////", linewidth=0)
            )  # fmt: skip
        elif text:
            # The text is white if white has more contrast than black: the product of both contrasts
            # is 21.
            ink = "white" if contrast(to_hex(colours(norm(value)))) > math.sqrt(21) else "black"
            axes.text(column, row, text, ha="center", va="center", size=points, color=ink)
    for edge in np.arange(array.shape[1] - 1) + 0.5:
        axes.axvline(edge, color=GRID, linewidth=0.5)
    for edge in np.arange(array.shape[0] - 1) + 0.5:
        axes.axhline(edge, color=GRID, linewidth=0.5)


def _columns(axes: Axes, columns: list[str], cell: float, points: float) -> None:
    """Write the names below the columns, rotated if they are wide."""
    wide = max(text_width(name, points) for name in columns) > 0.9 * cell
    axes.set_xticks(range(len(columns)), columns)
    if wide:
        axes.tick_params(axis="x", labelrotation=45)
        for text in axes.get_xticklabels():
            text.set(ha="right", va="top", rotation_mode="anchor")


def _note(view: View) -> str:
    """Return the note on means, and on the reason for hatched cells."""
    points = [point for pane in view.panes for line in pane.lines for point in line.points]
    parts = [part for part in caption(view, "", "").split("; ") if part.startswith("mean")]
    without = [point for point in points if point.y is None]
    reasons = list(dict.fromkeys(point.reason for point in without if point.reason))
    if _holes(view) or without:
        text = f": {_first(reasons[0])}" if reasons else ""
        more = f" (and {len(reasons) - 1} other reasons)" if len(reasons) > 1 else ""
        parts.append(f"hatched: no result{text}{more}")
    return "; ".join(parts)


def _first(reason: str) -> str:
    short = reason.partition("; hint")[0]
    return short if len(short) <= _REASON else f"{short[:_REASON].rsplit(' ', 1)[0]} ..."


def _holes(view: View) -> bool:
    """True if some pair of values is not in the grid."""
    across = {point.x for pane in view.panes for line in pane.lines for point in line.points}
    keys = {line.by for pane in view.panes for line in pane.lines}
    return any(
        sum(len(line.points) for line in pane.lines) < len(across) * len(keys)
        for pane in view.panes
    )
