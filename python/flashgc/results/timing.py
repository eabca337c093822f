"""Results that only a drive with a clock has: response times, and the parts of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flashgc._documents import Json, read
from flashgc._summaries import Shown, Shows
from flashgc.results.activity import Overload, OverTime, Suspension, Throughput, Utilisation
from flashgc.results.counts import Collecting, Slc
from flashgc.results.latency import Latencies, TimeShares
from flashgc.results.tenants import Tenant
from flashgc.results.worst import Worst
from flashgc.units import format_count, format_time


@dataclass(frozen=True, repr=False)
class Timing(Shows):
    """Response times of a drive with a clock, of the measured parts of all runs together."""

    #: Response times in microseconds, by kind of request.
    latency_us: Latencies
    #: Mean response time of each run, in microseconds.
    mean_us_runs: tuple[float, ...]
    #: Half the width of its 95% interval over the runs; ``None`` for one run.
    mean_us_ci95: float | None
    #: The parts of response times of reads and of writes.
    time_share: TimeShares
    #: The work done a second.
    throughput: Throughput
    #: Shares of the time in which buses and dies were in use.
    utilisation: Utilisation
    #: Counts of collections.
    collecting: Collecting
    #: Time series of the first run.
    over_time: OverTime
    #: Time that passed in the drive, in seconds, all runs together.
    simulated_seconds: float
    #: Requests in the drive and before it, mean over the time.
    requests_in_system: float
    #: Requests that came too fast; ``None`` where they did not.
    overload: Overload | None
    #: Results of each tenant, in their order; empty where the drive has one host.
    tenants: tuple[Tenant, ...]
    #: Counts of the SLC region; ``None`` without one.
    slc: Slc | None = None
    #: The rule of suspension and what it did not suspend; ``None`` if nothing can be suspended.
    suspension: Suspension | None = None
    #: The slowest read, write and discard of all runs, where there are any, and what held them.
    worst: tuple[Worst, ...] = ()

    @classmethod
    def from_dict(cls, raw: Mapping[str, Json]) -> Timing | None:
        """The timing in a result's document; ``None`` where the drive had no clock."""
        return read(cls, raw) if "latency_us" in raw else None

    @property
    def headline(self) -> str:
        """The mean response time with half its 95% interval, in a line."""
        whole = self.latency_us.all
        if whole is None:
            return "nothing was measured"
        half = self.mean_us_ci95
        mean = format_time(whole.mean) + ("" if half is None else f" ±{format_time(half)}")
        return f"response time {mean}, 99.9% within {format_time(whole.p99_9)}"

    def rows(self) -> list[tuple[str, str]]:
        """The response times by kind of request, as names and values."""
        return [
            (
                f"{kind}s",
                f"{format_count(latency.requests)}, mean {format_time(latency.mean)}, "
                f"99% {format_time(latency.p99)}, 99.9% {format_time(latency.p99_9)}, "
                f"max {format_time(latency.max)}",
            )
            for kind in ("read", "write", "trim")
            if (latency := self.latency_us.of(kind)) is not None
        ]

    def _shown(self) -> Shown:
        return Shown(self.headline, self.rows())
