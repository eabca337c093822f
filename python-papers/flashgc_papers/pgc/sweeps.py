"""Lee et al.: the worked example, sweeps of synthetic requests, and the variation of bandwidth."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flashgc.described import Simulation, simulation
from flashgc_papers.claims import Claim, claims
from flashgc_papers.pgc.experiment import (
    FOOTPRINT,
    LENGTH,
    both,
    clock,
    falls,
    figures,
    mean,
    over_runs,
    settings,
    timed,
)
from flashgc_papers.published import Drawing, Point, marked
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import UnderReading, runner_under
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Figure, Outcome, Table, conclude, runner
from flashgc_papers.reproduce.tasks import Measured, NotMeasuredError, Size, Task
from flashgc_papers.reproduce.verdicts import Judgement, Value

#: Milliseconds of the operations in the worked example.
TIMES = {"read": 0.025, "program": 0.2, "erase": 1.5}
_EXAMPLE = {
    "kind": "timed",
    "times": "read=25us,program=200us,erase=1.5ms",
    "blocks": 256,
    "pages_per_block": 64,
    "spare": "15%",
    "victim": "greedy",
    "gc_low": "4",
}


@runner("pgc.cost")
class Cost:
    """The worked example: two reads, two programs, an erase."""

    def task(self, _claim: Claim, _size: Size) -> Task:
        """A drive whose collections are timed."""
        return Task(
            {"run": simulation(workload="uniform", **_EXAMPLE, requests=20000, runs=1)},
            settings="one plane, no bus, 20 000 writes; at every size the same",
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge the mean time of a collection with two copies; further copies are subtracted."""

        def judge() -> tuple[Value, Judgement]:
            result = measured.result("run")
            timing = clock(result)
            spent = timing.utilisation.collection * timing.simulated_seconds * 1e3
            copy = TIMES["read"] + TIMES["program"]
            beyond = (result.copied_pages - 2 * result.erases) * copy
            # The clock counts nanoseconds, so further digits of a millisecond are rounding errors.
            value = Value(round((spent - beyond) / result.erases, 6))
            return value, verdicts.equal(value, claim.only_value, claim.tolerance)

        label = "time of all collections, less the copies above two in each"
        return conclude(claim, measured, [row(label, claim.only_value, judge)])


#: The states of the paper, each as a configuration that reaches it.
_STATES: dict[int, dict[str, Any]] = {
    0: {"preemption": "pgc", "warmup": "0", "requests": 1000},
    1: {"preemption": "pgc"},
    2: {"preemption": "pgc", "gc_hard": "4"},
    3: {"preemption": "pgc", "gc_hard": "4"},
}


