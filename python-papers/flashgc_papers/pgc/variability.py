"""Lee et al.: the variation of bandwidth without preemption, on measured drives."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from flashgc.described import Simulation
from flashgc_papers.claims import Claim
from flashgc_papers.pgc.experiment import LENGTH, clock, settings, timed
from flashgc_papers.pgc.sweeps import left_out, workload
from flashgc_papers.published import Drawing
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import UnderReading, runner_under
from flashgc_papers.reproduce.runner import (
    Figure,
    Measured,
    NotMeasuredError,
    Outcome,
    Row,
    Size,
    Table,
    Task,
    conclude,
    row,
)
from flashgc_papers.reproduce.verdicts import Judgement, Value

#: Shares of writes and depths of the queue of the measured drives.
WRITES, DEPTHS = (20, 40, 60, 80), (8, 64)
#: Slices in which bandwidth is measured: some 100 requests of a busy drive.
SLICE = "20ms"


@runner_under("pgc.variability")
class Variability(UnderReading):
    """The variation of bandwidth without preemption."""

    def task(self, claim: Claim, size: Size) -> Task:
        """Threads that always have a request of 1 MB each under way, as the paper measured."""
        del claim
        simulations: dict[str, Simulation] = {}
        for writes in WRITES:
            for depth in DEPTHS:
                requests = workload(size="constant:1MiB", sequential="0%", reads=f"{100 - writes}%")
                simulations |= timed(
                    f"{writes} {depth}",
                    requests,
                    size,
                    self.reading,
                    arrivals=f"closed:threads={depth}",
                    requests=max(LENGTH[size][0] // 4, 1000),
                    resolution=SLICE,
                )
        return Task(
            simulations,
            {},
            f"{settings(size)}; a quarter of the requests, of 1 MB, from 8 and 64 threads; "
            f"bandwidth in slices of {SLICE}",
            left_out(size),
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Coefficients of variation."""
        rows = [self._by_writes(measured, depth) for depth in DEPTHS]
        rows += [self._by_depth(measured, writes) for writes in WRITES]
        notes = (
            "The paper measured drives on the market, whose insides are not known. Eight requests "
            "of 1 MB already keep every channel of this one busy.",
        )
        figures = self._figures(measured) + self._normalised(measured)
        return conclude(claim, measured, rows, figures=figures, notes=notes)

    @staticmethod
    def _figures(measured: Measured) -> list[Figure]:
        """Bandwidth over time by share of writes, of the first run at the smallest depth."""
        lines: list[tuple[float | str | None, ...]] = []
        for writes in WRITES:
            try:
                series = clock(measured.runs(f"{writes} {DEPTHS[0]}")[0]).over_time
            except NotMeasuredError:
                continue
            both = zip(series.read.bytes_per_second, series.write.bytes_per_second, strict=True)
            lines += [
                (writes, at * series.resolution_seconds, (read + write) / 1e6)
                for at, (read, write) in enumerate(both)
            ]
        data = Table(("writes (%)", "seconds", "MB/s"), tuple(lines))
        caption = f"Bandwidth over time without preemption, {DEPTHS[0]} threads, one run"
        return [Figure("pgc.variability", caption, data, functools.partial(_draw_bandwidth, data))]

    @staticmethod
    def _normalised(measured: Measured) -> list[Figure]:
        """Write bandwidth in standard deviations from its mean, by depth, of the first run."""
        cells: list[tuple[float | str | None, ...]] = []
        for depth in DEPTHS:
            try:
                run = measured.runs(f"{WRITES[-1]} {depth}")[0]
            except NotMeasuredError:
                continue
            whole = np.array(clock(run).over_time.write.bytes_per_second)[1:-1]
            if not np.std(whole) > 0:
                continue
            z = np.sort((whole - np.mean(whole)) / np.std(whole))
            shares = (np.arange(len(z)) + 1) / len(z)
            cells += [(depth, float(x), float(y)) for x, y in zip(z, shares, strict=True)]
        data = Table(("queue depth", "z", "share of the slices"), tuple(cells))
        caption = (
            f"Write bandwidth of slices of {SLICE} in standard deviations from its mean, "
            f"{WRITES[-1]}% writes without preemption: the share of the slices up to each"
        )
        return [Figure("pgc.depth", caption, data, functools.partial(_draw_normalised, data))]

    @staticmethod
    def _varies(measured: Measured, writes: int, depth: int) -> Value:
        coefficients = []
        for result in measured.runs(f"{writes} {depth}"):
            series = clock(result).over_time
            sides = [np.array(side.bytes_per_second) for side in (series.read, series.write)]
            whole = (sides[0] + sides[1])[1:-1]  # the ends are not whole
            coefficients.append(float(np.std(whole) / np.mean(whole)))
        return Value.of(coefficients)

    def _by_writes(self, measured: Measured, depth: int) -> Row:
        def judge() -> tuple[str, Judgement]:
            values = [self._varies(measured, writes, depth) for writes in WRITES]
            text = ", ".join(f"{value.mean:.3f}" for value in values)
            return text, verdicts.rising(values, [f"{writes}%" for writes in WRITES])

        joined = ", ".join(f"{writes}%" for writes in WRITES)
        return row(f"queue depth {depth}, writes {joined}", "varies more", judge)

    def _by_depth(self, measured: Measured, writes: int) -> Row:
        def judge() -> tuple[str, Judgement]:
            values = [self._varies(measured, writes, depth) for depth in DEPTHS]
            text = ", ".join(f"{value.mean:.3f}" for value in values)
            return text, verdicts.rising(values, [f"depth {depth}" for depth in DEPTHS])

        return row(f"{writes}% writes, queue depth 8, 64", "varies more", judge)


def _curves(data: Table, label: str) -> list[Any]:
    """A line for each value of the first column: the third column over the second."""
    from flashgc import plot

    cells = np.array(data.rows, np.float64)
    return [
        plot.Series(label.format(value), part[:, 1], part[:, 2], kind="line")
        for value in np.unique(cells[:, 0])
        for part in [cells[cells[:, 0] == value]]
    ]


def _draw_bandwidth(data: Table) -> Drawing:
    from flashgc import plot

    series = _curves(data, "{:g}% writes")
    return plot.against(series, x_label="seconds", y_label="bandwidth (MB/s)")


def _draw_normalised(data: Table) -> Drawing:
    from flashgc import plot

    x_label = "write bandwidth, standard deviations from its mean"
    series = _curves(data, "queue depth {:g}")
    return plot.against(series, x_label=x_label, y_label=data.columns[2])
