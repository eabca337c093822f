"""Measures the models' time from Python: grids of a million points, and single points.

    .venv/bin/python scripts/bench/models.py

Every grid has one million points on one core, unless it says otherwise; each figure is the best of
three.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy

from flashgc import model

POINTS = 1_000_000
SPARE = numpy.linspace(0.01, 0.5, POINTS)
PAGES = numpy.tile(numpy.arange(4, 504), POINTS // 500)
HOT = numpy.linspace(0.01, 0.99, POINTS)


def grid(name: str, **parameters: Any) -> Callable[[], object]:
    """Returns a function that computes a model's write amplification on one core."""
    return lambda: model.write_amplification(name, jobs=1, **parameters)


def one(name: str, **parameters: Any) -> Callable[[], object]:
    """Returns a function that computes all figures of a model at one point."""
    return lambda: model.evaluate(name, **parameters)


GRIDS = {
    "random, over spare": grid("random", spare=SPARE),
    "fifo, over spare": grid("fifo", spare=SPARE),
    "fifo, hot/cold, over f": grid("fifo", f=HOT, r=0.8),
    "greedy, over spare": grid("greedy", spare=SPARE),
    "greedy, over spare and pages a block": grid("greedy", spare=SPARE, pages_per_block=PAGES),
    "desnoyers, hot/cold, over spare": grid("desnoyers", spare=SPARE, f=0.2, r=0.8),
    "separation, greedy, over spare": grid("separation", spare=SPARE, f=0.2, r=0.8),
    "separation, fifo, 10 000 points": grid(
        "separation", spare=SPARE[::100], f=0.2, r=0.8, cleaner="fifo"
    ),
    "windowed, 10 000 points": grid("windowed", spare=SPARE[::100], window=0.05),
    "meanfield, d=10, 1000 points": grid("meanfield", spare=SPARE[::1000]),
}

ANSWERS = {
    "fifo, zipf": one("fifo", workload="zipf:theta=0.99"),
    "separation, zipf, fifo": one("separation", workload="zipf:theta=0.99", cleaner="fifo"),
    "meanfield, b=64, d=10": one("meanfield"),
    "meanfield, b=64, d=10, c=50": one("meanfield", c=50),
    "meanfield, b=1024, d=1000, c=64": one("meanfield", pages_per_block=1024, d=1000, c=64),
    "meanfield, hot/cold, one frontier": one("meanfield", f=0.2, r=0.8),
    "meanfield, hot/cold, two frontiers": one("meanfield", f=0.2, r=0.8, frontier="double"),
    "spare for WA 3, greedy": lambda: model.spare_for("greedy", 3.0),
    "spare for WA 3, meanfield, c=1": lambda: model.spare_for("meanfield", 3.0, c=1),
    "d within 1%, c=1": lambda: model.choices_within(0.01, c=1),
    "course of 10 drive writes": model.transient,
}


def fastest(work: Callable[[], object]) -> float:
    """The least time of three runs, in seconds."""
    took = []
    for _ in range(3):
        begin = time.perf_counter()
        work()
        took.append(time.perf_counter() - begin)
    return min(took)


def main() -> None:
    """Prints the tables."""
    print(f"{'grid on one core':42}{'seconds':>10}")
    for name, work in GRIDS.items():
        print(f"{name:42}{fastest(work):10.3f}", flush=True)
    print()
    print(f"{'one answer':42}{'ms':>10}")
    for name, work in ANSWERS.items():
        print(f"{name:42}{1000 * fastest(work):10.2f}", flush=True)


if __name__ == "__main__":
    main()
