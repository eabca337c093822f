"""The requests of a life as one trace, in which each cell has a stream of its own.

A drive without placement by streams does not heed them, so they only tell the figures of a result
apart. The random numbers are SplitMix64, which is the same with every version of numpy.

A cell has ``depth`` threads: request *i* waits for the answer of request *i* - ``depth``. Then a
flush waits for all answers, and the next cell begins, so that cells do not share the drive. In a
replay with ``arrivals="dependent"``, a request waits for the answer that was the last before it
came. So the trace has times and answers of a drive that answers in this order, a nanosecond before
the requests that wait. Only their order counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flashgc.frames import temporary
from flashgc.studies.qualifying.lives import (
    PRECONDITION,
    PRECONDITION_DEPTH,
    Cell,
    Life,
)

#: The largest number of streams of a trace.
MOST_STREAMS = 255


def draws(seed: int, name: str, count: int) -> NDArray[np.float64]:
    """``count`` random numbers from 0 to 1, of the stream called ``name``.

    >>> draws(1, "a", 3).round(4).tolist() == draws(1, "a", 5)[:3].round(4).tolist()
    True
    >>> round(float(draws(1, "a", 100_000).mean()), 2)
    0.5
    """
    start = hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()
    step = np.uint64(0x9E3779B97F4A7C15)
    x = np.arange(1, count + 1, dtype=np.uint64) * step + np.uint64(int.from_bytes(start, "little"))
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return (x >> np.uint64(11)).astype(np.float64) * 2.0**-53


#: The columns of a trace.
_HEAD = "time_us,op,offset_bytes,size_bytes,dev,answer_us,stream"

#: The lines of a trace that are made at a time.
_TOGETHER = 1 << 18

#: The share of a cell's requests, at its end, that are not measured.
AT_THE_END = 0.25

#: The nanoseconds from one request to the next in a trace.
_STEP = 2


@dataclass
class Trace:
    """Requests that are gathered, cell by cell."""

    #: The lines of the file, some of them together.
    texts: list[str] = field(default_factory=list)
    #: The number of requests so far, flushes included.
    requests: int = 0
    #: The time at which the next request comes, in nanoseconds.
    now: int = 0

    def add(
        self,
        offsets: NDArray[np.int64],
        size: int,
        reads: NDArray[np.bool],
        depth: int,
        stream: int | None = None,
    ) -> None:
        """Add a cell with ``depth`` requests under way, and a flush that waits for all of them.

        The first requests of the threads have no ``stream``, nor the last quarter of all, because
        threads that are done early leave the drive to the others.
        """
        count = len(offsets)
        # The answer comes a nanosecond before the request that waits for it.
        answer = f"{(_STEP * depth - 1) / 1000:.3f}"
        measured = range(0) if stream is None else range(depth, count - int(AT_THE_END * count))
        for begin in range(0, count, _TOGETHER):
            part = slice(begin, begin + _TOGETHER)
            rows = zip(
                range(begin, count), reads[part].tolist(), offsets[part].tolist(), strict=False
            )
            self.texts.append(
                "\n".join(
                    f"{self._time(at)},{'R' if read else 'W'},{offset},{size},0,{answer},"
                    f"{stream if at in measured else ''}"
                    for at, read, offset in rows
                )
            )
        self.texts.append(f"{self._time(count + depth)},F,0,0,0,0.001,")
        self.now += _STEP * (count + depth + 1)
        self.requests += count + 1

    def _time(self, step: int) -> str:
        """The time of a request of the cell that is being added, in microseconds."""
        time = self.now + _STEP * step
        return f"{time // 1000}.{time % 1000:03}"

    def write(self) -> str:
        """Write the trace into a file that is removed when the process ends; returns its path."""
        digest = hashlib.blake2b(digest_size=8)
        for text in self.texts:
            digest.update(text.encode())
        path = temporary(f"life-{digest.hexdigest()}.csv")
        with path.open("w", encoding="ascii") as file:
            file.writelines(f"{text}\n" for text in (_HEAD, *self.texts))
        return str(path)


def labels(life: Life, rounds: Sequence[int]) -> dict[tuple[int, Cell], int] | None:
    """Streams for every cell of these ``rounds``; ``None`` if there are too few streams.

    Cells with reads alone and with writes alone share a stream, because a result has the response
    times of a stream's reads and of its writes.
    """
    streams: dict[tuple[int, Cell], int] = {}
    shared: dict[tuple[int, int], int] = {}
    count = 0
    for number in rounds:
        for cell in life.cells:
            pure = cell.reads in (0, 1)
            if pure and (number, cell.size) in shared:
                stream = shared[number, cell.size]
            else:
                stream, count = count, count + 1
                if pure:
                    shared[number, cell.size] = stream
            streams[number, cell] = stream
    return streams if count <= MOST_STREAMS else None


def tracked_labels(life: Life, rounds: Sequence[int]) -> dict[tuple[int, Cell], int]:
    """Streams for the tracked cell of each round alone."""
    return {(number, life.tracked): at for at, number in enumerate(rounds)}


def of_life(
    life: Life,
    capacity: int,
    rounds: int,
    streams: dict[tuple[int, Cell], int],
    seed: int,
) -> Trace:
    """The requests of a ``life`` with ``rounds`` rounds, on ``capacity`` bytes."""
    trace = _preconditioned(capacity, life.start.times)
    begins: dict[Cell, int] = dict.fromkeys(life.cells, 0)
    for number in range(1, rounds + 1):
        for at, cell in enumerate(life.cells):
            depth, places = life.depth_of(cell, capacity), capacity // cell.size
            count = life.lengths.of(cell.size, capacity, depth)
            name = f"{life.name}/{number}/{at}"
            if life.sequential:
                where = (begins[cell] + np.arange(count, dtype=np.int64)) % places
                begins[cell] += count
            else:
                where = (draws(seed, f"{name}/place", count) * places).astype(np.int64)
            reads = draws(seed, f"{name}/kind", count) < cell.reads
            trace.add(where * cell.size, cell.size, reads, depth, streams.get((number, cell)))
    return trace


def _preconditioned(capacity: int, times: float) -> Trace:
    """A trace with the sequential writes before the rounds: ``times`` the ``capacity``."""
    trace = Trace()
    places = capacity // PRECONDITION
    where = np.arange(0, int(times * places), dtype=np.int64) % places * PRECONDITION
    if len(where):
        trace.add(where, PRECONDITION, np.zeros(len(where), np.bool), PRECONDITION_DEPTH)
    return trace
