"""Random inputs on which a sentence might be false: tiny, short, tied, read-only, overloaded."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

Given = dict[str, Any]

VICTIMS = ("greedy", "fifo", "random", "d-choices:d=3", "cost-benefit", "greedy:ties=lowest")
WORKLOADS = (
    "uniform",
    "uniform:read=1",
    "uniform:trim=1",
    "uniform:read=0.5",
    "uniform:trim=0.3",
    "sequential",
    "hotcold:f=0.1,r=0.9",
    "zipf:theta=0.9",
    "uniform:read=0.999",
)
#: The head of the normalised CSV.
HEADER = "time_us,op,offset_bytes,size_bytes,dev"
LENGTHS = ("1", "7", "50", "0.05x", "0.5x", "1x", "4x", "20x")
WARMUPS = ("0", "1", "30", "1/3", "0.5x", "2x", "10x", "auto")


def trace(draw: random.Random, folder: Path, number: int) -> str:
    """Write a small trace, and return its path."""
    pages = draw.choice((60, 300, 2000))
    largest = draw.choice((1, 1, 8, 64))
    lines = []
    for at in range(draw.choice((3, 100, 3000))):
        size = min(draw.randint(1, largest), pages)
        kind = draw.choices("WRD", (6, draw.choice((0, 3, 60)), draw.choice((0, 1))))[0]
        first = draw.randrange(pages - size + 1)
        lines.append(f"{at},{kind},{first * 4096},{size * 4096},0")
    path = folder / f"{number}.csv"
    path.write_text("\n".join([HEADER, *lines]) + "\n")
    return str(path)


def given(draw: random.Random, folder: Path, number: int) -> Given:
    """Random options of a run, mostly of a counting drive."""
    options: Given = {
        "pages_per_block": draw.choice((4, 16, 64)),
        "spare": draw.choice((0.07, 0.15, 0.28)),
        "victim": draw.choice(VICTIMS),
        "seed": draw.randrange(1 << 30),
        "runs": draw.choice((1, 1, 1, 2, 5)),
        "jobs": 1,
    }
    if draw.random() < 0.2:
        options["workload"] = trace(draw, folder, number)
        options["passes"] = draw.choice((1, 2, 15, 40))
    else:
        options["workload"] = draw.choice(WORKLOADS)
        options["blocks"] = draw.choice((8, 20, 63, 64, 200, 800))
        options["writes"] = draw.choice(LENGTHS)
        options["warmup"] = draw.choice(WARMUPS)
    if draw.random() < 0.3:
        options["frontier"] = draw.choice(("double", "pool:low=2", "pool:low=8"))
    if "blocks" in options and draw.random() < 0.25:
        options |= {"kind": "timed", "device": "mlc", "channels": 1, "ways": 1, "dies": 1}
        options |= {"planes": 1, "blocks": draw.choice((100, 400))}
        options |= {"gc_low": draw.choice(("2", "3")), "gc_high": draw.choice(("3", "6"))}
        options |= {"requests": draw.choice((50, 2000, 20_000))}
        options["warmup"] = draw.choice(("0", "0.2x", "2x", "10x", "auto"))
        options["arrivals"] = draw.choice(
            ("closed:threads=1", "closed:threads=32", "poisson:rate=100", "poisson:rate=1e6")
        )
        for name in ("writes", "frontier"):
            options.pop(name, None)
        if draw.random() < 0.3:
            options["write_cache"] = draw.choice((16, 256, 4096))
        if draw.random() < 0.3:
            options |= {"preemption": "suspend", "suspend": f"most={draw.choice((1, 2, 8))}"}
    return options
