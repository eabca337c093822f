"""Results, comparisons and trace statistics, typed, with ``to_json``, and their parts.

The fields of a part have the names of the JSON document's keys. A part that a run does not have is
``None``.
"""

from __future__ import annotations

from flashgc._lazy import lazily

TYPE_CHECKING = False

if TYPE_CHECKING:
    from flashgc.results.activity import (
        Overload,
        OverTime,
        Suspension,
        Throughput,
        Traffic,
        Utilisation,
    )
    from flashgc.results.comparison import Comparison, LeftOut
    from flashgc.results.config import Config, TraceConfig
    from flashgc.results.counts import Collecting, Hints, HostWaits, Levelling, MapTraffic, Slc
    from flashgc.results.findings import Finding
    from flashgc.results.flash import Busy, Merges
    from flashgc.results.host import HostConfig, HostTraffic, Zombies
    from flashgc.results.latency import Figures, Latencies, Latency, TimeShare, TimeShares
    from flashgc.results.lifetime import Lifetime, Milestone
    from flashgc.results.ranked import Rank
    from flashgc.results.result import Result
    from flashgc.results.samples import Samples
    from flashgc.results.steadiness import Drift, Snia, Steadiness
    from flashgc.results.streams import Fdp, FdpEvents, Handle, Stream
    from flashgc.results.swap import Swap, SwapConfig
    from flashgc.results.tenants import Tenant
    from flashgc.results.timing import Timing
    from flashgc.results.trace import (
        AnswerStat,
        HostStat,
        Recorded,
        Replayed,
        StreamStat,
        TraceStat,
        WorkingSets,
    )
    from flashgc.results.wear import Erases, Wear, WearPoint
    from flashgc.results.worst import Worst, WorstCollection, WorstOperation
    from flashgc.results.written import Bytes

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
    "Rank",
    "Recorded",
    "Replayed",
    "Result",
    "Samples",
    "Slc",
    "Snia",
    "Steadiness",
    "Stream",
    "StreamStat",
    "Suspension",
    "Swap",
    "SwapConfig",
    "Tenant",
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

#: The home of each name; imported when it is first used: most runs have few parts.
__getattr__ = lazily(
    __name__,
    {
        "activity": "Overload OverTime Traffic Suspension Throughput Utilisation",
        "comparison": "Comparison LeftOut",
        "ranked": "Rank",
        "config": "Config TraceConfig",
        "counts": "Collecting Hints HostWaits Levelling MapTraffic Slc",
        "findings": "Finding",
        "flash": "Busy Merges",
        "host": "HostConfig HostTraffic Zombies",
        "latency": "Figures Latencies Latency TimeShare TimeShares",
        "lifetime": "Lifetime Milestone",
        "samples": "Samples",
        "result": "Result",
        "steadiness": "Drift Snia Steadiness",
        "streams": "Fdp FdpEvents Handle Stream",
        "swap": "Swap SwapConfig",
        "tenants": "Tenant",
        "timing": "Timing",
        "trace": "AnswerStat HostStat Recorded Replayed StreamStat TraceStat WorkingSets",
        "wear": "Erases Wear WearPoint",
        "worst": "Worst WorstCollection WorstOperation",
        "written": "Bytes",
    },
)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
