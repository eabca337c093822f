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

from flashgc.described import Simulation, simulation
from flashgc.results import Latency, Result, Timing
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.runner import Measured, Row, Size, row, seeded
from flashgc_papers.reproduce.verdicts import Judgement, Value

#: Blocks of the drive: 2, 8 and the paper's 32 GiB.
BLOCKS = {Size.QUICK: 8192, Size.DEFAULT: 32768, Size.FULL: 131072}
#: Requests of a run, and runs.
LENGTH = {Size.QUICK: (4000, 3), Size.DEFAULT: (20_000, 4), Size.FULL: (100_000, 5)}
DRIVE = {"kind": "timed", "device": "pgc-slc"}
#: Share of the logical space that requests address, in percent: see above.
FOOTPRINT = 12.5
#: Drive writes before the clock starts: eight times what the requests address.
WARMUP = "1x"


def timed(
    key: str, workload: str, size: Size, preemption: str = "none", **options: Any
) -> dict[str, Simulation]:
    """The paper's drive at a size, run by run, for :meth:`Measured.runs` of ``key``."""
    requests, runs = LENGTH[size]
    whole = simulation(
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
    return seeded(key, whole)


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


def over_runs(measured: Measured, name: str, key: str, scale: float = 1.0) -> Value:
    """A figure of all response times, mean over the runs of a simulation."""
    return Value.of([scale * getattr(figures(one), key) for one in measured.runs(name)])


def mean(measured: Measured, name: str) -> Value:
    """The mean response time, in milliseconds."""
    return over_runs(measured, name, "mean", 1e-3)


def falls(measured: Measured, key: str, less: str, more: str) -> Value:
    """By how many percent a figure of all response times falls; runs of a seed are compared."""
    runs = zip(measured.runs(less), measured.runs(more), strict=True)
    pairs = [(getattr(figures(one), key), getattr(figures(other), key)) for one, other in runs]
    shares = [100 * (1 - low / high) if high else math.nan for low, high in pairs]
    # A replay of a trace is the same in every run.
    return Value.of(shares) if len(shares) > 1 else Value(shares[0])


def falls_row(
    measured: Measured,
    label: str,
    key: str,
    pair: tuple[str, str],
    published: float,
    stand_in: str = "",
) -> Row:
    """A row: a figure of all response times is lower in the first simulation than in the second."""

    def judge() -> tuple[Value, Judgement]:
        fall = falls(measured, key, *pair)
        change = Value(-fall.mean, fall.ci95)
        return change, verdicts.true(change.high < 0, "")

    return row(f"{label}, %", published, judge, stand_in=stand_in)
