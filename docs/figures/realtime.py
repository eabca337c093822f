"""Draws realtime.svg: PostgreSQL on a drive that answers in real time, by victims and preemption.

    PYTHONPATH=scripts/docs .venv/bin/python docs/figures/realtime.py

`make docs` does so, and a test fails where the figure is stale. The rows are in
docs/results/realtime.postgres.csv.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flashgc import plot
from flashgc.plot.look import COLOURS, INK, drawing, new_figure

HERE = Path(__file__).parent
FIGURE = HERE / "realtime.svg"
RESULTS = HERE.parent / "results" / "realtime.postgres.csv"
PANELS = {
    "transactions_per_second": "transactions a second",
    "p99_ms": "99% of the transactions take at most, ms",
}


def draw(rows: Sequence[Mapping[str, str]]) -> Figure:
    """A panel for each figure: a group of bars a preemption, a bar a victim policy.

    A bar is the median of the rounds, and its line goes from the lowest to the highest. The first
    panel names the policies, where the bars have room for it.
    """
    with drawing() as style:
        width, height = style.size
        figure = new_figure(1.35 * width, 0.85 * height)
        for axes, (key, title) in zip(figure.subplots(1, 2), PANELS.items(), strict=True):
            _panel(axes, rows, key, style.medium.small, has_names=key == next(iter(PANELS)))
            axes.set_title(title)
    return figure


def _panel(
    axes: Axes, rows: Sequence[Mapping[str, str]], key: str, small: float, *, has_names: bool
) -> None:
    victims = list(dict.fromkeys(row["victims"] for row in rows))
    preemptions = list(dict.fromkeys(row["preemption"] for row in rows))
    share = 0.8 / len(victims)
    for index, victim in enumerate(victims):
        found = [
            sorted(
                float(row[key])
                for row in rows
                if (row["victims"], row["preemption"]) == (victim, preemption)
            )
            for preemption in preemptions
        ]
        places = [place + (index - (len(victims) - 1) / 2) * share for place in range(len(found))]
        heights = [median(rounds) for rounds in found]
        axes.bar(places, heights, share * 0.92, color=COLOURS[index])
        axes.vlines(places, [one[0] for one in found], [one[-1] for one in found], color=INK)
        for place, height, rounds in zip(places, heights, found, strict=True):
            axes.annotate(
                f"{height:.0f}",
                (place, rounds[-1]),
                (0, 2),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=small,
                color=INK,
            )
        if has_names:
            axes.annotate(
                victim,
                (places[1], 0),
                (0, 5),
                textcoords="offset points",
                rotation=90,
                ha="center",
                va="bottom",
                fontsize=small,
                color="white",
            )
    axes.set_xticks(range(len(preemptions)), preemptions)
    axes.set_xlabel("preemption")
    axes.set_ylim(0, 1.08 * max(float(row[key]) for row in rows))


if __name__ == "__main__":
    with RESULTS.open(encoding="utf-8", newline="") as file:
        plot.save(draw(list(csv.DictReader(file))), FIGURE)
