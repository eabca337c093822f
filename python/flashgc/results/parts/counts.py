"""The counts of results, in the measured parts of all runs.

Written by ``make docs`` from the declarations in the engine; edit those instead.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Counters:
    """The counts that every map of pages has."""

    #: Pages written by the host, those that collections wrote from its memory included.
    host_pages: int
    #: Valid pages rewritten by collections.
    copied_pages: int
    #: Blocks erased.
    erases: int
    #: Blocks collected: picked by the victim policy, or to level wear.
    collections: int
    #: Pages that a TRIM found mapped.
    trimmed_pages: int


@dataclass(frozen=True)
class Levelling:
    """The cost of wear levelling."""

    #: Blocks collected to level wear, in place of a victim of the policy.
    collections: int
    #: Valid pages that those collections rewrote.
    copied_pages: int


@dataclass(frozen=True)
class MapTraffic:
    """The cost of keeping the map on flash."""

    #: Commands whose map entry was in memory.
    hits: int
    #: Commands whose map entry was not in memory.
    misses: int
    #: Translation pages read.
    reads: int
    #: Translation pages programmed; they are among the pages copied.
    writes: int


@dataclass(frozen=True)
class MergeCounts:
    """Merges of log blocks, by kind."""

    #: Log blocks that held a whole logical block in order and became its data block.
    switch: int
    #: Log blocks that held the first pages of a logical block in order and were completed.
    partial: int
    #: Log blocks whose data blocks were written anew.
    full: int
    #: Log blocks without a current page that were erased.
    dead: int
    #: Log blocks chosen by their cost.
    picks: int
    #: Log blocks that were weighed to choose them.
    weighed: int


@dataclass(frozen=True)
class ZombieCounts:
    """Counts of zombies, in pages.

    A zombie is a live page of which a hint has said that it will be overwritten soon.
    """

    #: Live pages that a hint made zombies.
    marked: int
    #: Zombies that the host overwrote: their hints came true.
    overwritten: int
    #: Zombies that a TRIM discarded.
    trimmed: int
    #: Zombies that are live again: hints taken back, or lost with power.
    revived: int
    #: Zombies that collections copied.
    copied: int


@dataclass(frozen=True)
class StreamCounts:
    """The cost of a stream, in mapping units."""

    #: Mapping units that the host wrote to it.
    host_pages: int
    #: Mapping units copied by collections, of data that the host had written to it.
    copied_pages: int


@dataclass(frozen=True)
class HostPages:
    """The traffic of a host, in pages."""

    #: Pages read by the application.
    reads: int
    #: Pages written by the application.
    writes: int
    #: Pages that the drive was asked to read: misses of the cache.
    drive_reads: int
    #: Pages that the drive was asked to write.
    drive_writes: int


@dataclass(frozen=True)
class HostWaits:
    """The waits of a host's requests for its own commands, on the clock of a drive."""

    #: Pages whose read a request waited for, as they were not in the cache.
    reads: int
    #: Nanoseconds of these waits.
    read_ns: int
    #: Pages whose write a request waited for: it needed their room, or wrote back itself.
    rooms: int
    #: Nanoseconds of these waits.
    room_ns: int
    #: Updates that waited until a write of their page, under way before, was done.
    rewrites: int
    #: Nanoseconds of these waits.
    rewrite_ns: int


@dataclass(frozen=True)
class Hints:
    """The counts of hints, in pages unless said otherwise."""

    #: Pages that became dirty, so that a hint was to be sent.
    due: int
    #: Hints that reached the drive.
    sent: int
    #: Hints dropped because the page was written before they could leave.
    overtaken: int
    #: Hints that never reached the drive.
    lost: int
    #: Hints that reached the drive after their page was written.
    late: int
    #: Hints that reached the drive and named another page, one that was not dirty.
    wrong: int
    #: The number of commands made for hints alone.
    commands: int


@dataclass(frozen=True)
class SwapCounts:
    """The traffic between memory and flash."""

    #: The number of pages touched by the host.
    references: int
    #: The number of touches that were writes.
    writes: int
    #: The number of references to pages in the cache.
    hits: int
    #: The number of pages read from flash.
    swap_ins: int
    #: The number of pages that came into the cache and were not on flash.
    first_touches: int
    #: The number of dirty pages that left the cache and were written to flash.
    swap_outs: int
    #: The number of clean pages that left the cache.
    clean_evictions: int
    #: Clean pages that collections left to memory, which became dirty.
    made_dirty: int
    #: Dirty pages that collections left to memory.
    left_dirty: int
    #: Dirty pages that collections wrote from memory, which became clean.
    flushed: int


@dataclass(frozen=True)
class Collecting:
    """The counts of collections."""

    #: The victims picked.
    started: int
    #: The victims erased.
    ended: int
    #: The victims that gave way to the host at least once.
    preempted: int
    #: The page operations of the host served at preemption points.
    preemptions: int
    #: The reads served from the buffer of a page that was moved.
    merged_reads: int
    #: The writes programmed in place of a page that was moved.
    merged_writes: int
    #: The reads that overlapped with a read of a collection.
    pipelined_reads: int
    #: The writes that overlapped with a program of a collection.
    pipelined_writes: int
    #: The number of times that writes began to wait because their unit was below the hard threshold
    #: (state S2).
    entered_s2: int
    #: The number of times that an urgent write stopped preemption (state S3).
    entered_s3: int
    #: The writes that waited because no block was erased.
    starved: int
    #: The victims picked by idle dies.
    idle: int
    #: The number of programs suspended.
    suspended_programs: int
    #: The number of erases suspended.
    suspended_erases: int


@dataclass(frozen=True)
class Slc:
    """The counts of an SLC region."""

    #: The pages that the host wrote into the region.
    host_pages: int
    #: The pages that the host wrote to normal blocks.
    direct_pages: int
    #: The pages copied from the region to normal blocks; they are among the copied pages of the
    #: drive.
    folded_pages: int
    #: The blocks folded; they are among the collections.
    folds: int
    #: The number of folds that idle dies began.
    idle_folds: int
    #: The pages that the host read from the cells of the region.
    reads: int
    #: The pages programmed in normal blocks: pages of the host, of folds and of other collections.
    #: Those of the region are the pages that the host wrote into it.
    normal_pages: int
    #: The erases of blocks in SLC mode.
    erases: int
    #: The erases of blocks in normal mode.
    normal_erases: int


@dataclass(frozen=True)
class ReadFailures:
    """The counts of reads of flash pages for the host, and of those that failed."""

    #: The flash pages that the host read.
    reads: int
    #: The flash pages whose read failed.
    failed: int
    #: The pages that other dies read to rebuild them.
    others_read: int
    #: The failed reads whose data were lost, as another page of the stripe failed too.
    lost: int
