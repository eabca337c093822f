"""Lee et al.: sweeps of synthetic requests, variability, and what the extended paper adds."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from flashgc.papers.claims import Claim
from flashgc.papers.pgc.experiment import (
    BLOCKS,
    FOOTPRINT,
    LENGTH,
    clock,
    fall,
    falls,
    figures,
    mean,
    reduction,
    settings,
    timed,
)
from flashgc.papers.pgc.traces import workloads
from flashgc.reproduce import verdicts
from flashgc.reproduce.runner import (
    Figure,
    Measured,
    Outcome,
    Row,
    Size,
    Table,
    Task,
    conclude,
    row,
    runner,
)
from flashgc.reproduce.verdicts import Judgement, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

#: The paper's four parameters, and the one that it leaves open: their values in the order in which
#: the gain is said to grow, and how they are written.
SWEEPS: Mapping[str, tuple[tuple[float, ...], str, str]] = {
    "inter-arrival time (ms)": ((10, 5, 3, 1), "gap", "exponential:{:g}ms"),
    "sequential (%)": ((80, 60, 40, 20), "sequential", "{:g}%"),
    "reads (%)": ((80, 60, 40, 20), "reads", "{:g}%"),
    "request size (KB)": ((8, 16, 32, 64), "size", "exponential:{:g}KiB"),
    "footprint (%)": ((6.25, 12.5, 25, 50, 100), "footprint", "{:g}%"),
}
#: Of these the slides say which way the gain grows; of the size the extended paper does.
DIRECTED = tuple(SWEEPS)[:3]


def workload(**changed: str) -> str:
    """The paper's synthetic requests: 32 KB, 3 ms apart, 40% sequential, 40% reads."""
    values = {
        "size": "exponential:32KiB",
        "gap": "exponential:3ms",
        "sequential": "40%",
        "reads": "40%",
        "footprint": f"{FOOTPRINT:g}%",
        **changed,
    }
    return "disksim:" + ",".join(f"{key}={value}" for key, value in values.items())


