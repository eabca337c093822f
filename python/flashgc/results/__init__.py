"""Results, comparisons and trace statistics, typed, with ``to_json``, and their parts.

The fields of a part have the names of the JSON document's keys. A part that a run does not have is
``None``.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from flashgc.results.activity import (
        Overload,
        OverTime,
        Served,
        Suspension,
        Throughput,
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
    "Served",
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
_HOMES = {
    **dict.fromkeys(
        ("Overload", "OverTime", "Served", "Suspension", "Throughput", "Utilisation"), "activity"
    ),
    **dict.fromkeys(("Comparison", "LeftOut"), "comparison"),
    "Rank": "ranked",
    **dict.fromkeys(("Config", "TraceConfig"), "config"),
    **dict.fromkeys(
        ("Collecting", "Hints", "HostWaits", "Levelling", "MapTraffic", "Slc"), "counts"
    ),
    "Finding": "findings",
    **dict.fromkeys(("Busy", "Merges"), "flash"),
    **dict.fromkeys(("HostConfig", "HostTraffic", "Zombies"), "host"),
    **dict.fromkeys(("Figures", "Latencies", "Latency", "TimeShare", "TimeShares"), "latency"),
    **dict.fromkeys(("Lifetime", "Milestone"), "lifetime"),
    "Samples": "samples",
    "Result": "result",
    **dict.fromkeys(("Drift", "Snia", "Steadiness"), "steadiness"),
    **dict.fromkeys(("Fdp", "FdpEvents", "Handle", "Stream"), "streams"),
    **dict.fromkeys(("Swap", "SwapConfig"), "swap"),
    "Tenant": "tenants",
    "Timing": "timing",
    **dict.fromkeys(
        (
            "AnswerStat",
            "HostStat",
            "Recorded",
            "Replayed",
            "StreamStat",
            "TraceStat",
            "WorkingSets",
        ),
        "trace",
    ),
    **dict.fromkeys(("Erases", "Wear", "WearPoint"), "wear"),
    **dict.fromkeys(("Worst", "WorstCollection", "WorstOperation"), "worst"),
    "Bytes": "written",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'flashgc.results' has no attribute '{name}'")
    import importlib

    found = getattr(importlib.import_module(f"flashgc.results.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*globals(), *__all__]
