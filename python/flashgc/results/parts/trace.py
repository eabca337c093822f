"""The statistics of a trace, and its replays.

Written by ``make docs`` from the declarations in the engine; edit those instead.
"""

from __future__ import annotations

from dataclasses import dataclass

from flashgc import results


@dataclass(frozen=True)
class Replayed:
    """The size of a trace, and the number of its replays."""

    #: The distinct pages read or written.
    pages: int
    #: The distinct pages written.
    pages_written: int
    #: The page writes of a pass.
    page_writes: int
    #: The trace's overwrite factor: page writes divided by distinct pages written.
    overwrite: float
    #: The page writes of a pass divided by the pages of flash. If this is at most 1, a drive that
    #: begins empty can execute one pass without a collection.
    flash_writes: float
    #: The number of passes measured in the first run; ``None`` if it is not a whole number.
    passes: int | None
    #: The number of passes of its warm-up; ``None`` if it is not a whole number.
    warmup_passes: int | None


@dataclass(frozen=True)
class Recorded:
    """The properties of a recording of references to memory."""

    #: The size of a page in bytes.
    page_size: int
    #: A number of pages. References were left out only if they change nothing in an LRU memory of
    #: this size or larger.
    filter: int
    #: The number of accesses that the references stand for. It is 0 until the end of the file is
    #: read.
    accesses: int


@dataclass(frozen=True)
class WorkingSets:
    """The numbers of distinct pages in consecutive windows of the same number of requests
    (Denning's W(t, T) at t = T, 2T, ...).
    """

    #: The number of requests in a window, a power of two. The last window may have fewer.
    window: int
    #: The number of distinct pages in each window.
    pages: tuple[int, ...]


@dataclass(frozen=True)
class StreamStat:
    """The counts of the requests of one stream."""

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
    """The times until the answers to requests of one kind, in microseconds."""

    #: The kind: ``read``, ``write``, ``trim`` or ``flush``.
    kind: str
    #: The number of requests with a known answer.
    requests: int
    #: The mean time.
    mean_us: float
    #: The median time, to three digits.
    p50_us: float
    #: The 99th percentile of the times, to three digits.
    p99_us: float
    #: The longest time.
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
    #: The number of dirty events: the host has changed a page in its cache. They are not requests.
    dirty: int
    #: The number of clean events: the host will not write a page after all. They are not requests.
    clean: int
    #: The number of flushes, replayed or not. They are not requests.
    flushes: int
    #: The number of writes divided by the number of requests.
    write_share: float
    #: The number of distinct pages written.
    pages_written: int
    #: The number of distinct pages read.
    pages_read: int
    #: The number of distinct pages read or written.
    pages: int
    #: The number of page writes: the pages of writes, after splitting into pages.
    page_writes: int
    #: The share of page writes that write only a part of their page.
    short_write_share: float
    #: The number of page reads: the pages of reads, after splitting into pages.
    page_reads: int
    #: Page writes divided by distinct pages written; 0 if there are none.
    overwrite: float
    #: The number of bytes written.
    written_bytes: int
    #: The number of bytes read.
    read_bytes: int
    #: The number of bytes discarded.
    discarded_bytes: int
    #: The highest end of a request on any device, in bytes.
    span_bytes: int
    #: The number of devices.
    devices: int
    #: The time of the first request, in nanoseconds since the trace's origin.
    first_time_ns: int
    #: The time from the earliest to the latest request, in seconds.
    duration_seconds: float
    #: The number of requests with an earlier time than the previous request.
    times_back: int
    #: The longest step back in time, from the latest time so far to that of a request; 0 if times
    #: never go back.
    furthest_back_seconds: float
    #: The longest time from one request to the next.
    longest_gap_seconds: float
    #: The number of page requests: reads and writes, after splitting into pages. It is
    #: ``#Requests`` of the d-choices paper.
    page_requests: int
    #: The share of writes among the page requests, in percent: ``%Writes`` of that paper.
    page_write_percent: float
    #: The share of distinct pages that are only read, in percent: ``%LBA_RO`` of that paper.
    read_only_percent: float
    #: The smallest part of the distinct pages, in percent, that receives 20, 40, 60 and 80% of the
    #: page requests: Table 3 of that paper.
    locality_percent: tuple[float, ...]
    #: The requests by stream, if any request has a stream: the streams in the order of their
    #: numbers, then the requests without a stream if there are any.
    streams: tuple[results.StreamStat, ...]
    #: The times until the answers, for each kind of request with known answers.
    answers: tuple[results.AnswerStat, ...]
    #: The size of a page in bytes.
    page_size: int
    #: The size in bytes of the drive from which the trace was recorded; ``None`` if the file does
    #: not say it.
    address_space_bytes: int | None
    #: The properties of a recording of references to memory; ``None`` for other formats.
    recorded: results.Recorded | None
    #: The working set over time; ``None`` unless the trace has references to memory.
    working_set: results.WorkingSets | None
    #: The number of bad lines or records that were left out.
    skipped_lines: int
    #: The number of good lines or records that are not requests.
    ignored_lines: int
    #: The name of the format.
    format: str
    #: The columns with their units.
    columns: str
    #: The wrappers of the file, outermost first, joined by ``+``; ``none`` if there are none.
    compression: str
    #: Notes for the user.
    notes: tuple[str, ...]
