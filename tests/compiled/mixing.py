"""The scheme of ``mixing.c`` in Python."""

from __future__ import annotations

from typing import Any

from flashgc import Blocks, Now, PickedBlock

NONE = 2**32 - 1


def mixed(seen: int, *values: int) -> int:
    for value in values:
        seen = (seen ^ value) * 1099511628211 % 2**64 % 4294967291
    return seen


def none(value: int | None) -> int:
    return NONE if value is None else value


class Mixing:
    classes = 4
    asks_for_zombies = True

    def __init__(self, by: int = 1) -> None:
        self.by = by
        self.seen = 0

    def takes_copies(self, class_: int) -> bool:
        return class_ < 3

    def begin(self, pages: int, pages_per_block: int) -> None:
        self.seen = mixed(pages, pages_per_block)

    def host(
        self, page: int, stream: int | None, old: int | None, now: Now, old_block: int | None
    ) -> int:
        values = (page, none(stream), none(old), none(old_block), now.programs, now.host)
        return mixed(self.seen, *values) // self.by % 4

    def copy(self, page: int, from_: int, zombie: bool, now: Now, from_block: int) -> int:
        return mixed(self.seen, page, int(zombie), from_, from_block, now.programs, now.host) % 3

    def holds(self, page: int, to: int, now: Now, block: int) -> None:
        self.seen = mixed(self.seen, page, to, block, now.programs, now.host)

    def wrote(
        self, page: int, from_: int | None, to: int, now: Now, from_block: int | None, to_block: int
    ) -> None:
        values = (page, none(from_), none(from_block), to, to_block, now.programs, now.host)
        self.seen = mixed(self.seen, *values)

    def trimmed(self, page: int, from_: int, now: Now, from_block: int) -> None:
        self.seen = mixed(self.seen, page, from_, from_block, now.programs, now.host)

    def copied(
        self, page: int, from_: int, to: int, now: Now, from_block: int, to_block: int
    ) -> None:
        values = (page, from_, from_block, to, to_block, now.programs, now.host)
        self.seen = mixed(self.seen, *values)

    def opened(self, class_: int, now: Now, block: int) -> None:
        self.seen = mixed(self.seen, class_, block, now.programs, now.host)

    def collected(self, block: PickedBlock, now: Now) -> None:
        opened = block.opened
        values = (block.class_, block.number, opened.programs, opened.host)
        self.seen = mixed(self.seen, *values, block.valid, block.pages, now.programs, now.host)

    def pick(self, blocks: Blocks) -> int:
        count: Any = len(blocks)
        (drawn,) = blocks.draw(1)
        head = (count, blocks.pages_per_block, blocks.first, blocks.candidates, drawn)
        seen = mixed(self.seen, *head, blocks.clock, blocks.host_clock)
        zombies = [7] * count if blocks.zombies is None else blocks.zombies.tolist()
        columns = zip(
            blocks.valid.tolist(), blocks.erases.tolist(), blocks.classes.tolist(),
            blocks.closed_at.tolist(), blocks.closed_at_host.tolist(), zombies, strict=True,
        )  # fmt: skip
        valid = blocks.valid.tolist()
        for row in columns:
            seen = mixed(seen, *row)
        least = min(valid)
        for step in range(count):
            block = (seen + step) % count
            if valid[block] <= least + 1 and valid[block] < blocks.pages_per_block:
                return int(block)
        raise AssertionError("no candidate")
