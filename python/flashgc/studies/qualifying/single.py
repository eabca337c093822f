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

#: The times that saturation writes the drive, and JESD219.
WRITES = 4.0

#: The slices of a quick saturation: the times that the mapping units were written before each. The
#: last two stand for the last quarter.
SLICES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.25, 3.75)

#: The share of the mapping units that a slice writes, and the most requests of a slice. It has four
#: for each request under way.
SLICE, MOST_OF_SLICE = 1 / 16, 200_000

#: JESD219's enterprise workload, as fio ships it (``examples/jesd219.fio``): sizes in bytes and
#: their percentages, areas (percent of the requests / of the addresses), share of reads.
JESD219_SIZES = (
    *((512 * parts, 4 if parts == 1 else 1) for parts in range(1, 8)),
    (4096, 67), (8192, 10), (16384, 7), (32768, 3), (65536, 3),
)  # fmt: skip
JESD219_READS = 0.4
JESD219 = f"zoned:shares=50/5:30/15:20/80,read={JESD219_READS},align=4KiB,size=" + "/".join(
    f"{size}B:{share}" for size, share in JESD219_SIZES
)

#: The times that JESD219 writes the mapping units before it is measured, and the most requests that
#: a quick test measures.
BEFORE, MOST_OF_QUICK = 2, 300_000

#: The depths of the sweep, and those of a quick one.
DEPTHS = tuple(2**power for power in range(9))
QUICK_DEPTHS = (1, 4, 16, 64, 256)

#: The times that the writes of a cell of the sweep fill a write cache, which is empty at first.
CACHES = 20

#: The drive writes that bring a drive near its steady state to it.
SETTLING = "0.5x"


