"""Placements that log their events, for tests that compare drives."""

from __future__ import annotations

from typing import Any

from tests.placements_in_python import Dac, Pages, PagesClasses

from flashgc import Now, PickedBlock

#: The events in order: the method, its arguments, and both clocks.
LOG: list[tuple[Any, ...]] = []


def note(verb: str, *given: Any, now: Now) -> None:
    LOG.append((verb, *given, now.programs, now.host))


class Witness(Dac):
    """``dac`` with an event for each page."""

    def begin(self, pages: int, pages_per_block: int) -> None:
        LOG.append(("begin", pages, pages_per_block))

    def holds(self, page: Any, class_: Any, now: Now) -> None:
        note("holds", page, class_, now=now)

    def wrote(self, page: Any, from_: Any, to: Any, now: Now) -> None:
        note("wrote", page, from_, to, now=now)

    def trimmed(self, page: Any, from_: Any, now: Now) -> None:
        note("trimmed", page, from_, now=now)

    def copied(self, page: Any, from_: Any, to: Any, now: Now) -> None:
        note("copied", page, from_, to, now=now)

    def opened(self, class_: int, now: Now) -> None:
        note("opened", class_, now=now)

    def collected(self, block: PickedBlock, now: Now) -> None:
        since = (block.opened.programs, block.opened.host)
        note("collected", block.class_, since, block.valid, block.pages, now=now)


class WitnessOfMany(Witness):
    """``dac`` with events of many pages; class 255 is logged as ``None``."""

    every = 100

    def holds(self, page: Pages, class_: PagesClasses, now: Now) -> None:
        self.many("holds", page, class_, now=now)

    def wrote(self, page: Pages, from_: PagesClasses, to: PagesClasses, now: Now) -> None:
        self.many("wrote", page, from_, to, now=now)

    def trimmed(self, page: Pages, from_: PagesClasses, now: Now) -> None:
        self.many("trimmed", page, from_, now=now)

    def copied(self, page: Pages, from_: PagesClasses, to: PagesClasses, now: Now) -> None:
        self.many("copied", page, from_, to, now=now)

    def many(self, verb: str, pages: Pages, *classes: PagesClasses, now: Now) -> None:
        assert pages.dtype == "uint32"
        assert [column.dtype for column in classes] == ["uint8"] * len(classes)
        named = [[None if class_ == 255 else class_ for class_ in column.tolist()]
                 for column in classes]  # fmt: skip
        note(verb, [*zip(pages.tolist(), *named, strict=True)], now=now)
