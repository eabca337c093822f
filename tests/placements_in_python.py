"""Built-in placements once more, in Python: what tests compare with the built-in ones."""

from __future__ import annotations

import math

from flashgc import Now, PickedBlock

REGIONS = 3


class Dac:
    """``dac``: an update goes one region up, a copy one down."""

    classes = REGIONS

    def takes_copies(self, class_: int) -> bool:
        return class_ != REGIONS - 1

    def host(self, page: int, stream: int | None, old: int | None, now: Now) -> int:
        return 0 if old is None else min(old + 1, REGIONS - 1)

    def copy(self, page: int, from_: int, zombie: bool, now: Now) -> int:
        return max(from_ - 1, 0)


class ZombieDac(Dac):
    """``dac:zombie-block=yes``: copies of zombies go to a class of their own."""

    classes = REGIONS + 1
    asks_for_zombies = True

    def host(self, page: int, stream: int | None, old: int | None, now: Now) -> int:
        return 0 if old is None else min(min(old, REGIONS - 1) + 1, REGIONS - 1)

    def copy(self, page: int, from_: int, zombie: bool, now: Now) -> int:
        return REGIONS if zombie else max(min(from_, REGIONS - 1) - 1, 0)


class SepBit:
    """``sepbit``: Wang, Li, Lee, Li, FAST 2022, Algorithm 1."""

    classes = 6

    def begin(self, pages: int, pages_per_block: int) -> None:
        self.written: dict[int, int] = {}
        self.lifetime = math.inf
        self.lives: list[int] = []
        self.first = 0
        self.valid = 0

    def takes_copies(self, class_: int) -> bool:
        return class_ >= 2

    def host(self, page: int, stream: int | None, old: int | None, now: Now) -> int:
        number = self.written.get(page, -1)
        queued = number >= self.first
        return 0 if queued and now.host - number < self.lifetime else 1

    def copy(self, page: int, from_: int, zombie: bool, now: Now) -> int:
        if from_ == 0:
            return 2
        age = now.host - self.written[page] if page in self.written else math.inf
        if age < 4 * self.lifetime:
            return 3
        return 4 if age < 16 * self.lifetime else 5

    def holds(self, page: int, class_: int, now: Now) -> None:
        self.valid += 1
        self.first = now.host

    def wrote(self, page: int, from_: int | None, to: int, now: Now) -> None:
        self.written[page] = now.host - 1
        self.valid += from_ is None
        if now.host - self.first > min(self.lifetime, self.valid):
            self.first += 1
        if now.host - self.first > self.lifetime:
            self.first += 1

    def trimmed(self, page: int, from_: int, now: Now) -> None:
        self.written.pop(page, None)
        self.valid -= 1

    def collected(self, block: PickedBlock, now: Now) -> None:
        if block.class_ == 0:
            self.lives.append(now.host - block.opened.host)
            if len(self.lives) == 16:
                self.lifetime = sum(self.lives) / 16
                self.lives.clear()
