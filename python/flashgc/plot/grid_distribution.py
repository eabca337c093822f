"""The distribution of a figure over rows, such as the volumes of a fleet."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from flashgc.plot.grid_lines import caption, groups
from flashgc.plot.labels import header
from flashgc.plot.look import Style
from flashgc.plot.multiples import beside, looks_of, multiples
from flashgc.plot.placing import Label, place
from flashgc.plot.scales import fit
from flashgc.plot.series import Numbers
from flashgc.reports.view import Line, View
from flashgc.reports.wording import label, scaled

#: Shares that are marked on each curve, and their markers.
MARKED = {0.5: "o", 0.95: "D"}
#: The maximum number of lines whose names are on the curves; with more, a legend has the names.
_DIRECT = 6
#: Shares at which a name may be placed, the best first.
_NAMED_AT = (0.35, 0.65, 0.8, 0.2, 0.9, 0.1)


def distribution(view: View, style: Style, title: str | None) -> Figure:
    """Draws the share of rows up to each value, with the median and the 95th percentile."""
    medium, keys = style.medium, groups(view)
    look = looks_of(keys)
    shown = dict(zip(keys, beside(view.by, keys, style), strict=False))
    layout = multiples(
        view,
        style,
        x_label=label(view.x),
        y_label="share of rows (%)",
        height=style.size[1] - 0.6 if len(view.panes) == 1 else 0.6 * style.size[1],
        left=0.5,
    )
    for pane, axes in layout.panels:
        for line in pane.lines:
            if not line.points:
                continue
            curve = steps(view, line)
            its = look[line.by]
            axes.plot(curve[:, 0], curve[:, 1], color=its.colour, linestyle=its.dash)
            for share, marker in MARKED.items():
                axes.plot(
                    scaled(view.x, quantile(line, share)), 100 * share, marker,
                    color=its.colour, markeredgecolor="white", markeredgewidth=0.8,
                    markersize=1.15 * medium.marker, zorder=3,
                )  # fmt: skip
    values = [scaled(view.x, p.x) for pane in view.panes for li in pane.lines for p in li.points]
    first = layout.panels[0][1]
    fit(first, "x", view.x, values, min(8, max(3, 72 * layout.width / medium.small / 6)))
    first.set_ylim(0, 102)
    first.set_yticks([0, 25, 50, 75, 95], ["0", "25", "50", "75", "95"])
    direct = view.by is not None and len(keys) <= _DIRECT
    handles = [
        Line2D([], [], color=look[key].colour, linestyle=look[key].dash, label=shown[key])
        for key in keys
        if view.by is not None and not direct
    ]
    parts = [caption(view, "lines", ""), "circle: median; diamond: 95th percentile", _counted(view)]
    header(layout.figure, style, title, [handles], "; ".join(part for part in parts if part))
    layout.figure.draw_without_rendering()
    for pane, axes in layout.panels:
        known = [line for line in pane.lines if line.points]
        taken = [steps(view, line) for line in known]
        labels = [
            Label(shown[line.by], _anchors(view, line, known), look[line.by].colour)
            for line in known
            if direct
        ]
        place(axes, labels, medium.small, taken)
    return layout.figure


def steps(view: View, line: Line) -> Numbers:
    """The empirical distribution as corners of steps, with a rise at each value; shares in %."""
    pairs, share = [], 0.0
    for point in line.points:
        assert point.y is not None
        x = scaled(view.x, point.x)
        pairs += [(x, 100 * share), (x, 100 * point.y)]
        share = point.y
    return np.array(pairs)


def quantile(line: Line, share: float) -> float:
    """The quantile: the least value such that at least ``share`` of the values are not above it."""
    at = math.ceil(share * len(line.points) - 1e-9) - 1
    return float(line.points[max(at, 0)].x)


def _anchors(view: View, line: Line, lines: list[Line]) -> list[tuple[float, float]]:
    """Positions on a curve for its name; those far from other curves come first."""

    def crowd(share: float) -> float:
        own = quantile(line, share)
        others = (quantile(other, share) for other in lines if other is not line)
        return -min((abs(other - own) for other in others), default=0.0)

    shares = sorted(_NAMED_AT, key=crowd)
    return [(scaled(view.x, quantile(line, share)), 100 * share) for share in shares]


def _counted(view: View) -> str:
    """Return a text with the number of rows of each curve."""
    counts = sorted({len(line.points) for pane in view.panes for line in pane.lines})
    several = " to ".join(dict.fromkeys([str(counts[0]), str(counts[-1])]))
    return f"{several} rows a line"
