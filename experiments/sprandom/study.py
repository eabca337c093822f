"""Measures how far drives are from their steady state after a fill, and for how long.

    .venv/bin/python -m experiments.sprandom.study [--quick] [--write]

Every victim policy runs after three first contents: written in order, written in a random order,
and `--fill steady`. On one drive, fio's SPRandom also writes the contents itself. The level is that
of a run of the default length, which goes on until it has settled. `settling.py` has the measure.

The full size takes 25 minutes on one core. `--write` writes the rows to `docs/results`, from which
`scripts/docs/tables.py` and `docs/figures/sprandom.py` make the tables and the figure of
docs/sprandom.md. `--quick` is a small drive with two policies, for a look.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from experiments.sprandom.preconditioning import writes
from experiments.sprandom.settling import Settled, behind, settled, windows

import flashgc

RESULTS = Path(__file__).parents[2] / "docs" / "results"
FILLS, FIO = ("sequential", "random", "steady"), "SPRandom"
SPARES = ("7%", "15%", "28%")
WORKLOADS = (
    "uniform",
    "hotcold:f=0.1,r=0.9",
    "zipf:theta=0.8",
    "zipf:theta=0.99",
    "zipf:theta=1.2",
)
#: Within this share of the level a drive counts as steady.
TOLERANCE = 0.02
#: The spare space of the drive that SPRandom writes to.
BY_FIO = "15%"
COLUMNS = (
    "overprovision", "workload", "victim", "level", "level_half", "steady", "fill",
    "first", "after", "low", "high", "noise",
)  # fmt: skip


@dataclass(frozen=True)
class Size:
    """A drive, and its runs."""

    blocks: int = 1024
    pages_per_block: int = 128
    #: The length of a run in drive writes, and the number of runs.
    length: int = 10
    runs: int = 6

    def drive(self, overprovision: str) -> dict[str, Any]:
        """The options of the drive."""
        return {
            "blocks": self.blocks,
            "pages_per_block": self.pages_per_block,
            "overprovision": overprovision,
            "frontier": "pool",
            "jobs": 1,
        }


@dataclass(frozen=True)
class Level:
    """The steady write amplification, half its 95% interval, and the verdict of its run."""

    value: float
    half: float
    steady: str


def level(size: Size, overprovision: str, workload: str, victim: str) -> Level:
    """The level of a run of the default length."""
    drive = size.drive(overprovision)
    result = flashgc.run(workload, victim=victim, fill="random", seed=101, **drive)
    half = result.write_amplification_ci95
    return Level(result.write_amplification, half, result.verdict)


def after_fill(
    size: Size, overprovision: str, workload: str, victim: str, fill: str
) -> list[list[float]]:
    """The windows of each run that begins with this fill."""
    return [
        windows(
            flashgc.run(
                workload,
                victim=victim,
                fill=fill,
                warmup="0",
                writes=f"{size.length}x",
                seed=seed,
                **size.drive(overprovision),
            ).series
        )
        for seed in range(1, size.runs + 1)
    ]


class Files:
    """Traces of SPRandom's writes and of a workload after them, one file a run."""

    def __init__(self, folder: Path, size: Size) -> None:
        self.folder, self.size = folder, size
        self.drive = size.drive(BY_FIO)
        self.pages = flashgc.run(writes="1x", warmup="0", **self.drive).config.logical_pages

    def made(self, workload: str) -> list[tuple[Path, float]]:
        """The files, and how many drive writes SPRandom takes in each."""
        return [self._made(workload, seed) for seed in range(1, self.size.runs + 1)]

    def _made(self, workload: str, seed: int) -> tuple[Path, float]:
        first = writes(self.pages, float(BY_FIO.rstrip("%")) / 100, seed)
        after = self.folder / "workload.csv"
        count = self.size.length * self.pages
        flashgc.trace_synth(workload, after, pages=self.pages, requests=count, seed=seed)
        path = self.folder / f"{seed}.csv"
        with path.open("w") as file, after.open() as rest:
            file.write(next(rest))
            np.savetxt(file, first * 4096, fmt="0,W,%d,4096,0")
            file.writelines(f"0,{line.split(',', 1)[1]}" for line in rest)
        return path, len(first) / self.pages

    def after(self, files: Sequence[tuple[Path, float]], victim: str) -> list[list[float]]:
        """The windows of each run behind SPRandom's writes."""
        return [
            windows(
                behind(
                    flashgc.run(
                        str(path),
                        victim=victim,
                        fill="empty",
                        warmup="0",
                        passes=1,
                        numbering="given",
                        **self.drive,
                    ).series,
                    begin,
                )
            )
            for path, begin in files
        ]


def rows(
    size: Size,
    victims: Sequence[str],
    spares: Sequence[str] = SPARES,
    workloads: Sequence[str] = WORKLOADS,
) -> Iterator[dict[str, object]]:
    """A row for each drive, workload, policy and fill."""
    for overprovision in spares:
        for workload in workloads:
            with tempfile.TemporaryDirectory() as folder:
                files = Files(Path(folder), size) if overprovision == BY_FIO else None
                made = files.made(workload) if files else []
                for victim in victims:
                    known = level(size, overprovision, workload, victim)
                    head = (overprovision, workload, victim)
                    for fill in FILLS:
                        runs = after_fill(size, overprovision, workload, victim, fill)
                        yield _row(head, known, fill, runs)
                    if files:
                        yield _row(head, known, FIO, files.after(made, victim))


def _row(
    head: tuple[str, str, str], known: Level, fill: str, runs: Sequence[Sequence[float]]
) -> dict[str, object]:
    first = statistics.fmean(values[0] for values in runs)
    found = settled(runs, known.value, known.half, TOLERANCE)
    figures = (f"{known.value:.4f}", f"{known.half:.4f}", known.steady, fill, f"{first:.4f}")
    return dict(zip(COLUMNS, (*head, *figures, *_told(found)), strict=True))


def _told(found: Settled) -> tuple[str, ...]:
    after, low, high = (
        "" if value is None else f"{value:.1f}" for value in (found.after, found.low, found.high)
    )
    return after, low, high, f"{found.noise:.5f}"


def main() -> None:
    """Prints the rows, or writes them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a small drive, two policies")
    parser.add_argument("--write", action="store_true", help="write docs/results/sprandom.csv")
    given = parser.parse_args()
    victims = tuple(entry.name for entry in flashgc.policies())
    size = Size()
    if given.quick:
        size, victims = Size(512, 64, 4, 3), ("greedy", "cost-benefit")
    path = RESULTS / "sprandom.csv" if given.write else Path(os.devnull)
    beside = path if path == Path(os.devnull) else path.with_suffix(".new")
    with beside.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in rows(size, victims):
            writer.writerow(row)
            file.flush()
            print(*row.values(), sep=", ", flush=True)
    if beside != path:
        beside.replace(path)


if __name__ == "__main__":
    main()
