"""BSGC and SFL: Table 4 and its figures 4 to 8, the abstract's gains, and lifetimes in seconds."""

from __future__ import annotations

import functools
import math
from typing import Any

from flashgc.described import Simulation
from flashgc_papers.bsgc import experiment
from flashgc_papers.bsgc.experiment import FIGURES, HOT, TABLE, WITH_SFL, Agreement, traces
from flashgc_papers.claims import Claim
from flashgc_papers.published import Bars, Drawing, bars
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import Reading, UnderReading, runner_under
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Figure, Outcome, Table, conclude
from flashgc_papers.reproduce.tasks import Measured, NotMeasuredError, Size, Task
from flashgc_papers.reproduce.verdicts import Judgement, Value

#: Pairs of BSGC and EIGC: one for FIFO, one for allocation of the least worn block first.
PAIRS = (("FIFO+BSGC", "FIFO+EIGC"), ("SFL+BSGC", "LIF+EIGC"))
CLAIMS = ("bsgc.fig6", "bsgc.fig7")


def allocated_rows(claim: Claim, measured: Measured, figure: str) -> list[Row]:
    """A row for each trace and pair, for claims in ``CLAIMS``."""
    if claim.id not in CLAIMS:
        return []
    return [_below(claim, measured, figure, trace, *pair) for trace in HOT for pair in PAIRS]


def _below(claim: Claim, measured: Measured, figure: str, trace: str, less: str, more: str) -> Row:
    published = experiment.published(claim, trace)

    def judge() -> tuple[Value, Judgement]:
        ours, theirs = (experiment.samples(measured, figure, trace, name) for name in (less, more))
        pairs = zip(ours, theirs, strict=True)
        value = Value.of([100 * (1 - low / high) for low, high in pairs])
        means = (Value.of(each).mean for each in (ours, theirs))
        return value, verdicts.true(value.low > 0, " and ".join(f"{mean:.4g}" for mean in means))

    percent = 100 * (1 - published[less] / published[more])
    return row(f"{trace}, {less} below {more}, %", round(percent, 1), judge)


#: The units that the paper prints.
PRINTED = {
    "first failure": "s",
    "system failure": "s",
    "erase-count deviation": "% of GA's",
    "page migrations": "% of GA's",
    "response time": "ms",
}
#: Pairs of combinations with the same policy: one with another allocation, one with FIFO.
ALLOCATED = (("LIF+EIGC", "FIFO+EIGC"), ("SFL+BSGC", "FIFO+BSGC"))
#: True for each figure of which a greater value is better.
_MORE = {"first failure": True, "system failure": True}


def _task(size: Size, simulations: dict[str, Simulation], what: str) -> Task:
    endurance, seeds = experiment.ENDURANCE[size], experiment.SEEDS
    settings = (
        f"2048 blocks of 64 pages, empty at first, pool:low={experiment.LOW}; {what}, {seeds} runs"
    )
    left_out = "" if size is not Size.QUICK else "nine tenths of every life and of all writes"
    return Task(
        simulations,
        settings=settings.format(
            endurance=endurance, writes=f"10^{math.log10(experiment.writes(size)):g}"
        ),
        left_out=left_out,
        whole="" if left_out else "a run has all writes of the paper, from an empty drive on",
    )


_LIVES = "until the system fails, {endurance} erases a block"
_WRITES = "{writes} page writes"


