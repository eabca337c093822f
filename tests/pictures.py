"""Pictures of every kind, for tests of pictures."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
from matplotlib.figure import Figure

import flashgc
from flashgc import plot
from flashgc.plot.series import Series
from flashgc.studies import plot as studied

SMALL = {"blocks": 200, "pages_per_block": 16, "writes": "4x"}


def curves(groups: int = 3) -> list[Series]:
    """A model's line and a simulation's points for each of several groups."""
    made = []
    for index in range(groups):
        x = np.arange(0, 51)
        y = 4.85 + 0.05 * (index + 1) * (1 + 0.5**x)
        made.append(Series("model", x, y, group=f"d = {5 * 2**index}"))
        made.append(
            Series("simulation", x[::10], y[::10], [0.01] * 6, "points", f"d = {5 * 2**index}")
        )
    return made


def grid_rows() -> list[dict[str, object]]:
    """A grid of two workloads, three policies, three spare factors and two seeds."""
    return [
        {
            "workload": workload, "spare": spare, "victim": victim, "seed": seed,
            "write_amplification": 1 + base / spare / 10 + seed / 50, "wear_cv": spare / base,
        }
        for workload in ("traces/long_name_of_a_volume_1.csv.zst", "hotcold:f=0.2,r=0.8")
        for base, victim in ((2, "greedy"), (2.1, "d-choices:d=3"), (2.9, "cost-benefit"))
        for spare in (0.05, 0.1, 0.2)
        for seed in (1, 2)
    ]  # fmt: skip


def rows_of_many() -> list[dict[str, object]]:
    """Rows of ten lines whose ends nearly coincide."""
    return [
        {"spare": spare, "victim": f"d-choices:d={d}", "write_amplification": 1 + 1 / spare / d}
        for d in range(2, 12)
        for spare in (0.01, 0.1, 0.4)
    ]


@cache
def pictures(medium: str = "screen") -> dict[str, Figure]:
    """One picture of every kind."""
    with plot.style(medium):  # type: ignore[arg-type]
        return dict(_pictures())


def _pictures() -> Iterator[tuple[str, Figure]]:
    few = plot.against(curves(), x_label="memory $c$", reference_lines={"greedy 4.8213": 4.8213})
    yield "few lines", few
    yield "many lines", plot.against(curves(7), x_label="memory $c$", title="Seven " * 20)
    logarithmic = Series("model", [1, 10, 1000], [9, 6, 4.9])
    yield "logarithmic", plot.against([logarithmic], x_label="choices $d$", x_log=True)
    top, bottom = (plot.Panel(series=curves(), title=f"c + d = {n}") for n in (10, 20))
    yield (
        "stacked",
        plot.panels(
            [top, bottom], x_label="spare factor", y_label="reduction in write amplification (%)"
        ),
    )
    yield "side by side", plot.panels([top, bottom], x_label="spare factor", stacked=False)
    shares = np.arange(65) / (64 * 65 / 2)
    yield "valid pages", plot.valid_pages({"fifo": shares, "greedy": shares[::-1]})
    measured = {"fifo": (shares, np.full(65, 0.002))}
    yield "valid pages, measured", plot.valid_pages({"fifo": shares}, measured=measured)
    yield "run", plot.run(flashgc.run(runs=2, **SMALL))
    frontiers = ["single", "double"]
    victims = ["greedy", "d-choices:d=10,c=1"]
    comparison = flashgc.compare(victims, frontier=frontiers, runs=2, **SMALL)
    yield "comparison", plot.compare(comparison)
    searched = {"victim": victims, "frontier": frontiers, "placement": "none", "budget": 4}
    yield "search", studied.tune(flashgc.tune("uniform", runs=2, **searched, **SMALL))
    rows = grid_rows()
    yield "grid", plot.grid(rows)
    yield "grid of many", plot.grid(rows_of_many())
    yield "grid in panels", plot.grid(rows, panels="workload", title="Panels")
    yield "grid in rows", plot.grid(rows, x="victim", by="spare", panels="workload")
    yield "front", plot.grid(rows, kind="pareto", y="wear_cv", panels="workload")
    yield "heat map", plot.grid(rows, kind="heatmap")
    yield "distribution", plot.grid(rows, kind="distribution", by="workload")
    foreseen = flashgc.gap(
        "hotcold", runs=2, schemes=["sepbit-cb"], sigma=[1, 2], classes=8, **SMALL
    )
    yield "gap", studied.gap(foreseen)
    mortal = {"endurance": 20, "until": "system-failure", "spare": 0.15, "frontier": "pool:low=10"}
    lives = flashgc.compare(victims, blocks=200, pages_per_block=16, runs=2, **mortal)
    for name, draw in (
        ("histogram", plot.wear_histogram),
        ("evolution", plot.wear_evolution),
        ("survival", plot.survival),
    ):
        yield name, draw(lives.best)
        yield f"{name} of several", draw(lives)
    results = {s: flashgc.run(victim="random", spare=s, runs=2, **SMALL) for s in (0.1, 0.2)}
    model = {0.1: 10.0, 0.15: 1 / 0.15, 0.2: 5.0}
    yield "beside", plot.model_beside_simulation("spare factor", model, results)
