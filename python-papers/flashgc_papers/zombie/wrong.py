"""Wrong scores instead of equations 2 and 3, in Python, since no option of the engine gives them.

A placement in Python replaces DAC without a zombie block, because the engine counts zombies for a
victim policy in Python only if the placement uses hints.
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
#: A function for the benefit of blocks with i invalid pages and z zombies.
Benefit = Callable[[Numbers, Numbers], Numbers]

#: Added to the valid pages of a block that may not be picked.
_CLOSED = 1 << 30


class Scored:
    """``z-greedy`` with another benefit; with ``aged``, ``z-cost-benefit``.

    Ties go to more invalid pages, then to the lower block number.
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
    """DAC without promotion and without a zombie block, which lets the engine count zombies."""

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
    """A function that gives a configuration's policies, which score blocks by ``benefit``."""

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
    """A zombie lowers the benefit by half a page, without a bound."""
    return invalid - zombies / 2


def to_a_quarter(invalid: Numbers, zombies: Numbers) -> Numbers:
    """Zombies count up to a quarter of the invalid pages."""
    return invalid - np.minimum(zombies, invalid / 4)
