"""The simulator's columns: greedy as published and with a write buffer, 2R, and the optimum."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from flashgc_papers.claims import Cell, Claim, claims
from flashgc_papers.published import Drawing, Point, marked
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Figure, Outcome, Table, conclude, runner
from flashgc_papers.reproduce.tasks import Measured, NotMeasuredError, Size, Task
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
        """The measured value that stands beside a published one."""
        return experiment.amplification(measured, workload)

    def notes(self, _claim: Claim) -> list[str]:
        """Findings that the rows do not say."""
        return []

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """A row for each skew."""
        return conclude(
            claim,
            measured,
            [self._row(claim, measured, *cells) for cells in published(claim).rows],
            heading=published(claim).columns[0],
            figures=self._figures(claim, measured),
            notes=self.notes(claim),
        )

    def _row(self, claim: Claim, measured: Measured, skew: Cell, printed: Cell) -> Row:
        def judge() -> tuple[Value, Judgement]:
            value = self.value(measured, workloads(claim)[skew])
            return value, verdicts.equal(value, float(printed), claim.tolerance)

        return row(label(claim, skew), float(printed), judge)

    def _figures(self, claim: Claim, measured: Measured) -> list[Figure]:
        lines: list[tuple[Cell, Cell, float, float]] = []
        for skew, printed in published(claim).rows:
            try:
                value = self.value(measured, workloads(claim)[skew])
            except NotMeasuredError:
                value = Value(math.nan, math.nan)
            lines.append((skew, printed, value.mean, value.ci95))
        data = Table((published(claim).columns[0], "published", self.ours, "ci95"), tuple(lines))
        caption = f"{claim.what}, by the {self.ours} and as published"
        return [Figure(claim.id, caption, data, functools.partial(_draw, data))]


class _Collector(_Column):
    """A column of a collector, behind a write buffer where the claim has one."""

    victim = experiment.GREEDY

    def task(self, claim: Claim, size: Size) -> Task:
        """A simulation for each skew."""
        buffer = claim.facts.get("buffer", 0.0)
        writes, runs = experiment.length(size, buffer)
        return Task(
            {
                name: experiment.collector(self.victim, name, size, buffer)
                for name in workloads(claim).values()
            },
            settings=f"{experiment.DRIVE}; drive writes: {writes} after "
            f"{experiment.WARMUPS[self.victim]} of warm-up; runs: {runs}",
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


@runner("ssdiq.zones.greedy")
class ZonesGreedy(_Collector):
    """Greedy on hot and cold data."""


@runner("ssdiq.zones.2r-greedy")
class ZonesTwoRGreedy(_Collector):
    """2R-greedy on hot and cold data."""

    victim = experiment.TWO_R_GREEDY

    def notes(self, _claim: Claim) -> list[str]:
        """The effect that a short warm-up misses."""
        return [
            "At 90/10 the first drive writes are some percent above those that follow, so that "
            "four are left out."
        ]


@runner("ssdiq.zones.2r-fifo")
class ZonesTwoRFifo(_Collector):
    """2R-FIFO on hot and cold data."""

    victim = experiment.TWO_R_FIFO

    def notes(self, _claim: Claim) -> list[str]:
        """The reading of the published source."""
        return [
            "In the published source compacted blocks are put behind a pointer to the cold ones. "
            "It never leaves the end of the list. So they are the last in line here."
        ]


@runner("ssdiq.zones.optimal")
class ZonesOptimal(_Optimum):
    """Two pools: one of hot pages, one of cold ones."""


@runner("ssdiq.zipf.greedy")
class ZipfGreedy(_Collector):
    """Greedy under Zipf, on the drive of the published source: without a write buffer."""

    def notes(self, _claim: Claim) -> list[str]:
        """The place where the rows that are missed are explained."""
        return [
            "From exponent 0.6 on the published values are far below greedy's. They are those of "
            "greedy behind a write buffer of 0.02% of the logical pages: see ssdiq.buffer.zipf."
        ]


@runner("ssdiq.zipf.optimal")
class ZipfOptimal(_Optimum):
    """A pool for each of 4096 classes of pages."""

    def notes(self, claim: Claim) -> list[str]:
        """The contradiction in the published column, and the choice of the classes."""
        uniform, zones = float(claim.rows[0][1]), claim.facts["zones_uniform"]
        return [
            f"At exponent 0 all pages are alike and nothing can be separated: the published "
            f"{uniform:g} contradicts {zones:g} for uniform writes in the column of the zones. "
            "The cause is not known. The published source has neither the optimum nor its classes.",
            "Our 4096 classes have equal widths in the logarithm of the rank; four times as many "
            "change write amplification by less than 1e-6.",
        ]


@runner("ssdiq.buffer.zones")
@runner("ssdiq.buffer.zipf")
class Buffered(_Collector):
    """A column of greedy behind a write buffer."""

    def notes(self, _claim: Claim) -> list[str]:
        """The origin of the size of the buffer."""
        return [
            "The simulator has a write buffer, least recently used first out. The published source "
            "sets its size to 0, with 0.0002 of the logical pages in a comment. Writes that hit "
            "it count as written by the host.",
        ]


def published(claim: Claim) -> Claim:
    """The claim that has the published values: another one for those of a reading."""
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
