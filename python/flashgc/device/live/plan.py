"""The plan of live runs: their loads, collectors and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flashgc.device.postgres.tpcc import Size

#: The collectors of the paper as options of a drive, and greedy without DAC beside them.
COLLECTORS: dict[str, dict[str, str]] = {
    "GC-GD": {"gc_preset": "gc-gd"},
    "ZGC-GD": {"gc_preset": "zgc-gd"},
    "GC-CB": {"gc_preset": "gc-cb"},
    "ZGC-CB": {"gc_preset": "zgc-cb"},
    "greedy": {"victim": "greedy"},
}

MIB = 1 << 20


@dataclass(frozen=True)
class Clock:
    """The drive with a clock that stands before the host in a session."""

    device: str = "mlc"
    channels: int = 4
    #: Pages of 4 KiB in a block: so few that each bank has hundreds of blocks.
    pages_per_block: int = 64
    #: The factor by which its time is slower than the host's, so that this host keeps pace.
    slower: float = 8.0
    #: The way in which hints come to it.
    hints: str = "piggyback"
    #: Tries of a session. One in which the host did not keep pace says nothing of the drive, and is
    #: run again.
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


#: The share of answers that may be late in a session: what ``device serve --realtime`` allows.
LATE = 0.001


def is_valid(session: Mapping[str, Any]) -> bool:
    """True if the drive of a session had no clock, or kept its times: what a session found counts.

    At most :data:`LATE` of its answers were late, and the drive did not fail.
    """
    clock = session["clock"]
    return clock is None or (clock["failed"] is None and clock["late_share"] <= LATE)


@dataclass(frozen=True)
class Plan:
    """A study's sizes. What the paper says of a condition is kept, as a share of the drive."""

    #: Physical bytes of the drive, and its spare share.
    capacity: int = 1024 * MIB
    spare: float = 0.05
    #: Pages of a block, of 4 KiB: a block of the paper holds 128 pages of what is written, here the
    #: database's of 8 KiB and the micro-benchmark's of 16 KiB.
    pages_per_block: int = 256
    micro_pages_per_block: int = 512
    #: Repetitions of a session of TPC-C, and of the micro-benchmark: ``None`` for as many.
    repetitions: int = 3
    micro_repetitions: int | None = None
    #: Collectors, by their names in the paper.
    collectors: tuple[str, ...] = tuple(COLLECTORS)

    #: The TPC-C-like load: its size, its clients, the transactions that age the drive first, then
    #: the transactions of a session: some of warm-up, some measured.
    warehouses: int = 7
    items: int = 100_000
    customers: int = 3000
    clients: int = 8
    history_transactions: int = 30_000
    warmup_transactions: int = 30_000
    transactions: int = 30_000
    #: Bytes of the database's buffers: the paper's 4 GB are 14% of its database.
    shared_buffers: int = 112 * MIB
    #: Bytes of the database's log between two checkpoints, and seconds between them at most.
    max_wal_size: int = 4096 * MIB
    checkpoint_timeout: int = 300
    #: Bytes of the file system that are free when the sessions begin: the tables grow into them.
    free: int = 75 * MIB
    #: Bytes of the page cache that may be dirty: the paper's database does without one.
    database_dirty: int = 8 * MIB
    full_page_writes: bool = True
    #: True if the log is on the drive. Elsewhere, as in the paper, it is on the host's disk.
    log_on_drive: bool = False

    #: True for the micro-benchmark on the drive's block device, and no database.
    raw: bool = False
    #: The micro-benchmark: percents of the space that get the rest of the writes.
    h: tuple[int, ...] = (3, 6, 10, 20, 50)
    #: Bytes that are written before the sessions, and that a session writes, as shares of the file.
    overwritten: float = 2.0
    written: float = 2.0
    #: Reads a write.
    reads_per_write: float = 0.5
    #: Bytes of the page cache that may be dirty. Some 2% of the drive are then, as 15% of 4 GB are.
    dirty: int = 48 * MIB

    #: The clock of the drive in a session; ``None`` for a drive that answers at once.
    clock: Clock | None = None
    #: With a clock, a session begins without it: this many transactions, and this many bytes of the
    #: micro-benchmark as a share of the file. The drive with a clock then has this past.
    past_transactions: int = 0
    past_written: float = 0.0
    #: Seconds of TPC-C that are not measured, and that are. They replace the transactions above; 0
    #: keeps these. All clients have equally many transactions, so in a short session the slowest
    #: client decides the rate.
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
        """Repetitions of a session of a workload."""
        if workload == "tpcc" or self.micro_repetitions is None:
            return self.repetitions
        return self.micro_repetitions

    def block(self, workload: str) -> int:
        """Pages of a block of the drive for a workload."""
        return self.pages_per_block if workload == "tpcc" else self.micro_pages_per_block

    @property
    def size(self) -> Size:
        """The database."""
        return Size(self.warehouses, self.items, self.customers)

    @property
    def server(self) -> dict[str, object]:
        """Options of the server."""
        return {
            "shared_buffers": f"{self.shared_buffers // 1024}kB",
            "max_wal_size": f"{self.max_wal_size // MIB}MB",
            "min_wal_size": "32MB",
            "checkpoint_timeout": f"{self.checkpoint_timeout}s",
            "full_page_writes": "on" if self.full_page_writes else "off",
            # Vacuum comes by the wall clock: a slow session would have more of it. The buffers are
            # full again after the start, as those of a server that has run for a while.
            **(
                {}
                if self.clock is None
                else {"autovacuum": "off", "shared_preload_libraries": "pg_prewarm"}
            ),
        }

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain Python values."""
        return asdict(self)
