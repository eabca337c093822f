"""Results, comparisons and trace statistics, typed, with ``to_json``, and their parts.

The fields of a part have the names of the JSON document's keys. A part that a run does not have is
``None``.
"""

from flashgc.results.activity import (
    Collecting,
    Overload,
    OverTime,
    Served,
    Throughput,
    Utilisation,
)
from flashgc.results.comparison import Comparison, LeftOut, Rank
from flashgc.results.config import Config, HostConfig, SwapConfig, TraceConfig
from flashgc.results.flash import Busy, MapTraffic, Merges
from flashgc.results.host import Hints, HostTraffic, Zombies
from flashgc.results.latency import Figures, Latencies, Latency, TimeShare, TimeShares
from flashgc.results.lifetime import Lifetime, Milestone
from flashgc.results.replayed import Replayed, Samples
from flashgc.results.result import Result
from flashgc.results.streams import Fdp, FdpEvents, Handle, Stream
from flashgc.results.swap import Swap
from flashgc.results.timing import Timing
from flashgc.results.trace import Recorded, StreamStat, TraceStat, WorkingSets
from flashgc.results.wear import Erases, Levelling, Wear, WearPoint
from flashgc.results.written import Bytes

__all__ = [
    "Busy",
    "Bytes",
    "Collecting",
    "Comparison",
    "Config",
    "Erases",
    "Fdp",
    "FdpEvents",
    "Figures",
    "Handle",
    "Hints",
    "HostConfig",
    "HostTraffic",
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
    "Stream",
    "StreamStat",
    "Swap",
    "SwapConfig",
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
    "Zombies",
]
