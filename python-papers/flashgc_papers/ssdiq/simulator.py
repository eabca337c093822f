"""The simulator's columns: greedy as published and with a write buffer, 2R, and the optimum."""

from __future__ import annotations

import functools
from collections.abc import Callable

from flashgc_papers.claims import Cell, Claim, claims
from flashgc_papers.published import Drawing, Point, marked
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Figure, Outcome, Table, conclude, runner
from flashgc_papers.reproduce.tasks import UNKNOWN, Measured, Size, Task, measured_or
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.ssdiq import experiment

#: The workloads of a column, by its first heading.
WORKLOADS: dict[str, Callable[[Cell], str]] = {
    "hot share": experiment.zones,
    "zipf": experiment.zipf,
}

#: Drive writes of a run of the paper.
WRITES = 10


class _Column:
    """A column of published figures, a row for each skew, compared within the tolerance."""

    #: The kind of our value, for the figure.
    ours = "simulation"

    def value(self, measured: Measured, workload: str) -> Value:
        """The measured value to compare with a published one."""
        return experiment.amplification(measured, workload)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """A row for each skew."""
        return conclude(
            claim,
            measured,
            [self._row(claim, measured, *cells) for cells in published(claim).rows],
            heading=published(claim).columns[0],
            figures=self._figures(claim, measured),
        )

    def _row(self, claim: Claim, measured: Measured, skew: Cell, printed: Cell) -> Row:
        def judge() -> tuple[Value, Judgement]:
            value = self.value(measured, workloads(claim)[skew])
            return value, verdicts.equal(value, float(printed), claim.tolerance)

        return row(label(claim, skew), float(printed), judge)

    def _figures(self, claim: Claim, measured: Measured) -> list[Figure]:
        lines: list[tuple[Cell, Cell, float, float]] = []
        for skew, printed in published(claim).rows:
            workload = workloads(claim)[skew]
            value = measured_or(UNKNOWN, functools.partial(self.value, measured, workload))
            lines.append((skew, printed, value.mean, value.ci95))
        data = Table((published(claim).columns[0], "published", self.ours, "ci95"), tuple(lines))
        caption = f"{claim.what}, by the {self.ours} and as published"
        return [Figure(claim.id, caption, data, functools.partial(_draw, data))]


class _Collector(_Column):
    """A column of a collector, behind a write buffer where the claim has one."""

    def __init__(self, victim: str) -> None:
        self._victim = victim

    def task(self, claim: Claim, size: Size) -> Task:
        """A simulation for each skew."""
        buffer = claim.facts.get("buffer", 0.0)
        writes, runs = experiment.length(size, buffer)
        return Task(
            {
                name: experiment.collector(self._victim, name, size, buffer)
                for name in workloads(claim).values()
            },
            settings=f"{experiment.DRIVE}; drive writes: {writes} after "
            f"{experiment.WARMUPS[self._victim]} of warm-up; runs: {runs}",
            left_out=f"{WRITES - writes} of the {WRITES} drive writes" if writes < WRITES else "",
        )


class _Optimum(_Column):
    """The column of the optimum, beside the best static separation."""

    ours = "model"

    def value(self, measured: Measured, workload: str) -> Value:
        """The optimum of the model, which is computed."""
        return Value(measured.compute(workload).write_amplification)

    def task(self, claim: Claim, _size: Size) -> Task:
        """An optimum for each skew; the same at every size."""
        optima = {name: experiment.separation(name) for name in workloads(claim).values()}
        return Task(
            computations=optima,
            settings=f"{len(optima)} optima of pools cleaned by greedy, at every size the same",
        )


for _id, _victim in {
    "ssdiq.zones.greedy": experiment.GREEDY,
    "ssdiq.zones.2r-greedy": experiment.TWO_R_GREEDY,
    "ssdiq.zones.2r-fifo": experiment.TWO_R_FIFO,
    # The drive of the published source, without a write buffer.
    "ssdiq.zipf.greedy": experiment.GREEDY,
    "ssdiq.buffer.zones": experiment.GREEDY,
    "ssdiq.buffer.zipf": experiment.GREEDY,
}.items():
    runner(_id)(functools.partial(_Collector, _victim))
for _id in ("ssdiq.zones.optimal", "ssdiq.zipf.optimal"):
    runner(_id)(_Optimum)


def published(claim: Claim) -> Claim:
    """The claim with the published values: the one that ``facts`` names, or ``claim`` itself."""
    of = claim.facts.get("of")
    return claims().select((of,))[0] if of else claim


def workloads(claim: Claim) -> dict[Cell, str]:
    """The workload of each row, by its first cell."""
    name, *_ = published(claim).columns
    return {skew: WORKLOADS[name](skew) for skew in published(claim).column(name)}


def label(claim: Claim, skew: Cell) -> str:
    """A skew as the paper names it: ``90/10``, or the exponent."""
    if published(claim).columns[0] == "zipf":
        return f"{float(skew):g}"
    hot = round(float(skew) * 100)
    return "uniform" if hot == 50 else f"{hot}/{100 - hot}"


def _draw(data: Table) -> Drawing:
    from flashgc.plot import Series, against

    skews, printed, ours, halves = zip(*data.rows, strict=True)
    series = [Series(data.columns[2], skews, ours, halves, kind="both")]
    names = {"zipf": "exponent", "hot share": "share of the writes to the hot pages"}
    figure = against(series, x_label=names[data.columns[0]])
    points = [
        Point(float(skew), float(number)) for skew, number in zip(skews, printed, strict=True)
    ]
    return marked(figure, {0: points})
