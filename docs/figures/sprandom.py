"""Draws sprandom.svg: the drive writes that each policy needs after each fill.

    PYTHONPATH=scripts/docs .venv/bin/python docs/figures/sprandom.py

`make docs` does so, and a test fails where the figure is stale.
"""

from pathlib import Path

from matplotlib.figure import Figure

import sprandom_tables as tables
from flashgc import plot
from flashgc.plot.look import COLOURS, SOFT_INK, drawing, for_text, new_figure

HERE = Path(__file__).parent
FIGURE = HERE / "sprandom.svg"
RESULTS = HERE.parent / "results" / tables.FILE
SPARE = "15%"
MARKERS = {"sequential": "s", "random": "^", "steady": "o"}


def draw(found: tables.Rows) -> Figure:
    """A panel a workload, a row a policy, a mark a fill."""
    rows = found.victims
    with drawing() as style:
        small = style.medium.small
        width = style.size[0]
        figure = new_figure(1.6 * width, 1.7 * style.medium.text / 72 * len(rows) + 1.2)
        panels = figure.subplots(1, len(tables.WORKLOADS), sharey=True)
        for axes, (workload, title) in zip(panels, tables.WORKLOADS.items(), strict=True):
            for colour, (fill, marker) in zip(COLOURS, MARKERS.items(), strict=False):
                spots = [
                    (found.after(SPARE, workload, victim, fill), at)
                    for at, victim in enumerate(rows)
                ]
                shown = [(min(after, 10.0), at) for after, at in spots if after is not None]
                axes.plot(*zip(*shown, strict=True), marker, color=colour, markersize=5,
                          alpha=0.85, clip_on=False, label=fill)  # fmt: skip
            for at, victim in enumerate(rows):
                afters = [found.after(SPARE, workload, victim, fill) for fill in MARKERS]
                if None in afters:
                    axes.annotate("chance", (10.0, at), ha="right", va="center",
                                  size=0.8 * small, color=SOFT_INK)  # fmt: skip
            axes.set_xscale("symlog", linthresh=0.5, linscale=0.8)
            axes.set_xlim(0, 10)
            axes.set_xticks([0, 0.5, 1, 2, 5, 10], ["0", ".5", "1", "2", "5", "10"])
            axes.minorticks_off()
            axes.set_title(title)
            axes.tick_params(axis="y", length=0)
            axes.grid(axis="y", visible=True)
        panels[0].set_yticks(range(len(rows)), rows)
        panels[0].set_ylim(len(rows) - 0.5, -0.5)
        panels[2].set_xlabel(
            "drive writes until amplification stays within 2% of its level, 15% more flash"
        )
        for at, (colour, fill) in enumerate(zip(COLOURS, MARKERS, strict=False)):
            panels[0].annotate(f"{fill} {'■▲●'[at]}", (0.97, 0.62 - 0.06 * at),
                               xycoords="axes fraction", ha="right", va="center", size=small,
                               color=for_text(colour))  # fmt: skip
    return figure


if __name__ == "__main__":
    plot.save(draw(tables.rows(RESULTS)), FIGURE)
