"""What only a drive with a clock has: response times, and what they were spent on."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Timing:
    """Response times of a drive with a clock, of the measured parts of all runs together."""

    #: Response times in microseconds: ``all``, ``read``, ``write``, ``trim`` (``None`` where there
    #: were none), each with ``requests``, ``mean``, ``variance``, ``deviation``, ``p50``, ``p90``,
    #: ``p99``, ``p99_9``, ``p99_99``, ``max``, with the same ``during_collection`` and
    #: ``free_of_collection``, and with the ``distribution`` (time, share of the requests that took
    #: at most so long).
    latency_us: Mapping[str, Any]
    #: Mean response time of each run, in microseconds.
    mean_us_runs: tuple[float, ...]
    #: Half the width of its 95% interval over the runs; ``None`` for one run.
    mean_us_ci95: float | None
    #: What reads and writes spent their time on: shares ``queue``, ``collection``, ``bus``,
    #: ``cell``.
    time_share: Mapping[str, Any]
    #: ``requests_per_second``, ``read_bytes_per_second``, ``write_bytes_per_second``.
    throughput: Mapping[str, float]
    #: Shares of the time in use: ``bus``, ``die``, ``collection``; lists ``channels``, ``dies``.
    utilisation: Mapping[str, Any]
    #: What happened to collections: ``started``, ``preempted``, ``merged_reads`` and so on.
    collecting: Mapping[str, int]
    #: What went on over time in the first run, in slices of ``resolution_seconds``.
    over_time: Mapping[str, Any]
    #: Time that passed in the drive.
    simulated_seconds: float
    #: Requests in the drive and before it, mean over the time.
    requests_in_system: float
    #: Where requests came too fast: ``offered_per_second``, ``sustainable_per_second``,
    #: ``outstanding``; ``None`` where they did not.
    overload: Mapping[str, Any] | None

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Timing | None:
        """The timing in a result's document; ``None`` where the drive had no clock."""
        if "latency_us" not in raw:
            return None
        values = {field.name: raw[field.name] for field in dataclasses.fields(cls)}
        values["mean_us_runs"] = tuple(values["mean_us_runs"])
        return cls(**values)
