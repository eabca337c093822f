"""Labels among points: each at the nearest free position to its point."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.transforms import Bbox

from flashgc.plot.labels import figure_of, text_width
from flashgc.plot.look import for_text
from flashgc.plot.series import Numbers

#: Distances in points at which a position is tried, the nearest first.
_DISTANCES = (6, 14, 24, 36, 50, 66, 84)
#: Directions in degrees, the best first: right of a point and above it.
_ANGLES = (35, -35, 145, -145, 0, 90, -90, 180, 60, -60, 120, -120)
#: From this distance in points on, a thin line leads to the label.
_FAR = 10


@dataclass(frozen=True)
class Label:
    """A label, and possible anchor points in data coordinates."""

    text: str
    anchors: Sequence[tuple[float, float]]
    colour: str


def place(axes: Axes, labels: Sequence[Label], points: float, taken: Sequence[Numbers]) -> int:
    """Write labels so that none covers another one or ``taken`` places, if possible.

    ``taken`` has curves and points, as arrays of x and y in data coordinates; a label keeps clear
    of the straight lines between the points of an array. The picture must have its layout. Labels
    without a free position are omitted; their number is returned.
    """
    scale = figure_of(axes).dpi / 72
    box = axes.get_window_extent()
    dots = _dots(axes, taken, 4 * scale)
    used: list[Bbox] = []
    missing = 0
    for label in labels:
        lines = label.text.count("\n") + 1
        width = text_width(label.text, points) * 72 + 0.4 * points
        size = (width * scale, 1.2 * points * lines * scale)
        best = None
        for distance, anchor, angle in itertools.product(_DISTANCES, label.anchors, _ANGLES):
            centre = axes.transData.transform(anchor)
            candidate = _candidate(centre, distance * scale, angle, size)
            if _free(candidate, box, dots, used):
                best = (distance, anchor, angle, candidate)
                break
        if best is None:
            missing += 1
            continue
        distance, anchor, angle, candidate = best
        used.append(candidate)
        centre = axes.transData.transform(anchor)
        middle = (candidate.x0 + candidate.x1) / 2, (candidate.y0 + candidate.y1) / 2
        axes.annotate(
            label.text,
            anchor,
            xytext=((middle[0] - centre[0]) / scale, (middle[1] - centre[1]) / scale),
            textcoords="offset points",
            ha="center",
            va="center",
            size=points,
            color=for_text(label.colour),
            arrowprops=None if distance < _FAR else {
                "arrowstyle": "-", "color": label.colour, "linewidth": 0.6, "shrinkA": 1,
                "shrinkB": 3,
            },
        )  # fmt: skip
    return missing


def _candidate(centre: Numbers, distance: float, angle: float, size: tuple[float, float]) -> Bbox:
    """The box of a text whose nearest side is ``distance`` pixels from the centre."""
    right, up = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    x, y = centre[0] + distance * right, centre[1] + distance * up
    left = x - size[0] / 2 + (size[0] / 2) * _sign(right)
    bottom = y - size[1] / 2 + (size[1] / 2) * _sign(up)
    return Bbox.from_bounds(left, bottom, *size)


def _sign(part: float) -> float:
    return 0.0 if abs(part) < 0.1 else math.copysign(1.0, part)


def _free(box: Bbox, within: Bbox, dots: Numbers, used: Sequence[Bbox]) -> bool:
    if box.x0 < within.x0 or box.x1 > within.x1 or box.y0 < within.y0 or box.y1 > within.y1:
        return False
    if any(box.overlaps(other) for other in used):
        return False
    x, y = dots[:, 0], dots[:, 1]
    return not bool(((box.x0 < x) & (x < box.x1) & (box.y0 < y) & (y < box.y1)).any())


def _dots(axes: Axes, taken: Sequence[Numbers], step: float) -> Numbers:
    """Points along curves, ``step`` pixels apart."""
    points = [np.empty((0, 2))]
    for curve in taken:
        pixels = axes.transData.transform(curve)
        points.append(pixels)
        for start, end in itertools.pairwise(pixels):
            count = int(np.hypot(*(end - start)) / step)
            share = np.linspace(0, 1, count + 2)[1:-1, None]
            points.append(start + share * (end - start))
    return np.concatenate(points)
