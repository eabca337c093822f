"""Pictures of Van Houdt's Tables 4 and 5: each trace against memory, beside the printed cells."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from flashgc_papers.claims import Claim
from flashgc_papers.published import Drawing, Point, marked
from flashgc_papers.reproduce.runner import Figure, Table
from flashgc_papers.reproduce.verdicts import Value

#: The measured value of a trace, a spare factor and a memory; NaN where there is none.
Cells = Callable[[str, float, int], Value]


def table_figure(claim: Claim, measured: Cells, frontiers: str) -> Figure:
    """A panel for each trace: write amplification over c for each spare factor."""
    lines = []
    for name, spare, *published in claim.rows:
        for c, published_cell in enumerate(published):
            value = measured(str(name), float(spare), c)
            lines.append((name, spare, c, value.mean, value.ci95, published_cell))
    columns = ("trace", "S_f", "c", "write amplification", "ci95", "published")
    data = Table(columns, tuple(lines), keys=3)
    caption = f"Write amplification over the blocks in memory, c + d = 10, {frontiers}"
    return Figure(claim.id, caption, data, functools.partial(_draw, data))


def _draw(data: Table) -> Drawing:
    from flashgc import plot

    parts: list[plot.Panel] = []
    points: dict[int, list[Point]] = {}
    for name in dict.fromkeys(line[0] for line in data.rows):
        of_trace = [line for line in data.rows if line[0] == name]
        series = []
        for spare in dict.fromkeys(line[1] for line in of_trace):
            cells = np.array([line[2:] for line in of_trace if line[1] == spare], np.float64)
            if not np.isnan(cells[:, 1]).all():
                label = f"$S_f$ = {float(str(spare)):g}"
                x, y, half = cells[:, :3].T
                series.append(plot.Series(label, x, y, half, kind="both"))
                points.setdefault(len(parts), []).extend(
                    Point(float(c), float(published)) for c, published in cells[:, [0, 3]]
                )
        if series:
            parts.append(plot.Panel(series=series, title=str(name)))
    figure = plot.panels(parts, x_label="$c$, blocks in memory", at_ends=False)
    for axes in figure.axes:
        axes.set_xticks(range(1 + max(int(float(str(line[2]))) for line in data.rows)))
    return marked(figure, points)
