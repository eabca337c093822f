"""Ji and Shin: what the schemes save on recorded programs, Figures 5 to 10 and Table IV."""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from flashgc.results import Result
from flashgc_papers.claims import Claim
from flashgc_papers.published import Drawing
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import UnderReading, runner_under
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Figure, Outcome, Table, conclude
from flashgc_papers.reproduce.tasks import Measured, Size, Task, measured_or
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.vm import experiment
from flashgc_papers.vm.drawings import over_schemes

#: The figures of Figures 5 to 10 and Table IV, by heading.
FIGURES: dict[str, Callable[[Result], float]] = {
    "I/O time": experiment.io,
    "dirty evictions": lambda result: experiment.swap(result, "swap_outs"),
    "collections": experiment.collections,
    "migrations each": lambda result: result.copied_pages / max(experiment.collections(result), 1),
    "erases each": lambda result: result.erases / max(experiment.collections(result), 1),
    "cost each": lambda result: (
        experiment.swap(result, "collection_seconds") / max(experiment.collections(result), 1)
    ),
    "full merges": lambda result: experiment.merges(result).full,
    "partial merges": lambda result: experiment.merges(result).partial,
    "switch merges": lambda result: experiment.merges(result).switch,
}

#: Figures 6 to 10, in their order.
PARTS = ("dirty evictions", "collections", "migrations each", "erases each", "cost each")


#: Published changes against DU-GC in percent, from and to, by figure and scheme.
Printed = Mapping[str, Mapping[str, tuple[float, float]]]


class _Schemes(UnderReading):
    """Every scheme on every program, at the middle of the sweeps."""

    def task(self, _claim: Claim, _size: Size) -> Task:
        """One run for each program and scheme."""
        recorded = experiment.alone()
        return experiment.task(
            {
                f"{name} {scheme}": experiment.drive(path, spec, self.reading)
                for name, path in recorded.recordings.items()
                for scheme, spec in (experiment.SCHEMES | experiment.FURTHER).items()
            },
            recorded,
        )

    @staticmethod
    def relative(measured: Measured, heading: str, scheme: str, on: str = "") -> dict[str, float]:
        """The figure of each program divided by DU-GC's, on FAST or on the mapping ``on``."""
        figure, shares = FIGURES[heading], {}
        for name in experiment.programs():
            base = figure(measured.result(f"{name} DU-GC{on}"))
            value = figure(measured.result(f"{name} {scheme}{on}"))
            if base:
                shares[name] = value / base
        return shares

    def known(self, measured: Measured, heading: str, scheme: str) -> dict[str, float]:
        """As :meth:`relative`, but empty if runs are missing."""
        return measured_or({}, lambda: self.relative(measured, heading, scheme))

    def mean(self, measured: Measured, heading: str, scheme: str) -> float:
        """The mean over the programs of a figure divided by DU-GC's."""
        return statistics.fmean(self.relative(measured, heading, scheme).values())

    def table(self, measured: Measured, headings: Iterable[str]) -> Table:
        """Every figure of every program and scheme, divided by DU-GC's."""
        headings = list(headings)
        rows: list[tuple[float | str | None, ...]] = []
        for name in experiment.programs():
            for scheme in experiment.SCHEMES | experiment.FURTHER:
                cells = (self.known(measured, heading, scheme).get(name) for heading in headings)
                rows.append((name, scheme, *cells))
        return Table(("program", "scheme", *headings), tuple(rows))

    def drawn(self, measured: Measured, headings: Iterable[str], published: Printed) -> Drawing:
        """Each figure of every program and scheme against DU-GC's, beside what is ``published``."""
        schemes = list(experiment.SCHEMES | experiment.FURTHER)

        labels = {heading: f"{heading}, DU-GC = 1" for heading in headings}
        parts = {
            label: {
                name: [each.get(name, math.nan) for each in shares]
                for name in experiment.programs()
            }
            for heading, label in labels.items()
            for shares in [[self.known(measured, heading, scheme) for scheme in schemes]]
        }
        printed = {
            labels[heading]: {
                scheme: (1 + low / 100, 1 + high / 100) for scheme, (low, high) in of.items()
            }
            for heading, of in published.items()
        }
        return over_schemes(parts, schemes, printed)