class _PerTrace:
    """A figure of Table 4 in every trace: each combination beside GA, and the order of all."""

    def __init__(self, figure: str, reading: Reading) -> None:
        self._figure, self.reading = figure, reading
        self._kind = FIGURES[figure][0]

    def task(self, _claim: Claim, size: Size) -> Task:
        """The runs of the seven combinations; for lifetimes, also of every policy with SFL."""
        reading = self.reading
        table = experiment.table(reading)
        if self._kind == "life":
            both = {**table, **experiment.with_sfl(reading)}
            return _task(size, experiment.lives(size, reading, both), _LIVES)
        return _task(size, experiment.wearing(size, reading, table), _WRITES)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """A row for each combination and trace, and one for the order in each trace."""
        rows = [self._order(claim, measured, trace) for trace in HOT]
        rows += [
            self._beside_ga(claim, measured, trace, name)
            for trace in HOT
            for name in TABLE
            if name != "GA"
        ]
        if self._kind == "life":
            rows += [
                row
                for trace in HOT
                for pair in ALLOCATED
                for row in self._allocated(claim, measured, trace, *pair)
            ]
        rows += allocated_rows(claim, measured, self._figure)
        figures = [self._drawn(claim, measured)]
        if claim.id == "bsgc.fig5.system-failure" and measured.results:
            figures += _survival(measured)
        notes = [self._absolute(measured, trace) for trace in HOT]
        if self._kind == "life":
            notes.append(self._with_sfl(measured))
        return conclude(
            claim,
            measured,
            rows,
            heading="trace, % of GA",
            figures=figures,
            notes=[note for note in notes if note],
        )

    def _values(self, measured: Measured, trace: str) -> dict[str, Value]:
        return {
            name: Value.of(experiment.samples(measured, self._figure, trace, name))
            for name in TABLE
        }

    def _order(self, claim: Claim, measured: Measured, trace: str) -> Row:
        published = experiment.published(claim, trace)

        def judge() -> tuple[str, Judgement]:
            values = self._values(measured, trace)
            text = experiment.ordered({name: value.mean for name, value in values.items()})
            return text, Agreement(published, values).judge()

        return row(f"{trace}, order", experiment.ordered(published), judge)

    def _beside_ga(self, claim: Claim, measured: Measured, trace: str, name: str) -> Row:
        published = experiment.published(claim, trace)
        percent = 100 * published[name] / published["GA"]

        def judge() -> tuple[Value, Judgement]:
            value = experiment.in_percent_of_ga(measured, self._figure, trace, name)
            verdict, _ = (
                verdicts.below(Value(100.0), value, ("GA", name))
                if percent > 100
                else verdicts.below(value, Value(100.0), (name, "GA"))
            )
            unit = FIGURES[self._figure][2]
            mean = Value.of(experiment.samples(measured, self._figure, trace, name)).mean
            why = f"{mean:.4g} {unit}, published {published[name]:g} {PRINTED[self._figure]}"
            return value, Judgement(verdict, why)

        return row(f"{trace}, {name}", round(percent, 1), judge, base=100)

    def _allocated(
        self, claim: Claim, measured: Measured, trace: str, name: str, fifo: str
    ) -> list[Row]:
        """Two rows, the sign and the size of an allocation's gain over FIFO with one policy."""
        published = experiment.published(claim, trace)

        def longer() -> tuple[str, Judgement]:
            values = self._values(measured, trace)
            text = f"{values[name].mean:.4g} and {values[fifo].mean:.4g}"
            return text, verdicts.below(values[fifo], values[name], (fifo, name))

        def more() -> tuple[Value, Judgement]:
            pairs = zip(
                experiment.samples(measured, self._figure, trace, name),
                experiment.samples(measured, self._figure, trace, fifo),
                strict=True,
            )
            gain = Value.of([100 * (ours / theirs - 1) for ours, theirs in pairs])
            return gain, verdicts.true(gain.low > 0, "")

        percent = 100 * (published[name] / published[fifo] - 1)
        if percent < 1:  # The paper has no gain of LIF in trace 3: the system fails as soon.
            return []
        rows = [row(f"{trace}, {name} longer than {fifo}, %", round(percent, 1), more)]
        return [row(f"{trace}, {name} above {fifo}", "longer", longer), *rows]

    def _absolute(self, measured: Measured, trace: str) -> str:
        unit = FIGURES[self._figure][2]
        try:
            values = self._values(measured, trace)
        except NotMeasuredError:
            return ""
        text = ", ".join(f"{name} {value.mean:.4g}" for name, value in values.items())
        return f"{trace}, measured in {unit}: {text}."

    def _with_sfl(self, measured: Measured) -> str:
        texts = []
        for trace in HOT:
            try:
                lives = {
                    name: Value.of(experiment.samples(measured, self._figure, trace, name)).mean
                    for name in ("SFL+BSGC", *WITH_SFL)
                }
            except NotMeasuredError:
                return ""
            texts.append(f"{trace}: {', '.join(f'{name} {x:.4g}' for name, x in lives.items())}")
        return f"Every policy with SFL, in drive writes: {'; '.join(texts)}."

    def _drawn(self, claim: Claim, measured: Measured) -> Figure:
        cells = []
        for trace in HOT:
            published = experiment.published(claim, trace)
            for name in TABLE:
                try:
                    value = experiment.as_printed(measured, self._figure, trace, name)
                    share = experiment.in_percent_of_ga(measured, self._figure, trace, name)
                except NotMeasuredError:
                    value = share = Value(math.nan, math.nan)
                percent = 100 * published[name] / published["GA"]
                numbers = (published[name], value.mean, value.ci95, percent, share.mean, share.ci95)
                cells.append((trace, name, *numbers))
        unit = PRINTED[self._figure]
        columns = ("trace", "combination", f"published ({unit})", f"measured ({unit})", "ci95")
        percents = ("published (% of GA's)", "measured (% of GA's)", "ci95 (% of GA's)")
        table = Table((*columns, *percents), tuple(cells), keys=2)
        caption = f"{self._figure} in percent of GA's in each trace, measured (95%) and published"
        if "GA" not in unit:
            caption += f"; the data have both in {unit}, too"
        return Figure(claim.id, caption, table, functools.partial(_bars, table, self._figure))


