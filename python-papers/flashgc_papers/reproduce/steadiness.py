"""Steadiness of the runs that a row depends on.

While a row is judged, each result that it uses is recorded. So a row cannot leave out its runs. A
row that uses no result depends on all runs of its claim.
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

#: The keys used while a row is judged; ``None`` at other times.
_TAKEN: ContextVar[set[str] | None] = ContextVar("taken", default=None)

#: A figure that changes by less than this share counts as unchanged.
_NOTHING = 0.002
#: Findings that make a figure unsteady, whatever its halves show.
_MOVING = {"burst", "overload"}


class Noted(Mapping[str, V]):
    """A mapping of measurements that records the keys that are used."""

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
    """Yields the set of keys that are used from mappings of measurements during the block."""
    taken: set[str] = set()
    token = _TAKEN.set(taken)
    try:
        yield taken
    finally:
        _TAKEN.reset(token)


class Runs(NamedTuple):
    """The number of simulations that a figure depends on, and of unsteady ones among them."""

    all: int = 0
    #: The number of simulations whose figures drift in the measured part.
    moving: int = 0
    #: The number of simulations that are not known to be steady or to drift.
    unknown: int = 0


def runs_of(results: Sequence[Result]) -> Runs:
    """The steadiness of ``results``.

    Runs that differ only in their seed are tested together. With more such groups, one of them is
    more likely to drift by chance, so the limit is higher. Runs until the end of a drive's life are
    not tested.
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
    """True if a figure's mean drift over the seeds exceeds ``far`` times its 95% half width.

    A finding that makes a figure unsteady is enough, too.
    """
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
