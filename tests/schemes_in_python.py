"""Schemes in Python that are placement and victim policy in one, and log their calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from flashgc import Blocks, Now, PickedBlock

OPEN = 1 << 30
#: The calls in order: the method, its arguments and the state of the blocks.
LOG: list[tuple[Any, ...]] = []
#: All objects that were created.
BEGUN: list[Due] = []


class Due:
    """Picks blocks that are older than the usual lifetime of their class's data."""

    classes = 4

    def begin(self, pages: int, pages_per_block: int) -> None:
        self.pages = pages
        self.written = np.zeros(pages)
        self.life = np.full(self.classes, float(pages))
        BEGUN.append(self)

    def sorted(self, age: float) -> int:
        return min(int(8 * age / self.pages), self.classes - 1)

    def host(self, page: int, stream: int | None, old: int | None, now: Now) -> int:
        return self.classes - 1 if old is None else self.sorted(now.host - self.written[page])

    def copy(self, page: int, from_: int, zombie: bool, now: Now) -> int:
        return self.sorted(now.host - self.written[page])

    def wrote(self, page: int, from_: int | None, to: int, now: Now) -> None:
        if from_ is not None:
            self.life[from_] += (now.host - self.written[page] - self.life[from_]) / 64
        self.written[page] = now.host

    def pick(self, blocks: Blocks) -> int:
        valid = blocks.valid.astype(float)
        age = (blocks.host_clock - blocks.closed_at_host.astype(float)) / self.life[blocks.classes]
        score = (blocks.pages_per_block - valid) / (valid + 1) * (age + 0.01)
        return int(np.where(blocks.valid < OPEN, score, -1).argmax())


class Watcher(Due):
    """A ``Due`` whose decisions depend on the blocks, too. It logs the state of the blocks."""

    def see(self, blocks: Blocks) -> None:
        self.blocks = blocks
        LOG.append(("see", blocks.first, len(blocks), blocks.pages_per_block))

    def valid(self, block: int | None) -> int | None:
        return None if block is None else int(self.blocks.valid[block]) & (OPEN - 1)

    def host(
        self, page: int, stream: int | None, old: int | None, now: Now,
        old_block: int | None = None,
    ) -> int:  # fmt: skip
        if old_block is not None and int(self.blocks.erases[old_block]) % 3 == 2:
            return 0
        few = old_block is not None and (self.valid(old_block) or 0) < 3
        return 1 if few else super().host(page, stream, old, now)

    def copy(self, page: int, from_: int, zombie: bool, now: Now, from_block: int = -1) -> int:
        assert (self.valid(from_block) or 0) > 0
        return super().copy(page, from_, zombie, now)

    def note(self, verb: str, page: int, *blocks: int | None, now: Now) -> None:
        seen = [(block, self.valid(block)) for block in blocks]
        LOG.append((verb, page, *seen, now.programs, now.host))

    def holds(self, page: int, class_: int, now: Now, block: int = -1) -> None:
        LOG.append(("holds", page, class_, block))

    def wrote(
        self, page: int, from_: int | None, to: int, now: Now,
        to_block: int = -1, from_block: int | None = -1,
    ) -> None:  # fmt: skip
        super().wrote(page, from_, to, now)
        self.note("wrote", page, from_block, to_block, now=now)

    def trimmed(self, page: int, from_: int, now: Now, from_block: int = -1) -> None:
        self.note("trimmed", page, from_block, now=now)

    def copied(
        self, page: int, from_: int, to: int, now: Now, from_block: int = -1, to_block: int = -1
    ) -> None:
        self.note("copied", page, from_block, to_block, now=now)

    def opened(self, class_: int, now: Now, block: int = -1) -> None:
        LOG.append(("opened", class_, block, self.valid(block), now.programs, now.host))

    def collected(self, block: PickedBlock, now: Now) -> None:
        LOG.append(("collected", block.class_, block.number, block.valid))

    def pick(self, blocks: Blocks) -> int:
        assert blocks is self.blocks
        LOG.append(
            (
                "pick", blocks.clock, blocks.host_clock, blocks.candidates,
                (blocks.valid < OPEN).tolist(), blocks.classes.tolist(),
                blocks.closed_at.tolist(), blocks.closed_at_host.tolist(),
            )
        )  # fmt: skip
        return super().pick(blocks)


class Planes(Due):
    """Records the candidates of each pick, on a drive with planes."""

    def see(self, blocks: Blocks) -> None:
        LOG.append(("see", id(self), blocks.first, len(blocks)))

    def pick(self, blocks: Blocks) -> int:
        LOG.append(("pick", id(self), blocks.first))
        return super().pick(blocks)


#: Counts that a placement and a victim policy of this file share.
TOLD = {"writes": 0, "picks": 0}


class Teller:
    """A placement that counts writes in a global variable."""

    classes = 1

    def host(self, page: int, stream: int | None, old: int | None, now: Now) -> int:
        return 0

    def copy(self, page: int, from_: int, zombie: bool, now: Now) -> int:
        return 0

    def wrote(self, page: int, from_: int | None, to: int, now: Now) -> None:
        TOLD["writes"] += 1


def listener(blocks: Blocks) -> int:
    """A victim policy that reads the global variable."""
    assert TOLD["writes"] == blocks.host_clock
    TOLD["picks"] += 1
    return int(blocks.valid.argmin())