@runner_under("vm.fig5")
class InputOutputTime(_Schemes):
    """Figure 5: mean total I/O time over the programs; and section III's claim on page maps."""

    def task(self, claim: Claim, size: Size) -> Task:
        """The runs of all figures, and those of page maps."""
        mapped = {
            f"{name} {scheme}{experiment.MAPPED}": experiment.page_mapped(
                path, experiment.SCHEMES[scheme], self.reading
            )
            for name, path in experiment.programs().items()
            for scheme in ("DU-GC", "DA-GC")
        }
        whole = super().task(claim, size)
        return dataclasses.replace(whole, simulations={**whole.simulations, **mapped})

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge a row for each inequality, and one for the saving of each scheme."""
        rows = [self._mapped(measured)]
        rows += [self._below(measured, *pair) for pair in _pairs(claim.holds)]
        rows.append(self._da(measured))
        for scheme, published in claim.rows:
            rows.append(self._saves(measured, str(scheme), float(published)))
        printed = {str(scheme): (float(change),) * 2 for scheme, change in claim.rows}
        figure = Figure(
            "vm.fig5",
            "I/O time of collections and pages swapped out, DU-GC = 1; published: the means",
            self.table(measured, ["I/O time"]),
            lambda: self.drawn(measured, ["I/O time"], {"I/O time": printed}),
        )
        return conclude(
            claim,
            measured,
            rows,
            heading="statement",
            figures=[figure],
            notes=[
                self._further(measured),
                "A program is run the same way every time: there are no intervals.",
            ],
        )

    def _below(self, measured: Measured, less: str, more: str) -> Row:
        def judge() -> tuple[str, Judgement]:
            first, other = (self.relative(measured, "I/O time", name) for name in (less, more))
            means = [statistics.fmean(shares.values()) for shares in (first, other)]
            wins = sum(first[name] < other[name] for name in first)
            text = f"{means[0]:.3f} against {means[1]:.3f}"
            why = f"{text} of DU-GC; so on {wins} of {len(first)} programs"
            return text, verdicts.true(means[0] < means[1], why)

        return row(f"{less} below {more}", "less", judge, stand_in=experiment.STAND_IN)

    def _da(self, measured: Measured) -> Row:
        def judge() -> tuple[Value, Judgement]:
            share = self.mean(measured, "I/O time", "DA-GC")
            more = self.mean(measured, "dirty evictions", "DA-GC")
            why = f"{share:.3f} of DU-GC, with {more:.3f} of its dirty evictions"
            return Value(share), verdicts.true(share >= 0.98, why)

        label = "DA-GC no better than DU-GC"
        return row(label, "similar or inferior", judge, stand_in=experiment.STAND_IN)

    def _mapped(self, measured: Measured) -> Row:
        def judge() -> tuple[Value, Judgement]:
            shares = self.relative(measured, "I/O time", "DA-GC", on=experiment.MAPPED)
            mean = statistics.fmean(shares.values())
            by_program = ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
            why = f"of DU-GC, with {experiment.PAGE_MAPPED_SPARE} spare: {by_program}"
            return Value(mean), verdicts.true(mean < 1, why)

        label = "DA-GC below DU-GC on a page map"
        return row(label, "effective", judge, stand_in=experiment.STAND_IN)

    def _saves(self, measured: Measured, scheme: str, published: float) -> Row:
        def judge() -> tuple[Value, Judgement]:
            change = (self.mean(measured, "I/O time", scheme) - 1) * 100
            return Value(change), verdicts.true(change < 0, "")

        label = f"{scheme} against DU-GC, %"
        return row(label, published, judge, stand_in=experiment.STAND_IN)

    def _further(self, measured: Measured) -> str:
        share = measured_or(None, lambda: self.mean(measured, "I/O time", "LDA-P"))
        if share is None:
            return "the break-even per page (LDA-P) was not run"
        return f"the break-even per page (LDA-P, not in the paper) takes {share:.3f} of DU-GC"


def _pairs(holds: str) -> list[tuple[str, str]]:
    """The inequalities in words like ``A < B < C and D < C``.

    >>> _pairs("A < B < C and D < C")
    [('A', 'B'), ('B', 'C'), ('D', 'C')]
    """
    pairs: list[tuple[str, str]] = []
    for chain in holds.split(" and "):
        names = [name.strip() for name in chain.split("<")]
        pairs += itertools.pairwise(names)
    return pairs


#: Figure 8: pairs of schemes; collections of the first migrate fewer pages.
_FEWER_MIGRATIONS = (
    ("LDA-GC1", "DA-GC"),
    ("LDA-GC3", "LDA-GC2"),
    ("LDA-GC5", "LDA-GC4"),
    ("LDA-GC4", "DA-GC"),
    ("DA-GC", "LDA-GC2"),
)
#: Figure 10: schemes whose collections cost more than those of LDA-GC5.
_DEARER = ("DA-GC", "LDA-GC1", "LDA-GC2", "LDA-GC3", "LDA-GC4")


@runner_under("vm.fig6-10")
class Parts(_Schemes):
    """Figures 6 to 10 and Table IV: the parts of the I/O time."""

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """A row for each part of the statement."""
        rows = self._rows(claim, measured)
        figures = [
            Figure(
                "vm.fig6-10",
                "Evictions, collections, and what each costs, DU-GC = 1; published: means that the "
                "text prints",
                self.table(measured, FIGURES),
                lambda: self.drawn(measured, PARTS, _printed(claim)),
            )
        ]
        return conclude(claim, measured, rows, heading="part", figures=figures)

    def _rows(self, claim: Claim, measured: Measured) -> list[Row]:
        facts = claim.facts
        ldas = [f"LDA-GC{n}" for n in range(1, 6)]
        each = ("migrations each", "erases each", "cost each")
        merged = ("full merges", "partial merges", "switch merges")
        add, evicted, less_often = (
            facts["more_evicted"],
            facts["fewer_evicted"],
            facts["less_often"],
        )
        return [
            self._row(measured, "dirty evictions", "DA-GC", (add, add)),
            *(self._row(measured, "dirty evictions", name, evicted) for name in ldas[3:]),
            *(self._row(measured, "collections", name, 1) for name in ("DA-GC", *ldas[:3])),
            *(self._row(measured, "collections", name, less_often) for name in ldas[3:]),
            *(self._row(measured, heading, name, -1) for heading in each[:2] for name in ldas[3:]),
            *(self._row(measured, "cost each", name, -1) for name in ("DA-GC", *ldas)),
            *(self._below(measured, "migrations each", *pair) for pair in _FEWER_MIGRATIONS),
            *(self._below(measured, "cost each", "LDA-GC5", name) for name in _DEARER),
            *(self._row(measured, heading, "DA-GC", 1) for heading in merged),
            *(self._row(measured, "full merges", name, -1) for name in ldas[2:]),
        ]

    def _below(self, measured: Measured, heading: str, less: str, more: str) -> Row:
        """A row: the mean figure of one scheme is below another's."""

        def judge() -> tuple[str, Judgement]:
            first, other = (self.mean(measured, heading, name) for name in (less, more))
            text = f"{first:.3f} against {other:.3f}"
            return text, verdicts.true(first < other, f"{text} of DU-GC")

        label = f"{heading}, {less} below {more}"
        return row(label, "less", judge, stand_in=experiment.STAND_IN)

    def _row(
        self, measured: Measured, heading: str, scheme: str, published: int | Sequence[float]
    ) -> Row:
        """A row: a figure's change against DU-GC in percent; ``published`` is a range or a sign."""

        def judge() -> tuple[Value | str, Judgement]:
            shares = self.relative(measured, heading, scheme)
            if not shares:
                return "none", verdicts.true(False, "DU-GC makes none")
            change = Value(100 * (statistics.fmean(shares.values()) - 1))
            by_program = ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
            if isinstance(published, int):
                met, why = change.mean * published > 0, ""
            else:
                verdict, why = verdicts.sized(change, *published)
                met, why = verdict is verdicts.Verdict.MET, f"{why}; "
            return change, verdicts.true(met, f"{why}of DU-GC: {by_program}")

        if isinstance(published, int):
            words = "more" if published > 0 else "fewer"
            text = words if heading != "cost each" else "less"
        else:
            text = " to ".join(f"{end:+g}" for end in dict.fromkeys(published))
        label = f"{heading}, {scheme}, %"
        return row(label, text, judge, stand_in=experiment.STAND_IN)


def _printed(claim: Claim) -> Printed:
    """The changes against DU-GC that the text on Figures 6 and 7 prints."""
    more, facts = claim.facts["more_evicted"], claim.facts
    early = ("LDA-GC4", "LDA-GC5")
    return {
        "dirty evictions": {
            "DA-GC": (more, more),
            **dict.fromkeys(early, tuple(facts["fewer_evicted"])),
        },
        "collections": dict.fromkeys(early, tuple(facts["less_often"])),
    }
