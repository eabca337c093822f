"""Work of the flash besides writes and copies: time, and merges of log blocks."""

from __future__ import annotations

from dataclasses import dataclass

from flashgc.results import counts


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
class Merges(counts.MergeCounts):
    """Merges of log blocks in the measured parts of all runs."""

    @property
    def total(self) -> int:
        """Merges of every kind."""
        return self.switch + self.partial + self.full + self.dead