def saturation(drive: Drive) -> dict[str, Any]:
    """The configuration of random writes on a fresh drive."""
    return drive.config(
        "uniform", drive.depth(SIZE, LEAST_DEPTH), request_size=SIZE,
        requests=int(WRITES * (drive.logical_bytes // SIZE)),
    )  # fmt: skip


def slice_of_saturation(drive: Drive, units: float) -> dict[str, Any]:
    """The configuration of a slice of that life, behind writes that take no time.

    They are ``units`` times as many as the drive has mapping units.
    """
    depth = drive.depth(SIZE, LEAST_DEPTH)
    return drive.config(
        "uniform", depth, request_size=SIZE, warmup=f"{units:g}x",
        requests=max(4 * depth, min(int(SLICE * drive.logical_bytes / SIZE), MOST_OF_SLICE)),
    )  # fmt: skip


def jesd219(drive: Drive, *, quick: bool) -> dict[str, Any]:
    """The configuration of JESD219: writes that take no time, and as many that are measured."""
    depth = drive.depth(SIZE, LEAST_DEPTH)
    mean = sum(size * share for size, share in JESD219_SIZES) / 100
    count = int((WRITES - BEFORE) * drive.logical_bytes / ((1 - JESD219_READS) * mean))
    return drive.config(
        JESD219, depth, fill="sequential", warmup=f"{BEFORE}x",
        requests=max(4 * depth, min(count, MOST_OF_QUICK)) if quick else count,
    )  # fmt: skip


def at_depth(drive: Drive, depth: int, *, reads: bool, quick: bool) -> dict[str, Any]:
    """The configuration of a cell of the sweep: a drive in its steady state, then requests."""
    count = min(200 * depth + 5000, 20_000 if quick else 50_000)
    return drive.config(
        "uniform:read=1" if reads else "uniform", depth, fill="steady",
        warmup="0" if reads else SETTLING, request_size=SIZE,
        requests=count if reads else max(count, CACHES * drive.cached),
    )  # fmt: skip


def saturated(raw: Mapping[str, Any], drive: Drive, depth: int) -> Saturation:
    """The result of random writes on a fresh drive; figures come from the last quarter."""
    rates, step = _rates(raw)
    writes = drive.logical_bytes // SIZE
    # The last slice is shorter than the others.
    points, done = [], 0.0
    for rate in rates[:-1]:
        done += rate * step / writes
        points.append((done, rate))
    begin = 0.75 * WRITES
    late = [rate for at, rate in points if at - rate * step / writes >= begin] or [rates[-1]]
    met = _collecting(raw)
    return Saturation(
        depth=depth,
        drive_writes=WRITES,
        points=tuple(points),
        amplification=tuple((float(at), float(value)) for at, value in raw["series"]),
        steady_from=begin,
        requests_per_second=sum(late) / len(late),
        write_amplification=_amplification(raw, begin),
        steady=rule(_parts(late)) if len(late) >= WINDOW else None,
        write_us=Response.of(read(Figures, raw["latency_us"]["write"])),
        collecting_us=met,
    )


def saturated_in_slices(
    slices: Mapping[float, Mapping[str, Any]], drive: Drive, depth: int
) -> Saturation:
    """The result of a quick test; figures come from the slices in the last quarter.

    The first quarter of a slice is left out: its requests find an idle drive.
    """
    points, amplification = [], []
    for units, raw in sorted(slices.items()):
        rates, step = _rates(raw)
        settled = rates[len(rates) // 4 : -1] or rates
        written = sum(rates) * step * SIZE / drive.logical_bytes
        at = drive.writes(units) + written
        points.append((at, sum(settled) / len(settled)))
        amplification.append((at, _amplification(raw, raw["series"][-1][0] / 4)))
    begin = 0.75 * WRITES
    late = [at for at, units in enumerate(sorted(slices)) if units >= begin]
    responses = [
        Response.of(read(Figures, slices[units]["latency_us"]["write"]))
        for at, units in enumerate(sorted(slices)) if at in late
    ]  # fmt: skip
    met = [
        figures
        for at, units in enumerate(sorted(slices))
        if at in late and (figures := _collecting(slices[units])) is not None
    ]
    return Saturation(
        depth=depth,
        drive_writes=points[-1][0],
        points=tuple(points),
        amplification=tuple(amplification),
        steady_from=drive.writes(begin),
        requests_per_second=sum(points[at][1] for at in late) / len(late),
        write_amplification=sum(amplification[at][1] for at in late) / len(late),
        steady=None,
        write_us=Response.of_rounds(responses),
        collecting_us=Response.of_rounds(met) if met else None,
    )


def _rates(raw: Mapping[str, Any]) -> tuple[list[float], float]:
    """The requests a second in slices of time, and the seconds of one."""
    over_time = raw["over_time"]
    return over_time["write"]["requests_per_second"], over_time["resolution_seconds"]


def _collecting(raw: Mapping[str, Any]) -> Response | None:
    """The response times of writes that met a collection."""
    met = raw["latency_us"]["write"].get("during_collection")
    return None if met is None else Response.of(read(Figures, met))


def _amplification(raw: Mapping[str, Any], begin: float) -> float:
    """The mean write amplification of a run from ``begin`` on, which is in drive writes."""
    steps = [(0.0, 1.0), *((float(at), float(value)) for at, value in raw["series"])]
    weighted = [
        (now[0] - before[0], now[1]) for before, now in pairwise(steps) if before[0] >= begin
    ]
    return sum(length * value for length, value in weighted) / sum(each for each, _ in weighted)


def _parts(values: Sequence[float]) -> list[float]:
    """The means of five equal parts."""
    ends = [len(values) * at // WINDOW for at in range(WINDOW + 1)]
    return [sum(values[a:b]) / (b - a) for a, b in pairwise(ends)]


def enterprise(raw: Mapping[str, Any], drive: Drive, depth: int) -> Enterprise:
    """The result of JESD219's workload."""
    rates, times = raw["throughput"], raw["latency_us"]
    measured = rates["write_bytes_per_second"] * raw["simulated_seconds"] / drive.logical_bytes
    each = [
        None if times.get(kind) is None else Response.of(read(Figures, times[kind]))
        for kind in ("read", "write")
    ]
    return Enterprise(
        depth=depth,
        drive_writes=BEFORE + measured,
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
