"""Counts programs of ZLeanStore's simulator, of a naive drive and of flashgc under the same writes.

    git clone https://github.com/LeeBohyun/ZLeanStore
    .venv/bin/python -m experiments.zlean.compare ZLeanStore [--size quick] [--json FILE]

`README.md` says what is compared. It needs a compiler of C and of C++20, and for `--size full`
0.6 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import flashgc
from flashgc_papers.reproduce.tasks import Size
from flashgc_papers.zlean import experiment
from flashgc_papers.zlean.experiment import LOGICAL, PAGES, RULES, UNITS, counted

HERE = Path(__file__).parent
SKEWS = (0, 0.6, 0.8, 0.99)
#: Rules of `drive.c` that are not the simulator's, by the rule of the simulator that they change.
SWITCHES = {
    "greedy": (),
    "greedy-s2r": ("host",),
    "2r-greedy": ("region", "order"),
    "2r-fifo": ("order", "room", "list", "late"),
}
#: Runs of the simulator's random choices, whose seed it takes from the machine.
RUNS = {Size.QUICK: 8, Size.DEFAULT: 8, Size.FULL: 1}


def built(folder: Path, source: Path) -> tuple[Path, Path]:
    """The simulator and the naive drive."""
    simulator, drive = folder / "simulator", folder / "drive"
    headers = source / "src" / "include"
    include = [f"-I{headers}", f"-I{headers / 'storage' / 'space' / 'sim'}"]
    subprocess.run(
        ["c++", "-std=c++20", "-O2", "-w", *include, "-o", simulator, HERE / "main.cpp"], check=True
    )
    subprocess.run(["cc", "-O2", "-o", drive, HERE / "drive.c"], check=True)
    return simulator, drive


def written(theta: float, size: Size, folder: Path) -> Path:
    """The writes after the fill, as a trace."""
    trace = folder / "writes.csv"
    flashgc.trace_synth(
        experiment.writes(theta), trace, pages=LOGICAL * PAGES[size], requests=2 * counted(size)
    )
    return trace


def simulated(simulator: Path, rule: str, size: Size, trace: Path) -> int:
    """The programs of the simulator."""
    logical = LOGICAL * PAGES[size]
    shape = (UNITS, PAGES[size], logical, rule, counted(size))
    return _programs([simulator, *map(str, shape)], trace)


def naive(drive: Path, rule: str, size: Size, trace: Path, switches: tuple[str, ...] = ()) -> int:
    """The programs of the naive drive; with ``switches``, these rules are flashgc's."""
    logical = LOGICAL * PAGES[size]
    shape = f"units={UNITS} pages={PAGES[size]} logical={logical} begin={counted(size)}".split()
    return _programs([drive, *shape, f"rule={rule}", *(f"{name}=1" for name in switches)], trace)


def _programs(command: list[str | Path], trace: Path) -> int:
    with trace.open() as lines:
        ran = subprocess.run(command, stdin=lines, capture_output=True, text=True, check=True)
    return int(ran.stdout.split("programs ")[1])


def ours(rule: str, theta: float, size: Size) -> int:
    """The programs of flashgc, which makes the same writes itself."""
    result = flashgc.run(**experiment.simulator(rule, theta, size).options)
    return result.host_pages + result.copied_pages


def compared(
    rule: str, theta: float, size: Size, simulator: Path, drive: Path, trace: Path
) -> dict[str, object]:
    """A row: programs of the simulator, of flashgc and, unless it is full, of the naive drive."""
    row: dict[str, object] = {"rule": rule, "zipf": theta, "flashgc": ours(rule, theta, size)}
    if rule not in SWITCHES:
        runs = [simulated(simulator, rule, size, trace) for _ in range(RUNS[size])]
        return {**row, "simulator": round(sum(runs) / len(runs)), "runs": runs}
    row["simulator"] = simulated(simulator, rule, size, trace)
    if size is Size.FULL:
        return row
    switches = SWITCHES[rule]
    naively = {"none": naive(drive, rule, size, trace)}
    naively |= {name: naive(drive, rule, size, trace, (name,)) for name in switches}
    naively["all"] = naive(drive, rule, size, trace, switches)
    return {**row, "drive.c": naively}


def main() -> None:
    """Prints a row for each rule and skew."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("--size", type=Size, default=Size.QUICK, choices=list(Size))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        simulator, drive = built(folder, given.source)
        for theta in SKEWS:
            trace = written(theta, given.size, folder)
            for rule in RULES:
                rows.append(compared(rule, theta, given.size, simulator, drive, trace))
                print(rows[-1], flush=True)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
