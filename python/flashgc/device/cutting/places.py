"""The moments of power cuts in a log, and the pieces of commands that each cut loses."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flashgc.device.cutting.log import FLUSH, Log


@dataclass(frozen=True, slots=True)
class Cut:
    """A power cut: ``given`` commands of the log had come, and ``flushed`` of them were durable."""

    number: int
    given: int
    flushed: int
    #: True if the command that would have come next is a flush.
    is_at_flush: bool


def cuts(
    log: Log, begin: int, end: int, seed: int, acknowledged: Sequence[int] = ()
) -> Iterator[Cut]:
    """Return cuts between two bytes of the log, without an end: the first N are the same for all N.

    The first ones are at the flushes that have something to make durable, each once, in random
    order, but those first before which something was ``acknowledged`` since the flush before. The
    cut comes before the flush is done, so that it may lose every command since the flush before.
    Later ones come behind random commands.
    """
    draw = random.Random(f"{seed} places")
    first, last = log.until(begin), log.until(end)
    flushes = [
        index
        for index in range(first, last)
        if log.entries[index].kind == FLUSH and log.flushed(index) < index
    ]
    draw.shuffle(flushes)

    def is_silent(given: int) -> bool:
        return not _counted(log, log.flushed(given), given, acknowledged)

    flushes.sort(key=is_silent)
    for number, given in enumerate(flushes):
        yield Cut(number, given, log.flushed(given), is_at_flush=True)
    number = len(flushes)
    while True:
        given = draw.randint(first, last)
        yield Cut(number, given, log.flushed(given), is_at_flush=False)
        number += 1


def _counted(log: Log, flushed: int, given: int, positions: Sequence[int]) -> int:
    """Return the number of positions from the end of ``flushed`` commands to that of ``given``."""
    first, last = (log.entries[count - 1].end if count else 0 for count in (flushed, given))
    return bisect_right(positions, last) - bisect_left(positions, first)


def lost(pieces: int, seed: int, number: int) -> list[int]:
    """Return the pieces that a cut loses, of this many that no flush has made durable.

    One of four ways is drawn: all of them are lost (three times in eight); all from a random one on
    (two); each by a chance that is drawn, so that later ones stay where earlier ones go, and writes
    are torn at a page (two); or a single one (one).
    """
    draw = random.Random(f"{seed} cut {number}")
    if not pieces:
        return []
    way = draw.randrange(8)
    if way < 3:
        return list(range(pieces))
    if way < 5:
        return list(range(draw.randrange(pieces), pieces))
    if way < 7:
        chance = draw.random()
        return [piece for piece in range(pieces) if draw.random() < chance]
    return [draw.randrange(pieces)]
