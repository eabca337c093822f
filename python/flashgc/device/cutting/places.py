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

    They are at flushes that have something to make durable, or behind any command. A cut at a flush
    comes before the flush is done, so that it may lose every command since the flush before. If
    a line was ``acknowledged`` since then, a promise may be broken: cuts come at these flushes
    first, each once. Then come in turn one at another flush, each once; one at any of the first
    flushes again, which may lose other pieces; and one behind a random command.
    """
    draw = random.Random(f"{seed} places")
    first, last = log.until(begin), log.until(end)
    flushes, silent = _flushes(log, first, last, acknowledged)
    draw.shuffle(flushes)
    draw.shuffle(silent)

    def moments() -> Iterator[tuple[int, bool]]:
        yield from ((given, True) for given in flushes)
        while True:
            if silent:
                yield silent.pop(), True
            if flushes:
                yield draw.choice(flushes), True
            yield draw.randint(first, last), False

    for number, (given, is_at_flush) in enumerate(moments()):
        yield Cut(number, given, log.flushed(given), is_at_flush)


def _flushes(
    log: Log, first: int, last: int, acknowledged: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return the flushes with something to do: those with a line behind the one before, others."""
    numbers: list[int] = []
    silent: list[int] = []
    for index in range(first, last):
        if log.entries[index].kind == FLUSH and (flushed := log.flushed(index)) < index:
            has_line = _counted(log, flushed, index, acknowledged)
            (numbers if has_line else silent).append(index)
    return numbers, silent


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
