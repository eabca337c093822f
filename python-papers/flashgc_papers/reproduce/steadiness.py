"""Steadiness of the runs that a row rests on.

While a row is judged, each result that it takes is noted. So a row cannot leave out its runs: one
that takes nothing rests on all runs of its claim.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeVar

from flashgc.results import Drift, Result

V = TypeVar("V")

#: The keys that were taken while a row is judged; ``None`` where none is.
_TAKEN: ContextVar[set[str] | None] = ContextVar("taken", default=None)

#: A figure that changes by less than this share counts as unchanged.
_NOTHING = 0.002
#: Findings of a figure that moves, whatever its halves say.
_MOVING = {"burst", "overload"}


class Noted(Mapping[str, V]):
    """A mapping of measurements that notes what is taken from it."""

    def __init__(self, kept: Mapping[str, V]) -> None:
        self._kept = kept

    def __getitem__(self, key: str) -> V:
        taken = _TAKEN.get()
        if taken is not None:
            taken.add(key)
        return self._kept[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)


@contextmanager
def noting() -> Iterator[set[str]]:
    """Gives the set of keys that are taken from mappings of measurements in the meantime."""
    taken: set[str] = set()
    token = _TAKEN.set(taken)
    try:
        yield taken
    finally:
        _TAKEN.reset(token)


class Runs(NamedTuple):
    """The simulations that a figure rests on: how many, and how many of them are not steady."""

    all: int = 0
    #: Simulations whose figures still move in the measured part.
    moving: int = 0
    #: Simulations that are not known to be steady, nor to move.
    unknown: int = 0


def runs_of(results: Sequence[Result]) -> Runs:
    """The steadiness of ``results``.

    Runs that differ in their seed alone are tested together. The more such groups there are, the
    more often one of them seems to move by chance, and the further from chance each has to be. A
    life is whole, and is asked nothing.
    """
    groups: dict[str, list[Result]] = {}
    for result in results:
        if "until" not in result.config.length:
            groups.setdefault(repr(dataclasses.replace(result.config, seed=0)), []).append(result)
    far = statistics.NormalDist().inv_cdf(1 - 0.025 / max(len(groups), 1)) / _Z95
    moving = unknown = 0
    for seeds in groups.values():
        if _move(seeds, far):
            moving += len(seeds)
        else:
            unknown += sum(not result.steady for result in seeds)
    return Runs(len(results), moving, unknown)


_Z95 = statistics.NormalDist().inv_cdf(0.975)


def _move(seeds: Sequence[Result], far: float) -> bool:
    """True if a figure of runs of several seeds changes by more than ``far`` times chance."""
    tests = [result.steadiness for result in seeds]
    changes = zip(*((test.amplification, test.transient, test.pace) for test in tests), strict=True)
    return any(_told(change, far) for change in changes) or any(
        finding.id in _MOVING for result in seeds for finding in result.findings
    )


def _told(changes: Sequence[Drift | None], far: float) -> bool:
    known = [change for change in changes if change is not None]
    if not known:
        return False
    mean = statistics.fmean(change.drift for change in known)
    half = math.hypot(*(change.ci95 for change in known)) / len(known)
    return abs(mean) > max(far * half, _NOTHING)
