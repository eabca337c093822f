"""Work of the flash besides writes and copies: time, merges of log blocks, traffic of a map."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Busy:
    """Time that the flash was busy in the measured parts of all runs."""

    #: Seconds of all operations.
    total_seconds: float
    #: Seconds of reads and writes of the host.
    host_seconds: float
    #: Seconds of copies and erases.
    collection_seconds: float
    #: Microseconds that a collection takes, mean; ``None`` where there was none.
    mean_collection_us: float | None


@dataclass(frozen=True)
class Merges:
    """Merges of log blocks in the measured parts of all runs."""

    #: Log blocks that became the data block as they were.
    switch: int
    #: Log blocks that were completed and became the data block.
    partial: int
    #: Log blocks whose data blocks were written anew.
    full: int
    #: Log blocks that held nothing and were erased.
    dead: int
    #: Log blocks chosen by their cost.
    picks: int
    #: Log blocks weighed to choose them.
    weighed: int

    @property
    def total(self) -> int:
        """Merges of every kind."""
        return self.switch + self.partial + self.full + self.dead


@dataclass(frozen=True)
class MapTraffic:
    """The cost of keeping the map on flash, in the measured parts of all runs."""

    #: Commands whose map entry was in memory.
    hits: int
    #: Commands whose map entry was not in memory.
    misses: int
    #: Translation pages read.
    reads: int
    #: Translation pages programmed; they are among the pages copied.
    writes: int
