"""The owners of pages and the streams of files, from the events that the kernel tells."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import Any, cast

from flashgc.device.files.names import Names
from flashgc.device.files.owners import (
    AFTER,
    BEFORE,
    JOURNAL,
    METADATA,
    UNNAMED,
    Owner,
    Owners,
    numbered,
)
from flashgc.device.files.streams import NONE, Patterns


class Known:
    """Names of files by inode and life."""

    def __init__(self, names: dict[tuple[int, int], str]) -> None:
        self._names = names

    def path(self, inode: int, life: int) -> str | None:
        return self._names.get((inode, life))


def owners(
    events: list[tuple[int, str, int, int, int]], names: dict[tuple[int, int], str]
) -> Owners:
    """The owners of a command between 1000 and 2000 ns on a drive with a journal of two pages."""
    made = Owners.__new__(Owners)
    made.names = cast(Names, Known(names))
    made._journal, made._first, made._events = [(90, 2)], -1, events
    made._over = threading.Event()
    made.began_ns, made.ended_ns = 1000, 2000
    return made


def test_what_was_given_out_before_the_command_holds_from_its_beginning_on() -> None:
    events = [
        (300, "next", 7, 0, 0),
        (400, "data", 7, 10, 5),
        (500, "freed", 0, 12, 1),
        (1500, "next", 8, 0, 0),
        (1600, "data", 8, 20, 3),
        (1700, "data", 9, 40, 1),
        (2500, "data", 8, 30, 3),
    ]
    found = owners(events, {(7, 0): "work/a", (8, 0): "work/b"}).changes(100)
    assert found == [
        (0, 0, 100, BEFORE),
        (1000, 0, 100, METADATA),
        (1000, 90, 2, JOURNAL),
        # In the order of their events, at the time of the beginning.
        (1000, 10, 5, "a"),
        (1000, 12, 1, METADATA),
        (1600, 20, 3, "b"),
        (1700, 40, 1, UNNAMED),
        # Nothing behind the end belongs to the command.
        (2000, 0, 100, AFTER),
    ]
    names, changes = numbered(found, 900)
    assert [at for at, *_ in changes] == [0, 100, 100, 100, 100, 700, 800, 1100]
    assert [names[number] for *_, number in changes] == [owner for *_, owner in found]


def test_the_past_has_no_amplification() -> None:
    counts: dict[str, Any] = defaultdict(int, written_pages=100, copied_pages=50)
    fields = ("written_pages", "copied_pages", "trimmed_pages", "live_pages", "mean_life")
    of = {field: counts[field] for field in fields}
    assert Owner("a", **of).amplification == 1.5
    assert Owner(BEFORE, **of).amplification is None
    assert Owner("a", **{**of, "written_pages": 0}).amplification is None


def test_the_first_pattern_of_a_file_wins() -> None:
    patterns = Patterns.parse("wal/*=1,*.db=2,wal/hot.db=3,*=4")
    found = [patterns.of(name) for name in ("wal/hot.db", "hot.db", "wal/1", "x")]
    assert found == [1, 2, 1, 4]
    assert Patterns.parse("*=4,wal/*=1").of("wal/1") == 4
    assert Patterns.parse("wal/*=1").of("base/1") == NONE
