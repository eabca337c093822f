"""The whole configuration of a run, as its result has it: defaults and specs written out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from flashgc._documents import Scalar


@dataclass(frozen=True)
class TraceConfig:
    """The reading of a trace; without a trace it means nothing."""

    #: The format; ``None`` detects it.
    format: str | None
    #: Bytes added to every offset before it is cut into pages.
    alignment_offset: int
    #: The treatment of a bad line: ``stop`` or ``skip``; ``None`` for ``stop``.
    on_bad_line: str | None
    #: The devices that are read; ``None`` for all.
    devices: str | None = None
    #: The action that is read of a Linux block trace; ``None`` lets the reader choose.
    blkparse_action: str | None = None
    #: The columns of the lines, in place of a format.
    columns: str | None = None
    #: The layout of the lines, in place of a format.
    layout: str | None = None
    #: The treatment of times that go back: ``refuse`` or ``sort``; ``None`` keeps the order.
    disorder: str | None = None
    #: The table of where a database's relations lie on its disk.
    relations: str | None = None
    #: The pages that a request covers, and those of them that the drive has.
    paging: str = "covered"
    #: The numbering of pages: by ``address``, by ``first-touch``, or as ``given``.
    numbering: str = "address"


@dataclass(frozen=True)
class HostConfig:
    """A host in front of the drive."""

    #: The spec of its cache.
    cache: str
    #: The spec of its way of hinting.
    hints: str


@dataclass(frozen=True)
class SwapConfig:
    """The page cache of a virtual memory system."""

    #: Pages that it holds.
    cache_pages: int
    #: Its policy.
    policy: str
    #: The treatment by collections of pages that are also in memory.
    scheme: str


@dataclass(frozen=True)
class Config:
    """The configuration of a run."""

    #: Physical blocks (N).
    blocks: int
    #: Pages a block (b).
    pages_per_block: int
    #: Bytes a flash page.
    page_size: int
    #: The spare factor that was asked for (S_f).
    spare: float
    #: The spec of the victim policy; ``none`` where the mapping has its own.
    victim: str
    #: The spec of the write frontier; ``none`` where the mapping has its own.
    frontier: str
    #: The first contents of the drive: ``sequential``, ``random``, ``empty``.
    fill: str
    #: The spec of the workload, or the path of a trace.
    workload: str
    #: The reading of a trace.
    trace: TraceConfig
    #: The part of a run that is warm-up.
    warmup: str
    #: The length of a run: one of ``writes``, ``collections``, ``requests``, ``passes`` and
    #: ``until``, with a number or an end.
    length: Mapping[str, int | str]
    #: Runs go on until the 95% half width is within this share of the mean; ``None`` where their
    #: number is given.
    precision: float | None
    #: Runs, with seeds of their own.
    runs: int
    #: Seed of the first run.
    seed: int
    #: Mapping units promised to the host (U).
    logical_pages: int
    #: Mapping units of flash (N b, times the units of a page).
    physical_pages: int
    #: 1 - U / (N b), exactly.
    spare_factor: float
    #: (N b - U) / U, exactly.
    overprovision: float
    #: True if nobody gave the size of the drive or the pages of its blocks: they were chosen for
    #: the pages of a trace.
    fitted: bool
    #: The spare factor that collections have: without the blocks that stay erased.
    effective_spare: float | None = None
    #: Bytes that were asked for, where the physical pages are fewer: they are whole blocks.
    capacity: int | None = None
    #: Bytes a mapping unit; ``None`` for a flash page.
    mapping_unit: int | None = None
    #: True if the page buffer survives a loss of power.
    power_protection: bool = True
    #: Bytes a request of a generator; ``None`` for a mapping unit.
    request_size: int | None = None
    #: Writes between two flush commands; ``None`` for none.
    flush_every: int | None = None
    #: The file with the streams of writes by address; ``None`` for none.
    streams: str | None = None
    #: The spec of the mapping.
    mapping: str = "page"
    #: The block allocation of the pool.
    allocation: str = "fifo"
    #: The spec of the placement.
    placement: str = "none"
    #: The moves of cold data that level wear; ``None`` for none.
    wear_levelling: str | None = None
    #: Erases that a block bears; ``None`` for any number.
    endurance: str | None = None
    #: The durations of operations; ``None`` where they were not given.
    times: str | None = None
    #: Clock, channels and queues of a timed drive, by their names; ``None`` without a clock.
    timed: Mapping[str, Scalar] | None = None
    #: The page cache of a virtual memory system; ``None`` without one.
    swap: SwapConfig | None = None
    #: The host; ``None`` without one.
    host: HostConfig | None = None

    @property
    def tenants(self) -> tuple[str, ...]:
        """The tenants that share the drive, as texts; empty where it has one host."""
        return tuple(cast("Sequence[str]", (self.timed or {}).get("tenants") or ()))

    @property
    def unit(self) -> int:
        """Bytes a mapping unit."""
        return self.page_size if self.mapping_unit is None else self.mapping_unit
