"""Texts around the axes: title and legend above them, names at the right ends of lines."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.textpath import TextPath
from matplotlib.transforms import Bbox, Transform, offset_copy

from flashgc.plot.look import SOFT_INK, Style, for_text

#: A sample of a line, of a marker, or of a marker with its interval.
Handle: TypeAlias = Line2D | ErrorbarContainer

#: Inches between the edge of a picture and its contents, and between title, legend and axes.
PAD = 0.04
#: The distance of text lines, as a multiple of the font size.
_LEADING = 1.2


@dataclass(frozen=True)
class EndLabel:
    """A name at the right end of a line."""

    text: str
    #: The height of the line, in data coordinates.
    y: float
    colour: str


def wrapped(text: str, inches: float, points: float, weight: str = "normal") -> str:
    r"""``text`` in few lines of similar length, at most ``inches`` wide; formulas stay whole.

    >>> wrapped("reduction in write amplification (%)", 1.6, 8)
    'reduction in write\namplification (%)'
    """
    width = text_width(text, points, weight)
    if width <= inches or "$" in text:
        return text
    # Letters differ in width, so the search starts from their average.
    letters, lines = int(len(text) * inches / width) + 2, text
    while letters > 8 and text_width(lines, points, weight) > inches:
        lines, letters = textwrap.fill(text, letters), letters - 1
    while letters > 8:
        even = textwrap.fill(text, letters)
        if even.count("\n") > lines.count("\n"):
            break
        lines, letters = even, letters - 1
    return lines


@lru_cache(1000)
def text_width(text: str, points: float, weight: str = "normal") -> float:
    """Return the width in inches of the widest line of a text; ``points`` is the font size."""
    font = FontProperties(weight=weight)
    lines = [line for line in text.split("\n") if line.strip()]
    return max(
        (TextPath((0, 0), line, points, prop=font).get_extents().width / 72 for line in lines),
        default=0,
    )


def header(
    figure: Figure,
    style: Style,
    title: str | None,
    blocks: Sequence[Sequence[Handle]],
    note: str = "",
) -> None:
    """Put title, note and legend above the axes, and increase the picture's height by theirs.

    The legend is one line with all ``blocks`` if they fit; otherwise each block has its own lines.
    """
    width, height = figure.get_size_inches()
    room = width - 2 * PAD
    placed: list[Text | Legend] = []
    if title:
        size = 1.12 * style.medium.text
        lines = wrapped(title, room, size, "bold")
        placed.append(figure.text(0, 0, lines, size=size, weight="bold"))
    if note:
        lines = wrapped(note, room, style.medium.small)
        placed.append(figure.text(0, 0, lines, size=style.medium.small, color=SOFT_INK))
    filled = [block for block in blocks if block]
    if filled:
        together = [handle for block in filled for handle in block]
        line = _legend(figure, together, len(together))
        if _inches(figure, line).width <= room:
            placed.append(line)
        else:
            line.remove()
            placed += [_widest(figure, block, room) for block in filled]
    if not placed:
        return
    added = PAD
    tops = []
    for thing in placed:
        thing.set_in_layout(False)
        tops.append(added)
        added += _inches(figure, thing).height + 2 * PAD
    total = height + added
    figure.set_size_inches(width, total)
    for thing, top in zip(placed, tops, strict=True):
        corner = (PAD / width, 1 - top / total)
        if isinstance(thing, Text):
            thing.set(position=corner, verticalalignment="top")
        else:
            thing.set_bbox_to_anchor(corner, figure.transFigure)
    engine = figure.get_layout_engine()
    assert isinstance(engine, ConstrainedLayoutEngine)
    engine.set(rect=(0, 0, 1, height / total))


def _legend(figure: Figure, handles: Sequence[Handle], columns: int) -> Legend:
    return figure.legend(handles=list(handles), loc="upper left", ncols=columns)


def _widest(figure: Figure, handles: Sequence[Handle], room: float) -> Legend:
    """A legend at most ``room`` inches wide, with few rows of about equal length."""
    for rows in range(1, len(handles)):
        legend = _legend(figure, handles, math.ceil(len(handles) / rows))
        if _inches(figure, legend).width <= room:
            return legend
        legend.remove()
    return _legend(figure, handles, 1)


def _inches(figure: Figure, thing: Text | Legend) -> Bbox:
    return Bbox(thing.get_window_extent().get_points() / figure.dpi)


def spread(
    wanted: Sequence[float], sizes: Sequence[float], within: tuple[float, float] | None = None
) -> list[float]:
    """Positions without overlap, nearest to the wanted ones (least squares), in the same order.

    Both arguments have one element per object; an object of size 2 reaches 1 to both sides of its
    position. All objects stay ``within`` the bounds if they fit.

    >>> spread([5, 1, 1.5], [1, 1, 1])
    [5.0, 0.75, 1.75]
    >>> spread([5, 1, 1.5], [1, 1, 1], (1, 5))
    [4.5, 1.5, 2.5]
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    stacked, least = 0.0, []
    for index in order:
        least.append(stacked + sizes[index] / 2)
        stacked += sizes[index]
    # Subtract from each wanted position the position in a stack without gaps that starts at 0.
    # Objects do not overlap if these differences never decrease. So join neighbours into pools
    # until the means of the pools never decrease (isotonic regression).
    pools: list[list[float]] = []
    for index, low in zip(order, least, strict=True):
        pools.append([wanted[index] - low])
        while len(pools) > 1 and _mean(pools[-2]) > _mean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    levels = [_mean(pool) for pool in pools for _ in pool]
    if within is not None:
        # Clipping the best positions to the bounds gives the best positions within the bounds.
        bottom, top = within[0], within[1] - stacked
        levels = [max(min(level, top), bottom) for level in levels]
    placed = [0.0] * len(wanted)
    for index, low, level in zip(order, least, levels, strict=True):
        placed[index] = level + low
    return placed


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def figure_of(axes: Axes) -> Figure:
    """The figure that contains the axes."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return figure


def displacements(
    axes: Axes, labels: Sequence[tuple[float, int]], points: float, *, inside: bool = False
) -> list[float]:
    """The distances in points by which the labels must move so that no two overlap.

    A label is given by its height in data coordinates and its number of lines; the font size is in
    points. With ``inside``, labels stay within the height of the axes if they fit. The picture must
    have its layout.
    """
    scale = 72 / figure_of(axes).dpi
    wanted = [float(axes.transData.transform((1, y))[1]) * scale for y, _ in labels]
    box = axes.get_window_extent()
    within = (box.y0 * scale, box.y1 * scale) if inside else None
    placed = spread(wanted, [_LEADING * points * lines for _, lines in labels], within)
    return [place - want for place, want in zip(placed, wanted, strict=True)]


def at_the_right(axes: Axes, labels: Sequence[EndLabel], points: float) -> None:
    """Write each label to the right of the axes, as near to its height as other labels permit."""
    if not labels:
        return
    texts = [
        axes.annotate(
            label.text,
            (1, label.y),
            xycoords=axes.get_yaxis_transform(),
            xytext=(4, 0),
            textcoords="offset points",
            size=points,
            color=for_text(label.colour),
            va="center",
            annotation_clip=False,
        )
        for label in labels
    ]
    figure_of(axes).draw_without_rendering()
    tall = [(label.y, label.text.count("\n") + 1) for label in labels]
    for text, move in zip(texts, displacements(axes, tall, points), strict=True):
        text.xyann = (4, move)


#: Points between the axes and labels with leader lines.
_LEAD = 15


def led_to(axes: Axes, labels: Sequence[EndLabel], ends: Sequence[float], points: float) -> None:
    """Write each label to the right of the axes, with a thin leader line to the end of its curve.

    ``ends`` are the horizontal positions of the curves' ends. If all labels fit, none is above or
    below the axes.
    """
    texts = []
    for label, end in zip(labels, ends, strict=True):
        texts.append(
            axes.annotate(
                label.text,
                (end, label.y),
                xytext=(1, label.y),
                textcoords=_beside(axes, 0),
                size=points,
                color=for_text(label.colour),
                va="center",
                annotation_clip=False,
                arrowprops={
                    "arrowstyle": "-",
                    "color": label.colour,
                    "linewidth": 0.6,
                    "shrinkA": 2,
                    "shrinkB": 3,
                    "relpos": (0, 0.5),
                    "patchA": None,
                },
            )
        )
    figure_of(axes).draw_without_rendering()
    tall = [(label.y, label.text.count("\n") + 1) for label in labels]
    moves = displacements(axes, tall, points, inside=True)
    for text, move in zip(texts, moves, strict=True):
        text.anncoords = _beside(axes, move)


def _beside(axes: Axes, up: float) -> Transform:
    """A transform to the right of the axes, ``up`` points above a height in data coordinates."""
    return offset_copy(axes.get_yaxis_transform(), figure_of(axes), x=_LEAD, y=up, units="points")
