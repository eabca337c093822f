"""Zombie Chasing's elapsed times, and TPC-C on the drive with a clock."""

from __future__ import annotations

import statistics

from flashgc.described import Simulation, simulation
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import Reading
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.tasks import Measured, NotMeasuredError, Size
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.zombie.experiment import BANKS, RATE, WARMUP, drive, part_of

#: Flush timers of PostgreSQL, in seconds.
CHECKPOINT, DELAY = 300, 0.2
#: Page accesses of TPC-C that are measured.
ACCESSES = 2_000_000


def transactions(
    size: Size, reading: Reading, collector: str, spare: str, banks: int = BANKS
) -> Simulation:
    """TPC-C with a buffer cache of 4 GiB."""
    part = part_of(size, banks)
    cache = f"buffer-cache:size={4096 / part:g}MiB"
    if part > 1:
        cache += f",rate={RATE / part:g}"
    return simulation(
        **{
            **drive(size, reading, collector, banks),
            "workload": "tpcc:fill=72%",
            "warmup": WARMUP[size],
            "spare": spare,
            "host_cache": f"{cache},checkpoint={CHECKPOINT}s,delay={DELAY:g}s",
            "hints": "piggyback",
            "requests": ACCESSES // part,
        }
    )


def seconds(measured: Measured, name: str) -> list[float]:
    """Simulated seconds of the measured part, run by run."""
    timings = [result.timing for result in measured.runs(name)]
    if None in timings:
        raise NotMeasuredError("there was no clock")
    return [timing.simulated_seconds for timing in timings if timing is not None]


def saved(measured: Measured, less: str, more: str) -> Value:
    """The percentage of time that ``less`` saves against ``more``, from pairs of runs by seed."""
    pairs = zip(seconds(measured, less), seconds(measured, more), strict=True)
    return Value.of([100 * (1 - low / high) for low, high in pairs])


def taken(measured: Measured, less: str, more: str) -> str:
    """The mean seconds of ``less`` and of ``more``, in words."""
    means = [statistics.fmean(seconds(measured, name)) for name in (less, more)]
    return f"{means[0]:.0f} s, and {means[1]:.0f} s without hints"


def saved_row(measured: Measured, label: str, published: float | str, less: str, more: str) -> Row:
    """A row that is met if ``less`` takes less time than ``more``, beyond the interval."""

    def judge() -> tuple[Value, Judgement]:
        value = saved(measured, less, more)
        return value, verdicts.over(value, 0, taken(measured, less, more))

    return row(label, published, judge)
