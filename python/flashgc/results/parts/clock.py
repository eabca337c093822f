"""What only drives with a clock have: response times, and the activity of the drive.

Written by ``make docs`` from the declarations in the engine; edit those instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from flashgc import results


@dataclass(frozen=True)
class Figures:
    """The response times of one class of requests, in microseconds."""

    #: The number of requests of the class.
    requests: int
    #: The mean, exact.
    mean: float
    #: The variance in square microseconds, exact.
    variance: float
    #: The standard deviation, exact.
    deviation: float
    #: The median, to 0.1% as all percentiles.
    p50: float
    #: The 90th percentile.
    p90: float
    #: The 99th percentile.
    p99: float
    #: The 99.9th percentile.
    p99_9: float
    #: The 99.99th percentile.
    p99_99: float
    #: The longest response time, exact.
    max: float


@dataclass(frozen=True)
class Latency(Figures):
    """The response times of reads or of writes."""

    #: The requests that waited for a collection, or were served between its steps.
    during_collection: results.Figures | None
    #: The requests that met no collection.
    free_of_collection: results.Figures | None
    #: The distribution: response time in microseconds, and the share of the requests that took at
    #: most so long.
    distribution: tuple[tuple[float, float], ...] = field(repr=False)


@dataclass(frozen=True)
class Latencies:
    """The response times by class, in microseconds; ``None`` if there was no such request."""

    #: All requests.
    all: results.Latency | None
    #: Reads.
    read: results.Latency | None
    #: Writes.
    write: results.Latency | None
    #: Discards.
    trim: results.Latency | None
    #: Flush commands.
    flush: results.Latency | None = None


@dataclass(frozen=True)
class TimeShare:
    """The response time of requests by cause, as shares of the sum of all response times."""

    #: The share of waiting for other requests.
    queue: float
    #: The share of waiting for a collection.
    collection: float
    #: The share on a bus, and of waiting for it.
    bus: float
    #: The share in the cells.
    cell: float


@dataclass(frozen=True)
class TimeShares:
    """The shares of reads and of writes."""

    #: The shares of reads.
    read: results.TimeShare | None
    #: The shares of writes.
    write: results.TimeShare | None


@dataclass(frozen=True)
class Throughput:
    """The work done in the time, as rates."""

    #: The requests completed a second.
    requests_per_second: float
    #: The bytes read a second.
    read_bytes_per_second: float
    #: The bytes written a second.
    write_bytes_per_second: float


@dataclass(frozen=True)
class Utilisation:
    """Shares of the time in which something was in use."""

    #: The share of a bus, as the mean over the channels.
    bus: float
    #: The share of a die, as the mean over the dies: it reads, programs or erases, or transfers or
    #: waits for the bus.
    die: float
    #: The share of a die held by a collection, as the mean over the dies.
    collection: float
    #: The share of each channel's bus.
    channels: tuple[float, ...]
    #: The share of each die.
    dies: tuple[float, ...]


@dataclass(frozen=True)
class Suspension:
    """The rule of suspension of a drive.

    Its counts are those of the measured parts of all runs.
    """

    #: ``True`` if erases can be suspended.
    erases: bool
    #: ``True`` if programs can be suspended.
    programs: bool
    #: The most times that one operation is suspended.
    most: int
    #: The least time left of an erase that is suspended, in microseconds.
    least_erase_us: float
    #: The least time left of a program that is suspended, in microseconds.
    least_program_us: float
    #: The time until a suspended operation has let go of its die, in microseconds.
    suspend_us: float
    #: The time that a suspended operation loses when it goes on, in microseconds.
    resume_us: float
    #: Erases that had reached the most suspensions, so that an operation waited for their end.
    spent_erases: int
    #: Programs that had reached the most suspensions, so that an operation waited for their end.
    spent_programs: int
    #: The longest time that an operation waited for the end of one of them, in microseconds.
    longest_wait_us: float


@dataclass(frozen=True)
class Traffic:
    """Reads or writes over time."""

    #: The requests completed a second.
    requests_per_second: tuple[float, ...] = field(repr=False)
    #: The bytes a second.
    bytes_per_second: tuple[float, ...] = field(repr=False)
    #: The mean response time in microseconds; ``None`` if nothing was completed.
    mean_us: tuple[float | None, ...] = field(repr=False)
    #: The longest response time in microseconds.
    max_us: tuple[float | None, ...] = field(repr=False)


@dataclass(frozen=True)
class OverTime:
    """Series over time.

    The i-th entry of each list is the i-th slice of the measured part.
    """

    #: The length of a slice, in seconds; the last one may be shorter.
    resolution_seconds: float
    #: The reads.
    read: results.Traffic
    #: The writes.
    write: results.Traffic
    #: The share of the time that a bus transferred, as the mean over the channels.
    bus: tuple[float, ...] = field(repr=False)
    #: The share of the time that a die was busy, as the mean over the dies.
    die: tuple[float, ...] = field(repr=False)
    #: The share of the time that a collection was under way, as the mean over the units that
    #: collect alone.
    collecting: tuple[float, ...] = field(repr=False)


@dataclass(frozen=True)
class Overload:
    """Requests that came faster than the drive could serve them."""

    #: The requests that arrived a second.
    offered_per_second: float
    #: The requests that were served a second while others waited: the rate that the drive can
    #: sustain.
    sustainable_per_second: float
    #: The requests not yet served when the run was stopped, or when its last request arrived.
    outstanding: int
    #: ``True`` if the run was stopped before its end.
    is_cut_short: bool


@dataclass(frozen=True)
class WorstCollection:
    """A collection on the die of a slow request."""

    #: The number of collections that were started before it in the drive.
    number: int
    #: The time at which it began.
    began_us: float
    #: The time at which its victim was erased; ``None`` if it was under way when the request was
    #: complete.
    ended_us: float | None
    #: The number of flash pages that it had programmed.
    programmed: int


@dataclass(frozen=True)
class WorstOperation:
    """An operation of a die or of its side of the bus."""

    #: The time at which it began.
    began_us: float
    #: The time at which it ended.
    ended_us: float
    #: The place: ``cells`` or ``bus``.
    place: str
    #: The work: ``read``, ``program``, ``erase``, ``poll`` or ``suspend``.
    work: str
    #: The number of the request that it was for.
    request: int | None
    #: The number of the collection that it was for; neither if nobody waited for it.
    collection: int | None


@dataclass(frozen=True)
class Worst:
    """The slowest request of its kind, with the work that held it.

    Times are in microseconds; moments are since the start of the run.
    """

    #: The kind: ``read``, ``write`` or ``trim``.
    kind: str
    #: The number in the order of arrival, from 0.
    number: int
    #: The number of its run, from 0.
    run: int
    #: The first byte.
    offset: int
    #: The number of bytes.
    bytes: int
    #: The time at which it came.
    arrived_us: float
    #: The response time: the sum of the next four, which are those of its last page.
    response_us: float
    #: The time of waiting for other requests.
    queue_us: float
    #: The time of waiting for collections.
    collection_us: float
    #: The time on the bus, and of waiting for it.
    bus_us: float
    #: The time in the cells.
    cell_us: float
    #: The die of its last page; ``None`` if no die served it.
    die: int | None
    #: The number of the collection of that die that held it for longest; ``None`` if none did, or
    #: one of another die.
    held_by: int | None
    #: The collections on that die while it waited: the latest.
    collections: tuple[results.WorstCollection, ...]
    #: The operations of that die while it waited, in the order of the ends: the latest. Empty
    #: unless they are asked for.
    operations: tuple[results.WorstOperation, ...] = ()
    #: ``True`` if operations before these are forgotten.
    is_cut: bool = False


@dataclass(frozen=True)
class Tenant:
    """The result of one tenant in the measured parts of all runs."""

    #: The name of the tenant.
    name: str
    #: The number of requests completed, without flush commands.
    requests: int
    #: The share of the tenant's requests among those of all tenants.
    share: float
    #: The requests completed a second.
    requests_per_second: float
    #: The bytes read a second.
    read_bytes_per_second: float
    #: The bytes written a second.
    write_bytes_per_second: float
    #: The response times of all its requests in microseconds; ``None`` if it had none.
    all_us: results.Figures | None
    #: The response times of its reads.
    read_us: results.Figures | None
    #: The response times of its writes.
    write_us: results.Figures | None


@dataclass(frozen=True)
class Timing:
    """The result of all timed runs of one configuration, over their measured parts together."""

    #: The response times.
    latency_us: results.Latencies
    #: The mean response time of each run, in microseconds.
    mean_us_runs: tuple[float, ...]
    #: Half the width of the 95% interval of the mean response time over the runs; ``None`` for one
    #: run.
    mean_us_ci95: float | None
    #: The response time of requests by cause.
    time_share: results.TimeShares
    #: The work done in the time.
    throughput: results.Throughput
    #: The busy shares of buses and dies.
    utilisation: results.Utilisation
    #: The counts of collections.
    collecting: results.Collecting
    #: The series over time of the first run.
    over_time: results.OverTime
    #: The time that passed in the drive, all runs together.
    simulated_seconds: float
    #: The mean number of requests in the drive and before it, over the time.
    requests_in_system: float
    #: The overload, if requests came faster than the drive could serve them.
    overload: results.Overload | None
    #: The slowest read, write and discard of all runs, with the work that held them.
    worst: tuple[results.Worst, ...]
    #: The rule of suspension and what it did not suspend; ``None`` if nothing can be suspended.
    suspension: results.Suspension | None = None
    #: The counts of the SLC region; ``None`` without one.
    slc: results.Slc | None = None
    #: The result of each tenant, in their order; ``None`` if the drive has one host.
    tenants: tuple[results.Tenant, ...] = ()
