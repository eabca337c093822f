"""What is run, and how large."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from flashgc.postgres.tpcc import Size

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
class Plan:
    """A study's sizes."""

    #: Physical bytes of the drive, its spare share, and pages of a block.
    capacity: int
    spare: float = 0.07
    pages_per_block: int = 128
    #: Repetitions of each session.
    repetitions: int = 3
    #: Collectors, by their names in the paper.
    collectors: tuple[str, ...] = tuple(COLLECTORS)

    #: TPC-C-like: warehouses, clients, and seconds before and in a session.
    warehouses: int = 2
    items: int = 100_000
    customers: int = 3000
    clients: int = 8
    history_seconds: int = 60
    seconds: int = 60
    #: Bytes of the database's buffers, and of its log between two checkpoints.
    shared_buffers: int = 64 * MIB
    max_wal_size: int = 128 * MIB
    #: Seconds between two checkpoints at most.
    checkpoint_timeout: int = 60
    #: Bytes of the file system that are free when the sessions begin.
    free: int = 64 * MIB
    full_page_writes: bool = True
    #: Whether the log is on the drive. Elsewhere, it is on the host's disk.
    log_on_drive: bool = True

    #: The micro-benchmark: percents of the space that get the rest of the writes.
    h: tuple[int, ...] = (6, 20)
    #: Bytes that a session writes, as a share of the file; reads a write.
    written: float = 1.0
    reads_per_write: float = 0.5
    #: Bytes of the page cache that may be dirty.
    dirty: int = 48 * MIB

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
        }

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain Python values."""
        return asdict(self)
