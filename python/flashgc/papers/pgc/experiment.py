"""The drive of Lee et al.'s semi-preemptive collector as simulations, and what is read from them.

The drive is that of the paper (the preset ``pgc-slc``), smaller where that is said. NPGC is
``--preemption none``, PGC ``--preemption pgc``; merging and pipelining are told apart from it.

What part of the drive the requests address the paper does not say, and nothing matters more: it
decides how many pages a collection moves. The SSD extension of DiskSim comes with parameter files
of the very drive of table VI (``ssdmodel/valid/ssd-rw250k.parv``), whose synthetic requests address
7 018 904 sectors, an eighth of its logical space. So do ours.
"""

from __future__ import annotations

import math
from typing import Any

from flashgc.reproduce import verdicts
from flashgc.reproduce.runner import (
    Measured,
    Size,
    row,
    simulation,
)
from flashgc.reproduce.verdicts import Judgement, Value
from flashgc.results import Latency, Result, Timing

#: Blocks of the drive: 2, 8 and the paper's 32 GiB.
BLOCKS = {Size.QUICK: 8192, Size.DEFAULT: 32768, Size.FULL: 131072}
#: Requests of a run, and runs.
LENGTH = {Size.QUICK: (4000, 3), Size.DEFAULT: (20_000, 4), Size.FULL: (100_000, 5)}
DRIVE = {"kind": "timed", "device": "pgc-slc"}
#: Share of the logical space that requests address, in percent: see above.
FOOTPRINT = 12.5
#: Drive writes before the clock starts: eight times what the requests address.
WARMUP = "1x"


def timed(workload: str, size: Size, preemption: str = "none", **options: Any) -> Any:
    """A simulation of the paper's drive at a size."""
    requests, runs = LENGTH[size]
    return simulation(
        **{
            "workload": workload,
            **DRIVE,
            "preemption": preemption,
            "blocks": BLOCKS[size],
            "requests": requests,
            "runs": runs,
            "warmup": WARMUP,
            **options,
        }
    )


def settings(size: Size) -> str:
    """The size in words."""
    requests, runs = LENGTH[size]
    return (
        f"{BLOCKS[size] // 4096} GiB on 8 channels of 8 planes, {requests} requests on "
        f"{FOOTPRINT:g}% of it after {WARMUP} drive writes, {runs} runs"
    )


def clock(result: Result) -> Timing:
    """The timing of a result that has one."""
    timing = result.timing
    assert timing is not None
    return timing


def figures(result: Result, of: str = "all") -> Latency:
    """The response times of a result."""
    found = clock(result).latency_us.of(of)
    assert found is not None
    return found


def mean(result: Result) -> Value:
    """The mean response time, in milliseconds."""
    half = clock(result).mean_us_ci95
    return Value(figures(result).mean / 1e3, math.nan if half is None else half / 1e3)


def reduction(less: Value, more: Value) -> Value:
    """By how many percent ``less`` is below ``more``; the two are taken as independent."""
    share = less.mean / more.mean
    spread = math.hypot(less.ci95 / less.mean, more.ci95 / more.mean) if less.mean else 0.0
    return Value(100 * (1 - share), 100 * share * spread)


def fall(key: str, less: Result, more: Result) -> float:
    """By how many percent a figure of all response times falls."""
    low, high = getattr(figures(less), key), getattr(figures(more), key)
    return float(100 * (1 - low / high)) if high else math.nan


def falls(measured: Measured, name: str, key: str, pair: tuple[str, str], published: str) -> Any:
    """A row: a figure of all response times is lower in the first simulation than in the second."""

    def judge() -> tuple[str, Judgement]:
        less, more = (measured.result(one) for one in pair)
        change = fall(key, less, more)
        return f"{-change:+.2f}%", verdicts.true(change > 0, f"{-change:+.2f}%")

    return row(name, published, judge)