def _bars(table: Table, label: str) -> Drawing:
    """Bars of measured values in percent of GA's, each with the published value."""
    names = [name.replace("+", "+\n") for name in TABLE]

    def cells(trace: str) -> list[tuple[float, ...]]:
        return [tuple(map(float, line[5:8])) for line in table.rows if line[0] == trace]  # type: ignore[arg-type]

    measured = {trace: [(cell[1], cell[2]) for cell in cells(trace)] for trace in HOT}
    published = {trace: [cell[0] for cell in cells(trace)] for trace in HOT}
    return bars([Bars(f"{label}, % of GA's", names, measured, published)], "combination")


def _survival(measured: Measured) -> list[Figure]:
    figures = []
    for trace in HOT:
        keys = [experiment.key("life", trace, name, 1) for name in TABLE]
        if any(key not in measured.results for key in keys):
            continue
        results = [measured.results[key] for key in keys]
        cells = tuple(
            (name, point, bad)
            for name, result in zip(TABLE, results, strict=True)
            for point, bad in experiment.failures(result)
        )

        def draw(results: list[Any] = results, trace: str = trace) -> Drawing:
            from flashgc.plot import survival

            return survival(results, title=f"{trace}: blocks that survive, run 1")

        table = Table(("combination", "drive writes", "bad blocks"), cells)
        caption = f"{trace}: how the blocks of one run fail, which the paper does not show"
        figures.append(Figure(f"bsgc.survival.{trace}", caption, table, draw))
    return figures


for _id, _figure in {
    "bsgc.fig5.first-failure": "first failure",
    "bsgc.fig5.system-failure": "system failure",
    "bsgc.fig6": "erase-count deviation",
    "bsgc.fig7": "page migrations",
    "bsgc.fig8": "response time",
}.items():
    runner_under(_id)(functools.partial(_PerTrace, _figure))


def _mean_of_traces(measured: Measured, figure: str, name: str) -> Value:
    """The mean of a figure over the three traces, as Table 4 has it."""
    traces = [experiment.samples(measured, figure, trace, name) for trace in HOT]
    return Value.of([sum(seed) / len(HOT) for seed in zip(*traces, strict=True)])


