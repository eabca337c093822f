"""Draws gaps.svg: what predictors with errors reach on five public traces.

    PYTHONPATH=scripts/docs .venv/bin/python docs/figures/gaps.py

`make docs` does so, and a test fails where the figure is stale.
"""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

import gap_tables
from flashgc import plot
from flashgc.plot.labels import EndLabel, at_the_right
from flashgc.plot.look import COLOURS, INK, SOFT_INK, drawing, new_figure
from flashgc.studies.gaps.outcome import Gap

HERE = Path(__file__).parent
FIGURE = HERE / "gaps.svg"
RESULTS = HERE.parent / "results" / gap_tables.FILE
KINDS = {"write": ("an error a page", COLOURS[0], "o"), "request": ("a request", COLOURS[1], "s")}


def draw(found: Sequence[Gap]) -> Figure:
    """A panel a trace: write amplification over the error of the predictor."""
    with drawing() as style:
        width, height = style.size
        columns = 2
        lines = -(-len(found) // columns)
        figure = new_figure(1.35 * width, 0.72 * height * lines)
        panels = figure.subplots(lines, columns, squeeze=False).flatten()
        for axes, one in zip(panels, found, strict=False):
            _panel(axes, one, style.medium.small)
        for axes in panels[len(found) :]:
            axes.set_visible(False)
    return figure


def _panel(axes: Axes, one: Gap, small: float) -> None:
    names = ["knows all"]
    labels = []
    knows = one.clairvoyance
    for errors, (label, colour, marker) in KINDS.items():
        rows = sorted(one.predictors(errors), key=lambda row: row.sigma or 0.0)
        if knows is None or not rows:
            continue
        names = ["knows\nall", *(f"{row.sigma:g}" for row in rows)]
        figures = [row.write_amplification or 0.0 for row in (knows, *rows)]
        axes.plot(range(len(figures)), figures, color=colour, marker=marker)
        labels.append(EndLabel(label, figures[-1], colour))
    greedy = next(row for row in one.online if row.name == "greedy")
    best = one.best
    shown = {best.name: best, greedy.name: greedy}
    for row in shown.values():
        figure = row.write_amplification or 0.0
        axes.axhline(figure, color=SOFT_INK, linestyle="--", linewidth=1)
        labels.append(EndLabel(row.name.replace(" + ", "\n+ "), figure, INK))
    axes.set_ylim(bottom=1)
    axes.set_xticks(range(len(names)), names)
    axes.set_xlabel("error of the predictor, sigma")
    axes.set_ylabel("write amplification")
    axes.set_title(one.workload)
    at_the_right(axes, labels, small)


if __name__ == "__main__":
    plot.save(draw(gap_tables.gaps(RESULTS)), FIGURE)
