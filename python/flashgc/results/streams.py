"""The cost of streams of writes, and the log of a drive with flexible data placement."""

from __future__ import annotations

from dataclasses import dataclass

from flashgc.results import counts
from flashgc.results.latency import Figures


@dataclass(frozen=True)
class Stream(counts.StreamCounts):
    """The cost of one stream in the measured parts of all runs, in mapping units.

    A drive with a clock has the response times of its requests, too, reads and writes. They are
    ``None`` without a clock, and where no such request completed.
    """

    #: Its number; ``None`` for writes without a stream, and for first contents.
    stream: int | None
    #: (host + copied) / host, without padding; ``None`` if the host wrote nothing.
    write_amplification: float | None
    #: Response times of its reads in microseconds.
    read_us: Figures | None
    #: Response times of its writes in microseconds.
    write_us: Figures | None


@dataclass(frozen=True)
class Handle(counts.StreamCounts):
    """The cost of the data of one placement handle, in mapping units.

    First contents, and writes whose stream is no handle, are those of handle 0.
    """

    #: Its number.
    handle: int
    #: True if copies of its data never meet those of other handles; else it is initially isolated.
    persistently_isolated: bool
    #: (host + copied) / host, without padding; ``None`` if the host wrote nothing.
    write_amplification: float | None


@dataclass(frozen=True)
class FdpEvents:
    """Events of NVM Express's log page 23h, counted."""

    #: 03h: mapping units written in a stream that is no handle.
    invalid_placement_identifier: int
    #: 80h: reclaim units collected with data in them, which were moved.
    media_reallocated: int


@dataclass(frozen=True)
class Fdp:
    """NVM Express's log page 22h in the measured parts of all runs, and events."""

    #: HBMW: bytes written by the host.
    host_bytes_with_metadata_written: int
    #: MBMW: bytes programmed, copies included.
    media_bytes_with_metadata_written: int
    #: MBE: bytes erased.
    media_bytes_erased: int
    #: Events.
    events: FdpEvents
    #: The handles in order. The log of a real drive does not have their counts.
    handles: tuple[Handle, ...]
