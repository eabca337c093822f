"""Other scores in place of equations 2 and 3, in Python: no option of the engine gives them.

A placement in Python stands in for DAC where no copy has a block of its own: the engine counts
zombies for a victim policy in Python only if the placement asks for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flashgc import Blocks, Now
from flashgc_papers.reproduce.written import Policies

Numbers: TypeAlias = NDArray[np.float64]
#: The benefit of blocks with i invalid pages and z zombies.
Benefit = Callable[[Numbers, Numbers], Numbers]

#: Added to the valid pages of a block that may not be picked.
_CLOSED = 0x8000


class Scored:
    """``z-greedy`` with another benefit; with ``aged``, ``z-cost-benefit``.

    Equal scores: more invalid pages, then the lower block number.
    """

    benefit: ClassVar[Benefit]
    aged: ClassVar[bool]

    def pick(self, blocks: Blocks) -> int:
        """Return the block with the highest score."""
        may = np.flatnonzero(blocks.valid < _CLOSED)
        valid = blocks.valid[may].astype(float)
        assert blocks.zombies is not None
        zombies = blocks.zombies[may].astype(float)
        invalid = blocks.pages_per_block - valid
        score = type(self).benefit(invalid, zombies)
        if self.aged:
            age = np.maximum(blocks.clock - blocks.closed_at[may].astype(float), 1)
            score = np.where(valid == 0, np.inf, score * age / np.maximum(2 * valid, 1))
        score = np.where(invalid == 0, -np.inf, score)
        best = np.flatnonzero(score == score.max())
        return int(may[best[invalid[best].argmax()]])


class Apart:
    """DAC that never promotes, which counts zombies and gives them no block of their own."""

    classes = 1
    asks_for_zombies = True

    def host(self, page: int, stream: int | None, old: int | None, now: Now) -> int:
        """Return the region of a page that the host writes."""
        del page, stream, old, now
        return 0

    def copy(self, page: int, from_: int, zombie: bool, now: Now) -> int:
        """Return the region of a page that is copied."""
        del page, from_, zombie, now
        return 0


def scored(benefit: Benefit) -> Policies:
    """The policies that weigh blocks by ``benefit``, of a configuration."""

    def policies(config: Mapping[str, Any]) -> Mapping[str, type]:
        aged = str(config["victim"]).startswith("z-cost-benefit")
        given = {"benefit": staticmethod(benefit), "aged": aged}
        classes: dict[str, type] = {"victim": type("Scored", (Scored,), given)}
        placement = str(config["placement"])
        if "zombie-block=yes" not in placement:
            regions = re.search(r"regions=(\d+)", placement)
            assert regions is not None
            classes["placement"] = type("Apart", (Apart,), {"classes": int(regions[1])})
        return classes

    return policies


def as_published(invalid: Numbers, zombies: Numbers) -> Numbers:
    """Equation 2."""
    return invalid - np.minimum(zombies, invalid / 2)


def without_bound(invalid: Numbers, zombies: Numbers) -> Numbers:
    """All zombies count, also those beyond half of the invalid pages."""
    return invalid - zombies


def by_half(invalid: Numbers, zombies: Numbers) -> Numbers:
    """A zombie counts half."""
    return invalid - zombies / 2


def to_a_quarter(invalid: Numbers, zombies: Numbers) -> Numbers:
    """Zombies count up to a quarter of the invalid pages."""
    return invalid - np.minimum(zombies, invalid / 4)
