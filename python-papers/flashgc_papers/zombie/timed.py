"""Zombie Chasing's elapsed times: the micro-benchmark and TPC-C on the drive with a clock.

Sixteen threads, each with one request under way, ask a page cache that writes back at the drive's
own speed. The measured part has the paper's 312 500 writes and the reads that go with them.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from flashgc.described import Simulation, simulation
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.runner import Measured, NotMeasuredError, Row, Size, row, seeded
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.zombie.experiment import (
    BLOCKS,
    COLLECTORS,
    SCATTERED,
    WARMUP,
    WRITES,
    addresses,
)

#: Milliseconds that the prototype looks for a victim (section 5.2.2); those of the parents, which
#: weigh the same blocks, are not given and taken to be the same.
SEARCH = {"GD": "3.19ms", "CB": "7.65ms"}
#: Runs, each with its own requests.
RUNS = {Size.QUICK: 2, Size.DEFAULT: 4, Size.FULL: 8}
#: Flush timers of Table 2 and PostgreSQL's, in seconds; a drive n times smaller has them n times
#: shorter.
WRITEBACK, EXPIRE, CHECKPOINT, DELAY = 5, 30, 300, 0.2
#: Page accesses of TPC-C that are measured.
ACCESSES = 2_000_000


def _smaller(size: Size, device: str) -> int:
    """The factor by which a quick drive is smaller: no bank has fewer than 256 blocks."""
    return {"jasmine-4": 8, "jasmine-16": 4}[device] if size is Size.QUICK else 1


def timed(
    size: Size,
    collector: str,
    *,
    h: float = 6,
    reads: float = 0.5,
    hints: str = "piggyback",
    device: str = "jasmine-4",
    cache: float = 4,
    reading: str = "",
) -> Simulation:
    """The micro-benchmark with a cache of so many GiB."""
    part = _smaller(size, device)
    memory = f"page-cache:size={1024 * cache / part:g}MiB"
    return _simulation(
        size,
        part,
        collector,
        workload=addresses(h, reads, reading),
        warmup="0" if reading == SCATTERED else WARMUP[size],
        device=device,
        host_cache=f"{memory},writeback={WRITEBACK / part:g}s,expire={EXPIRE / part:g}s",
        hints=hints,
        requests=round(WRITES * (1 + reads)) // part,
    )


def transactions(size: Size, collector: str, spare: str, device: str = "jasmine-4") -> Simulation:
    """TPC-C with a buffer cache of 4 GiB."""
    part = _smaller(size, device)
    cache = f"buffer-cache:size={4096 / part:g}MiB"
    return _simulation(
        size,
        part,
        collector,
        workload="tpcc:fill=72%",
        warmup=WARMUP[size],
        device=device,
        spare=spare,
        host_cache=f"{cache},checkpoint={CHECKPOINT / part:g}s,delay={DELAY / part:g}s",
        hints="piggyback",
        requests=ACCESSES // part,
    )


def _simulation(size: Size, part: int, collector: str, **options: Any) -> Simulation:
    return simulation(
        kind="timed",
        blocks=BLOCKS // part,
        gc_preset=COLLECTORS[collector],
        victim_search_time=SEARCH[collector[-2:]],
        arrivals="closed:threads=16",
        runs=RUNS[size],
        **options,
    )


def seconds(measured: Measured, name: str) -> list[float]:
    """Simulated seconds of the measured part, run by run."""
    timings = [result.timing for result in measured.runs(name)]
    if None in timings:
        raise NotMeasuredError("there was no clock")
    return [timing.simulated_seconds for timing in timings if timing is not None]


def saved(measured: Measured, less: str, more: str) -> Value:
    """By how many percent ``less`` is done earlier than ``more``; runs of a seed are compared."""
    pairs = zip(seconds(measured, less), seconds(measured, more), strict=True)
    return Value.of([100 * (1 - one / other) for one, other in pairs])


def saved_row(measured: Measured, label: str, published: float | str, less: str, more: str) -> Row:
    """A row that is met if ``less`` is done earlier than ``more``, outside the interval."""

    def judge() -> tuple[Value, Judgement]:
        value = saved(measured, less, more)
        means = [statistics.fmean(seconds(measured, name)) for name in (less, more)]
        why = f"{means[0]:.0f} s, and {means[1]:.0f} s without hints"
        return value, verdicts.true(value.low > 0, why)

    return row(label, published, judge)


def pair(
    size: Size, names: tuple[str, ...], reading: str = "", **options: Any
) -> Mapping[str, Simulation]:
    """A timed simulation for each of ``names``, run by run."""
    made: dict[str, Simulation] = {}
    for name in names:
        key = f"{name} timed{reading}"
        made |= seeded(key, timed(size, name, reading=reading, **options))
    return made
