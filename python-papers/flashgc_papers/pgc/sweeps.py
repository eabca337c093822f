"""Lee et al.: sweeps of synthetic requests."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np

from flashgc.described import Simulation
from flashgc_papers.claims import Claim, claims
from flashgc_papers.pgc.example import TIMES
from flashgc_papers.pgc.experiment import (
    FOOTPRINT,
    LENGTH,
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

#: The paper's four parameters, and the one that it leaves open: their values in the order in which
#: the gain is said to grow, and how they are written.
SWEEPS: Mapping[str, tuple[tuple[float, ...], str, str]] = {
    "inter-arrival time (ms)": ((10, 5, 3, 1), "gap", "exponential:{:g}ms"),
    "sequential (%)": ((80, 60, 40, 20), "sequential", "{:g}%"),
    "reads (%)": ((80, 60, 40, 20), "reads", "{:g}%"),
    "request size (KB)": ((8, 16, 32, 64), "size", "exponential:{:g}KiB"),
    "footprint (%)": ((6.25, 12.5, 25, 50, 100), "footprint", "{:g}%"),
}
#: Sweeps for which the slides say which way the gain grows; the extended paper says how much.
DIRECTED = tuple(SWEEPS)[:3]
#: The paper's names.
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


#: The requests of one page, so that a read hardly ever waits for another one, and the least
#: number of them that meets some dozens of erases.
SHORT, MEETINGS = "one page", 20_000


def short() -> str:
    """The requests of one page, as often as in the densest point of the sweep."""
    return workload(size="constant:4KiB", gap="exponential:1ms")


@runner_under("pgc.synthetic")
class Synthetic(UnderReading):
    """One parameter at a time, the others at their defaults."""

    def task(self, claim: Claim, size: Size) -> Task:
        """NPGC and PGC at every value."""
        del claim
        simulations: dict[str, Simulation] = {}
        for name, (values, key, form) in SWEEPS.items():
            for value in values:
                requests = workload(**{key: form.format(value)})
                for preemption in ("none", "pgc"):
                    label = f"{name} {value} {preemption}"
                    simulations |= timed(label, requests, size, self.reading, preemption)
        least = max(LENGTH[size][0], MEETINGS)
        simulations |= timed(SHORT, short(), size, self.reading, "pgc", requests=least)
        return Task(simulations, {}, settings(size), left_out(size))

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge if the gain grows as the paper says, and how long a read waits."""
        rows = [self._row(measured, name) for name in DIRECTED]
        rows.append(self._more_without(measured, claim))
        rows += [self._slower(measured, claim, preemption) for preemption in ("none", "pgc")]
        rows.append(self._waits(measured))
        notes = (
            "Consecutive pages go to all channels, and to all of their planes, in turn: what is "
            "written together does not share a block, whether requests are sequential or not.",
            "The paper does not say what share of the drive is addressed: the last panel.",
        )
        figures = self._figures(claim, measured)
        return conclude(claim, measured, rows, heading="sweep", figures=figures, notes=notes)

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
        """Mean response time with few reads over that with many."""
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
        """The longest one-page read that meets a collection: an erase under way is not left."""
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
    """Published ratios times the mean here that each is a ratio to, by sweep."""
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
