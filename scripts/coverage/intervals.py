"""The share of intervals of steady results that hold the truth: ``make coverage``.

Every victim policy and placement runs on seven workloads and three drives, with the default length
and many seeds. The truth of a cell is the mean of two runs, each 20 times as long as the measured
part of the cell's longest steady run. A cell without a steady run has no truth. A cell's outcomes
are one line of ``coverage/intervals.jsonl``; a stopped campaign goes on after the last
line. ``python -m scripts.coverage.intervals --table`` prints the table of docs/steady.md.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import flashgc
from flashgc import registry

WORKLOADS = (
    "uniform",
    "hotcold:f=0.05,r=0.95",
    "hotcold:f=0.1,r=0.9",
    "hotcold:f=0.2,r=0.8",
    "zipf:theta=0.8",
    "zipf:theta=0.99",
    "zipf:theta=1.2",
)

#: Frontier and spare factor. Placements take blocks from a pool.
DRIVES = (("pool", "15%"), ("mixed", "25%"), ("single", "10%"))
DRIVES_OF_PLACEMENTS = (("pool", "15%"), ("pool", "25%"), ("pool:low=6", "10%"))

#: Blocks, and pages per block.
SMALL = (300, 32)
LARGE = (1000, 64)

#: Policies that need streams, hints, or knowledge of future writes.
LEFT_OUT = ("fdp", "oracle", "z-greedy", "z-cost-benefit", "fixed")


def schemes() -> Iterator[tuple[str, str]]:
    """Yields every victim policy alone, and every placement with two victim policies."""
    for victim in registry.policies():
        if victim.name not in LEFT_OUT:
            yield victim.name, "none"
    for placement in registry.placements():
        if placement.name not in (*LEFT_OUT, "none"):
            yield "cost-benefit", placement.name
            yield "greedy", placement.name


Cell = tuple[str, str, str, str, str, int, int]


def cells(which: str) -> list[Cell]:
    """The cells: victim, placement, workload, frontier, spare, blocks, pages per block."""
    listed = []
    for victim, placement in schemes():
        for workload in WORKLOADS:
            drives = DRIVES if placement == "none" else DRIVES_OF_PLACEMENTS
            for frontier, spare in drives if which == "small" else drives[:1]:
                size = SMALL if which == "small" else LARGE
                listed.append((victim, placement, workload, frontier, spare, *size))
    return listed


def options(cell: Cell) -> dict[str, Any]:
    """The options of a cell."""
    names = ("victim", "placement", "workload", "frontier", "spare", "blocks", "pages_per_block")
    return dict(zip(names, cell, strict=True))


def outcome(cell: Cell, seeds: int, times: int = 20) -> dict[str, Any]:
    """The results of a cell with default lengths for each seed, and its truth."""
    began = time.process_time()
    given = options(cell)
    outcomes, longest = [], 0
    for seed in range(1, seeds + 1):
        result = flashgc.run(**given, seed=seed, runs=1)
        half = result.write_amplification_ci95
        outcomes.append((result.write_amplification, half, result.steady))
        if result.steady:
            longest = max(longest, 2 * result.host_pages)
    spent = time.process_time() - began
    common = {"cell": cell, "found": outcomes, "writes": longest, "seconds": spent / seeds}
    if longest == 0:
        return {**common, "truth": None}
    # The truth: two runs of other seeds, each ``times`` as long as the longest measured part.
    pages = times * longest // 2
    runs = [
        flashgc.run(**given, seed=10_000 + run, runs=1, warmup=longest, writes=pages)
        for run in range(2)
    ]
    halves = [value for run in runs for value in parts(run)]
    return {
        **common,
        "truth": statistics.fmean(run.write_amplification for run in runs),
        # Half the interval of the truth, from the first and second halves of both runs.
        "truth_half": 3.18 * statistics.stdev(halves) / 2,
    }


def parts(run: flashgc.Result) -> list[float]:
    """The write amplification of the two halves of a measured part."""
    values = [value for writes, value in run.series if writes > run.measured_from]
    middle = len(values) // 2
    return [statistics.fmean(values[:middle]), statistics.fmean(values[middle:])]


def campaign(which: str, seeds: int, file: Path, jobs: int, most: int | None = None) -> None:
    """Adds the outcomes of the cells that ``file`` does not have."""
    done = {tuple(line["cell"]) for line in lines(file)}
    due = [cell for cell in cells(which) if cell not in done][:most]
    began = time.monotonic()
    with ProcessPoolExecutor(jobs) as pool, file.open("a") as out:
        waiting = [pool.submit(outcome, cell, seeds) for cell in due]
        for number, future in enumerate(as_completed(waiting), 1):
            out.write(json.dumps(future.result()) + "\n")
            out.flush()
            if sys.stderr.isatty():
                left = (time.monotonic() - began) / number * (len(due) - number)
                print(
                    f"\r{number} of {len(due)} cells, {left / 60:.0f} min left  ",
                    end="",
                    file=sys.stderr,
                )


def lines(file: Path) -> list[dict[str, Any]]:
    """The outcomes in a file."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text().splitlines()]


