"""Whether defaults give what many passes give: ``python scripts/replays.py [TRACE...]``.

Every public trace in the folder FLASHGC_TRACES (or those named) is replayed on three write
frontiers under seven victim policies: as flashgc does unless told otherwise, and 60 times with half
of that as warm-up. Printed for each trace: cells; of these, outside both intervals together (the
half widths added in squares), and outside though called steady; called steady; pairs of cells that
reverse with both differences beyond their intervals; passes of the default, mean.
docs/validation.md has the figures.
"""

from __future__ import annotations

import itertools
import math
import os
import sys
import time
from pathlib import Path

import flashgc

VICTIMS = (
    "greedy", "fifo", "random", "d-choices:d=10", "d-choices:d=9,c=1", "cost-benefit", "cat",
)  # fmt: skip
FRONTIERS = ("single", "double", "pool")
#: Traces with more page writes a pass take longer than minutes.
MOST_PAGE_WRITES = 450_000
#: Fewest blocks of a drive whose block size is then not the default.
FEWEST_BLOCKS = 64

Cell = tuple[float, float, bool, int]


def cells(path: Path, block: int, **course: object) -> dict[tuple[str, str], Cell]:
    """Amplification, half its interval, whether steady, and passes, by policy and frontier."""
    found = flashgc.compare(
        list(VICTIMS), workload=str(path), frontier=list(FRONTIERS), runs=1,
        pages_per_block=block, **course,
    )  # fmt: skip
    made: dict[tuple[str, str], Cell] = {}
    for result in found.results:
        half = result.write_amplification_ci95
        trace = result.trace
        assert trace is not None
        passes = (trace.passes or 0) + (trace.warmup_passes or 0)
        # Before anything is erased the figure is 1, and has no interval.
        spread = 0.0 if half is None and result.erases == 0 else half
        assert spread is not None, (path, result.policy, result.frontier)
        figure = (result.write_amplification, spread, result.steady, passes)
        made[result.policy, result.frontier] = figure
    return made


def apart(one: Cell, other: Cell) -> bool:
    """Whether two figures differ by more than both intervals together."""
    return abs(one[0] - other[0]) > math.hypot(one[1], other[1])


def main(names: list[str]) -> int:
    """Prints a line a trace, every cell that is outside, and the sum.

    Fails where 6% of the cells are outside, where one of them is called steady, or a pair reverses.
    """
    folder = os.environ.get("FLASHGC_TRACES")
    if folder is None:
        print("error: FLASHGC_TRACES does not name the folder of the traces", file=sys.stderr)
        return 2
    paths = sorted(Path(folder).glob("*/*.csv.zst"))
    paths = [path for path in paths if path.parent.name == path.name.removesuffix(".csv.zst")]
    totals = [0, 0, 0, 0, 0, 0]
    heads = "pages a block | cells | outside | outside and steady | steady | reversed | passes"
    print(f"| trace | {heads} |")
    print("|---|---|---|---|---|---|---|---|")
    for path in paths:
        name = path.parent.name
        stat = flashgc.trace_stat(path)
        if name not in names if names else stat.page_writes > MOST_PAGE_WRITES:
            continue
        block = 256
        while block > 4 and stat.pages < FEWEST_BLOCKS * block:
            block //= 2
        began = time.monotonic()
        usual = cells(path, block)
        many = cells(path, block, passes=60, warmup="1/2")
        outside = [key for key in usual if apart(usual[key], many[key])]
        misled = [key for key in outside if usual[key][2]]
        turned = [
            (a, b)
            for a, b in itertools.combinations(usual, 2)
            if (usual[a][0] - usual[b][0]) * (many[a][0] - many[b][0]) < 0
            and apart(usual[a], usual[b])
            and apart(many[a], many[b])
        ]
        steady = sum(cell[2] for cell in usual.values())
        passes = sum(cell[3] for cell in usual.values())
        row = [len(usual), len(outside), len(misled), steady, len(turned), passes]
        totals = [total + one for total, one in zip(totals, row, strict=True)]
        shown = [*row[:5], round(passes / len(usual))]
        print(f"| {name} | {block} | {' | '.join(map(str, shown))} |", flush=True)
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr)
        for key in outside:
            print(f"{name} {key}: {usual[key]}, 60 passes {many[key]}", file=sys.stderr)
        for pair in turned:
            print(f"{name} reversed: {pair}", file=sys.stderr)
    if not totals[0]:
        print("error: no such trace in FLASHGC_TRACES", file=sys.stderr)
        return 2
    print(f"| all | | {' | '.join(map(str, [*totals[:5], round(totals[5] / totals[0])]))} |")
    return int(totals[1] >= 0.06 * totals[0] or totals[2] > 0 or totals[4] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
