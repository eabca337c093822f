"""Van Houdt's d-choices with memory on traces: Tables 2 to 5; Figure 4 is in ``optimum``.

Where a trace is not there, a workload made from its published statistics stands in for it. Such a
row tells whether the published finding holds in kind; it cannot tell more.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from flashgc.described import Simulation
from flashgc.results import Result, TraceStat
from flashgc_papers.claims import Claim
from flashgc_papers.dchoices import standins
from flashgc_papers.dchoices.experiment import choices
from flashgc_papers.dchoices.standins import Missing, Published, TraceFile
from flashgc_papers.published import Drawing, Point, marked
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import Reading, runner_under
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Figure, Outcome, Table, conclude, runner
from flashgc_papers.reproduce.tasks import Computation, Measured, NotMeasuredError, Size, Task
from flashgc_papers.reproduce.verdicts import Judgement, Value

#: A function for the measured value of a trace, spare factor and c; NaN if there is none.
Cells = Callable[[str, float, int], Value]


def table_figure(claim: Claim, measured: Cells, frontiers: str) -> Figure:
    """A panel for each trace: write amplification over c for each spare factor."""
    lines = []
    for name, spare, *published in claim.rows:
        for c, published_cell in enumerate(published):
            value = measured(str(name), float(spare), c)
            lines.append((name, spare, c, value.mean, value.ci95, published_cell))
    columns = ("trace", "S_f", "c", "write amplification", "ci95", "published")
    data = Table(columns, tuple(lines), keys=3)
    caption = f"Write amplification over the blocks in memory, c + d = 10, {frontiers}"
    return Figure(claim.id, caption, data, functools.partial(_draw, data))


def _draw(data: Table) -> Drawing:
    from flashgc import plot

    parts: list[plot.Panel] = []
    points: dict[int, list[Point]] = {}
    for name in dict.fromkeys(line[0] for line in data.rows):
        of_trace = [line for line in data.rows if line[0] == name]
        series = []
        for spare in dict.fromkeys(line[1] for line in of_trace):
            cells = np.array([line[2:] for line in of_trace if line[1] == spare], np.float64)
            if not np.isnan(cells[:, 1]).all():
                label = f"$S_f$ = {float(str(spare)):g}"
                x, y, half = cells[:, :3].T
                series.append(plot.Series(label, x, y, half, kind="both"))
                points.setdefault(len(parts), []).extend(
                    Point(float(c), float(published)) for c, published in cells[:, [0, 3]]
                )
        if series:
            parts.append(plot.Panel(series=series, title=str(name)))
    figure = plot.panels(parts, x_label="$c$, blocks in memory", at_ends=False)
    for axes in figure.axes:
        axes.set_xticks(range(1 + max(int(float(str(line[2]))) for line in data.rows)))
    return marked(figure, points)


#: The largest relative distance from the published value at which a stand-in agrees in size.
SIZE = 0.25


def paired(first: Result, other: Result) -> Value:
    """By how much ``first`` is above ``other``, from runs of the same seeds, with its 95% interval.

    Runs of the same seed have the same workload, so differences vary less than values.
    """
    differences = [a - b for a, b in zip(first.run_values, other.run_values, strict=True)]
    mean = statistics.fmean(differences)
    spread = statistics.stdev(first.run_values) if len(differences) > 1 else 0.0
    if first.write_amplification_ci95 is None or not spread:
        return Value(mean, math.nan)
    # The interval of ``first`` over its deviation is Student's t over the root of the runs' number.
    return Value(mean, first.write_amplification_ci95 / spread * statistics.stdev(differences))


def percent(difference: Value, base: float) -> str:
    """A difference as a share of ``base`` in words."""
    text = f"{difference.mean / base * 100:+.2f}"
    if math.isfinite(difference.ci95):
        text += f" ±{difference.ci95 / base * 100:.2f}"
    return f"{text}%"


# ------------------------------------------------------------------------ Tables 2 and 3


class _Statistics:
    """A table of statistics, which are computed from the traces without a simulation."""

    def numbers(self, stat: TraceStat) -> tuple[float, ...]:
        """The values of the table's columns for one trace."""
        raise NotImplementedError

    def task(self, claim: Claim, _size: Size) -> Task:
        """The statistics of each trace that is there."""
        sources = {trace.name: standins.find(trace) for trace in standins.traces(claim)}
        there = {name: source for name, source in sources.items() if isinstance(source, TraceFile)}
        if not there:
            return Task(
                not_run=". ".join(
                    (
                        "A stand-in is made from these numbers, so that only the traces can tell",
                        *standins.paging(claim, standins.COUNTED),
                        *standins.wanted(claim),
                    )
                )
            )
        return Task(
            computations={
                trace.name: Computation(
                    f"flashgc trace stat {there[trace.name].path} --paging {standins.COUNTED}",
                    functools.partial(standins.find, trace),
                )
                for trace in standins.traces(claim)
                if trace.name in there
            },
            settings="whole traces, at every size the same",
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """One row for each number; rows of traces without a file are not run."""
        rows = [
            self._row(claim, measured, trace, column)
            for trace in standins.traces(claim)
            for column in range(1, len(claim.columns))
        ]
        notes = [*standins.paging(claim, standins.COUNTED), *standins.wanted(claim)]
        return conclude(claim, measured, rows, heading="trace, column", notes=notes)

    def _row(self, claim: Claim, measured: Measured, trace: Published, column: int) -> Row:
        name = claim.columns[column]
        at = claim.column("trace").index(trace.name)
        published = float(claim.rows[at][column])

        def judge() -> tuple[Value, Judgement]:
            source = standins.find(trace)
            if isinstance(source, Missing):
                raise NotMeasuredError(source.why)
            value = Value(self.numbers(measured.compute(trace.name).stat)[column - 1])
            # The paper prints two decimals, so 0.01 stands for values up to 0.015.
            printed = Value(round(value.mean, 2))
            return value, verdicts.equal(printed, published, claim.tolerance)

        return row(f"{trace.name}, {name}", published, judge)


@runner("dchoices.table2")
class Sizes(_Statistics):
    """Table 2: writes, requests, data only read."""

    def numbers(self, stat: TraceStat) -> tuple[float, ...]:
        """Writes in percent, page requests, pages only read in percent."""
        return stat.page_write_percent, float(stat.page_requests), stat.read_only_percent


@runner("dchoices.table3")
class Locality(_Statistics):
    """Table 3: the hottest pages."""

    def numbers(self, stat: TraceStat) -> tuple[float, ...]:
        """Pages that get 20, 40, 60 and 80% of the requests, in percent."""
        return stat.locality_percent


# ------------------------------------------------------------------------ Tables 4 and 5


@dataclass(frozen=True)
class _Cells:
    """A published row of Tables 4 and 5."""

    trace: Published
    spare: float
    #: Write amplification for c = 0, 1, ...
    published: tuple[float, ...]

    def key(self, frontier: str, c: int) -> str:
        """The name of a simulation."""
        return f"{self.trace.name} {self.spare} {frontier} {c}"

    def label(self, c: int | None = None) -> str:
        """The label of a row."""
        return f"{self.trace.name}, {self.spare}" + ("" if c is None else f", {c}")


def _cells(claim: Claim) -> Iterator[_Cells]:
    for name, spare, *published in claim.rows:
        values = tuple(float(value) for value in published)
        yield _Cells(standins.published()[str(name)], float(spare), values)


#: The spare factor and the c at which stand-ins are varied: the middle one, and the best.
_AT = (0.10, 1)


class _Memory:
    """Memory instead of choices, c + d = 10, with the frontiers of the table."""

    FRONTIER: str
    #: The frontiers in words.
    WORDS: str
    SUM = 10

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._variations: dict[str, dict[str, Any]] = reading["varied"]

    def task(self, claim: Claim, size: Size) -> Task:
        """A simulation for each cell of the table, and for each variation of a stand-in."""
        simulations = {}
        for cells in _cells(claim):
            for frontier in self._frontiers():
                for c in range(len(cells.published)):
                    simulations[cells.key(frontier, c)] = self._simulated(
                        cells.trace, size, cells.spare, frontier, c
                    )
        shorter = Size.DEFAULT if size is Size.FULL else size
        for trace in self._replaced(claim):
            for name, options in self._variations.items():
                simulations[f"{trace.name} {name}"] = self._simulated(
                    trace, shorter, _AT[0], self.FRONTIER, _AT[1], **options
                )
        words = (standins.settings(size, self._reading), standins.left_out(size, self._reading))
        whole = standins.whole(size)
        return Task(simulations, settings=words[0], left_out=words[1], whole=whole)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge a row for each cell, and the table's statements."""
        rows = []
        for cells in _cells(claim):
            rows += [self._row(claim, measured, cells, c) for c in range(len(cells.published))]
            rows += self._further(measured, cells)
        notes = standins.notes(claim)
        for trace in self._replaced(claim):
            notes += self._varied(measured, trace)
        words = self.WORDS
        if replaced := [trace.name for trace in self._replaced(claim)]:
            words += f"; stand-ins, not the traces: {', '.join(replaced)}"
        figures = [table_figure(claim, functools.partial(self._cell, measured), words)]
        return conclude(
            claim, measured, rows, heading="trace, S_f, c", figures=figures, notes=notes
        )

    def _cell(self, measured: Measured, trace: str, spare: float, c: int) -> Value:
        cells = _Cells(standins.published()[trace], spare, ())
        return measured.get(cells.key(self.FRONTIER, c))

    def _frontiers(self) -> tuple[str, ...]:
        return (self.FRONTIER,)

    def _further(self, _measured: Measured, _cells: _Cells) -> list[Row]:
        return []

    def _simulated(
        self, trace: Published, size: Size, spare: float, frontier: str, c: int, **options: Any
    ) -> Simulation:
        return standins.drive(
            trace,
            size,
            spare=spare,
            victim=choices(self.SUM - c, c),
            frontier=frontier,
            reading=self._reading,
            **options,
        )

    @staticmethod
    def _replaced(claim: Claim) -> list[Published]:
        return [trace for trace in standins.traces(claim) if standins.stand_in(trace)]

    def _row(self, claim: Claim, measured: Measured, cells: _Cells, c: int) -> Row:
        published = cells.published[c]
        standing = standins.stand_in(cells.trace)

        def judge() -> tuple[Value, Judgement]:
            value = measured.value(cells.key(self.FRONTIER, c))
            if not standing:
                return value, verdicts.equal(value, published, claim.tolerance)
            return value, self._of_size(value, published) if c == 0 else self._step(
                measured, cells, c
            )

        # Without memory, the effect is the amplification beyond 1. With memory, it is the change
        # by a step of c.
        return row(
            cells.label(c), published, judge, stand_in=standing, base=1 if c == 0 else None
        )  # fmt: skip

    def _of_size(self, value: Value, published: float) -> Judgement:
        off = value.mean / published - 1
        inside = abs(off) <= SIZE
        why = f"{off * 100:+.1f}% from the trace's, {'within' if inside else 'beyond'} {SIZE:.0%}"
        return verdicts.true(inside, why + ("" if inside else f": {self._reading['lacks']}"))

    def _step(self, measured: Measured, cells: _Cells, c: int) -> Judgement:
        """Judge in kind if write amplification changes from c - 1 to c as the paper says."""
        before = cells.published[c - 1]
        wanted = (cells.published[c] / before - 1) * 100
        base = measured.result(cells.key(self.FRONTIER, c - 1))
        step = paired(measured.result(cells.key(self.FRONTIER, c)), base)
        level = base.write_amplification
        change = Value(step.mean / level * 100, step.ci95 / level * 100)
        verdict, why = verdicts.sized(change, wanted)
        text = f"{percent(step, level)} from c = {c - 1}, published {wanted:+.2f}%"
        return Judgement(verdict, f"{text}: {why}")

    def _varied(self, measured: Measured, trace: Published) -> list[str]:
        spare, c = _AT
        values = [
            f"{name} {measured.get(f'{trace.name} {name}').mean:.3f}"
            for name in self._variations
            if f"{trace.name} {name}" in measured.results
        ]
        if not values:
            return []
        shorter = ", in shorter runs" if measured.size is Size.FULL else ""
        return [
            f"{trace.name}, its stand-in varied at S_f = {spare:g}, c = {c}{shorter}: "
            f"{', '.join(values)}"
        ]


@runner_under("dchoices.table4")
class OneFrontier(_Memory):
    """Table 4: one write frontier."""

    FRONTIER = "single"
    WORDS = "one write frontier"


@runner_under("dchoices.table5")
class TwoFrontiers(_Memory):
    """Table 5: two write frontiers, and what they gain over one."""

    FRONTIER = "double"
    WORDS = "two write frontiers"

    def _frontiers(self) -> tuple[str, ...]:
        return ("single", "double")

    def _further(self, measured: Measured, cells: _Cells) -> list[Row]:
        """A row: two frontiers have less write amplification than one, at every c."""

        def judge() -> tuple[str, Judgement]:
            shares, met = [], True
            for c in range(len(cells.published)):
                result = measured.result(cells.key("single", c))
                gain = paired(measured.result(cells.key("double", c)), result)
                shares.append(gain.mean / result.write_amplification * 100)
                met &= gain.mean < 0 and abs(gain.mean) > gain.ci95
            text = f"{min(shares):+.0f} to {max(shares):+.0f}%"
            why = "" if met or not standing else f": {self._reading['lacks']}"
            return text, verdicts.true(met, f"for every c: {text} of one frontier{why}")

        standing = standins.stand_in(cells.trace)
        return [row(f"{cells.label()}, two over one", "below 0%", judge, stand_in=standing)]