def counted(outcomes: list[dict[str, Any]]) -> dict[str, list[int]]:
    """Counts results by scheme: all, the steady ones, and of these the wrong and the far ones.

    The half intervals of a result and of the truth are added in squares. A result is wrong if its
    distance from the truth is larger than this sum, and far if it is larger than 3 times the sum.
    """
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for line in outcomes:
        victim, placement = line["cell"][:2]
        name = victim if placement == "none" else f"{victim} + {placement}"
        for value, half, steady in line["found"]:
            row = counts[name]
            row[0] += 1
            if not steady:
                continue
            row[1] += 1
            distance = abs(value - line["truth"])
            row[2] += distance > math.hypot(half, line["truth_half"])
            row[3] += distance > 3 * math.hypot(half, line["truth_half"])
    return counts


def main() -> int:
    """Runs the campaign, or prints its table."""
    parser = argparse.ArgumentParser(description="Counts the intervals that hold the truth.")
    parser.add_argument("which", nargs="?", choices=("small", "large"), default="small")
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--file", type=Path, default=Path("coverage/intervals.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the table of what is there")
    given = parser.parse_args()
    given.file.parent.mkdir(exist_ok=True)
    if not given.table:
        campaign(given.which, given.seeds, given.file, given.jobs)
    rows, bad = table(lines(given.file))
    print("\n".join(rows))
    return 1 if bad else 0


def table(outcomes: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """The table of all outcomes, and the schemes that err too often over all drives."""
    sizes = sorted({tuple(line["cell"][5:]) for line in outcomes})
    by_size = [
        counted([line for line in outcomes if tuple(line["cell"][5:]) == size]) for size in sizes
    ]
    names = sorted({name for counts in by_size for name in counts})
    bad = [
        name
        for name, row in counted(outcomes).items()
        if row[2] > 0.07 * row[1] or row[3] > 0.02 * row[1]
    ]
    heads = [f"{blocks} blocks of {pages}: steady | hold the truth" for blocks, pages in sizes]
    rows = [
        f"| scheme | {' | '.join(heads)} | off by 3 halves |",
        "|---" * (2 * len(sizes) + 2) + "|",
    ]
    rows += [shown(name, [counts.get(name, [0, 0, 0, 0]) for counts in by_size]) for name in names]
    sums = [[sum(column) for column in zip(*counts.values(), strict=True)] for counts in by_size]
    return [*rows, shown("all of these", sums)], bad


def shown(name: str, by_size: list[list[int]]) -> str:
    """A line of the table: the steady results of each size, and the share of true intervals."""
    parts = [
        f"{steady} of {results} | {100 * (1 - missed / steady):.1f}%"
        if steady
        else f"{steady} of {results} | -"
        for results, steady, missed, _ in by_size
    ]
    return f"| {name} | {' | '.join(parts)} | {sum(row[3] for row in by_size)} |"


if __name__ == "__main__":
    sys.exit(main())