@runner("pgc.synthetic")
class Synthetic:
    """One parameter at a time, the others at their defaults."""

    def task(self, claim: Claim, size: Size) -> Task:
        """NPGC and PGC at every value."""
        del claim
        simulations = {}
        for name, (values, key, form) in SWEEPS.items():
            for value in values:
                requests = workload(**{key: form.format(value)})
                for preemption in ("none", "pgc"):
                    simulations[f"{name} {value} {preemption}"] = timed(requests, size, preemption)
        return Task(simulations, {}, settings(size), _left_out(size))

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Whether the gain grows the way that is said."""
        rows = [self._row(measured, name) for name in DIRECTED]
        rows.append(self._grows(measured))
        notes = (
            "Consecutive pages go to all 64 planes in turn: what is written together does not "
            "share a block, whether requests are sequential or not.",
            "The paper does not say what share of the drive is addressed: the last panel.",
        )
        return conclude(
            claim, measured, rows, heading="sweep", figures=self._figures(measured), notes=notes
        )

    @staticmethod
    def _pair(measured: Measured, name: str, value: float) -> tuple[Any, Any]:
        less, more = (
            measured.result(f"{name} {value} {preemption}") for preemption in ("pgc", "none")
        )
        return less, more

    def _gains(self, measured: Measured, name: str) -> list[Value]:
        pairs = [self._pair(measured, name, value) for value in SWEEPS[name][0]]
        return [reduction(mean(less), mean(more)) for less, more in pairs]

    def _row(self, measured: Measured, name: str) -> Row:
        values = SWEEPS[name][0]

        def judge() -> tuple[str, Judgement]:
            gains = self._gains(measured, name)
            text = ", ".join(f"{gain.mean:.1f}%" for gain in gains)
            return text, verdicts.rising(gains, [f"{value:g}" for value in values])

        said = ", ".join(f"{value:g}" for value in values)
        return row(f"{name} {said}", "the gain in mean response time grows", judge)

    def _grows(self, measured: Measured) -> Row:
        name = "reads (%)"

        def judge() -> tuple[str, Judgement]:
            ratios = []
            for preemption in ("none", "pgc"):
                few, many = (
                    mean(measured.result(f"{name} {value} {preemption}")).mean for value in (20, 80)
                )
                ratios.append(few / many)
            text = f"{ratios[0]:.2f}x without, {ratios[1]:.2f}x with"
            return text, verdicts.true(ratios[0] > ratios[1], text)

        label = "mean response time at 20% reads over that at 80%"
        return row(label, "3.46x without preemption, 1.77x with", judge)

    def _figures(self, measured: Measured) -> list[Figure]:
        lines: list[tuple[float | str | None, ...]] = []
        for name, (values, *_) in SWEEPS.items():
            for value in values:
                for preemption in ("none", "pgc"):
                    result = measured.results.get(f"{name} {value} {preemption}")
                    if result is not None:
                        one, whole = mean(result), figures(result)
                        cells = (whole.deviation / 1e3, whole.max / 1e3)
                        lines.append((name, value, preemption, one.mean, one.ci95, *cells))
        if not lines:
            return []
        columns = (
            "sweep",
            "value",
            "preemption",
            "mean (ms)",
            "ci95",
            "deviation (ms)",
            "max (ms)",
        )
        data = Table(columns, tuple(lines))
        caption = (
            "Mean response time of synthetic requests without preemption and with, one parameter "
            "at a time; 95% intervals."
        )
        return [Figure("pgc.synthetic", caption, data, functools.partial(_draw, data))]


def _draw(data: Table) -> Drawing:
    from flashgc import plot

    parts = []
    for name in SWEEPS:
        series = []
        for preemption, label in (("none", "NPGC"), ("pgc", "PGC")):
            points = sorted(
                (line[1], line[3], line[4])
                for line in data.rows
                if line[0] == name and line[2] == preemption
            )
            if points:
                x, y, error = np.array(points, np.float64).T
                series.append(plot.Series(label, x, y, error, kind="both"))
        if series:
            parts.append(plot.Panel(series=series, x_label=name))
    return plot.panels(parts, x_label="parameter", y_label="mean response time (ms)", at_ends=False)


#: Shares of writes and depths of the queue of the measured drives.
WRITES, DEPTHS = (20, 40, 60, 80), (8, 64)
#: Slices in which bandwidth is measured: some 100 requests of a busy drive.
SLICE = "20ms"


@runner("pgc.variability")
class Variability:
    """How bandwidth varies without preemption."""

    def task(self, claim: Claim, size: Size) -> Task:
        """Threads that always have a request of 1 MB each under way, as the paper measured."""
        del claim
        simulations = {}
        for writes in WRITES:
            for depth in DEPTHS:
                requests = workload(size="constant:1MiB", sequential="0%", reads=f"{100 - writes}%")
                simulations[f"{writes} {depth}"] = timed(
                    requests,
                    size,
                    arrivals=f"closed:threads={depth}",
                    requests=max(LENGTH[size][0] // 4, 1000),
                    resolution=SLICE,
                )
        return Task(
            simulations,
            {},
            f"{settings(size)}; a quarter of the requests, of 1 MB, from 8 and 64 threads; "
            f"bandwidth in slices of {SLICE}",
            _left_out(size),
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Coefficients of variation."""
        rows = [self._by_writes(measured, depth) for depth in DEPTHS]
        rows += [self._by_depth(measured, writes) for writes in WRITES]
        notes = (
            "The paper measured drives on the market, whose insides are not known. Eight requests "
            "of 1 MB already keep every channel of this one busy.",
        )
        return conclude(claim, measured, rows, notes=notes)

    @staticmethod
    def _varies(measured: Measured, writes: int, depth: int) -> Value:
        series = clock(measured.result(f"{writes} {depth}")).over_time
        sides = [np.array(side.bytes_per_second) for side in (series.read, series.write)]
        whole = (sides[0] + sides[1])[1:-1]  # the ends are not whole
        return Value(float(np.std(whole) / np.mean(whole)))

    def _by_writes(self, measured: Measured, depth: int) -> Row:
        def judge() -> tuple[str, Judgement]:
            values = [self._varies(measured, writes, depth) for writes in WRITES]
            text = ", ".join(f"{value.mean:.3f}" for value in values)
            return text, verdicts.rising(values, [f"{writes}%" for writes in WRITES])

        said = ", ".join(f"{writes}%" for writes in WRITES)
        return row(f"queue depth {depth}, writes {said}", "varies more", judge)

    def _by_depth(self, measured: Measured, writes: int) -> Row:
        def judge() -> tuple[str, Judgement]:
            values = [self._varies(measured, writes, depth) for depth in DEPTHS]
            text = ", ".join(f"{value.mean:.3f}" for value in values)
            return text, verdicts.rising(values, [f"depth {depth}" for depth in DEPTHS])

        return row(f"{writes}% writes, queue depth 8, 64", "varies more", judge)


#: Shares of the soft threshold that T_hard is, in blocks of all: 0.8 and 0.2 of 5%.
HARD = {"0.8": "4%", "0.2": "1%"}
#: Requests a second in bursts, with which collections cannot keep pace: the read share of Cello and
#: the 300 KB of the paper's heavy load keep a channel busy for 85% of the time, and collections
#: need another 27%. The paper's own load, 74.24 x 16 a second, is three times what eight dies can
#: program.
HEAVY = 340


