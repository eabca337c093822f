"""What a host, its hints, its streams and its page cache add to a result.

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
    #: The microseconds that a collection takes, as the mean; ``None`` if there was none.
    mean_collection_us: float | None
    #: The pages in memory that a collection did not read from flash (N_dup), as the mean; ``None``
    #: if there was no collection.
    excluded_per_collection: float | None


@dataclass(frozen=True)
class HostTraffic(counts.HostPages):
    """The counts of the hosts of all runs in the measured part, in pages."""

    #: The pages dirty in the cache, on average over the requests; on a drive with a clock on
    #: average over the time.
    mean_dirty_pages: float
    #: The dirty pages of which the drive had a hint, on the same average.
    mean_known_pages: float
    #: The share of known pages among the dirty ones; ``None`` if nothing was ever dirty.
    known_share: float | None
    #: The counts of hints.
    hints: results.Hints
    #: The waits for commands; ``None`` where the drive has no clock.
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
    """The cost of the data of one handle, which the log of a real drive does not have."""

    #: The number of the handle.
    handle: int
    #: ``True`` if the handle is persistently isolated: copies of its data never meet those of
    #: others. Otherwise it is initially isolated.
    persistently_isolated: bool
    #: The write amplification, (host + copied) / host without padding; ``None`` if the host wrote
    #: nothing.
    write_amplification: float | None


@dataclass(frozen=True)
class FdpEvents:
    """The events of log page 23h, counted.

    Two kinds never come, as this drive does neither: it leaves no reclaim unit before it is full,
    and it moves no handle to another unit on its own.
    """

    #: The mapping units written in a stream that is no handle (03h, invalid placement identifier).
    invalid_placement_identifier: int
    #: The reclaim units collected with data in them, which were moved (80h, media reallocated).
    media_reallocated: int


@dataclass(frozen=True)
class Fdp:
    """The log of a drive with flexible data placement, in the measured parts of all runs.

    The names are those of NVM Express (log page 22h, events of log page 23h).
    """

    #: The bytes written by the host (HBMW).
    host_bytes_with_metadata_written: int
    #: The bytes programmed, copies included (MBMW).
    media_bytes_with_metadata_written: int
    #: The bytes erased (MBE).
    media_bytes_erased: int
    #: The counts of events.
    events: results.FdpEvents
    #: The handles in order.
    handles: tuple[results.Handle, ...]
