"""Simulated drives, whose write amplification is measured with a random error.

A drive has a scheme of the list of `flashgc identify`, or a rule that the list lacks.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.identify import rules

import flashgc
from flashgc._core import Control
from flashgc.studies.identifying.curves import Size
from flashgc.studies.identifying.measurements import Drive, Point
from flashgc.studies.identifying.outcome import KNOWN, UNKNOWN
from flashgc.studies.identifying.schemes import Scheme
from flashgc.studies.identifying.workloads import Condition, condition

WORKLOADS = ("uniform", "70/30", "80/20", "90/10", "95/5", "zipf:theta=0.6", "zipf:theta=0.9")
#: The range of the drives' spare factors.
LEAST, MOST = 0.07, 0.30
#: Workloads on which a drive must be better than random selection.
_PLAUSIBLE = ("uniform", "95/5")
FRONTIERS = ("single", "double", "mixed", "pool")
#: The nominal capacity of a drive in bytes, because Zipf's law depends on it.
_CAPACITY = 10**12


@dataclass(frozen=True)
class BuiltDrive:
    """A simulated drive, whose rule and spare factor are known."""

    set: str
    case: int
    #: The family of the rule; `list` if the scheme is in the list.
    family: str
    name: str
    spare: float
    #: The scheme, if the list has it.
    scheme: Scheme | None
    options: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The name of the drive's curve."""
        return f"{self.set} {self.case}: {self.name}, {self.spare:.1%}"


def known(case: int, tried: Sequence[Scheme], size: Size) -> BuiltDrive:
    """A drive with a scheme of the list."""
    draw = random.Random(case)
    scheme, spare = draw.choice(tried), round(draw.uniform(LEAST, MOST), 4)
    options = scheme.options(size.blocks)
    return BuiltDrive(KNOWN, case, "list", scheme.name, spare, scheme, options)


def unknown(case: int, size: Size) -> BuiltDrive:
    """A drive with a rule that the list lacks.

    A rule that is worse than random selection is drawn again, because no product would use it.
    """
    draw = random.Random(f"{UNKNOWN} {case}")
    while True:
        rule = rules.drawn(case, draw)
        frontier, spare = draw.choice(FRONTIERS), round(draw.uniform(LEAST, MOST), 4)
        options = rules.options(rule, frontier, size.blocks)
        name = f"{rule.name} {frontier}"
        drive = BuiltDrive(UNKNOWN, case, rule.family, name, spare, None, options)
        # The amplification of random selection: 1 / spare for uniform writes, less for others.
        tried = (amplification(drive, condition(name, _CAPACITY), size) for name in _PLAUSIBLE)
        if all(value < 1 / spare for value in tried):
            return drive


def amplification(drive: BuiltDrive, where: Condition, size: Size) -> float:
    """The write amplification of a drive, with other seeds than those of the curves."""
    pages = int(size.blocks * size.pages_per_block * (1 - drive.spare))
    result = flashgc.run(
        where.source(pages),
        blocks=size.blocks,
        pages_per_block=size.pages_per_block,
        spare=drive.spare,
        writes=size.writes,
        warmup=size.warmup,
        seed=1000 + drive.case,
        jobs=1,
        control=Control(),
        **drive.options,
    )
    return result.write_amplification


class Bench:
    """Measures drives; earlier measurements are in a file."""

    def __init__(self, size: Size, noise: float, cache: Path | None) -> None:
        self.size, self.noise = size, noise
        self._path = None if cache is None else cache / "measured.json"
        kept = self._path is not None and self._path.exists()
        self._known: dict[str, float] = json.loads(self._path.read_text()) if kept else {}  # type: ignore[union-attr]

    def measured(self, drive: BuiltDrive, workloads: Sequence[str] = WORKLOADS) -> Drive:
        """The curve of a drive; the error of each workload is drawn independently."""
        return Drive(drive.title, tuple(self._point(drive, name) for name in workloads))

    def _point(self, drive: BuiltDrive, name: str) -> Point:
        where = condition(name, _CAPACITY)
        key = f"{flashgc.version()} {self.size} {drive.title} {name}"
        if key not in self._known:
            self._known[key] = amplification(drive, where, self.size)
            self._keep()
        error = random.Random(f"{drive.title} {name}").gauss(0, self.noise)
        return Point(where, max(self._known[key] * (1 + error), 1.0), self.noise)

    def _keep(self) -> None:
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            beside = self._path.with_suffix(".new")
            beside.write_text(json.dumps(self._known))
            beside.replace(self._path)
