"""A simulator of a drive, written from ``docs/exact.md`` alone; numbers are those of its rules.

``wrong`` names a rule that is broken, so that tests can see that somebody notices it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass
class Block:
    """A block; ``pages`` has the logical page of each programmed page (rule 1)."""

    number: int
    pages: list[int] = field(default_factory=list)
    erases: int = 0
    #: Rule 15: the clock at which it became a candidate.
    closed_at: int = 0
    #: Rule 16: the event at which it became a candidate, or last lost a valid page.
    touched: int = 0
    #: Rule 22: the class for which it was opened.
    class_: int = 0


class Drive:
    """A drive with a page map, without a clock."""

    def __init__(
        self,
        blocks: int,
        pages_per_block: int,
        spare: float,
        victim: str,
        frontier: str = "single",
        regions: int = 0,
        wrong: str = "",
    ) -> None:
        self.b, self.wrong = pages_per_block, wrong
        self.blocks = [Block(number) for number in range(blocks)]
        # Rule 2.
        self.logical = int(blocks * pages_per_block * (1 - spare) + 0.5)
        if wrong == "round down":
            self.logical = int(blocks * pages_per_block * (1 - spare))
        name, _, low = frontier.partition(":low=")
        self.frontier, self.low = name, int(low or 2)
        self.has_pool = name in ("pool", "mixed")
        victim, _, options = victim.partition(":")
        self.victim, self.options = victim, dict(o.split("=") for o in options.split(",") if o)
        self.regions = regions
        self.where: dict[int, tuple[Block, int]] = {}
        self.candidates: list[Block] = []  # Rule 5: in the order of their closing.
        self.pool: list[Block] = []
        #: Rules 8 to 12: the open block of each class; 0 is the host's, 1 that of copies.
        self.open: list[Block | None] = [None] * (regions or 2)
        self.clock = self.event = 0
        self.host_pages = self.copied_pages = self.collections = 0
        self._fill()

    def _fill(self) -> None:
        # Rule 3: the first contents, in order; they cost nothing and take no time.
        for page in range(self.logical):
            block = self.blocks[page // self.b]
            self.where[page] = (block, len(block.pages))
            block.pages.append(page)
        used = -(-self.logical // self.b)
        rest, full = self.blocks[used:], self.blocks[:used]
        if self.has_pool:
            self.pool = list(rest)
            rest = []
        # Rule 4: the erased blocks close before the full ones; the partly full one is open.
        if self.wrong == "erased blocks close last":
            rest, full = [], [*full, *rest]
        for block in [*rest, *full]:
            if 0 < len(block.pages) < self.b:
                self.open[0] = block
            else:
                self.close(block)

    # The state of a page and of a block.

    def valid(self, block: Block) -> list[int]:
        """The pages with current data, in the order of their places (rule 13)."""
        pages = [page for at, page in enumerate(block.pages) if self.where.get(page) == (block, at)]
        return pages[::-1] if self.wrong == "copies in reverse" else pages

    def room(self, block: Block | None) -> int:
        return 0 if block is None else self.b - len(block.pages)

    def close(self, block: Block | None) -> None:
        """Make a block a candidate (rules 5, 15 and 16)."""
        if block is not None:
            self.candidates.append(block)
            block.closed_at = self.clock
            self.touch(block)

    def touch(self, block: Block) -> None:
        self.event += 1
        block.touched = self.event

    def program(self, block: Block, page: int) -> None:
        self.where[page] = (block, len(block.pages))
        block.pages.append(page)
        self.clock += 1

    def lose(self, old: tuple[Block, int] | None) -> None:
        """A page of a block has no current data any more."""
        if old is not None and self.wrong != "touched when closed":
            self.touch(old[0])

    # Commands.

    def write(self, page: int) -> None:
        """Rule 6."""
        class_ = self._host_class(page) if self.regions else 0
        while self.room(self.open[class_]) == 0:
            self._make_room(class_)
            if self.regions:
                class_ = self._host_class(page)  # Rule 23: the copies may have moved the page.
        block, old = self.open[class_], self.where.get(page)
        assert block is not None
        self.program(block, page)
        self.lose(old)
        self.host_pages += 1
        if self.wrong == "room as soon as full" and self.room(block) == 0:
            self._make_room(class_)

    def trim(self, page: int) -> None:
        """Rule 7."""
        self.lose(self.where.pop(page, None))

    # Collections.

    def _make_room(self, class_: int) -> None:
        if self.has_pool:
            self._make_room_from_pool(class_)
        else:
            {"single": self._single, "double": self._double, "compact": self._compact}[
                self.frontier
            ]()

    def _single(self) -> None:
        """Rule 8."""
        while self.room(self.open[0]) == 0:
            if self.wrong != "the full block closes after the pick":
                self.close(self.open[0])
                self.open[0] = None
            victim, pages = self._collect()
            self.close(self.open[0])
            for page in pages:
                self._copy(victim, page)
            self.open[0] = victim

    def _double(self) -> None:
        """Rule 9."""
        while True:
            victim, pages = self._collect()
            fits = self.room(self.open[1])
            for page in pages[:fits]:
                copies = self.open[1]
                assert copies is not None
                self._copy(copies, page)
            class_ = 0 if len(pages) <= fits else 1
            if self.wrong == "the victim is always the host's":
                class_ = 0
            self.close(self.open[class_])
            self.open[class_] = victim
            for page in pages[fits:]:
                self._copy(victim, page)
            if class_ == 0:
                return

    def _compact(self) -> None:
        """Rule 10."""
        self.close(self.open[0])
        self.open[0] = None
        if self.room(self.open[1]) > 0:
            self.open[0], self.open[1] = self.open[1], None
            return
        self.close(self.open[1])
        self.open[1] = None
        taken, gained = [], 0
        while gained < self.b:
            victim, pages = self._collect()
            gained += self.b - len(pages)
            taken.append((victim, pages))
        if self.wrong != "the first victim is compacted first":
            taken.reverse()
        for victim, pages in taken:
            fits = self.room(self.open[1])
            for page in pages[:fits]:
                copies = self.open[1]
                assert copies is not None
                self._copy(copies, page)
            class_ = 0 if len(pages) <= fits else 1
            self.close(self.open[class_])
            self.open[class_] = victim
            for page in pages[fits:]:
                self._copy(victim, page)

    def _make_room_from_pool(self, class_: int) -> None:
        """Rules 11, 12 and 24."""
        self.close(self.open[class_])
        self.open[class_] = None
        water = self.low + max(self._copy_classes() - 1, 0)
        if self.wrong == "one block less in the pool":
            water -= 1
        while len(self.pool) < water + (self.room(self.open[class_]) == 0 or not self.regions):
            victim, pages = self._collect()
            for page in pages:
                to = self._class_of_copy(victim)
                block = self.open[to]
                if self.room(block) == 0:
                    self.close(block)
                    block = self.open[to] = self._erased(to)
                assert block is not None
                self._copy(block, page)
            # Rule 14: the victim is in the pool after its copies are done.
            self.pool.append(victim)
        if self.room(self.open[class_]) == 0:
            self.close(self.open[class_])
            self.open[class_] = self._erased(class_)

    def _erased(self, class_: int) -> Block:
        """Rule 14: the block that has waited longest."""
        block = self.pool.pop(-1 if self.wrong == "last erased, first opened" else 0)
        block.class_ = class_
        return block

    def _copy(self, block: Block, page: int) -> None:
        self.program(block, page)
        self.copied_pages += 1

    def _collect(self) -> tuple[Block, list[int]]:
        """Pick, empty and erase a victim (rule 13)."""
        victim = self._pick()
        pages = self.valid(victim)
        self.candidates.remove(victim)
        self.collections += 1
        if victim.pages:
            victim.erases += 1
        victim.pages = []
        return victim, pages

    # Placement.

    def _host_class(self, page: int) -> int:
        """Rule 23."""
        if page not in self.where:
            return 0
        return min(self.where[page][0].class_ + 1, self.regions - 1)

    def _class_of_copy(self, victim: Block) -> int:
        if self.regions:
            if self.wrong == "copies stay in their region":
                return victim.class_
            return max(victim.class_ - 1, 0)
        return 0 if self.frontier == "mixed" else 1

    def _copy_classes(self) -> int:
        """Rule 24: the classes that copies may go to."""
        return max(self.regions - 1, 1) if self.regions else 1

    # Victim policies.

    def _pick(self) -> Block:
        return _PICKS[self.victim](self)


def _fewest(drive: Drive, blocks: Sequence[Block], ties: str) -> Block:
    """Rules 17 and 18."""
    ties = drive.options.get("ties", ties)
    if drive.wrong == "ties by the lowest number":
        ties = "lowest"
    keys: dict[str, Callable[[Block], int]] = {
        "latest": lambda block: -block.touched,
        "oldest": blocks.index,
        "lowest": lambda block: block.number,
    }
    return min(blocks, key=lambda block: (len(drive.valid(block)), keys[ties](block)))


def _windowed(drive: Drive) -> Block:
    window = int(drive.options.get("w", 500))
    return _fewest(drive, drive.candidates[:window], "oldest")


def _cost_benefit(drive: Drive) -> Block:
    """Rules 20 and 21."""
    form = drive.options.get("form", "kawaguchi")

    def score(block: Block) -> Fraction | float:
        age, valid, b = max(drive.clock - block.closed_at, 1), len(drive.valid(block)), drive.b
        if drive.wrong == "age on the host's clock":
            age = max(drive.host_pages - block.closed_at, 1)
        if form == "lfs":
            return Fraction(age * (b - valid), b + valid)
        if valid == 0:
            return float("inf")
        if form == "sqrt":  # Its square, which has the same order.
            return Fraction(b - valid, valid) ** 2 * age
        return Fraction(age * (b - valid), 2 * valid)

    erases = 0 if drive.wrong == "ties without erases" else 1

    def key(block: Block) -> tuple[Fraction | float, int, int, int]:
        return -score(block), erases * block.erases, block.closed_at, block.number

    return min(drive.candidates, key=key)


_PICKS: dict[str, Callable[[Drive], Block]] = {
    "fifo": lambda drive: drive.candidates[0],
    "greedy": lambda drive: _fewest(drive, drive.candidates, "latest"),
    "windowed": _windowed,
    "cost-benefit": _cost_benefit,
}