@runner_under("bsgc.table4")
class TableFour(UnderReading):
    """Table 4's rows of means: the best and the worst combinations."""

    def task(self, _claim: Claim, size: Size) -> Task:
        """The runs of Figures 5 to 8."""
        both = {
            **experiment.lives(size, self.reading, experiment.table(self.reading)),
            **experiment.wearing(size, self.reading, experiment.table(self.reading)),
        }
        return _task(size, both, f"{_LIVES}, and {_WRITES}")

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge two rows for each figure: the best and the worst combinations."""
        rows = []
        for figure in FIGURES:
            if _MORE.get(figure):
                rows += [
                    self._longest(measured, figure),
                    self._apart(measured, figure, ("GA",), tuple(TABLE)[1:]),
                ]
            else:
                bsgcs, eigcs = ("FIFO+BSGC", "SFL+BSGC"), ("FIFO+EIGC", "LIF+EIGC")
                rows.append(self._apart(measured, figure, bsgcs, eigcs))
                rows.append(self._apart(measured, figure, eigcs, ("CAT", "CB", "GA")))
        figures = [traces(experiment.hot(self.reading))]
        return conclude(claim, measured, rows, heading="mean of traces", figures=figures)

    @staticmethod
    def _longest(measured: Measured, figure: str) -> Row:
        def judge() -> tuple[str, Judgement]:
            values = {name: _mean_of_traces(measured, figure, name) for name in TABLE}
            others = {name: value for name, value in values.items() if name != "SFL+BSGC"}
            rival = max(others, key=lambda name: others[name].mean)
            judgement = verdicts.below(others[rival], values["SFL+BSGC"], (rival, "SFL+BSGC"))
            return max(values, key=lambda name: values[name].mean), judgement

        return row(f"{figure}, longest", "SFL+BSGC", judge)

    @staticmethod
    def _apart(
        measured: Measured,
        figure: str,
        less: tuple[str, ...],
        more: tuple[str, ...],
    ) -> Row:
        """A row: the highest of the combinations ``less`` is below the lowest of ``more``."""

        def judge() -> tuple[str, Judgement]:
            values = {name: _mean_of_traces(measured, figure, name) for name in (*less, *more)}
            high = max(less, key=lambda name: values[name].mean)
            low = min(more, key=lambda name: values[name].mean)
            text = experiment.ordered({name: value.mean for name, value in values.items()})
            return text, verdicts.below(values[high], values[low], (high, low))

        lesser = " and ".join(less)
        greater = "all others" if len(more) > 3 else ", ".join(more)
        return row(f"{figure}: {lesser}", f"below {greater}", judge)


@runner_under("bsgc.gains")
class Gains(UnderReading):
    """The abstract's percentages: SFL+BSGC against each of the six others, averaged."""

    def task(self, claim: Claim, size: Size) -> Task:
        """The runs of Table 4."""
        return TableFour(self.reading).task(claim, size)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge one row for each published figure."""
        rows = [self._row(measured, str(figure), float(percent)) for figure, percent in claim.rows]
        return conclude(claim, measured, rows, heading="better by (%)")

    @staticmethod
    def _row(measured: Measured, figure: str, percent: float) -> Row:
        def judge() -> tuple[Value, Judgement]:
            seeds = []
            for seed in range(experiment.SEEDS):
                mean = {
                    name: sum(
                        experiment.samples(measured, figure, trace, name)[seed] for trace in HOT
                    )
                    for name in TABLE
                }
                ours = mean.pop("SFL+BSGC")
                more = _MORE.get(figure)
                gains = [ours / value - 1 if more else value / ours - 1 for value in mean.values()]
                seeds.append(100 * sum(gains) / len(gains))
            gain = Value.of(seeds)
            return gain, verdicts.true(gain.low > 0, "")

        return row(figure, percent, judge)


@runner_under("bsgc.seconds")
class Seconds(UnderReading):
    """The lifetimes in seconds, computed from the latencies and erases of the paper."""

    def task(self, _claim: Claim, size: Size) -> Task:
        """The lives of SFL+BSGC."""
        ours = {"SFL+BSGC": experiment.table(self.reading)["SFL+BSGC"]}
        return _task(size, experiment.lives(size, self.reading, ours), _LIVES)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Compare busy time with the published seconds; a note gives a lower bound of the time."""
        ends = ("first_failure", "system_failure")
        rows = [
            self._row(claim, measured, str(trace), end, float(seconds))
            for trace, *both in claim.rows
            for end, seconds in zip(ends, both, strict=True)
        ]
        blocks, pages, erases = 2048, 64, experiment.PUBLISHED_ENDURANCE
        total = blocks * erases
        longest = max(float(life) for _, *both in claim.rows for life in both)
        notes = (
            f"{blocks} blocks of {erases} erases bear {total / 1e6:.2f} million: "
            f"{total * 1.5e-3:.0f} s for the erases alone, and {total * pages * 0.8e-3:.0f} s for "
            f"programming {pages} pages before each. The longest published life is {longest} s.",
            "SFL+BSGC's system fails within 0.1% of its first failure: when the first block has "
            f"its {erases} erases, those that make up the reserve lack a few, and the rest of "
            "the plane cannot be far behind. So nearly all of these erases, and 3000 s, lie before "
            "the published 1939 to 2149 s.",
            "The response times of Figure 8 do follow from the latencies: a copy takes 0.86 ms and "
            "an erase 1.5 ms, so GA's 8.5, 15.9 and 15.3 ms are 8.1, 16.7 and 16.0 copies.",
        )
        return conclude(claim, measured, rows, heading="trace, life (s)", notes=notes)

    @staticmethod
    def _row(claim: Claim, measured: Measured, trace: str, end: str, seconds: float) -> Row:
        size = measured.size
        scale = experiment.PUBLISHED_ENDURANCE / experiment.ENDURANCE[size]

        def judge() -> tuple[Value, Judgement]:
            figure = end.replace("_", " ")
            value = experiment.as_printed(measured, figure, trace, "SFL+BSGC")
            verdict, why = verdicts.equal(value, seconds, claim.tolerance)
            scaled = (
                ""
                if scale == 1
                else f"; {scale:g} times that of {experiment.ENDURANCE[size]} erases"
            )
            return value, Judgement(verdict, why + scaled)

        return row(f"{trace}, {end.replace('_', ' ')}", seconds, judge)
