"""Lifetimes of drives whose blocks bear only this many erases."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Milestone:
    """A moment in the life of a drive, mean over the runs that reached it.

    Everything is counted from the new drive on, warm-up included.
    """

    #: Runs that came to it.
    runs: int
    #: Pages that the host had written.
    host_pages: float
    #: The host's writes in drive writes: over logical pages.
    drive_writes: float
    #: Half the 95% interval of that over the runs; ``None`` for one run.
    drive_writes_ci95: float | None
    #: Drive writes a day, if the drive is to live for five years.
    drive_writes_per_day: float
    #: Bytes that the host had written, in terabytes of 10^12 bytes.
    terabytes_written: float
    #: Erases of all blocks.
    erases: float
    #: Blocks that were bad.
    bad_blocks: float
    #: Pages programmed per page written by the host, up to then.
    write_amplification: float
    #: Seconds that the flash had been busy; ``None`` without times.
    busy_seconds: float | None
    #: Drive writes of each run that came to it.
    run_values: tuple[float, ...]


@dataclass(frozen=True)
class Lifetime:
    """Lifetime of drives with an endurance."""

    #: Blocks that may be bad before the drive cannot keep its promises.
    reserve_blocks: int
    #: The first block at its limit; ``None`` where no run came to it.
    first_failure: Milestone | None
    #: The first erased block that could not be had; ``None`` where no run came to it.
    system_failure: Milestone | None
    #: Runs that failed because the reserve was used up.
    reserve_used_up: int
    #: Runs that failed because several victims in a row wore out and the pool was empty.
    pool_ran_dry: int
    #: Failures of the first run's blocks: drive writes done, and bad blocks from then on. At most
    #: 128 points, the first and the last failure among them.
    failures: tuple[tuple[float, int], ...] = field(default=(), repr=False)

    def of(self, end: str) -> Milestone | None:
        """The moment called ``end``: ``first_failure``, ``system_failure``.

        Raises :class:`KeyError` for any other.
        """
        ends = {"first_failure": self.first_failure, "system_failure": self.system_failure}
        return ends[end]
