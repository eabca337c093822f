"""The statistics of a trace, and its replays.

Written by ``make docs`` from the declarations in the engine; edit those instead.
"""

from __future__ import annotations

from dataclasses import dataclass

from flashgc import results


@dataclass(frozen=True)
class Replayed:
    """A trace, and the number of its replays."""

    #: The distinct pages read or written.
    pages: int
    #: The distinct pages written.
    pages_written: int
    #: The page writes of a pass.
    page_writes: int
    #: The trace's own overwrite factor: page writes over distinct pages written.
    overwrite: float
    #: The page writes of a pass divided by the pages of flash. Up to 1, a drive that begins empty
    #: takes the trace without a collection.
    flash_writes: float
    #: The passes measured in the first run; ``None`` unless they are whole.
    passes: int | None
    #: The passes of its warm-up; ``None`` unless they are whole.
    warmup_passes: int | None


@dataclass(frozen=True)
class Recorded:
    """The properties of a recording of references to memory."""

    #: The size of a page in bytes.
    page_size: int
    #: The size in pages of the smallest LRU memory to which the references left out make no
    #: difference.
    filter: int
    #: The number of accesses that the references stand for. It is known at the end, and 0 before.
    accesses: int


@dataclass(frozen=True)
class WorkingSets:
    """The numbers of distinct pages in windows of equal numbers of requests, one after the other.

    They are Denning's W(t, T) at t = T, 2T, ...
    """

    #: The number of requests in a window, a power of two. The last window may have fewer.
    window: int
    #: The number of distinct pages in each window.
    pages: tuple[int, ...]


@dataclass(frozen=True)
class StreamStat:
    """The requests of a stream."""

    #: The stream; ``None`` for requests without one.
    stream: int | None
    #: The number of requests of all kinds.
    requests: int
    #: The number of writes among the requests.
    writes: int
    #: The number of bytes written.
    written_bytes: int


@dataclass(frozen=True)
class AnswerStat:
    """The times until the answers of requests of one kind, in microseconds."""

    #: The kind: ``read``, ``write``, ``trim`` or ``flush``.
    kind: str
    #: The number of requests with a known answer.
    requests: int
    #: The mean.
    mean_us: float
    #: The median, to three digits.
    p50_us: float
    #: The 99th percentile, to three digits.
    p99_us: float
    #: The longest.
    max_us: float


@dataclass(frozen=True)
class TraceStat:
    """The statistics of a trace.

    Serialised, its fields are the keys of ``trace stat --json``.
    """

    #: The number of requests of all kinds.
    requests: int
    #: The number of reads among the requests.
    reads: int
    #: The number of writes among the requests.
    writes: int
    #: The number of discards (TRIM) among the requests.
    discards: int
    #: The number of dirty events: pages that the host has changed in its cache. They are no
    #: requests.
    dirty: int
    #: The number of clean events: pages that the host will not write after all. They are no
    #: requests.
    clean: int
    #: The number of flushes, replayed or not. They are no requests.
    flushes: int
    #: The number of writes over that of requests.
    write_share: float
    #: The number of distinct pages written.
    pages_written: int
    #: The number of distinct pages read.
    pages_read: int
    #: The number of distinct pages read or written.
    pages: int
    #: The number of page writes: writes of one page after splitting.
    page_writes: int
    #: The share of page writes that do not cover their page.
    short_write_share: float
    #: The number of page reads: reads of one page after splitting.
    page_reads: int
    #: Page writes over distinct pages written; 0 if there are none.
    overwrite: float
    #: The number of bytes written.
    written_bytes: int
    #: The number of bytes read.
    read_bytes: int
    #: The number of bytes discarded.
    discarded_bytes: int
    #: The highest end of a request on any device.
    span_bytes: int
    #: The number of devices.
    devices: int
    #: The time of the first request, in nanoseconds since the trace's origin.
    first_time_ns: int
    #: The time from the earliest to the latest request.
    duration_seconds: float
    #: The number of requests with an earlier time than the request before them.
    times_back: int
    #: The longest time from a request back to the latest one before it; 0 if times never go back.
    furthest_back_seconds: float
    #: The longest time from a request to the next.
    longest_gap_seconds: float
    #: The number of page requests (reads and writes after splitting): ``#Requests`` of the
    #: d-choices paper.
    page_requests: int
    #: The share of writes among the page requests, in percent: ``%Writes`` of that paper.
    page_write_percent: float
    #: The share of distinct pages that are only read, in percent: ``%LBA_RO`` of that paper.
    read_only_percent: float
    #: The smallest part of the distinct pages, in percent, that receives 20, 40, 60 and 80% of the
    #: page requests: Table 3 of that paper.
    locality_percent: tuple[float, ...]
    #: The requests by stream, if any request names one: the named streams in their order, then the
    #: requests without a stream if there are any.
    streams: tuple[results.StreamStat, ...]
    #: The times until answers by kind of request, of the kinds of which some are known.
    answers: tuple[results.AnswerStat, ...]
    #: The size of a page in bytes.
    page_size: int
    #: The bytes of the drive that the trace was recorded from, if the file names them.
    address_space_bytes: int | None
    #: The properties of a recording of references to memory, if the format has them.
    recorded: results.Recorded | None
    #: The working set over time, for references to memory.
    working_set: results.WorkingSets | None
    #: The number of bad lines or records that were left out.
    skipped_lines: int
    #: The number of good lines or records that are no requests.
    ignored_lines: int
    #: The name of the format.
    format: str
    #: The columns with their units.
    columns: str
    #: The wrappers of the file, outermost first, joined by ``+``; ``none`` if there are none.
    compression: str
    #: Notes for the user.
    notes: tuple[str, ...]
