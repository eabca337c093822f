"""Measures the processor time (user and system) of commands before and after their work.

    .venv/bin/python scripts/bench/startup.py [FOLDER...]

Runs the command that is installed with this interpreter. Each FOLDER has a ``flashgc`` package (a
clone's ``python/``); folders take turns, so that the load of the machine affects all. Figures are
the median and the minimum of 15 runs; ``nothing`` is Python alone.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROUNDS = 15

#: A drive whose simulation takes no time.
TINY = "--blocks 64 --pages-per-block 16 --writes 2x --victim greedy --quiet"

#: The commands, with the most milliseconds that each should take.
COMMANDS = {
    "flashgc --version": 60,
    "flashgc policies": 120,
    f"flashgc run {TINY}": 150,
    f"flashgc run {TINY} --json": 150,
    "flashgc run --help": None,
    "flashgc --help": None,
}


def milliseconds(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """The processor time of a command in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main() -> None:
    """Measures, and prints a table."""
    python = Path(sys.executable)
    # Users have compiled modules, so the setting that forbids them is left out.
    usual = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    folders = sys.argv[1:] or [""]
    print(
        "| command | at most, ms |"
        + "".join(f" {folder or 'median (least), ms'} |" for folder in folders)
    )
    print("|---|---|" + "---|" * len(folders))
    for line, most in {"nothing": None, **COMMANDS}.items():
        words = [str(python), "-c", "pass"]
        if line != "nothing":
            words = [str(python.with_name("flashgc")), *line.split()[1:]]
        taken: dict[str, list[float]] = {folder: [] for folder in folders}
        for round_ in range(ROUNDS + 1):
            for folder in folders:
                time = milliseconds(words, {**usual, **({"PYTHONPATH": folder} if folder else {})})
                if round_ > 0:  # The first round compiles the modules.
                    taken[folder].append(time)
        cells = [
            f" {statistics.median(times):.0f} ({min(times):.0f}) |" for times in taken.values()
        ]
        print(f"| `{line}` | {most or ''} |" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
