"""The wear of the flash: its busy time, and the life of drives with an endurance.

Written by ``make docs`` from the declarations in the engine; edit those instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from flashgc import results


@dataclass(frozen=True)
class Busy:
    """The time that the flash was busy in the measured parts of all runs."""

    #: The seconds of all operations.
    total_seconds: float
    #: The seconds of host reads and host writes.
    host_seconds: float
    #: The seconds of copies and erases.
    collection_seconds: float
    #: The mean microseconds of a collection; ``None`` if there was none.
    mean_collection_us: float | None


@dataclass(frozen=True)
class Milestone:
    """A moment in a drive's life, as the mean over the runs that reached it.

    All counts begin with the new drive, warm-up included.
    """

    #: The number of runs that reached the moment.
    runs: int
    #: The pages that the host had written.
    host_pages: float
    #: The drive writes: bytes written as a multiple of the logical capacity.
    drive_writes: float
    #: Half the 95% interval of the drive writes, over the runs; ``None`` for one run.
    drive_writes_ci95: float | None
    #: The drive writes per day with which the drive would live five years.
    drive_writes_per_day: float
    #: The terabytes (10^12 bytes) that the host had written.
    terabytes_written: float
    #: The erases of all blocks.
    erases: float
    #: The number of bad blocks.
    bad_blocks: float
    #: The bytes programmed per byte written by the host, up to the moment.
    write_amplification: float
    #: The seconds that the flash had been busy; ``None`` without times.
    busy_seconds: float | None
    #: The drive writes of each run that reached the moment.
    run_values: tuple[float, ...]


@dataclass(frozen=True)
class Lifetime:
    """The lifetime of drives whose blocks wear out."""

    #: The number of bad blocks that the drive can bear before it fails.
    reserve_blocks: int
    #: The moment at which the first block reached its limit; ``None`` if no run reached it.
    first_failure: results.Milestone | None
    #: The first moment at which no erased block was available; ``None`` if no run reached it.
    system_failure: results.Milestone | None
    #: The number of runs that failed because the reserve was used up.
    reserve_used_up: int
    #: The number of runs that failed because several victims in a row wore out and the pool was
    #: empty.
    pool_ran_dry: int
    #: The superblocks that were in use without some of their blocks at the end, as a mean over the
    #: runs; ``None`` if superblocks retire with their first bad block.
    smaller_superblocks: float | None = None
    #: The pages that these superblocks had lost, as a mean over the runs; ``None`` as above.
    lost_pages: float | None = None
    #: The failures of blocks in the first run, as pairs: the drive writes done, and the bad blocks
    #: from then on. At most 128 failures are listed, the first and the last among them.
    failures: tuple[tuple[float, int], ...] = field(default=(), repr=False)
