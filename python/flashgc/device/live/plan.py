"""The plan of live runs: their loads, collectors and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flashgc.device.postgres.tpcc import Size

#: The collectors of the paper as options of a drive, and greedy without DAC as another one.
COLLECTORS: dict[str, dict[str, str]] = {
    "GC-GD": {"scheme": "gc-gd"},
    "ZGC-GD": {"scheme": "zgc-gd"},
    "GC-CB": {"scheme": "gc-cb"},
    "ZGC-CB": {"scheme": "zgc-cb"},
    "greedy": {"victim": "greedy"},
}

MIB = 1 << 20


@dataclass(frozen=True)
class Clock:
    """The drive with a clock that serves the host in a session."""

    device: str = "mlc"
    channels: int = 4
    #: Pages of 4 KiB in a block. The number is small, so that each bank has hundreds of blocks.
    pages_per_block: int = 64
    #: The factor by which the drive is slower than real time, so that this machine keeps up.
    slower: float = 8.0
    #: The way in which hints reach the drive.
    hints: str = "piggyback"
    #: The most tries of a session. If the host did not keep up, the session has no result and runs
    #: again.
    tries: int = 3

    def options(self, *, is_hinted: bool, past: Path) -> dict[str, Any]:
        """The arguments of :func:`flashgc.device.realtime.clock`; ``past`` is a recording."""
        drive = {
            "device": self.device,
            "channels": self.channels,
            "pages_per_block": self.pages_per_block,
        }
        return {
            "values": {"drive": drive},
            "slower": self.slower,
            "aged": past,
            "hints": self.hints if is_hinted else None,
        }


#: The largest share of late answers in a session; ``device serve --realtime`` allows the same.
LATE = 0.001


def is_valid(session: Mapping[str, Any]) -> bool:
    """True if the session counts: its drive had no clock, or its answers came in time.

    At most the share :data:`LATE` of its answers was late, and the drive did not fail.
    """
    clock = session["clock"]
    return clock is None or (clock["failed"] is None and clock["late_share"] <= LATE)


@dataclass(frozen=True)
class Plan:
    """The sizes of a study. Conditions of the paper are kept as shares of the drive."""

    #: Physical bytes of the drive, and its spare share.
    capacity: int = 1024 * MIB
    spare: float = 0.05
    #: Pages of 4 KiB in a block. A block of the paper holds 128 pages of the host's size, which
    #: here is 8 KiB for the database and 16 KiB for the micro-benchmark.
    pages_per_block: int = 256
    micro_pages_per_block: int = 512
    #: Repetitions of a session of TPC-C, and of the micro-benchmark (``None``: as many as TPC-C).
    repetitions: int = 3
    micro_repetitions: int | None = None
    #: Collectors, by their names in the paper.
    collectors: tuple[str, ...] = tuple(COLLECTORS)

    #: The load like TPC-C: its size and clients; the number of transactions that age the drive
    #: first; in a session, the number for warm-up and the number measured.
    warehouses: int = 7
    items: int = 100_000
    customers: int = 3000
    clients: int = 8
    history_transactions: int = 30_000
    warmup_transactions: int = 30_000
    transactions: int = 30_000
    #: Bytes of the database's buffers. The paper's 4 GB are 14% of its database, and so are these.
    shared_buffers: int = 112 * MIB
    #: Bytes of the database's log between two checkpoints, and the most seconds between two.
    max_wal_size: int = 4096 * MIB
    checkpoint_timeout: int = 300
    #: Bytes of the file system that are free when the sessions begin; the tables grow into them.
    free: int = 75 * MIB
    #: Bytes of the page cache that may be dirty. The paper's database bypasses the page cache.
    database_dirty: int = 8 * MIB
    full_page_writes: bool = True
    #: True if the log is on the drive. Otherwise it is on the host's disk, as in the paper.
    log_on_drive: bool = False

    #: True to run only the micro-benchmark, on the drive's block device, without a database.
    raw: bool = False
    #: For each run of the micro-benchmark: the percentage ``h`` of the space that gets 100 - ``h``
    #: percent of the writes.
    h: tuple[int, ...] = (3, 6, 10, 20, 50)
    #: Bytes written before the sessions, and bytes that a session writes, as shares of the file.
    overwritten: float = 2.0
    written: float = 2.0
    #: Reads per write.
    reads_per_write: float = 0.5
    #: Bytes of the page cache that may be dirty. On average about 2% of the drive are dirty then,
    #: as with 15% of 4 GB in the paper.
    dirty: int = 48 * MIB

    #: The clock of the drive in a session; ``None`` for a drive that answers at once.
    clock: Clock | None = None
    #: The past of a drive with a clock. A session first runs without the clock, for this number of
    #: transactions, or until the micro-benchmark has written this share of its file.
    past_transactions: int = 0
    past_written: float = 0.0
    #: Seconds of TPC-C for warm-up, and seconds measured. They replace the numbers of transactions
    #: above; 0 keeps those numbers. With numbers, all clients run equally many transactions, so
    #: that in a short session the slowest client decides the rate.
    warmup_seconds: int = 0
    seconds: int = 0

    @property
    def workloads(self) -> tuple[str, ...]:
        """The names of the workloads: ``tpcc``, and ``micro-H`` or ``raw-H`` for each ``h``."""
        return (
            tuple(f"raw-{h}" for h in self.h)
            if self.raw
            else ("tpcc", *(f"micro-{h}" for h in self.h))
        )

    def times(self, workload: str) -> int:
        """The number of repetitions of a session of this workload."""
        if workload == "tpcc" or self.micro_repetitions is None:
            return self.repetitions
        return self.micro_repetitions

    def block(self, workload: str) -> int:
        """The pages per block of the drive for this workload."""
        return self.pages_per_block if workload == "tpcc" else self.micro_pages_per_block

    @property
    def size(self) -> Size:
        """The size of the database."""
        return Size(self.warehouses, self.items, self.customers)

    @property
    def server(self) -> dict[str, object]:
        """Options of the PostgreSQL server."""
        return {
            "shared_buffers": f"{self.shared_buffers // 1024}kB",
            "max_wal_size": f"{self.max_wal_size // MIB}MB",
            "min_wal_size": "32MB",
            "checkpoint_timeout": f"{self.checkpoint_timeout}s",
            "full_page_writes": "on" if self.full_page_writes else "off",
            # Vacuum runs by the wall clock, so a slow session would have more of it. pg_prewarm
            # fills the buffers at the start, as on a server that has run for a while.
            **(
                {}
                if self.clock is None
                else {"autovacuum": "off", "shared_preload_libraries": "pg_prewarm"}
            ),
        }

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain Python values."""
        return asdict(self)
