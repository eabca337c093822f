"""BSGC without its wear term, in Python, because no option of the engine removes the term."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flashgc import Blocks

#: The number of values of a block's count, including the mark of blocks that may not be picked.
_COUNTS = 1 << 16


class WithoutWear:
    """``bsgc:reading=since_erase,ratio=live,wear=absolute`` without the factor of the erases.

    It picks the block with the least ``u/(1-u) (1-c)/time``. The averaged valid ratio c starts at
    0; every pick of the block averages its present ratio in. The time is that since its last erase.
    """

    def __init__(self) -> None:
        self.pages = 0

    def pick(self, blocks: Blocks) -> int:
        """Return the block with the least score."""
        if not self.pages:
            self._begin(len(blocks), blocks.pages_per_block)
        picked = int(self.scores(blocks).argmin())
        self.ratio[picked] = (self.ratio[picked] + self.used[blocks.count(picked)]) / 2
        self.erased[picked] = blocks.clock
        return picked

    def scores(self, blocks: Blocks) -> NDArray[np.float64]:
        """The score of every block; infinite for full blocks and for those not to be picked."""
        # All that may not be picked have the score of a full block.
        valid = np.minimum(blocks.valid, blocks.pages_per_block)
        kept = 1 - (self.ratio + self.used[valid]) / 2
        time = np.maximum(blocks.clock - self.erased, 1)
        scores: NDArray[np.float64] = self.cost[valid] * np.maximum(kept, 1 / self.pages) / time
        return scores

    def _begin(self, blocks: int, pages: int) -> None:
        self.pages = pages
        self.used = np.arange(_COUNTS) / pages
        self.cost = np.full(_COUNTS, np.inf)
        self.cost[:pages] = self.used[:pages] / (1 - self.used[:pages])
        self.ratio = np.zeros(blocks)
        self.erased = np.zeros(blocks)


def without_wear(_config: Mapping[str, Any]) -> Mapping[str, type]:
    """The wrong policy of a configuration."""
    return {"victim": WithoutWear}
