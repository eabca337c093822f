"""What only a drive with a clock has: response times, and what they were spent on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flashgc._documents import Json, read
from flashgc.results.activity import Collecting, Overload, OverTime, Throughput, Utilisation
from flashgc.results.latency import Latencies, TimeShares


@dataclass(frozen=True)
class Timing:
    """Response times of a drive with a clock, of the measured parts of all runs together."""

    #: Response times in microseconds, by kind of request.
    latency_us: Latencies
    #: Mean response time of each run, in microseconds.
    mean_us_runs: tuple[float, ...]
    #: Half the width of its 95% interval over the runs; ``None`` for one run.
    mean_us_ci95: float | None
    #: The parts of response times of reads and of writes.
    time_share: TimeShares
    #: How much was done in the time.
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
    #: Where requests came too fast; ``None`` where they did not.
    overload: Overload | None

    @classmethod
    def from_dict(cls, raw: Mapping[str, Json]) -> Timing | None:
        """The timing in a result's document; ``None`` where the drive had no clock."""
        return read(cls, raw) if "latency_us" in raw else None
