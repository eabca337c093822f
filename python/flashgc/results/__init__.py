"""Typed results, comparisons and trace statistics, with ``to_json``, and their parts.

The fields of a part have the names of the keys in the JSON document. A part that a run lacks is
``None``.
"""

from __future__ import annotations

from flashgc._lazy import lazily

TYPE_CHECKING = False

if TYPE_CHECKING:
    from flashgc.results.comparison import Comparison, LeftOut
    from flashgc.results.config import Config, HostConfig, Scaled, SwapConfig, TraceConfig
    from flashgc.results.findings import Finding
    from flashgc.results.flash import Lifetime, Merges
    from flashgc.results.parts.clock import (
        Figures,
        Latency,
        Overload,
        PowerLimit,
        Tenant,
        Throughput,
        TimeShare,
        Traffic,
        Utilisation,
        WorstCollection,
        WorstOperation,
    )
    from flashgc.results.parts.counts import (
        Collecting,
        Hints,
        HostWaits,
        Levelling,
        MapTraffic,
        ReadFailures,
        Slc,
    )
    from flashgc.results.parts.host import (
        Fdp,
        FdpEvents,
        Handle,
        HostTraffic,
        Stream,
        Swap,
        Zombies,
    )
    from flashgc.results.parts.life import Busy, Milestone
    from flashgc.results.parts.run import Drift, Erases, Samples, Snia, Steadiness, Wear, WearPoint
    from flashgc.results.parts.trace import AnswerStat, Recorded, Replayed, StreamStat, WorkingSets
    from flashgc.results.ranked import Rank
    from flashgc.results.result import Bytes, Result
    from flashgc.results.timing import Latencies, OverTime, Suspension, TimeShares, Timing
    from flashgc.results.trace import HostStat, ThreadStat, TraceStat
    from flashgc.results.worst import Worst

__all__ = [
    "AnswerStat",
    "Busy",
    "Bytes",
    "Collecting",
    "Comparison",
    "Config",
    "Drift",
    "Erases",
    "Fdp",
    "FdpEvents",
    "Figures",
    "Finding",
    "Handle",
    "Hints",
    "HostConfig",
    "HostStat",
    "HostTraffic",
    "HostWaits",
    "Latencies",
    "Latency",
    "LeftOut",
    "Levelling",
    "Lifetime",
    "MapTraffic",
    "Merges",
    "Milestone",
    "OverTime",
    "Overload",
    "PowerLimit",
    "Rank",
    "ReadFailures",
    "Recorded",
    "Replayed",
    "Result",
    "Samples",
    "Scaled",
    "Slc",
    "Snia",
    "Steadiness",
    "Stream",
    "StreamStat",
    "Suspension",
    "Swap",
    "SwapConfig",
    "Tenant",
    "ThreadStat",
    "Throughput",
    "TimeShare",
    "TimeShares",
    "Timing",
    "TraceConfig",
    "TraceStat",
    "Traffic",
    "Utilisation",
    "Wear",
    "WearPoint",
    "WorkingSets",
    "Worst",
    "WorstCollection",
    "WorstOperation",
    "Zombies",
]

#: The module of each name; it is imported at its first use, because most runs have few parts.
__getattr__ = lazily(
    __name__,
    {
        "comparison": "Comparison LeftOut",
        "config": "Config HostConfig Scaled SwapConfig TraceConfig",
        "findings": "Finding",
        "flash": "Lifetime Merges",
        "parts.clock": "Figures Latency Overload PowerLimit Tenant Throughput TimeShare "
        "Traffic Utilisation WorstCollection WorstOperation",
        "parts.counts": "Collecting Hints HostWaits Levelling MapTraffic ReadFailures Slc",
        "parts.host": "Fdp FdpEvents Handle HostTraffic Stream Swap Zombies",
        "parts.life": "Busy Milestone",
        "parts.run": "Drift Erases Samples Snia Steadiness Wear WearPoint",
        "parts.trace": "AnswerStat Recorded Replayed StreamStat WorkingSets",
        "ranked": "Rank",
        "result": "Bytes Result",
        "timing": "Latencies OverTime Suspension TimeShares Timing",
        "trace": "HostStat ThreadStat TraceStat",
        "worst": "Worst",
    },
)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
