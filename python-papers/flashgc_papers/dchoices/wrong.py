"""d choices that remember the wrong blocks, in Python: the engine has no option for that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from flashgc import Blocks

#: Added to the valid pages of a block that may not be picked.
_CLOSED = 1 << 30


class WorstRemembered:
    """``d-choices`` whose memory keeps the fullest of the candidates, not the emptiest."""

    d: ClassVar[int]
    c: ClassVar[int]

    def __init__(self) -> None:
        self.stored: list[int] = []

    def pick(self, blocks: Blocks) -> int:
        """Return the best of the drawn and the stored blocks."""
        counts = blocks.counts
        drawn = dict.fromkeys(blocks.draw(self.d))
        drawn |= dict.fromkeys(block for block in self.stored if counts[block] < _CLOSED)
        ranked = sorted(drawn, key=counts.__getitem__)
        self.stored = self.kept(ranked[1:])
        return ranked[0]

    def kept(self, others: list[int]) -> list[int]:
        """Return the blocks to remember; ``others`` were not picked, and are emptiest first."""
        return others[-self.c :]


def worst_remembered(config: Mapping[str, Any]) -> Mapping[str, type]:
    """The wrong policy, with d and c of the policy in the configuration."""
    d, c = (int(each) for each in re.findall(r"[dc]=(\d+)", str(config["victim"])))
    return {"victim": type("WorstRemembered", (WorstRemembered,), {"d": d, "c": c})}