def heavy(size: Size) -> dict[str, Any]:
    """Options of the heavy load: bursts that end after 10% to 40% of what T_soft keeps erased."""
    seconds = BLOCKS[size] // BLOCKS[Size.QUICK]
    return {"arrivals": f"bursts:rate={HEAVY},on={seconds}s,off={seconds}s"}


@runner("pgc.extended")
class Extended:
    """What the extended paper adds."""

    def task(self, claim: Claim, size: Size) -> Task:
        """Two sizes of requests, the traces with optimisations, and the hard threshold."""
        del claim
        simulations = {}
        for kb in (8, 64):
            requests = workload(size=f"exponential:{kb}KiB")
            for preemption in ("none", "pgc"):
                simulations[f"{kb} {preemption}"] = timed(requests, size, preemption)
            if kb == 64:
                simulations.update(_on_the_bus("64", requests, size, {}))
        for name, (requests, options) in workloads().items():
            for preemption in ("none", "pgc"):
                simulations[f"{name} {preemption}"] = timed(requests, size, preemption, **options)
            simulations.update(_on_the_bus(name, requests, size, options))
        requests = workload(size="exponential:300kB", sequential="0%", reads="19.63%")
        for share, hard in HARD.items():
            simulations[f"hard {share}"] = timed(requests, size, "pgc", gc_hard=hard, **heavy(size))
        return Task(
            simulations,
            {},
            f"{settings(size)}; the traces are generators of their statistics; pipelining and "
            f"merging without copy-back; T_hard with 300 KB requests, {HEAVY} a second in bursts",
            _left_out(size),
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Signs and orders."""
        rows: list[Row] = []
        said = {8: ("-29.44%", "-87.31%"), 64: ("-69.21%", "-83.03%")}
        for kb, published in said.items():
            for key, text in zip(("mean", "variance"), published, strict=True):
                pair = (f"{kb} pgc", f"{kb} none")
                rows.append(falls(measured, f"{kb} KB requests, {key}", key, pair, text))
        rows.append(self._larger(measured))
        for name, text in (("Financial", "-77.59%"), ("Cello", "-84.09%"), ("OpenMail", "-60.26%")):
            pair = (f"{name} pgc", f"{name} none")
            rows.append(falls(measured, f"{name}, largest", "max", pair, text))
        for name, label in (("Cello", "Cello"), ("64", "64 KB requests")):
            for key, text in (("mean", "-13.69%"), ("variance", "-33.53%")):
                pair = (f"{name} pgc+pipeline", f"{name} pgc on the bus")
                rows.append(falls(measured, f"{label}, pipelining on top, {key}", key, pair, text))
        rows.append(
            falls(
                measured,
                "T_hard from 0.8 to 0.2 of T_soft, mean",
                "mean",
                ("hard 0.2", "hard 0.8"),
                "-18%",
            )
        )
        rows += [self._merged(measured, name) for name in workloads()]
        notes = (
            "The paper has 10% of Cello's reads and 44% of its writes pipelined. At the printed 60 "
            "writes a second of 7 KB collections are under way for less than 1% of the time.",
        )
        return conclude(claim, measured, rows, notes=notes)

    @staticmethod
    def _larger(measured: Measured) -> Row:
        def judge() -> tuple[str, Judgement]:
            gains = [
                fall("mean", measured.result(f"{kb} pgc"), measured.result(f"{kb} none"))
                for kb in (8, 64)
            ]
            text = f"{gains[0]:.2f}% and {gains[1]:.2f}%"
            return text, verdicts.true(gains[1] > gains[0], text)

        return row("64 KB requests gain more in the mean than 8 KB", "29.44% and 69.21%", judge)

    @staticmethod
    def _merged(measured: Measured, name: str) -> Row:
        def judge() -> tuple[str, Judgement]:
            result = measured.result(f"{name} pgc+merge+pipeline")
            counts = clock(result).collecting
            merged = counts.merged_reads + counts.merged_writes
            share = 100 * merged / (result.reads + result.host_pages)
            return f"{share:.3f}%", verdicts.true(share < 0.15, f"{share:.3f}% of the commands")

        return row(f"{name}, merged commands", "under 0.15%", judge)


def _on_the_bus(name: str, requests: str, size: Size, options: dict[str, Any]) -> dict[str, Any]:
    """PGC and what is added to it, where collections move pages over the bus.

    Copy-back would leave little to overlap and nothing to share.
    """
    made = {}
    for preemption in ("pgc", "pgc+pipeline", "pgc+merge+pipeline"):
        key = f"{name} pgc on the bus" if preemption == "pgc" else f"{name} {preemption}"
        made[key] = timed(requests, size, preemption, copy_back="no", **options)
    return made


def _left_out(size: Size) -> str:
    return "" if size is Size.FULL else "the drive's full size and long runs"
