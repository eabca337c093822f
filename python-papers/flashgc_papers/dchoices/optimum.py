"""Van Houdt's d-choices with memory: memory instead of choices (Figure 3), optimal d (Figure 4)."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flashgc.results import Result
from flashgc_papers.claims import Claim
from flashgc_papers.dchoices import standins
from flashgc_papers.dchoices.experiment import DRIVE, WHOLE, choices, ratio, uniform
from flashgc_papers.dchoices.standins import Published
from flashgc_papers.dchoices.traces import paired, percent
from flashgc_papers.published import Drawing, Point, marked, ranged
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import UnderReading, runner_under
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Figure, Outcome, Table, conclude, runner
from flashgc_papers.reproduce.tasks import Measured, Size, Task, models
from flashgc_papers.reproduce.verdicts import Judgement, Value

#: Values of c by c + d: each leaves at least two choices, because with one, memory never settles.
MEMORY = {total: range(total - 1) for total in (10, 20)}
#: Spare factors at which c = 0 and c = 1 are simulated, for c + d = 10.
SIMULATED = {Size.QUICK: (0.1,), Size.DEFAULT: (0.05, 0.1, 0.15, 0.2)}
#: Spare factors of a curve, in steps of 0.005.
_SPARES = 31
#: "Near S_f = 0.05" reaches at most half way to 0.1, where the next published figure is.
NEAR = 0.075


@runner("dchoices.fig3")
class MemoryForChoices:
    """Figure 3: the gain of memory if c + d is fixed."""

    def task(self, claim: Claim, size: Size) -> Task:
        """A grid of the model for each b and sum, and some points simulated."""
        runs = {Size.QUICK: 4, Size.DEFAULT: 16, Size.FULL: 50}[size]
        spares = self._spares(claim)
        grids = {
            f"{total} {b}": models(
                "meanfield",
                pages_per_block=b,
                spare=spares[:, None],
                d=np.array([[total - c for c in MEMORY[total]]]),
                c=np.array([MEMORY[total]]),
            )
            for total in claim.facts["sums"]
            for b in claim.facts["b"]
        }
        simulations = {
            f"{b} {spare} {c}": uniform(b=b, spare=spare, victim=choices(10 - c, c), runs=runs)
            for b in claim.facts["b"]
            for spare in self._simulated(size)
            for c in (0, 1)
        }
        text = ", ".join(map(str, self._simulated(size)))
        return Task(
            simulations,
            grids,
            f"model at {len(spares)} S_f and every c; c = 0 and 1 simulated at S_f = {text}: "
            f"{DRIVE}, {runs} runs",
            "simulated points at other spare factors" if size is Size.QUICK else "",
            whole=WHOLE,
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge at which spare factors c = 1 is best, at which it is not, and by how much."""
        small, *others = sorted(claim.facts["b"])
        rows = [self._not_best_near(claim, measured, small)]
        rows.append(self._best(claim, measured, small, above=NEAR))
        rows += [self._best(claim, measured, b) for b in others]
        rows += [self._gains(claim, measured, b) for b in claim.facts["b"]]
        rows += [self._gain_of_64(claim, measured, spare) for spare in claim.facts["spare_64"]]
        rows += [self._gain_of_twenty(claim, measured, b) for b in claim.facts["b"]]
        rows += [
            self._simulated_gain(claim, measured, b, spare)
            for b in claim.facts["b"]
            for spare in self._simulated(measured.size)
        ]
        figures = self._figures(claim, measured)
        return conclude(claim, measured, rows, heading="c + d = 10", figures=figures)

    @staticmethod
    def _simulated(size: Size) -> tuple[float, ...]:
        return SIMULATED.get(size, SIMULATED[Size.DEFAULT])

    @staticmethod
    def _spares(claim: Claim) -> NDArray[np.float64]:
        first, last = claim.facts["spare"]
        return np.asarray(np.round(np.linspace(first, last, _SPARES), 6), np.float64)

    def _gain(self, measured: Measured, total: int, b: int) -> NDArray[np.float64]:
        """Reduction of write amplification in percent, by spare factor (row) and c > 0 (column)."""
        grid = np.asarray(measured.compute(f"{total} {b}"), np.float64)
        return np.asarray((1 - grid[:, 1:] / grid[:, :1]) * 100)

    def _not_best_near(self, claim: Claim, measured: Measured, b: int) -> Row:
        spares = self._spares(claim)

        def judge() -> tuple[str, Judgement]:
            best = self._best_memory(measured, b)
            met = bool(best[0] != 1)
            why = f"c = {best[0]} is best at S_f = {spares[0]:g}"
            if met:
                after = spares[np.flatnonzero(best != 1).max() + 1 :]
                why += f"; c = 1 from {after[0]:g} on" if len(after) else "; c = 1 nowhere after it"
            return f"c = {best[0]}", verdicts.true(met, why)

        return row(f"b = {b}, S_f = {spares[0]:g}", "not c = 1", judge)

    def _best(self, claim: Claim, measured: Measured, b: int, above: float = 0.0) -> Row:
        spares = self._spares(claim)

        def judge() -> tuple[str, Judgement]:
            grid = measured.compute(f"10 {b}")
            judged = {
                spare: verdicts.least(
                    MEMORY[10], [Value(float(y)) for y in line], *claim.bounds, "c"
                )
                for spare, line in zip(spares, grid, strict=True)
                if spare > above
            }
            others = [
                f"at S_f = {spare:g} {why}"
                for spare, (verdict, why) in judged.items()
                if verdict is not verdicts.Verdict.MET
            ]
            text = f"{len(judged) - len(others)} of {len(judged)}"
            why = "; ".join([f"least at {text} spare factors", *others])
            return text, verdicts.true(not others, why)

        name = f"b = {b}, S_f > {above:g}" if above else f"b = {b}, every S_f"
        return row(name, "c = 1", judge)

    def _best_memory(self, measured: Measured, b: int) -> NDArray[np.int64]:
        best = np.asarray(measured.compute(f"10 {b}")).argmin(axis=1)
        return np.asarray(np.array(MEMORY[10], np.int64)[best])

    def _gains(self, claim: Claim, measured: Measured, b: int) -> Row:
        lo, hi = claim.facts["gain"]

        def judge() -> tuple[str, Judgement]:
            gain = self._gain(measured, 10, b)[:, 0]
            share = ((lo <= gain) & (gain <= hi)).mean()
            return f"{gain.min():.2f} to {gain.max():.2f}%", verdicts.true(
                share > 0.5, f"{share * 100:.0f}% of the spare factors lie in {lo} to {hi}%"
            )

        return row(f"b = {b}, gain of c = 1", f"typically {lo} to {hi}%", judge)

    def _gain_of_64(self, claim: Claim, measured: Measured, spare: float) -> Row:
        lo, hi = claim.facts["gain_64"]

        def judge() -> tuple[str, Judgement]:
            at = int(np.abs(self._spares(claim) - spare).argmin())
            gain = float(self._gain(measured, 10, 64)[at, 0])
            return f"{gain:.2f}%", verdicts.within(Value(gain), lo, hi)

        return row(f"b = 64, S_f = {spare:g}", f"{lo} to {hi}%", judge)

    def _gain_of_twenty(self, claim: Claim, measured: Measured, b: int) -> Row:
        def judge() -> tuple[str, Judgement]:
            gain = self._gain(measured, 20, b)
            best = gain.max(axis=1)
            memory = np.array(MEMORY[20][1:])[gain.argmax(axis=1)]
            text = f"{best.min():.2f} to {best.max():.2f}%"
            return text, verdicts.true(
                bool((best > 0).all()),
                f"of the best c, which is {', '.join(map(str, np.unique(memory)))}",
            )

        return row(f"c + d = 20, b = {b}", "moderate gains", judge)

    def _simulated_gain(self, claim: Claim, measured: Measured, b: int, spare: float) -> Row:
        def judge() -> tuple[str, Judgement]:
            value = _percent(measured.value(f"{b} {spare} 1"), measured.value(f"{b} {spare} 0"))
            at = int(np.abs(self._spares(claim) - spare).argmin())
            expected = self._gain(measured, 10, b)[at, 0]
            # The interval, plus the 0.05% within which the paper's simulation and model agree.
            near = abs(value.mean - expected) <= value.ci95 + 0.05
            return f"{value.mean:.2f} ±{value.ci95:.2f}%", verdicts.true(
                bool(near), f"simulated {value.mean:.3f} ±{value.ci95:.3f}%, model {expected:.3f}%"
            )

        return row(f"b = {b}, S_f = {spare}, simulated", "as the model", judge)

    def _figures(self, claim: Claim, measured: Measured) -> list[Figure]:
        spares = self._spares(claim)
        lines: list[tuple[float | str | None, ...]] = []
        for total in claim.facts["sums"]:
            for b in claim.facts["b"]:
                if f"{total} {b}" not in measured.computed:
                    continue
                for spare, gains in zip(spares, self._gain(measured, total, b), strict=True):
                    for c, gain in zip(MEMORY[total][1:], gains, strict=True):
                        point = Value(np.nan, np.nan)
                        if total == 10 and c == 1 and spare in self._simulated(measured.size):
                            without, with_ = (measured.get(f"{b} {spare:g} {c}") for c in (0, 1))
                            point = _percent(with_, without)
                        lines.append((total, b, c, spare, gain, point.mean, point.ci95))
        data = Table(
            ("c + d", "b", "c", "S_f", "gain (%)", "simulated gain (%)", "ci95"), tuple(lines)
        )
        caption = (
            "Reduction in write amplification of c > 0 against c = 0, c + d = 10 (top) and 20 "
            "(bottom). Lines: mean field; points: simulation of c = 1 with 95% intervals. The "
            "data have every c. Published: gains in words, of 1% to 1.5% for b = 64 and c = 1."
        )
        facts = claim.facts
        points = [ranged(spare, *facts["gain_64"]) for spare in facts["spare_64"]]
        return [
            Figure("dchoices.fig3", caption, data, functools.partial(_draw_memory, data, points))
        ]


