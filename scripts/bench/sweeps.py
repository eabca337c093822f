"""Measures the costs of grids beyond their simulations: cells of a sweep, and queries.

    .venv/bin/python scripts/bench/sweeps.py [CELLS] [RESULTS]

The first figure is the CPU time of ``flashgc sweep`` for each of CELLS tiny cells (10,000), with
their simulations. The second figure is that of the repeated command, which finds all results. Then
RESULTS results (1,000,000) are put into a file, and the longest of four queries is timed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import flashgc
from flashgc.store import Kept, Store
from flashgc.store.query import conditions

GRID = """\
[drive]
blocks = 32
pages_per_block = 16
spare = "30%"
[run]
writes = "2x"
seed = {{ from = 1, to = {}, step = 1 }}
"""
QUERIES = (
    ["victim=greedy", "spare<2%", "workload=trace7"],
    ["seed=3", "spare<2%"],
    ["write_amplification<1.0001"],
    ["workload=trace7", "victim=fifo"],
)
#: The number of results that are inserted in one transaction.
_TOGETHER = 10_000


def swept(folder: Path, cells: int) -> float:
    """The command's CPU time per cell, in milliseconds."""
    (folder / "grid.toml").write_text(GRID.format(cells))
    flashgc_ = shutil.which("flashgc", path=os.path.dirname(sys.executable)) or "flashgc"
    before = os.times()
    subprocess.run([flashgc_, "sweep", "grid.toml", "--quiet", "--json"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    after = os.times()
    used = after.children_user + after.children_system
    return (used - before.children_user - before.children_system) / cells * 1e3


def fill(path: Path, results: int) -> None:
    """Makes a file with results of 50 traces, 3 policies, 97 spare factors and 10 seeds."""
    document = flashgc.run(blocks=32, pages_per_block=16, spare="30%", writes="2x").to_dict()
    with Store(path) as store:
        for begin in range(0, results, _TOGETHER):
            with store.together():
                for number in range(begin, min(begin + _TOGETHER, results)):
                    config = {
                        "workload": f"trace{number % 50}", "spare": 0.01 + number % 97 / 200,
                        "victim": ("greedy:ties=latest", "fifo", "cost-benefit")[number % 3],
                        "seed": number % 10,
                    }  # fmt: skip
                    figure = 1 + number / results
                    row = {**document, "config": config, "write_amplification": figure}
                    store.put(f"{number:032x}", Kept("result", config, row), "bench")


def main() -> None:
    """Prints a line for each figure."""
    cells = int(sys.argv[1]) if sys.argv[1:] else 10_000
    results = int(sys.argv[2]) if sys.argv[2:] else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"a cell, run    {swept(folder, cells):.2f} ms of CPU time, {cells} cells")
        print(f"a cell, found  {swept(folder, cells):.2f} ms of CPU time", flush=True)
        fill(folder / "large.results", results)
        with Store(folder / "large.results") as store:
            print(f"a result       {(folder / 'large.results').stat().st_size / results:.0f} bytes")
            for texts in QUERIES:
                begun = time.perf_counter()
                count = len(store.rows(conditions(texts)))
                seconds = time.perf_counter() - begun
                print(f"a query        {seconds:.3f} s, {count} of {results}: {' '.join(texts)}")


if __name__ == "__main__":
    main()
