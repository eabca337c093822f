"""What a placement costs when it is written in Python: the same rules built in, by page, in arrays.

    .venv/bin/python scripts/bench/python_placements.py [BLOCKS]

Each figure is CPU time of the command ``flashgc run`` for a page program: what a run of 20 drive
writes takes more than one of 2, so that start and first contents are left out. All take turns on
one core, three times; the figure is the median. ``cost-benefit``, 128 pages a block,
``hotcold:f=0.1,r=0.9``.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).resolve().parents[2] / "tests" / "placements_in_python.py"
#: A rule built in, and classes that are the same rule, or nearly.
RULES = {
    "dac": ("Dac", "DacTable"),
    "sepbit": ("SepBit", "SepBitSeldom"),
}
SHORT, LONG, TURNS = 2, 20, 3


def worked(placement: str, writes: int, blocks: int) -> tuple[float, int]:
    """Seconds of CPU time and page programs of one run."""
    command = [
        shutil.which("flashgc", path=os.path.dirname(sys.executable)) or "flashgc", "run", "--json",
        "--victim", "cost-benefit", "--placement", placement, "--frontier", "pool:low=1",
        "--blocks", str(blocks), "--pages-per-block", "128", "--spare", "12.5%",
        "--workload", "hotcold:f=0.1,r=0.9", "--writes", f"{writes}x", "--warmup", "0",
        "--runs", "1", "--jobs", "1",
    ]  # fmt: skip
    before = os.times()
    made = subprocess.run(command, capture_output=True, check=True)
    after = os.times()
    seconds = after.children_user + after.children_system
    seconds -= before.children_user + before.children_system
    counted = json.loads(made.stdout)
    return seconds, counted["host_pages"] + counted["copied_pages"]


def cost(placement: str, blocks: int) -> float:
    """Microseconds of CPU time for a page program."""
    short, fewer = worked(placement, SHORT, blocks)
    long, more = worked(placement, LONG, blocks)
    return (long - short) / (more - fewer) * 1e6


def main() -> None:
    """Prints a line for each placement."""
    blocks = int(sys.argv[1]) if sys.argv[1:] else 2000
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    named = {
        rule: (rule, *(f"python:{FILE}:{name}" for name in names)) for rule, names in RULES.items()
    }
    found: dict[str, list[float]] = {text: [] for texts in named.values() for text in texts}
    for _ in range(TURNS):
        for text, costs in found.items():
            costs.append(cost(text, blocks))
    for rule, texts in named.items():
        for text in texts:
            taken = statistics.median(found[text])
            times = taken / statistics.median(found[rule])
            print(f"{text.rpartition(':')[2]:14}{taken:8.3f} us a page program{times:7.2f} times")


if __name__ == "__main__":
    main()