@runner("pgc.states")
class States:
    """The levels of allowed preemption."""

    def task(self, _claim: Claim, _size: Size) -> Task:
        """A run in each state; requests are so far apart that none waits for another."""
        simulations = {}
        for state, options in _STATES.items():
            urgent = 1 if state == 3 else 0
            simulations[str(state)] = simulation(
                **{
                    "workload": "disksim:size=constant:4KiB,gap=constant:3ms,sequential=0,"
                    f"reads=0.3,urgent={urgent}",
                    **_EXAMPLE,
                    # Reads do not queue behind the writes that have waited for state 2 to end.
                    "scheduling": "reads-first",
                    "requests": 20000,
                    "runs": 1,
                    **options,
                }
            )
        return Task(simulations, settings="one plane, 20 000 requests 3 ms apart")

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge, in each state, which requests waited for at most one operation of a collection."""
        rows = [self._row(measured, state, expected) for state, expected in claim.rows]
        rows.append(self._longest(measured))
        return conclude(claim, measured, rows, heading="state")

    def _row(self, measured: Measured, state: Any, expected: Any) -> Row:
        def judge() -> tuple[str, Judgement]:
            return self._judge(measured, int(state), expected)

        return row(f"state {state:g}", str(expected), judge)

    @staticmethod
    def _longest(measured: Measured) -> Row:
        """The longest read: a collection lets it in between two operations, not inside an erase."""
        most = TIMES["erase"] + TIMES["program"] + TIMES["read"]

        def judge() -> tuple[Value, Judgement]:
            longest = Value(figures(measured.result("1"), "read").max / 1e3)
            return longest, verdicts.within(longest, TIMES["erase"], most)

        label = "state 1, the longest read, in ms: it waits for the erase under way"
        return row(label, f"{TIMES['erase']:g} to {most:g}", judge)

    @staticmethod
    def _judge(measured: Measured, state: int, expected: Any) -> tuple[str, Judgement]:
        result = measured.result(str(state))
        counts = clock(result).collecting
        # A request that may preempt waits for one operation, an erase at most, and is then
        # served. If writes wait, one read in hundreds waits for an earlier write of its page, so
        # the bound is for the 99th percentile.
        bound = 1e3 * (TIMES["erase"] + max(TIMES["read"], TIMES["program"]))
        longest = {
            side: met.p99
            for side in ("read", "write")
            if (met := figures(result, side).during_collection)
        }
        may = [f"{side}s" for side, us in longest.items() if us <= bound]
        text = " and ".join(may) or "nothing" if counts.started else "no collection"
        entered = {2: counts.entered_s2, 3: counts.entered_s3}
        why = ", ".join(
            f"99 of 100 {side}s that met a collection took at most {us:.0f} us"
            for side, us in longest.items()
        )
        if state in entered:
            why += f"; state {state} was entered {entered[state]} times"
        return text, verdicts.true(text == expected, why or "nothing was collected")


#: The paper's four parameters, and one that it leaves open: values in the order in which the gain
#: should grow, the option, and its format.
SWEEPS: Mapping[str, tuple[tuple[float, ...], str, str]] = {
    "inter-arrival time (ms)": ((10, 5, 3, 1), "gap", "exponential:{:g}ms"),
    "sequential (%)": ((80, 60, 40, 20), "sequential", "{:g}%"),
    "reads (%)": ((80, 60, 40, 20), "reads", "{:g}%"),
    "request size (KB)": ((8, 16, 32, 64), "size", "exponential:{:g}KiB"),
    "footprint (%)": ((6.25, 12.5, 25, 50, 100), "footprint", "{:g}%"),
}
#: Sweeps for which the slides give the direction of the gain, and the extended paper its size.
DIRECTED = tuple(SWEEPS)[:3]
#: The paper's names of the drives without preemption and with it.
NAMES = {"none": "NPGC", "pgc": "PGC"}


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


#: The name of the runs with requests of one page, in which a read hardly ever waits for another
#: request; and the least number of requests with which reads meet some dozens of erases.
SHORT, MEETINGS = "one page", 20_000


def short() -> str:
    """Requests of one page, 1 ms apart as in the densest point of the sweep."""
    return workload(size="constant:4KiB", gap="exponential:1ms")


@runner_under("pgc.synthetic")
class Synthetic(UnderReading):
    """Sweeps of one parameter at a time, with the others at their defaults."""

    def task(self, _claim: Claim, size: Size) -> Task:
        """NPGC and PGC at every value."""
        simulations: dict[str, Simulation] = {}
        for name, (values, key, form) in SWEEPS.items():
            for value in values:
                requests = workload(**{key: form.format(value)})
                simulations |= both(f"{name} {value}", requests, size, self.reading)
        least = max(LENGTH[size][0], MEETINGS)
        simulations |= timed(SHORT, short(), size, self.reading, "pgc", requests=least)
        return Task(simulations, {}, settings(size), left_out(size))

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge if the gain grows as the paper says, and how long a read waits."""
        rows = [self._row(measured, name) for name in DIRECTED]
        rows.append(self._more_without(measured, claim))
        rows += [self._slower(measured, claim, preemption) for preemption in ("none", "pgc")]
        rows.append(self._waits(measured))
        figures = self._figures(claim, measured)
        return conclude(claim, measured, rows, heading="sweep", figures=figures)

    def _gains(self, measured: Measured, name: str) -> list[Value]:
        return [
            falls(measured, "mean", f"{name} {value} pgc", f"{name} {value} none")
            for value in SWEEPS[name][0]
        ]

    def _row(self, measured: Measured, name: str) -> Row:
        values = SWEEPS[name][0]

        def judge() -> tuple[str, Judgement]:
            gains = self._gains(measured, name)
            text = ", ".join(f"{gain.mean:.1f}%" for gain in gains)
            return text, verdicts.rising(gains, [f"{value:g}" for value in values])

        joined = ", ".join(f"{value:g}" for value in values)
        return row(f"{name} {joined}", "the gain in mean response time grows", judge)

    @staticmethod
    def _slowdown(measured: Measured, claim: Claim, preemption: str) -> Value:
        """The mean response time with few reads, divided by that with many reads."""
        few, many = (
            measured.runs(f"reads (%) {value} {preemption}") for value in claim.facts["reads"]
        )
        pairs = zip(few, many, strict=True)
        return Value.of([figures(run).mean / figures(other).mean for run, other in pairs])

    def _more_without(self, measured: Measured, claim: Claim) -> Row:
        def judge() -> tuple[str, Judgement]:
            without, with_ = (self._slowdown(measured, claim, mode) for mode in ("none", "pgc"))
            text = f"{without.mean:.2f}x without, {with_.mean:.2f}x with"
            return text, verdicts.below(with_, without, ("with", "without"))

        label = "mean response time at 20% reads over that at 80%"
        return row(label, "more without preemption", judge)

    def _slower(self, measured: Measured, claim: Claim, preemption: str) -> Row:
        def judge() -> tuple[Value, Judgement]:
            return self._slowdown(measured, claim, preemption), verdicts.true(True, "")

        word = "with" if preemption == "pgc" else "without"
        label = f"the same, {word} preemption"
        return row(label, claim.facts["slower"][preemption], judge, base=1)

    @staticmethod
    def _waits(measured: Measured) -> Row:
        """The longest one-page read that meets a collection: it waits for an erase under way."""
        erase = TIMES["erase"]
        most = erase + TIMES["program"] + TIMES["read"]

        def judge() -> tuple[Value, Judgement]:
            met = [figures(run, "read").during_collection for run in measured.runs(SHORT)]
            reads = [latency for latency in met if latency is not None]
            if not reads:
                raise NotMeasuredError("no read met a collection")
            longest = Value(max(latency.max for latency in reads) / 1e3)
            verdict, why = verdicts.within(longest, erase, most)
            reason = f"{why}; {sum(latency.requests for latency in reads)} reads met a collection"
            return longest, Judgement(verdict, reason)

        label = "requests of one page, the longest read that meets a collection, in ms"
        return row(label, f"{erase:g} to {most:g}: it waits for an erase", judge)

    def _figures(self, claim: Claim, measured: Measured) -> list[Figure]:
        lines: list[tuple[float | str | None, ...]] = []
        for name, (values, *_) in SWEEPS.items():
            for value in values:
                for preemption in ("none", "pgc"):
                    key = f"{name} {value} {preemption}"
                    try:
                        response = mean(measured, key)
                    except NotMeasuredError:
                        continue
                    cells = (
                        over_runs(measured, key, "deviation", 1e-3).mean,
                        max(figures(run).max for run in measured.runs(key)) / 1e3,
                    )
                    lines.append((name, value, preemption, response.mean, response.ci95, *cells))
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
            "at a time; 95% intervals. The paper prints ratios alone: a published point is the "
            "ratio times the mean that is its base here."
        )
        draw = functools.partial(_draw, data, _printed(claim, data))
        return [Figure("pgc.synthetic", caption, data, draw)]


