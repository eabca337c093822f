"""Victim rules that the list of `flashgc identify` lacks, drawn at random from six families."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flashgc.studies.identifying.schemes import VICTIMS, Scheme

#: The value in place of the valid count of a block that may not be picked; above every count.
_MARK = 0x8000


def oldest(blocks: Any, among: NDArray[np.bool_]) -> int:
    """The block that was closed first."""
    return int(np.where(among, blocks.closed_at, np.iinfo(np.uint64).max).argmin())


def emptiest(blocks: Any, among: NDArray[np.bool_]) -> int:
    """The block with the fewest valid pages."""
    return int(np.where(among, blocks.valid, _MARK + 1).argmin())


@dataclass
class Mixture:
    """Greedy with ``probability``, and otherwise the rule ``other``."""

    probability: float
    other: str

    def pick(self, blocks: Any) -> int:
        """Picks by greedy if a random block number is below ``probability * len(blocks)``."""
        candidates = blocks.valid < _MARK
        coin, drawn = blocks.draw(2)
        if coin < self.probability * len(blocks):
            return emptiest(blocks, candidates)
        return oldest(blocks, candidates) if self.other == "fifo" else int(drawn)


@dataclass
class AgeCap:
    """Greedy with a limit on the age of blocks.

    Kind ``younger`` or ``older``: greedy among the blocks that are younger or older than the limit.
    Kind ``deadline``: the oldest block if it is older than the limit, otherwise greedy.
    """

    #: ``younger``, ``older`` or ``deadline``.
    kind: str
    #: The age in page programs, divided by the pages of the flash.
    age: float

    def pick(self, blocks: Any) -> int:
        """Returns the emptiest of all blocks if no qualified block would free a page."""
        candidates = blocks.valid < _MARK
        limit = self.age * len(blocks) * blocks.pages_per_block
        ages = blocks.clock - blocks.closed_at.astype(np.int64)
        if self.kind == "deadline":
            first = oldest(blocks, candidates)
            return first if ages[first] > limit else emptiest(blocks, candidates)
        among = candidates & ((ages <= limit) if self.kind == "younger" else (ages >= limit))
        block = emptiest(blocks, among)
        if among[block] and blocks.valid[block] < blocks.pages_per_block:
            return block
        return emptiest(blocks, candidates)


@dataclass
class Threshold:
    """Picks a block with few valid pages: the oldest, or the next number after the last victim."""

    #: ``oldest`` or ``hand``.
    order: str
    #: The threshold: valid pages divided by pages per block.
    share: float
    last: int = 0

    def pick(self, blocks: Any) -> int:
        """Returns the emptiest block if none is below the threshold."""
        few = blocks.valid <= self.share * blocks.pages_per_block
        if not few.any():
            return emptiest(blocks, blocks.valid < _MARK)
        if self.order == "oldest":
            return oldest(blocks, few)
        after = np.flatnonzero(few)
        later = after[after > self.last]
        self.last = int(later[0] if len(later) else after[0])
        return self.last


@dataclass(frozen=True)
class Rule:
    """A rule with its name and its victim policy for :func:`flashgc.run`."""

    family: str
    name: str
    victim: Any


def _mixture(draw: random.Random) -> Rule:
    probability, other = round(draw.uniform(0.2, 0.9), 2), draw.choice(("fifo", "random"))
    return Rule("mixture", f"greedy {probability:.0%}, {other}", Mixture(probability, other))


def _age_cap(draw: random.Random) -> Rule:
    kind = draw.choice(("younger", "older", "deadline"))
    age = round(draw.uniform(1, 4) if kind == "younger" else draw.uniform(0.3, 1.5), 2)
    return Rule("age cap", f"greedy, {kind} {age}", AgeCap(kind, age))


def _threshold(draw: random.Random) -> Rule:
    order, share = draw.choice(("oldest", "hand")), round(draw.uniform(0.5, 0.95), 2)
    return Rule("threshold", f"{order} below {share:.0%}", Threshold(order, share))


def _choices(draw: random.Random) -> Rule:
    name = f"d-choices:d={draw.choice((4, 7, 15, 25, 40))}"
    return Rule("other d", name, name)


def _window(draw: random.Random) -> Rule:
    part = draw.choice((128, 32, 10, 8, 6, 2))
    return Rule("other window", f"windowed:w=N/{part}", f"windowed:w=N/{part}")


def _other(draw: random.Random) -> Rule:
    name = draw.choice(
        ("mdc", "sagc", "cost-benefit:form=lfs", "cost-benefit:age=last_invalidate", "cat",
         "d-choices:d=5,c=5", "wear-aware:lambda=0.5")
    )  # fmt: skip
    return Rule("other policy", name, name)


FAMILIES: tuple[Callable[[random.Random], Rule], ...] = (
    _mixture, _age_cap, _threshold, _choices, _window, _other,
)  # fmt: skip


def drawn(case: int, draw: random.Random) -> Rule:
    """The rule of a case: the families take turns."""
    rule = FAMILIES[case % len(FAMILIES)](draw)
    assert rule.name not in VICTIMS
    return rule


def options(rule: Rule, frontier: str, blocks: int) -> dict[str, Any]:
    """The keywords of :func:`flashgc.run`."""
    if isinstance(rule.victim, str):
        return dict(Scheme(rule.victim, frontier).options(blocks))
    return {"victim": rule.victim, "frontier": frontier}
