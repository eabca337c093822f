"""Response times of a drive with a clock, and what requests spent them on."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Figures:
    """Response times of one class of requests, in microseconds."""

    #: Requests of the class.
    requests: int
    #: Mean, exact.
    mean: float
    #: Variance in square microseconds, exact.
    variance: float
    #: Standard deviation, exact.
    deviation: float
    #: The longest time of half of the requests; to 0.1%, as all percentiles.
    p50: float
    #: The longest time of 90% of the requests.
    p90: float
    #: The longest time of 99% of the requests.
    p99: float
    #: The longest time of 99.9% of the requests.
    p99_9: float
    #: The longest time of 99.99% of the requests.
    p99_99: float
    #: The longest, exact.
    max: float


@dataclass(frozen=True)
class Latency(Figures):
    """Response times of one kind of requests, in microseconds."""

    #: Requests that waited for a collection or were served between its steps; ``None`` where there
    #: were none.
    during_collection: Figures | None
    #: Requests that met no collection; ``None`` where there were none.
    free_of_collection: Figures | None
    #: The distribution: response time in microseconds, and share of the requests that took at most
    #: so long.
    distribution: tuple[tuple[float, float], ...] = field(repr=False)


@dataclass(frozen=True)
class Latencies:
    """Response times by kind of request; ``None`` where there was no such request."""

    #: All requests.
    all: Latency | None
    #: Reads.
    read: Latency | None
    #: Writes.
    write: Latency | None
    #: Discards.
    trim: Latency | None

    def of(self, kind: str) -> Latency | None:
        """The values of the kind called ``kind``: ``all``, ``read``, ``write``, ``trim``.

        Raises :class:`KeyError` for any other.
        """
        return {"all": self.all, "read": self.read, "write": self.write, "trim": self.trim}[kind]


@dataclass(frozen=True)
class TimeShare:
    """The parts of response times: shares of the sum of all response times."""

    #: Waiting for other requests.
    queue: float
    #: Waiting for a collection.
    collection: float
    #: On a bus, and waiting for it.
    bus: float
    #: In the cells.
    cell: float


@dataclass(frozen=True)
class TimeShares:
    """The parts of response times of reads and of writes; ``None`` if there were none."""

    #: Reads.
    read: TimeShare | None
    #: Writes.
    write: TimeShare | None

    def of(self, kind: str) -> TimeShare | None:
        """The values of the kind called ``kind``: ``read``, ``write``; else :class:`KeyError`."""
        return {"read": self.read, "write": self.write}[kind]
