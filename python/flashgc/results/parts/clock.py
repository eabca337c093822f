"""The parts of drives with a clock: response times, and the activity of the drive.

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
    #: The median. All percentiles are exact to 0.1%.
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

    #: The requests that waited for a collection or were served between the steps of a collection.
    during_collection: results.Figures | None
    #: The requests that met no collection.
    free_of_collection: results.Figures | None
    #: The distribution, as points: a response time in microseconds, and the share of the requests
    #: that took at most this time.
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
    """The share of each cause in the sum of all response times, from 0 to 1."""

    #: The share of the time of waiting for other requests, and for power if that is limited.
    queue: float
    #: The share of the time of waiting for a collection.
    collection: float
    #: The share of the time of transfers over a bus and of waiting for the bus.
    bus: float
    #: The share of the time of reads and programs in the cells.
    cell: float


@dataclass(frozen=True)
class TimeShares:
    """The shares of causes for reads and for writes."""

    #: The shares of reads.
    read: results.TimeShare | None
    #: The shares of writes.
    write: results.TimeShare | None


@dataclass(frozen=True)
class Throughput:
    """The rates of requests and of bytes."""

    #: The requests completed a second.
    requests_per_second: float
    #: The bytes read a second.
    read_bytes_per_second: float
    #: The bytes written a second.
    write_bytes_per_second: float


@dataclass(frozen=True)
class Utilisation:
    """The shares of the time in which buses and dies were in use, from 0 to 1."""

    #: The mean of ``channels``.
    bus: float
    #: The mean of ``dies``.
    die: float
    #: The mean over the dies of the share of time in which a collection held the die.
    collection: float
    #: The share of the time in which each channel's bus was in use.
    channels: tuple[float, ...]
    #: The share of the time in which each die was in use: it read, programmed or erased, or it
    #: transferred data or waited for the bus or for power.
    dies: tuple[float, ...]


@dataclass(frozen=True)
class Suspension:
    """The rule of suspension of a drive, and the erases and programs that reached its limit in the
    measured parts.
    """

    #: ``True`` if erases can be suspended.
    erases: bool
    #: ``True`` if programs can be suspended.
    programs: bool
    #: The largest number of times that one operation is suspended.
    most: int
    #: ``True`` if a request that is served while an operation is suspended counts as one more of
    #: these times, unless it came before the suspension.
    counts_requests: bool
    #: The longest time for which one operation is suspended in all, in microseconds; ``None`` for
    #: any time.
    longest_us: float | None
    #: An erase is suspended only if at least this time of it is left, in microseconds.
    least_erase_us: float
    #: A program is suspended only if at least this time of it is left, in microseconds.
    least_program_us: float
    #: The time that a suspension takes before the die is free, in microseconds.
    suspend_us: float
    #: The extra time that a suspended operation needs when it goes on, in microseconds.
    resume_us: float
    #: The number of erases that had reached a limit, so that an operation waited for their end.
    spent_erases: int
    #: The number of programs that had reached a limit, so that an operation waited for their end.
    spent_programs: int
    #: The longest time that such an erase or program had left when an operation began to wait, in
    #: microseconds.
    longest_wait_us: float


@dataclass(frozen=True)
class PowerLimit:
    """The limit of a drive's power, and the programs and erases that waited for it in the measured
    parts.
    """

    #: The largest number of dies that program or erase at a time.
    dies: int
    #: The share of the time in which this number of dies programmed or erased, from 0 to 1.
    full: float
    #: The number of times that a program or an erase waited for power. One that was suspended may
    #: wait again.
    waits: int
    #: The mean time of these waits, in microseconds; ``None`` if there was none.
    mean_wait_us: float | None
    #: The mean over the dies of the share of time in which a program or an erase waited for power
    #: there, from 0 to 1. It is a part of the time in which the die was in use.
    waiting: float


@dataclass(frozen=True)
class Traffic:
    """Reads or writes over time."""

    #: The requests completed a second.
    requests_per_second: tuple[float, ...] = field(repr=False)
    #: The bytes a second.
    bytes_per_second: tuple[float, ...] = field(repr=False)
    #: The mean response time in microseconds; ``None`` if nothing was completed.
    mean_us: tuple[float | None, ...] = field(repr=False)
    #: The longest response time in microseconds; ``None`` if nothing was completed.
    max_us: tuple[float | None, ...] = field(repr=False)


@dataclass(frozen=True)
class OverTime:
    """Series over time.

    The i-th entry of each list is the i-th slice of the measured part.
    """

    #: The length of a slice, in seconds; the last one may be shorter.
    resolution_seconds: float
    #: The figures of reads.
    read: results.Traffic
    #: The figures of writes.
    write: results.Traffic
    #: The share of the time in which a bus transferred, from 0 to 1, as the mean over the channels.
    bus: tuple[float, ...] = field(repr=False)
    #: The share of the time in which a die's cells worked, from 0 to 1, as the mean over the dies.
    die: tuple[float, ...] = field(repr=False)
    #: The share of the time in which a collection was under way, from 0 to 1, as the mean over the
    #: units that have one collection at a time.
    collecting: tuple[float, ...] = field(repr=False)


@dataclass(frozen=True)
class Overload:
    """Requests that arrived faster than the drive could serve them."""

    #: The requests that arrived a second.
    offered_per_second: float
    #: The requests that the drive served a second while others waited: the largest rate that it can
    #: sustain.
    sustainable_per_second: float
    #: The requests not yet served when the run was stopped, or when its last request arrived.
    outstanding: int
    #: ``True`` if the run was stopped before its end.
    is_cut_short: bool


@dataclass(frozen=True)
class WorstCollection:
    """A collection on the die of a slow request."""

    #: The number of collections of the drive that began before this one.
    number: int
    #: The time at which it began.
    began_us: float
    #: The time at which its victim was erased; ``None`` if it was under way when the request was
    #: complete.
    ended_us: float | None
    #: The number of flash pages that the collection had programmed by then.
    programmed: int


@dataclass(frozen=True)
class WorstOperation:
    """An operation of a die or of its bus."""

    #: The time at which it began.
    began_us: float
    #: The time at which it ended.
    ended_us: float
    #: The place: ``cells`` or ``bus``.
    place: str
    #: The work: ``read``, ``program``, ``erase``, ``poll`` or ``suspend``.
    work: str
    #: The number of the request that needed it; ``None`` if no request did.
    request: int | None
    #: The number of the collection that needed it; ``None`` if no collection did.
    collection: int | None


@dataclass(frozen=True)
class Worst:
    """The slowest request of its kind, with the work of its die meanwhile.

    Times are in microseconds; the times of arrivals, begins and ends count from the start of the
    run.
    """

    #: The kind: ``read``, ``write`` or ``trim``.
    kind: str
    #: The number of the request in the order of arrival, from 0.
    number: int
    #: The number of the request's run, from 0.
    run: int
    #: The address of the first byte.
    offset: int
    #: The number of bytes.
    bytes: int
    #: The time at which the request arrived.
    arrived_us: float
    #: The response time: the sum of the next four times, which are those of the request's last
    #: page.
    response_us: float
    #: The time of waiting for other requests.
    queue_us: float
    #: The time of waiting for collections.
    collection_us: float
    #: The time on the bus, and of waiting for it.
    bus_us: float
    #: The time in the cells.
    cell_us: float
    #: The die of the request's last page; ``None`` if no die served it.
    die: int | None
    #: The number of the collection of that die that held the request for the longest time; ``None``
    #: if no collection of that die held it.
    held_by: int | None
    #: The collections on that die from the request's arrival to its completion; only the latest if
    #: there are many.
    collections: tuple[results.WorstCollection, ...]
    #: The operations of that die in the same time, in the order of their ends; only the latest if
    #: there are many. Empty unless they are asked for.
    operations: tuple[results.WorstOperation, ...] = ()
    #: ``True`` if earlier operations were dropped.
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
    #: The response times of its reads, in microseconds; ``None`` if it had none.
    read_us: results.Figures | None
    #: The response times of its writes, in microseconds; ``None`` if it had none.
    write_us: results.Figures | None


@dataclass(frozen=True)
class Timing:
    """The result of all timed runs of one configuration: of their measured parts together, if not
    said otherwise.
    """

    #: The response times.
    latency_us: results.Latencies
    #: The mean response time of each run, in microseconds.
    mean_us_runs: tuple[float, ...]
    #: Half the width of the 95% interval of the mean response time over the runs, in microseconds;
    #: ``None`` for one run.
    mean_us_ci95: float | None
    #: The shares of causes in the response time of requests.
    time_share: results.TimeShares
    #: Requests and bytes a second.
    throughput: results.Throughput
    #: The busy shares of buses and dies.
    utilisation: results.Utilisation
    #: The counts of collections.
    collecting: results.Collecting
    #: The series over time of the first run.
    over_time: results.OverTime
    #: The simulated time of all runs together, in seconds.
    simulated_seconds: float
    #: The mean over time of the number of requests in the drive and in front of it.
    requests_in_system: float
    #: The overload, if requests arrived faster than the drive could serve them.
    overload: results.Overload | None
    #: The slowest read, write and discard of all runs, each with the work of its die meanwhile.
    worst: tuple[results.Worst, ...]
    #: The rule of suspension, and the operations that it did not suspend again; ``None`` if no
    #: operation can be suspended.
    suspension: results.Suspension | None = None
    #: The limit of power, and the programs and erases that waited for it; ``None`` without a limit.
    power: results.PowerLimit | None = None
    #: The reads of the host that failed; ``None`` if none can.
    failures: results.ReadFailures | None = None
    #: The counts of the SLC region; ``None`` without one.
    slc: results.Slc | None = None
    #: The result of each tenant, in their order; ``None`` if the drive has one host.
    tenants: tuple[results.Tenant, ...] = ()
