"""Built-in placements written again in Python, for comparison with the built-in ones."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from flashgc import Now, PickedBlock

Pages: TypeAlias = NDArray[np.uint32]
PagesClasses: TypeAlias = NDArray[np.uint8]
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


class DacTable:
    """``dac`` with arrays instead of methods."""

    classes = REGIONS
    host = np.array([1, 2, 2, 0], np.uint8)
    copy = np.array([0, 0, 1], np.uint8)

    def takes_copies(self, class_: int) -> bool:
        return class_ != REGIONS - 1


class SepBitSeldom:
    """``sepbit``, but with events and ages updated only 16 times per drive write."""

    classes = 6

    def begin(self, pages: int, pages_per_block: int) -> None:
        self.every = max(pages // 16, 1)
        self.written = np.full(pages, -np.inf)
        self.host = np.ones((pages, 1), np.uint8)
        self.copy = np.full((pages, self.classes), 5, np.uint8, order="F")
        self.copy[:, 0] = 2
        self.lifetime = math.inf
        self.lives: list[int] = []

    def takes_copies(self, class_: int) -> bool:
        return class_ >= 2

    def wrote(self, pages: Pages, from_: PagesClasses, to: PagesClasses, now: Now) -> None:
        self.written[pages] = np.arange(now.host - len(pages), now.host)
        if now.host % self.every == 0:
            self.host[:, 0] = self.written <= now.host - self.lifetime
            level = np.uint8(3) + (self.written <= now.host - 4 * self.lifetime)
            level += self.written <= now.host - 16 * self.lifetime
            self.copy[:, 1:] = level[:, np.newaxis]

    def trimmed(self, pages: Pages, from_: PagesClasses, now: Now) -> None:
        self.written[pages] = -np.inf

    def collected(self, block: PickedBlock, now: Now) -> None:
        if block.class_ == 0:
            self.lives.append(now.host - block.opened.host)
            if len(self.lives) == 16:
                self.lifetime = sum(self.lives) / 16
                self.lives.clear()


class SepBitSeldomByPage:
    """``SepBitSeldom`` in the simplest form: one page per event and per question."""

    classes = 6

    def begin(self, pages: int, pages_per_block: int) -> None:
        self.rest = max(pages // 16, 1)
        self.written: dict[int, int] = {}
        self.news: list[tuple[int, int | None]] = []
        self.looked = 0
        self.limit = self.lifetime = math.inf
        self.lives: list[int] = []

    def takes_copies(self, class_: int) -> bool:
        return class_ >= 2

    def age(self, page: int) -> float:
        return self.looked - self.written[page] if page in self.written else math.inf

    def host(self, page: int, stream: int | None, old: int | None, now: Now) -> int:
        return 0 if self.age(page) < self.limit else 1

    def copy(self, page: int, from_: int, zombie: bool, now: Now) -> int:
        if from_ == 0:
            return 2
        age = self.age(page)
        return 3 if age < 4 * self.limit else 4 if age < 16 * self.limit else 5

    def wrote(self, page: int, from_: int | None, to: int, now: Now) -> None:
        self.news.append((page, now.host - 1))
        if now.host % self.rest == 0:
            for written, time in self.news:
                if time is None:
                    self.written.pop(written, None)
                else:
                    self.written[written] = time
            self.news.clear()
            self.looked, self.limit = now.host, self.lifetime

    def trimmed(self, page: int, from_: int, now: Now) -> None:
        self.news.append((page, None))

    def collected(self, block: PickedBlock, now: Now) -> None:
        if block.class_ == 0:
            self.lives.append(now.host - block.opened.host)
            if len(self.lives) == 16:
                self.lifetime = sum(self.lives) / 16
                self.lives.clear()
