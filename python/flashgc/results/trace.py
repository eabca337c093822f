"""Statistics of a trace."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from flashgc._documents import Document, Json, read
from flashgc.results.parts import trace


@dataclass(frozen=True)
class HostStat:
    """The requests of a queue of a host in a recording."""

    #: The number of the host; 0 if unknown.
    host: int
    #: The number of the host's queue; 0 if the front end has no queues.
    queue: int
    #: Requests of all kinds, and the number of writes among them.
    requests: int
    writes: int
    #: Bytes written.
    written_bytes: int
    #: Flushes, which do not count as requests.
    flushes: int


@dataclass(frozen=True)
class ThreadStat:
    """The requests of a thread in a recording."""

    #: The number of the thread; 0 if unknown.
    thread: int
    #: Requests of all kinds, and the number of writes among them.
    requests: int
    writes: int
    #: Bytes written.
    written_bytes: int
    #: Flushes, which do not count as requests.
    flushes: int


@dataclass(frozen=True, repr=False)
class TraceStat(Document, trace.TraceStat):
    """Statistics of a trace. Pages are counted after splitting requests at page boundaries."""

    #: The requests by host and queue; empty if no host is known.
    hosts: tuple[HostStat, ...]
    #: The requests by thread; empty if no thread is known.
    threads: tuple[ThreadStat, ...]
    _raw: dict[str, Json] = dataclasses.field(repr=False, compare=False)

    @classmethod
    def from_dict(cls, raw: Mapping[str, Json]) -> TraceStat:
        """The statistics from the values of :meth:`to_dict`."""
        return read(cls, raw, _raw=raw)
