"""The tests that are single runs: saturation, JESD219 and the sweep of depths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from flashgc._documents import read
from flashgc.results.parts.clock import Figures
from flashgc.studies.qualifying.drive import DAYS, LEAST_DEPTH, YEARS, Drive
from flashgc.studies.qualifying.outcome import (
    AtDepth,
    Endurance,
    Enterprise,
    Response,
    Saturation,
    Worked,
)
from flashgc.studies.qualifying.steady import WINDOW, rule

#: The bytes of a random request.
SIZE = 4096

#: The times that saturation writes the drive, and JESD219; of a quick test.
WRITES, QUICK_WRITES = 4.0, 2.0

#: The depths of the sweep, and those of a quick one.
DEPTHS = tuple(2**power for power in range(9))
QUICK_DEPTHS = (1, 4, 16, 64, 256)

#: The times that the writes of a cell of the sweep fill a write cache, which is empty at first.
CACHES = 20

#: The drive writes that bring a drive near its steady state to it.
SETTLING = "0.5x"


def saturation(drive: Drive, *, quick: bool) -> dict[str, Any]:
    """The configuration of random writes on a fresh drive."""
    times = QUICK_WRITES if quick else WRITES
    return drive.config(
        "uniform", drive.depth(SIZE, LEAST_DEPTH), request_size=SIZE,
        requests=int(times * (drive.logical_bytes // SIZE)),
    )  # fmt: skip


def at_depth(drive: Drive, depth: int, *, reads: bool, quick: bool) -> dict[str, Any]:
    """The configuration of a cell of the sweep: a drive in its steady state, then requests."""
    count = min(200 * depth + 5000, 20_000 if quick else 50_000)
    return drive.config(
        "uniform:read=1" if reads else "uniform", depth, fill="steady",
        warmup="0" if reads else SETTLING, request_size=SIZE,
        requests=count if reads else max(count, CACHES * drive.cached),
    )  # fmt: skip


def saturated(raw: Mapping[str, Any], drive: Drive, depth: int, *, quick: bool) -> Saturation:
    """The result of random writes on a fresh drive; figures come from the last quarter."""
    times = QUICK_WRITES if quick else WRITES
    step = raw["over_time"]["resolution_seconds"]
    rates = raw["over_time"]["write"]["requests_per_second"]
    writes = drive.logical_bytes // SIZE
    # The last slice is shorter than the others.
    points, done = [], 0.0
    for rate in rates[:-1]:
        done += rate * step / writes
        points.append((done, rate))
    begin = 0.75 * times
    late = [rate for at, rate in points if at - rate * step / writes >= begin] or [rates[-1]]
    steps = [(0.0, 1.0), *((float(at), float(value)) for at, value in raw["series"])]
    weighted = [
        (now[0] - before[0], now[1]) for before, now in pairwise(steps) if before[0] >= begin
    ]
    whole = read(Figures, raw["latency_us"]["write"])
    met = raw["latency_us"]["write"].get("during_collection")
    return Saturation(
        depth=depth,
        drive_writes=times,
        points=tuple(points),
        amplification=tuple(steps[1:]),
        steady_from=begin,
        requests_per_second=sum(late) / len(late),
        write_amplification=sum(length * value for length, value in weighted)
        / sum(length for length, _ in weighted),
        steady=rule(_parts(late)) if len(late) >= WINDOW else None,
        write_us=Response.of(whole),
        collecting_us=None if met is None else Response.of(read(Figures, met)),
    )


def _parts(values: Sequence[float]) -> list[float]:
    """The means of five equal parts."""
    ends = [len(values) * at // WINDOW for at in range(WINDOW + 1)]
    return [sum(values[a:b]) / (b - a) for a, b in pairwise(ends)]


def enterprise(raw: Mapping[str, Any], depth: int, *, quick: bool) -> Enterprise:
    """The result of JESD219's workload."""
    rates, times = raw["throughput"], raw["latency_us"]
    each = [
        None if times.get(kind) is None else Response.of(read(Figures, times[kind]))
        for kind in ("read", "write")
    ]
    return Enterprise(
        depth=depth,
        drive_writes=QUICK_WRITES if quick else WRITES,
        write_amplification=raw["write_amplification"],
        requests_per_second=rates["requests_per_second"],
        bytes_per_second=rates["read_bytes_per_second"] + rates["write_bytes_per_second"],
        read_us=each[0],
        write_us=each[1],
    )


def cell_of_depth(raw: Mapping[str, Any], depth: int, *, reads: bool) -> AtDepth:
    """The result of one cell of the sweep of depths."""
    figures = read(Figures, raw["latency_us"]["read" if reads else "write"])
    rate = raw["throughput"]["requests_per_second"]
    return AtDepth(depth, reads, rate, figures.mean, figures.p99, figures.p99_9)


def endurance(drive: Drive, cycles: int | None, workload: str, amplification: float) -> Endurance:
    """The bytes that a host may write, from erases and write amplification.

    By hand: 3000 erases of 1 TB of flash at an amplification of 3 are 1000 TB.
    """
    erases = 1000 if cycles is None else cycles
    written = erases * drive.data_bytes / amplification
    return Endurance(
        erases,
        cycles is not None,
        workload,
        amplification,
        written / 1e12,
        written / (drive.parts * drive.logical_bytes * DAYS * YEARS),
        YEARS,
    )


def worked(sequential: float, saturation: Saturation) -> Worked:
    """The rate of random writes by hand, from the ``sequential`` rate in bytes a second.

    A drive that programs limit programs as many bytes for random writes as for sequential ones.
    Write amplification is in bytes, so it has the factor of mapping units above 4 KiB already.
    """
    rate = sequential / (saturation.write_amplification * SIZE)
    return Worked(rate, saturation.requests_per_second / rate)
