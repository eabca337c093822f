"""The complete configuration of a run, as in its result: defaults and specs are written out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from flashgc._documents import Scalar


@dataclass(frozen=True)
class TraceConfig:
    """Options on how a trace is read; without a trace they have no meaning."""

    #: The format; with ``None`` it is detected.
    format: str | None
    #: Bytes added to every offset before offsets become page numbers.
    alignment_offset: int
    #: The action at a bad line: ``stop`` or ``skip``; ``None`` means ``stop``.
    on_bad_line: str | None
    #: The devices whose requests are read; ``None`` for all.
    devices: str | None = None
    #: The action of a Linux block trace that is read; with ``None`` the reader chooses it.
    blkparse_action: str | None = None
    #: The columns of the lines, instead of a format.
    columns: str | None = None
    #: The layout of the lines, instead of a format.
    layout: str | None = None
    #: The action if times go back: ``refuse`` or ``sort``; ``None`` keeps the order.
    disorder: str | None = None
    #: The table of the places of a database's relations on its disk.
    relations: str | None = None
    #: The rule that turns requests into pages, and pages into the size of the drive.
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
    #: The rule by which collections treat pages that are also in memory.
    scheme: str


@dataclass(frozen=True)
class Scaled:
    """The large drive that a simulated drive stands for."""

    #: The share of it that is simulated: ``1/64``.
    scale: str
    #: Its bytes of flash.
    bytes: int
    #: Its blocks.
    blocks: int
    #: The pages of its blocks.
    pages_per_block: int
    #: The share by which write amplification may differ from that of the large drive, about.
    change: float


def together_of(superblock: str) -> int:
    """Blocks of a superblock that is given by the dies and planes that it joins; else 1.

    >>> together_of("dies=16,planes=4"), together_of("plane")
    (64, 1)
    """
    members = (part.partition("=")[2] for part in superblock.split(",") if "=" in part)
    return math.prod(map(int, members))


@dataclass(frozen=True)
class Config:
    """The configuration of a run."""

    #: Physical blocks (N).
    blocks: int
    #: Pages per block (b).
    pages_per_block: int
    #: Bytes of a flash page.
    page_size: int
    #: The spare factor as given (S_f).
    spare: float
    #: The spec of the victim policy; ``none`` if the mapping has its own.
    victim: str
    #: The spec of the write frontier; ``none`` if the mapping has its own.
    frontier: str
    #: The initial contents of the drive: ``sequential``, ``random``, ``steady``, ``empty``.
    fill: str
    #: The spec of the workload, or the path of a trace.
    workload: str
    #: Options on how a trace is read.
    trace: TraceConfig
    #: The part of a run that is warm-up.
    warmup: str
    #: The length of a run: one of ``writes``, ``collections``, ``requests``, ``passes`` and
    #: ``until``, with a number or an end.
    length: Mapping[str, int | str]
    #: Runs continue until half the 95% interval is within this share of the mean; ``None`` if their
    #: number is given.
    precision: float | None
    #: The number of runs, each with its own seed.
    runs: int
    #: The seed of the first run.
    seed: int
    #: Logical capacity in mapping units (U).
    logical_pages: int
    #: Physical capacity in mapping units (N b, times the units of a page), that of parity included.
    physical_pages: int
    #: Spare factor: 1 - U / (N b), exact. With parity, it is the share of the flash beside parity.
    spare_factor: float
    #: Over-provisioning: (N b - U) / U, exact. With parity, it is that of the flash beside parity.
    overprovision: float
    #: True if the size of the drive and the pages per block were not given, but chosen for the
    #: pages of a trace.
    fitted: bool
    #: The name of the scheme of which victim policy, placement and perhaps frontier are parts;
    #: ``None`` if they were given one by one.
    scheme: str | None = None
    #: The spare factor for collections, without the blocks that stay erased.
    effective_spare: float | None = None
    #: The capacity in bytes that was asked for, if whole blocks have fewer bytes; else ``None``.
    capacity: int | None = None
    #: Bytes of a mapping unit; ``None`` for a flash page.
    mapping_unit: int | None = None
    #: Blocks that are opened, collected and erased together: ``plane`` (each alone), ``die`` or
    #: ``dies=N,planes=N``.
    superblock: str = "plane"
    #: The share of each superblock that is parity: ``1/N``, or ``none``.
    parity: str = "none"
    #: True if the page buffer survives a loss of power.
    power_protection: bool = True
    #: Bytes of a generator's request; ``None`` for a mapping unit.
    request_size: int | None = None
    #: Writes between two flush commands; ``None`` for no flushes.
    flush_every: int | None = None
    #: The file with the streams of writes by address; ``None`` for none.
    streams: str | None = None
    #: The spec of the mapping.
    mapping: str = "page"
    #: The block allocation of the pool.
    allocation: str = "fifo"
    #: The spec of the placement.
    placement: str = "none"
    #: The wear levelling, which moves cold data; ``None`` for none.
    wear_levelling: str | None = None
    #: Erases that a block endures; ``None`` for any number.
    endurance: str | None = None
    #: The durations of operations; ``None`` if not given.
    times: str | None = None
    #: Clock, channels and queues of a timed drive, by name; ``None`` without a clock.
    timed: Mapping[str, Scalar] | None = None
    #: The page cache of a virtual memory system; ``None`` without one.
    swap: SwapConfig | None = None
    #: The host; ``None`` without one.
    host: HostConfig | None = None
    #: The large drive that this one stands for; ``None`` if the whole drive is simulated.
    scaled: Scaled | None = None

    @property
    def tenants(self) -> tuple[str, ...]:
        """The tenants of the drive as texts; empty if it has one host."""
        return tuple(cast("Sequence[str]", (self.timed or {}).get("tenants") or ()))

    @property
    def blocks_together(self) -> int:
        """Blocks of a superblock, which is opened, collected and erased as one; 1 without them."""
        timed = self.timed or {}
        if self.superblock == "die":
            return int(timed.get("planes") or 1)
        return together_of(self.superblock)

    @property
    def stripe(self) -> int | None:
        """Parts of a superblock, one of which is parity; ``None`` without parity."""
        return None if self.parity == "none" else int(self.parity.removeprefix("1/"))

    @property
    def data_pages(self) -> int:
        """Mapping units of the flash beside parity."""
        parts = self.stripe
        return self.physical_pages - (0 if parts is None else self.physical_pages // parts)

    @property
    def spare_of_flash(self) -> float:
        """The share of all flash, that of parity included, beyond the logical capacity."""
        return 1 - self.logical_pages / self.physical_pages

    @property
    def superblocks(self) -> int:
        """The number of superblocks; that of the blocks if they are on their own."""
        return self.blocks // self.blocks_together

    @property
    def block_noun(self) -> str:
        """The name of what is erased at once: ``blocks`` or ``superblocks``."""
        return "superblocks" if self.blocks_together > 1 else "blocks"

    @property
    def unit(self) -> int:
        """Bytes of a mapping unit."""
        return self.page_size if self.mapping_unit is None else self.mapping_unit
