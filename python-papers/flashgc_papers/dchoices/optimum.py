"""Van Houdt's d-choices with memory on traces: Figure 4, the optimal number of choices."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from flashgc.results import Result
from flashgc_papers.claims import Claim
from flashgc_papers.dchoices import standins
from flashgc_papers.dchoices.experiment import choices
from flashgc_papers.dchoices.standins import Published
from flashgc_papers.dchoices.traces import paired, percent
from flashgc_papers.published import Drawing, Point, marked
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import UnderReading, runner_under
from flashgc_papers.reproduce.runner import (
    Figure,
    Measured,
    Outcome,
    Row,
    Size,
    Table,
    Task,
    conclude,
    row,
)
from flashgc_papers.reproduce.verdicts import Judgement

#: Each curve of the figure: trace, memory, and where its published optimum lies, from and to.
Curves = list[tuple[Published, int, float, float]]
#: The spare factor of the figure.
SPARE = 0.1
#: Choices on the curves, each a share more than the one before; the published optima are not
#: among them.
CHOICES = {
    Size.QUICK: (10, 16, 26, 42, 67, 108, 174),
    Size.DEFAULT: (10, 13, 16, 20, 26, 33, 42, 53, 67, 85, 108, 137, 174, 220),
}


@runner_under("dchoices.fig4")
class ManyChoices(UnderReading):
    """Figure 4: write amplification against d, with and without memory."""

    def task(self, claim: Claim, size: Size) -> Task:
        """A curve for each trace and c."""
        simulations = {
            self._key(trace, c, d): standins.drive(
                trace,
                size,
                spare=SPARE,
                victim=choices(d, c),
                frontier="double",
                reading=self.reading,
            )
            for trace, c, _, _ in self._curves(claim)
            for d in self._choices(size)
        }
        text = ", ".join(map(str, self._choices(size)))
        points = "every other d" if size is Size.QUICK else ""
        left = (standins.left_out(size, self.reading), points)
        return Task(
            simulations,
            settings=f"d = {text}; {standins.settings(size, self.reading)}",
            left_out="; ".join(part for part in left if part),
            whole=standins.whole(size),
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """The optimal d of each curve, and what memory gains at the best."""
        rows = [self._optimum(measured, *curve) for curve in self._curves(claim)]
        rows += [self._memory(claim, measured, trace) for trace in standins.traces(claim)]
        figures = self._figures(claim, measured)
        return conclude(
            claim, measured, rows, heading="trace, c", figures=figures, notes=standins.notes(claim)
        )

    @staticmethod
    def _curves(claim: Claim) -> Curves:
        return [
            (standins.published()[str(name)], int(c), float(lo), float(hi))
            for name, c, lo, hi in claim.rows
        ]

    @staticmethod
    def _choices(size: Size) -> tuple[int, ...]:
        return CHOICES.get(size, CHOICES[Size.DEFAULT])

    @staticmethod
    def _key(trace: Published, c: int, d: int) -> str:
        return f"{trace.name} {c} {d}"

    def _optimum(self, measured: Measured, trace: Published, c: int, lo: float, hi: float) -> Row:
        choices_ = self._choices(measured.size)
        standing = standins.stand_in(trace)
        wanted = f"d = {lo:g}" if lo == hi else f"d = {lo:g} to {hi:g}"

        def judge() -> tuple[str, Judgement]:
            results = [measured.result(self._key(trace, c, d)) for d in choices_]
            values = [measured.value(self._key(trace, c, d)) for d in choices_]
            best = min(range(len(values)), key=lambda at: values[at].mean)
            gaps = [paired(result, results[best]) for result in results]
            near = [at for at, gap in enumerate(gaps) if gap.mean <= gap.ci95 or at == best]
            # The optimum lies between the neighbours of those that cannot be told apart.
            low = choices_[max(near[0] - 1, 0)]
            high = choices_[min(near[-1] + 1, len(choices_) - 1)]
            text = f"d = {choices_[best]}"
            why = f"{values[best]}; the optimum lies between d = {low} and {high}"
            if not standing:
                return text, verdicts.true(low <= hi and lo <= high, why)
            ends = [gaps[0], gaps[-1]]
            inner = all(gap.mean > gap.ci95 for gap in ends)
            near_published = lo / verdicts.ROUGHLY <= choices_[best] <= hi * verdicts.ROUGHLY
            turns = self._turns(results)
            shape = "falls and then rises" if turns == 1 else f"turns {turns} times"
            return text, verdicts.true(
                inner and turns == 1 and near_published,
                f"{why}; {percent(ends[0], values[best].mean)} at d = {choices_[0]}, "
                f"{percent(ends[1], values[best].mean)} at d = {choices_[-1]}; {shape}",
            )

        return row(f"{trace.name}, {c}", wanted, judge, stand_in=standing)

    @staticmethod
    def _turns(results: list[Result]) -> int:
        """Return the number of turns of a curve, steps inside their intervals left out."""
        steps = [paired(after, before) for before, after in itertools.pairwise(results)]
        signs = [step.mean > 0 for step in steps if abs(step.mean) > step.ci95]
        return sum(before != after for before, after in itertools.pairwise(signs))

    def _memory(self, claim: Claim, measured: Measured, trace: Published) -> Row:
        choices_ = self._choices(measured.size)
        memory = [c for own, c, _, _ in self._curves(claim) if own == trace]
        standing = standins.stand_in(trace)

        def least(c: int) -> tuple[Result, int]:
            of = {d: measured.result(self._key(trace, c, d)) for d in choices_}
            d = min(of, key=lambda d: of[d].write_amplification)
            return of[d], d

        def judge() -> tuple[str, Judgement]:
            without, d_without = least(0)
            with_, d_with, c = min(
                ((*least(c), c) for c in memory if c), key=lambda best: best[0].write_amplification
            )
            gain = paired(with_, without)
            text = percent(gain, without.write_amplification)
            met = gain.mean < 0 and abs(gain.mean) > gain.ci95
            why = f"{text} of the best without memory, d = {d_without}"
            if standing and not met:
                why += f": {self.reading['lacks']}"
            return f"c = {c}, d = {d_with}: {text}", verdicts.true(met, why)

        return row(
            f"{trace.name}, best c > 0", "a little below the best c = 0", judge,
            stand_in=standing,
        )  # fmt: skip

    def _figures(self, claim: Claim, measured: Measured) -> list[Figure]:
        lines: list[tuple[float | str | None, ...]] = []
        for trace, c, _, _ in self._curves(claim):
            for d in self._choices(measured.size):
                value = measured.get(self._key(trace, c, d))
                if math.isfinite(value.mean):
                    lines.append((trace.name, c, d, value.mean, value.ci95))
        data = Table(("trace", "c", "d", "write amplification", "ci95"), tuple(lines))
        standing = [trace.name for trace in standins.traces(claim) if standins.stand_in(trace)]
        caption = (
            f"Write amplification against d, S_f = {SPARE}, b = {standins.B}, two write frontiers, "
            "with 95% intervals."
        )
        if standing:
            caption += f" Stand-ins, not the traces: {', '.join(standing)}."
        caption += " The paper prints the d of the optima alone: their height is that of our curve."
        draw = functools.partial(_draw, data, standing, self._curves(claim))
        return [Figure("dchoices.fig4", caption, data, draw)]


def _draw(data: Table, standing: list[str], curves: Curves) -> Drawing:
    from flashgc import plot

    optima = {(trace.name, c): (lo, hi) for trace, c, lo, hi in curves}
    parts: list[plot.Panel] = []
    points: dict[int, list[Point]] = {}
    for name in dict.fromkeys(line[0] for line in data.rows):
        series = []
        for c in dict.fromkeys(line[1] for line in data.rows if line[0] == name):
            cells = np.array([line[2:] for line in data.rows if line[:2] == (name, c)], np.float64)
            series.append(
                plot.Series(f"c = {c}", cells[:, 0], cells[:, 1], cells[:, 2], kind="both")
            )
            lo, hi = optima[str(name), int(str(c))]
            height = float(np.interp((lo + hi) / 2, cells[:, 0], cells[:, 1]))
            point = Point((lo + hi) / 2, height, half_x=(hi - lo) / 2)
            points.setdefault(len(parts), []).append(point)
        title = f"{name}, stand-in" if name in standing else str(name)
        parts.append(plot.Panel(series=series, title=title))
    return marked(plot.panels(parts, x_label="$d$, blocks drawn", at_ends=False), points)
