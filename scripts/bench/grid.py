"""A grid of 864 cells: on two cores against one, and killed ten times.

    FLASHGC_TRACES=FOLDER .venv/bin/python scripts/bench/grid.py [PASSES]

Six victim policies, six spare factors, eight public traces and three seeds, with 2 passes of each
trace. It prints how long the sweep takes with one core and with two, and whether the same sweep,
killed ten times with SIGKILL and given again each time, ends with the same table.
"""

from __future__ import annotations

import csv
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TRACES = (
    "msr_prxy_0_first20k", "msr_rsrch_1", "spc_fin1_flashsim50k", "spc_fin1_ssdsim10k",
    "sqlite_wal_insert_ext4_discard", "cloudphysics_vscsi", "diskmon_sys1", "nexus5_install",
)  # fmt: skip
GRID = """\
[drive]
pages_per_block = 32
spare = {{ from = "7%", to = "32%", step = "5%" }}
[gc]
frontier = "pool"
victim = ["greedy", "fifo", "random", "cost-benefit", "d-choices:d=10", "cat"]
[workload]
source = {traces}
[run]
passes = {passes}
warmup = "1x"
seed = [1, 2, 3]
"""
KILLS = 10
#: What differs from run to run.
_OF_THE_MACHINE = ("page_programs_per_second",)


def command(*words: str) -> list[str]:
    """The words of the command ``flashgc sweep``."""
    name = shutil.which("flashgc", path=os.path.dirname(sys.executable)) or "flashgc"
    return [name, "sweep", "grid.toml", "--quiet", *words]


def timed(folder: Path, jobs: int) -> float:
    """Seconds of the sweep with so many cores."""
    begun = time.perf_counter()
    name = f"{jobs}.results"
    words = command("--jobs", str(jobs), "--results", name, "--out", f"{jobs}.csv")
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def killed(folder: Path, seconds: float) -> int:
    """The sweep with ``KILLS`` kills, spread over the time that it takes; how many came to it."""
    words = command("--results", "killed.results", "--out", "killed.csv")
    draw, kills = random.Random(1), 0
    for _ in range(KILLS):
        process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL)
        try:
            process.wait(draw.uniform(0.5, 1.5) * seconds / (KILLS + 1))
        except subprocess.TimeoutExpired:
            process.kill()
            kills += 1
        process.wait()
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return kills


def table(path: Path) -> list[dict[str, str]]:
    """The rows without what differs from run to run."""
    with path.open(newline="") as file:
        return [
            {name: cell for name, cell in row.items() if name not in _OF_THE_MACHINE}
            for row in csv.DictReader(file)
        ]


def main() -> None:
    """Prints a line for each figure."""
    root = Path(os.environ["FLASHGC_TRACES"])
    traces = [str(root / name / f"{name}.csv.zst") for name in TRACES]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        passes = sys.argv[1] if sys.argv[1:] else "2"
        (folder / "grid.toml").write_text(GRID.format(traces=traces, passes=passes))
        one, two = timed(folder, 1), timed(folder, 2)
        rows = table(folder / "1.csv")
        print(f"{len(rows)} cells: {one:.1f} s on one core, {two:.1f} s on two, {one / two:.2f}x")
        print(f"same table on two: {'yes' if table(folder / '2.csv') == rows else 'NO'}")
        kills = killed(folder, two)
        same = table(folder / "killed.csv") == rows
        print(f"same table after {kills} kills: {'yes' if same else 'NO'}")


if __name__ == "__main__":
    main()
