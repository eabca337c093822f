"""Words around the axes: title and legend above them, names at the right ends of lines."""

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

#: Inches between the edge of a picture and what is in it, and between title, legend and axes.
PAD = 0.04
#: Distance of lines of text, in sizes of the font.
_LEADING = 1.2


@dataclass(frozen=True)
class EndLabel:
    """A name at the right end of a line."""

    text: str
    #: Height of the line, in data.
    y: float
    colour: str


def wrapped(text: str, inches: float, points: float, weight: str = "normal") -> str:
    r"""``text`` in few lines of at most this many inches and about one length; formulas stay whole.

    >>> wrapped("reduction in write amplification (%)", 1.6, 8)
    'reduction in write\namplification (%)'
    """
    width = text_width(text, points, weight)
    if width <= inches or "$" in text:
        return text
    # Letters differ in width: the average one tells where to begin.
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
    """Return the width of the widest line of a text in letters of this many points, in inches."""
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
    """Puts title, note and legend above everything, and makes the picture higher by as much.

    The legend is one line of all ``blocks`` where there is room, and else each in lines of its own.
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
    """A legend with as few rows as this many inches hold, and rows of about one length."""
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
    """Places nearest to those wanted (least squares) where nothing overlaps, in the same order.

    Both have one element for each thing; a thing of size 2 reaches 1 to both sides of its place.
    Nothing reaches out of ``within``, unless there is too little room in it.

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
    # Less what a stack from 0 would give, places must only not fall: pool until they do not.
    pools: list[list[float]] = []
    for index, low in zip(order, least, strict=True):
        pools.append([wanted[index] - low])
        while len(pools) > 1 and _mean(pools[-2]) > _mean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    levels = [_mean(pool) for pool in pools for _ in pool]
    if within is not None:
        # The best places between bounds are the best ones, cut off there.
        bottom, top = within[0], within[1] - stacked
        levels = [max(min(level, top), bottom) for level in levels]
    placed = [0.0] * len(wanted)
    for index, low, level in zip(order, least, levels, strict=True):
        placed[index] = level + low
    return placed


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def figure_of(axes: Axes) -> Figure:
    """The picture that axes are in."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return figure


def displacements(
    axes: Axes, labels: Sequence[tuple[float, int]], points: float, *, inside: bool = False
) -> list[float]:
    """By how many points each label must move so that none overlaps another.

    A label is its height in data and its number of lines, of letters of this many points. With
    ``inside`` none is higher or lower than the axes, if there is room. The picture must have been
    laid out.
    """
    scale = 72 / figure_of(axes).dpi
    wanted = [float(axes.transData.transform((1, y))[1]) * scale for y, _ in labels]
    box = axes.get_window_extent()
    within = (box.y0 * scale, box.y1 * scale) if inside else None
    placed = spread(wanted, [_LEADING * points * lines for _, lines in labels], within)
    return [place - want for place, want in zip(placed, wanted, strict=True)]


def at_the_right(axes: Axes, labels: Sequence[EndLabel], points: float) -> None:
    """Writes each label to the right of the axes, at its height or as near as others let it."""
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


#: Points between axes and labels that lines lead to.
_LEAD = 15


def led_to(axes: Axes, labels: Sequence[EndLabel], ends: Sequence[float], points: float) -> None:
    """Writes each label to the right of the axes, with a thin line to where its curve ends.

    ``ends`` are where, on the horizontal axis. No label is higher or lower than the axes, if there
    is room.
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
    """Places right of the axes, this many points above heights in data."""
    return offset_copy(axes.get_yaxis_transform(), figure_of(axes), x=_LEAD, y=up, units="points")