def _percent(with_: Value, without: Value) -> Value:
    """The percentage by which ``with_`` is below ``without``."""
    share = ratio(with_, without)
    return Value((1 - share.mean) * 100, share.ci95 * 100)


#: The values of c whose curves are drawn; the data have more.
_DRAWN = (1, 2)


def _draw_memory(data: Table, printed: Sequence[Point]) -> Drawing:
    from flashgc import plot

    cells = np.array(data.rows, np.float64)
    parts = []
    for total in np.unique(cells[:, 0]):
        series = []
        for b in np.unique(cells[:, 1]):
            for c in _DRAWN:
                curve = cells[(cells[:, :3] == (total, b, c)).all(axis=1)]
                group = f"b = {b:g}, c = {c}"
                if not len(curve):
                    continue
                series.append(plot.Series("model", curve[:, 3], curve[:, 4], group=group))
                there = np.isfinite(curve[:, 5])
                if there.any():
                    points = curve[there]
                    series.append(
                        plot.Series(
                            "simulation",
                            points[:, 3],
                            points[:, 5],
                            points[:, 6],
                            kind="points",
                            group=group,
                        )
                    )
        parts.append(plot.Panel(series=series, title=f"c + d = {total:g}"))
    figure = plot.panels(
        parts, x_label="spare factor $S_f$", y_label="reduction in write amplification (%)",
        at_ends=False,
    )  # fmt: skip
    return marked(figure, {0: printed})


#: Each curve of the figure: trace, c, and the least and the greatest published optimal d.
Curves = list[tuple[Published, int, float, float]]
#: The spare factor of the figure.
SPARE = 0.1
#: Values of d on the curves, in nearly geometric steps; the published optima are not among them.
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
        """The optimal d of each curve, and the gain of memory if each side has its best d."""
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
            # The optimum lies between the neighbours of the points that may equal the best.
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
        """Return how often a curve turns; steps smaller than their intervals do not count."""
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
        draw = functools.partial(_draw_optima, data, standing, self._curves(claim))
        return [Figure("dchoices.fig4", caption, data, draw)]


def _draw_optima(data: Table, standing: list[str], curves: Curves) -> Drawing:
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
