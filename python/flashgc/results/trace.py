"""Statistics of a trace, and how it was replayed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from flashgc._documents import Document, Json, read


@dataclass(frozen=True)
class Replayed:
    """A trace, and how often it was replayed."""

    #: Distinct pages read or written.
    pages: int
    #: Distinct pages written.
    pages_written: int
    #: Page writes of a pass.
    page_writes: int
    #: The trace's own overwrite factor: page writes over distinct pages written.
    overwrite: float
    #: Page writes of a pass over the pages of flash. Up to 1, a drive that begins empty takes the
    #: trace without a collection.
    flash_writes: float
    #: Passes measured in the first run; ``None`` where they are not whole.
    passes: int | None
    #: Passes of its warm-up; ``None`` where they are not whole.
    warmup_passes: int | None


@dataclass(frozen=True)
class Recorded:
    """The origin of a file of references to memory."""

    #: Bytes in its pages.
    page_size: int
    #: References are left out that no LRU memory of this many pages or more would notice.
    filter: int
    #: Accesses of the program that the references stand for.
    accesses: int


@dataclass(frozen=True)
class WorkingSets:
    """Distinct pages in windows of equal numbers of references, one after the other.

    Denning's W(t, T) at t = T, 2T and so on.
    """

    #: References in a window, a power of two; the last window may have fewer.
    window: int
    #: Distinct pages of each window.
    pages: tuple[int, ...]


@dataclass(frozen=True)
class StreamStat:
    """The requests of a stream in a trace."""

    #: The stream; ``None``: no stream.
    stream: int | None
    #: Requests of all kinds, and writes among them.
    requests: int
    writes: int
    #: Bytes written.
    written_bytes: int


@dataclass(frozen=True)
class HostStat:
    """The requests of a queue of a host in a recording."""

    #: The number of the host; 0: not known.
    host: int
    #: The number of its queue; 0 where the front end has none.
    queue: int
    #: Requests of all kinds, and writes among them.
    requests: int
    writes: int
    #: Bytes written.
    written_bytes: int
    #: Flushes, which are no requests.
    flushes: int


@dataclass(frozen=True)
class AnswerStat:
    """The times until the answers of requests of one kind, in a trace that has them."""

    #: ``read``, ``write``, ``trim`` or ``flush``.
    kind: str
    #: Requests with a known answer.
    requests: int
    #: Microseconds; percentiles have three digits.
    mean_us: float
    p50_us: float
    p99_us: float
    max_us: float


@dataclass(frozen=True, repr=False)
class TraceStat(Document):
    """Statistics of a trace. Pages are counted after splitting requests at page boundaries."""

    #: Requests of all kinds, and reads, writes and discards (TRIM) among them.
    requests: int
    reads: int
    writes: int
    discards: int
    #: Dirty events, which are no requests: pages that the host has changed in its cache.
    dirty: int
    #: Clean events, which are no requests: pages that the host will not write after all.
    clean: int
    #: Flushes, which are no requests, replayed or not.
    flushes: int
    #: Writes over requests.
    write_share: float
    #: Distinct pages written, read, and either.
    pages_written: int
    pages_read: int
    pages: int
    #: Page writes, the share of them that do not cover their page, and page reads.
    page_writes: int
    short_write_share: float
    page_reads: int
    #: Page writes over distinct pages written.
    overwrite: float
    #: Bytes written, read and discarded.
    written_bytes: int
    read_bytes: int
    discarded_bytes: int
    #: The highest end of a request on any device, in bytes.
    span_bytes: int
    #: Devices.
    devices: int
    #: Time of the first request, in nanoseconds since the trace's origin.
    first_time_ns: int
    #: Time from the earliest to the latest request, in seconds.
    duration_seconds: float
    #: Requests with an earlier time than the request before them, the longest time from one back to
    #: the latest before it, and the longest time from a request to the next; both in seconds.
    times_back: int
    furthest_back_seconds: float
    longest_gap_seconds: float
    #: Page writes and page reads together, and the percentage of writes among them.
    page_requests: int
    page_write_percent: float
    #: Distinct pages that are only read, in percent of all distinct pages.
    read_only_percent: float
    #: The smallest part of the distinct pages, in percent, that gets 20, 40, 60 and 80% of the
    #: page requests.
    locality_percent: tuple[float, float, float, float]
    #: The streams that requests name, in order, and the rest last; empty if none names one.
    streams: tuple[StreamStat, ...]
    #: The times until answers, by kind of request; empty if none is known.
    answers: tuple[AnswerStat, ...]
    #: The requests by host and queue; empty if no host is known.
    hosts: tuple[HostStat, ...]
    #: Bytes in a page.
    page_size: int
    #: Bytes that the drive offers which the trace was recorded from; ``None`` where the file does
    #: not say so.
    address_space_bytes: int | None
    #: The recording of references to memory; ``None`` where the format does not say so.
    recorded: Recorded | None
    #: The working set over time of references to memory; ``None`` for requests to a drive.
    working_set: WorkingSets | None
    #: Bad lines that were left out.
    skipped_lines: int
    #: Good lines that are no requests.
    ignored_lines: int
    #: The format that was read.
    format: str
    #: The columns that were read, with their units.
    columns: str
    #: The packing of the file, outermost first, joined by ``+``; ``none`` if there is none.
    compression: str
    #: Notes for people on how the file was read.
    notes: tuple[str, ...]
    _raw: dict[str, Json] = dataclasses.field(repr=False, compare=False)

    @classmethod
    def from_dict(cls, raw: Mapping[str, Json]) -> TraceStat:
        """The statistics that :meth:`to_dict` gave."""
        return read(cls, raw, _raw=raw)
