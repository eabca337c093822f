"""Draws placement.svg: each scheme's write amplification against greedy's, a dot a workload.

    PYTHONPATH=scripts/docs .venv/bin/python docs/figures/placement.py

`make docs` does so, and a test fails where the figure is stale.
"""

from pathlib import Path
from statistics import median

from matplotlib.figure import Figure

import trace_tables
from flashgc import plot
from flashgc.plot.look import COLOURS, SOFT_INK, drawing, for_text, new_figure

HERE = Path(__file__).parent
FIGURE = HERE / "placement.svg"
RESULTS = HERE.parent / "results" / trace_tables.FILE
#: The largest ratio that has a dot; the others are counted at the right.
MOST = 1.6


def draw(found: trace_tables.Cells) -> Figure:
    """A row a scheme, from the least median to the largest; the oracle is apart."""
    online = sorted(found.online, key=lambda one: median(found.ratios(one).values()))
    rows = [trace_tables.ORACLE, *online]
    with drawing() as style:
        medium = style.medium
        figure = new_figure(style.size[0], 1.75 * medium.text / 72 * len(rows) + 0.9)
        axes = figure.subplots()
        for at, one in enumerate(rows):
            ratios = list(found.ratios(one).values())
            colour = COLOURS[2] if one == trace_tables.ORACLE else COLOURS[0]
            inside = [ratio for ratio in ratios if ratio <= MOST]
            axes.plot(inside, [at] * len(inside), "o", color=colour, alpha=0.3, markersize=4.5)
            beyond = len(ratios) - len(inside)
            if beyond:
                said = f"{beyond} more, to {max(ratios):.1f} →"
                if median(ratios) > MOST:
                    said = f"median {median(ratios):.1f}; {said}"
                axes.annotate(said, (1, at), (-2, 0), xycoords=axes.get_yaxis_transform(),
                              textcoords="offset points", ha="right", va="center",
                              size=0.8 * medium.small, color=for_text(COLOURS[0]))  # fmt: skip
            axes.plot(median(ratios), at, "|", color=COLOURS[1], markersize=13, mew=2.4)
        axes.annotate("median", (median(found.ratios(rows[0]).values()), -0.75), ha="center",
                      va="center", size=medium.small, color=for_text(COLOURS[1]))  # fmt: skip
        axes.axvline(1.0, color=SOFT_INK, linewidth=medium.line, linestyle="--")
        axes.annotate("greedy", (1.0, -0.75), (4, 0), textcoords="offset points", va="center",
                      size=medium.small, color=SOFT_INK)  # fmt: skip
        axes.axhline(0.5, color=SOFT_INK, linewidth=0.6)
        axes.set_yticks(range(len(rows)), [found.name(one) for one in rows])
        axes.set_ylim(len(rows) - 0.4, -1.2)
        axes.set_xlim(right=MOST + 0.8)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("write amplification / that of greedy, a dot a workload, 12.5% spare")
    return figure


if __name__ == "__main__":
    plot.save(draw(trace_tables.cells(RESULTS)), FIGURE)
