"""The parts of a host: its traffic, its hints, its streams and its page cache.

Written by ``make docs`` from the declarations in the engine; edit those instead.
"""

from __future__ import annotations

from dataclasses import dataclass

from flashgc import results
from flashgc.results.parts import counts


@dataclass(frozen=True)
class Swap(counts.SwapCounts):
    """Counts and times of the measured parts of all runs."""

    #: The seconds that flash spends on collections and on pages swapped out, as the mean over the
    #: runs: the I/O time of Ji and Shin (section V.B). Pages swapped in are not part of it.
    io_seconds: float
    #: The I/O time of each run.
    run_values: tuple[float, ...]
    #: The seconds of collections, of all runs: copies, erases and pages written from memory.
    collection_seconds: float
    #: The seconds of pages swapped out, of all runs.
    swap_out_seconds: float
    #: The seconds of pages swapped in, of all runs.
    swap_in_seconds: float
    #: The mean microseconds of a collection; ``None`` if there was none.
    mean_collection_us: float | None
    #: The mean number of pages that a collection did not read from flash because they were in
    #: memory (N_dup); ``None`` if there was no collection.
    excluded_per_collection: float | None


@dataclass(frozen=True)
class HostTraffic(counts.HostPages):
    """The counts of the hosts of all runs in the measured part, in pages."""

    #: The dirty pages in the cache: the mean over the requests or, on a drive with a clock, over
    #: time.
    mean_dirty_pages: float
    #: The dirty pages for which the drive had a hint, as the same kind of mean.
    mean_known_pages: float
    #: The share of the known pages among the dirty ones; ``None`` if no page was ever dirty.
    known_share: float | None
    #: The counts of hints.
    hints: results.Hints
    #: The waits for commands; ``None`` for a drive without a clock.
    waits: results.HostWaits | None = None


@dataclass(frozen=True)
class Zombies(counts.ZombieCounts):
    """The counts of zombies in the measured parts of all runs, in pages."""

    #: The share of zombies among the pages copied; ``None`` if none were copied.
    share_of_copies: float | None


@dataclass(frozen=True)
class Stream(counts.StreamCounts):
    """The cost of one stream in the measured parts of all runs."""

    #: The number of the stream; ``None`` for writes without a stream, and for first contents.
    stream: int | None
    #: The write amplification, (host + copied) / host without padding; ``None`` if the host wrote
    #: nothing.
    write_amplification: float | None
    #: The response times of its reads in microseconds; only a drive with a clock has them.
    read_us: results.Figures | None = None
    #: The response times of its writes.
    write_us: results.Figures | None = None


@dataclass(frozen=True)
class Handle(counts.StreamCounts):
    """The cost of the data of one handle.

    The log of a real drive does not have it.
    """

    #: The number of the handle.
    handle: int
    #: The number of the reclaim group.
    group: int
    #: ``True`` if the handle is persistently isolated: copies of its data never share a block with
    #: other data. ``False`` if it is initially isolated.
    persistently_isolated: bool
    #: The write amplification, (host + copied) / host without padding; ``None`` if the host wrote
    #: nothing.
    write_amplification: float | None


@dataclass(frozen=True)
class FdpEvents:
    """The numbers of events of log page 23h.

    Two kinds of events never happen, because this drive fills every reclaim unit before it opens
    another, and never moves a handle to another unit on its own.
    """

    #: The mapping units written in a stream that has no handle (03h, invalid placement identifier).
    invalid_placement_identifier: int
    #: The reclaim units collected whose data were moved (80h, media reallocated).
    media_reallocated: int


@dataclass(frozen=True)
class Fdp:
    """The statistics of a drive with flexible data placement in the measured parts of all runs,
    under the names of NVM Express (log page 22h, events of log page 23h).
    """

    #: The bytes written by the host (HBMW).
    host_bytes_with_metadata_written: int
    #: The bytes programmed, copies included (MBMW).
    media_bytes_with_metadata_written: int
    #: The bytes erased (MBE).
    media_bytes_erased: int
    #: The counts of events.
    events: results.FdpEvents
    #: The mapping units that the host wrote to a reclaim group that had no room for them; another
    #: group took them. The log of a real drive does not have it.
    written_outside_group: int
    #: The handles in order, those of reclaim group 0 first.
    handles: tuple[results.Handle, ...]
