"""The drive of Lee et al.'s semi-preemptive collector as simulations, and what is read from them.

The drive is that of the paper (the preset ``pgc-slc``), at some sizes a smaller one. NPGC is
``--preemption none``, PGC ``--preemption pgc``; merging and pipelining are separate levels.

The paper does not say which part of the drive the requests address. This matters most, because it
decides how many pages a collection moves. :data:`READINGS` has other open questions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flashgc.described import Simulation, simulation
from flashgc.results import Latency, Result, Timing
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import Reading, readings_of
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.tasks import Measured, Size, seeded
from flashgc_papers.reproduce.verdicts import Judgement, Value

#: Blocks of the drive: 2, 8 and the paper's 32 GiB.
BLOCKS = {Size.QUICK: 8192, Size.DEFAULT: 32768, Size.FULL: 131072}
#: The number of requests per run, and the number of runs.
LENGTH = {Size.QUICK: (4000, 3), Size.DEFAULT: (20_000, 4), Size.FULL: (100_000, 5)}
DRIVE = {"kind": "timed", "device": "pgc-slc"}
#: Drive writes before the clock starts.
WARMUP = "1x"
#: Share of the logical space that synthetic requests address, in percent. The SSD extension of
#: DiskSim comes with parameter files of the very drive of table VI
#: (``ssdmodel/valid/ssd-rw250k.parv``), whose requests address 7 018 904 sectors, an eighth of it.
FOOTPRINT = 12.5
#: The number of runs if request sizes have heavy tails: for the traces, and for those on the bus.
HEAVY_RUNS, HEAVY_RUNS_BESIDE = 17, 6

#: The paper leaves open how many blocks an element writes at a time, what part of the drive each
#: trace addresses, and how the sizes of its requests are distributed. The first reading is the
#: chosen one.
READINGS = readings_of("pgc")


def timed(
    key: str,
    workload: str,
    size: Size,
    reading: Reading,
    preemption: str = "none",
    **options: Any,
) -> dict[str, Simulation]:
    """The paper's drive at a size, run by run, for :meth:`Measured.runs` of ``key``."""
    requests, runs = LENGTH[size]
    whole = simulation(
        **{
            "workload": workload,
            **DRIVE,
            "preemption": preemption,
            "blocks": BLOCKS[size],
            "planes": reading["planes"],
            "requests": requests,
            "runs": runs,
            "warmup": WARMUP,
            **options,
        }
    )
    return seeded(key, whole)


def both(
    name: str, workload: str, size: Size, reading: Reading, **options: Any
) -> dict[str, Simulation]:
    """The runs of :func:`timed` without preemption and with it."""
    runs: dict[str, Simulation] = {}
    for preemption in ("none", "pgc"):
        runs |= timed(f"{name} {preemption}", workload, size, reading, preemption, **options)
    return runs


def settings(size: Size) -> str:
    """The size in words."""
    requests, runs = LENGTH[size]
    return (
        f"{BLOCKS[size] // 4096} GiB on 8 channels, {requests} requests after {WARMUP} drive "
        f"writes, {runs} runs"
    )


def clock(result: Result) -> Timing:
    """The timing of a result that has one."""
    timing = result.timing
    assert timing is not None
    return timing


def figures(result: Result, of: str = "all") -> Latency:
    """The response times of a result."""
    latency = clock(result).latency_us.of(of)
    assert latency is not None
    return latency


def over_runs(measured: Measured, name: str, key: str, scale: float = 1.0) -> Value:
    """A figure of all response times, its mean or median over the runs of a simulation."""
    return of_runs([scale * getattr(figures(run), key) for run in measured.runs(name)])


def mean(measured: Measured, name: str) -> Value:
    """The mean response time, in milliseconds."""
    return over_runs(measured, name, "mean", 1e-3)


def falls(measured: Measured, key: str, less: str, more: str) -> Value:
    """The reduction of a figure of all response times in percent, from pairs of runs by seed."""
    runs = zip(measured.runs(less), measured.runs(more), strict=True)
    pairs = [(getattr(figures(run), key), getattr(figures(other), key)) for run, other in runs]
    shares = [100 * (1 - low / high) if high else math.nan for low, high in pairs]
    return of_runs(shares)


def of_runs(values: Sequence[float]) -> Value:
    """The mean of the runs' values, or their median from ``HEAVY_RUNS_BESIDE`` values on.

    A replay of a trace is the same in every run, and has no interval.
    """
    if len(values) == 1:
        return Value(values[0])
    return Value.median_of(values) if len(values) >= HEAVY_RUNS_BESIDE else Value.of(values)


def falls_row(
    measured: Measured,
    label: str,
    key: str,
    pair: tuple[str, str],
    published: float,
    stand_in: str = "",
    why: str = "",
) -> Row:
    """A row: a figure of all response times is lower in the first simulation than in the second."""

    def judge() -> tuple[Value, Judgement]:
        fall = falls(measured, key, *pair)
        ends = None if fall.ends is None else (-fall.high, -fall.low)
        change = Value(-fall.mean, fall.ci95, ends)
        return change, verdicts.true(change.high < 0, why)

    return row(f"{label}, %", published, judge, stand_in=stand_in)
