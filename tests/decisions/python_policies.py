"""Configurations of victim policies written in Python, and those policies."""

from __future__ import annotations

from collections.abc import Iterator

from decisions.building import Configuration, counting
from flashgc import Blocks

#: The least value that stands for the count of an open or erased block.
OPEN = 1 << 30


def lowest_greedy(blocks: Blocks) -> int:
    """Picks the block with the fewest valid pages; among equals, the lowest number."""
    return int(blocks.valid.argmin())


def ten_choices(blocks: Blocks) -> int:
    """The block with the lowest count among ten random ones; the first drawn among equals."""
    counts = blocks.counts
    return min(blocks.draw(10), key=lambda block: counts[block])


class Cyclic:
    """Picks blocks in the order of their numbers, again and again."""

    def __init__(self) -> None:
        self.next = -1

    def pick(self, blocks: Blocks) -> int:
        """The next block that may be picked."""
        while True:
            self.next = (self.next + 1) % len(blocks)
            if blocks.counts[self.next] < OPEN:
                return self.next


def least_worn(blocks: Blocks) -> int:
    """Picks the least erased block that is less than half full; if none is, the emptiest block."""
    valid = blocks.valid
    half = valid < blocks.pages_per_block // 2
    if not half.any():
        return int(valid.argmin())
    return int((blocks.erases + (~half) * 2**31).argmin())


def configurations() -> Iterator[Configuration]:
    """Each policy on two frontiers, and with other options that depend on blocks."""
    for policy in (lowest_greedy, ten_choices, Cyclic, least_worn):
        for frontier in ("single", "pool"):
            yield counting(
                f"python/{policy.__name__}/{frontier}", victim=policy, frontier=frontier, runs=2
            )
    yield counting(
        "python/lowest_greedy/mixed/trim",
        victim=lowest_greedy, frontier="mixed:low=6", workload="zipf:theta=0.9,trim=0.1",
    )  # fmt: skip
    yield counting(
        "python/lowest_greedy/pool/static",
        victim=lowest_greedy, frontier="pool:low=12", endurance=20, until="system-failure",
        wear_levelling="static:threshold=3,interval=2", warmup=None, writes=None,
    )  # fmt: skip
    yield counting(
        "python/lowest_greedy/pool/dac", victim=lowest_greedy, frontier="pool", placement="dac"
    )
