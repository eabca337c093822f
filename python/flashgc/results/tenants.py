"""Results of each tenant of a shared drive."""

from __future__ import annotations

from dataclasses import dataclass

from flashgc.results.latency import Figures


@dataclass(frozen=True)
class Tenant:
    """Results of one tenant in the measured parts of all runs."""

    #: Its name.
    name: str
    #: Requests completed; no flush commands.
    requests: int
    #: Its share of the requests of all tenants.
    share: float
    #: Requests completed a second.
    requests_per_second: float
    #: Bytes read a second.
    read_bytes_per_second: float
    #: Bytes written a second.
    write_bytes_per_second: float
    #: Response times of all its requests in microseconds; ``None`` where there were none.
    all_us: Figures | None
    #: Response times of its reads.
    read_us: Figures | None
    #: Response times of its writes.
    write_us: Figures | None