def _printed(claim: Claim, data: Table) -> dict[str, list[Point]]:
    """Published ratios, each multiplied by the measured mean that it refers to, by sweep."""
    means = {line[:3]: float(str(line[3])) for line in data.rows}
    reads, sizes = "reads (%)", "request size (KB)"
    few, many = map(float, claim.facts["reads"])
    (more,) = claims().select(("pgc.extended",))
    points: dict[str, list[Point]] = {reads: [], sizes: []}
    for preemption, ratio in claim.facts["slower"].items():
        if (reads, many, preemption) in means:
            points[reads].append(
                Point(few, means[reads, many, preemption] * ratio, of=NAMES[preemption])
            )
    for size, change in more.facts["mean"].items():
        at = float(size)
        if (sizes, at, "none") in means:
            points[sizes].append(
                Point(at, means[sizes, at, "none"] * (1 + change / 100), of=NAMES["pgc"])
            )
    return points


def _draw(data: Table, printed: Mapping[str, Sequence[Point]]) -> Drawing:
    from flashgc import plot

    parts: list[plot.Panel] = []
    points: dict[int, Sequence[Point]] = {}
    for name in SWEEPS:
        series = []
        for preemption, label in NAMES.items():
            means = sorted(
                (line[1], line[3], line[4])
                for line in data.rows
                if line[0] == name and line[2] == preemption
            )
            if means:
                x, y, error = np.array(means, np.float64).T
                series.append(plot.Series(label, x, y, error, kind="both"))
        if series:
            points[len(parts)] = printed.get(name, ())
            parts.append(plot.Panel(series=series, x_label=name))
    label = "mean response time (ms)"
    return marked(plot.panels(parts, x_label="parameter", y_label=label, at_ends=False), points)


def left_out(size: Size) -> str:
    """Return the parts of the published experiments that a size leaves out."""
    return "" if size is Size.FULL else "the drive's full size and long runs"


#: Shares of writes in percent, and queue depths, of the measured drives.
WRITES, DEPTHS = (20, 40, 60, 80), (8, 64)
#: The slice of time in which bandwidth is measured: about 100 requests of a busy drive.
SLICE = "20ms"


@runner_under("pgc.variability")
class Variability(UnderReading):
    """The variation of bandwidth without preemption."""

    def task(self, _claim: Claim, size: Size) -> Task:
        """Threads that always have a request of 1 MB each under way, as the paper measured."""
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
        """Judge coefficients of variation of bandwidth, by share of writes and by queue depth."""
        rows = [self._by_writes(measured, depth) for depth in DEPTHS]
        rows += [self._by_depth(measured, writes) for writes in WRITES]
        figures = self._figures(measured) + self._normalised(measured)
        return conclude(claim, measured, rows, figures=figures)

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
            whole = (sides[0] + sides[1])[1:-1]  # the first and the last slice are not whole
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
