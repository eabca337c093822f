"""Van Houdt's d-choices with memory under uniform random writes: Figures 1, 2 and 3."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flashgc_papers.claims import Claim
from flashgc_papers.dchoices.experiment import DRIVE, WHOLE, choices, mean_field, uniform
from flashgc_papers.published import Drawing
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.runner import (
    Figure,
    Measured,
    Outcome,
    Row,
    Size,
    Table,
    Task,
    conclude,
    model,
    models,
    row,
    runner,
)
from flashgc_papers.reproduce.verdicts import Judgement, Value

#: The drive of Figures 1 and 2.
B, SPARE = 64, 0.1


@runner("dchoices.fig1")
class MemoryGrows:
    """Figure 1: write amplification against memory, for three d."""

    def task(self, claim: Claim, size: Size) -> Task:
        """Curves of the model for every c, and simulated points on them."""
        runs = {Size.QUICK: 4, Size.DEFAULT: 8, Size.FULL: 50}[size]
        points = self._simulated(claim, size)
        simulations = {
            f"{d} {c}": uniform(b=B, spare=SPARE, victim=choices(d, c), runs=runs)
            for d in claim.facts["d"]
            for c in points
        }
        memory = self._memory(claim)
        curves = {
            str(d): models("meanfield", pages_per_block=B, spare=SPARE, d=d, c=np.array(memory))
            for d in claim.facts["d"]
        }
        text = ", ".join(map(str, points))
        return Task(
            simulations,
            curves,
            f"model at c = {memory[0]} to {memory[-1]}; simulated at c = {text}: {DRIVE}, "
            f"{runs} runs",
            "simulated points between c = 0, 5 and 50" if size is Size.QUICK else "",
            whole=WHOLE,
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Every part of the statement, for each d."""
        rows = [
            part
            for d in claim.facts["d"]
            for part in (
                self._falls(claim, measured, d),
                self._falls_simulated(claim, measured, d),
                self._most_by(claim, measured, d),
                self._above_greedy(claim, measured, d),
                self._no_convergence(claim, measured, d),
            )
        ]
        figures = [self._figure(claim, measured)]
        return conclude(claim, measured, rows, figures=figures)

    @staticmethod
    def _memory(claim: Claim) -> list[int]:
        first, last = claim.facts["c"]
        return list(range(first, last + 1))

    @staticmethod
    def _simulated(claim: Claim, size: Size) -> tuple[int, ...]:
        first, last = claim.facts["c"]
        most_by = claim.facts["most_by"]
        return (
            (first, most_by, last) if size is Size.QUICK else (first, 1, 2, most_by, 10, 20, last)
        )

    def _falls(self, claim: Claim, measured: Measured, d: int) -> Row:
        def judge() -> tuple[str, Judgement]:
            curve = [Value(float(y)) for y in measured.compute(str(d))]
            names = [f"c = {c}" for c in self._memory(claim)]
            return _ends(curve), verdicts.falling(curve, names)

        return row(f"d = {d}, model", "falls with c", judge)

    def _falls_simulated(self, claim: Claim, measured: Measured, d: int) -> Row:
        points = self._simulated(claim, measured.size)

        def judge() -> tuple[str, Judgement]:
            values = [measured.value(f"{d} {c}") for c in points]
            return _ends(values), verdicts.falling(values, [f"c = {c}" for c in points])

        return row(f"d = {d}, simulation", "falls with c", judge)

    def _most_by(self, claim: Claim, measured: Measured, d: int) -> Row:
        most_by = claim.facts["most_by"]

        def judge() -> tuple[str, Judgement]:
            curve = measured.compute(str(d))
            share = (curve[0] - curve[most_by]) / (curve[0] - curve[-1])
            last = self._memory(claim)[-1]
            return f"{share * 100:.1f}%", verdicts.true(share > 0.5, f"of the gain of c = {last}")

        return row(f"d = {d}, gain by c = {most_by}", "most", judge)

    def _above_greedy(self, claim: Claim, measured: Measured, d: int) -> Row:
        last = self._memory(claim)[-1]
        greedy = claim.facts["greedy"]

        def judge() -> tuple[Value, Judgement]:
            value = measured.value(f"{d} {last}")
            return value, verdicts.below(Value(greedy), value, ("greedy", f"c = {last}"))

        return row(f"d = {d}, simulated, c = {last}", f"above {greedy}", judge)

    def _no_convergence(self, claim: Claim, measured: Measured, d: int) -> Row:
        greedy = claim.facts["greedy"]
        memory = self._memory(claim)
        half = memory[-1] // 2

        def judge() -> tuple[str, Judgement]:
            curve = measured.compute(str(d))
            step, left = curve[half] - curve[-1], curve[-1] - greedy
            # A fall that slows like 1/c has about as much to come as doubling c gained; twice that
            # leaves no doubt.
            return f"{left:.4f} left", verdicts.true(
                left > 2 * step,
                f"doubling c to {memory[-1]} gains {step:.4f}, greedy is {left:.4f} away",
            )

        return row(f"d = {d}, limit", "not greedy's", judge)

    def _figure(self, claim: Claim, measured: Measured) -> Figure:
        memory = self._memory(claim)
        points = self._simulated(claim, measured.size)
        lines = []
        for d in claim.facts["d"]:
            curve = measured.computed.get(str(d), np.full(len(memory), np.nan))
            for c, y in zip(memory, curve, strict=True):
                value = measured.get(f"{d} {c}") if c in points else Value(np.nan, np.nan)
                lines.append((d, c, float(y), value.mean, value.ci95))
        data = Table(("d", "c", "model", "simulation", "ci95"), tuple(lines), keys=2)
        return Figure(
            "dchoices.fig1",
            f"Write amplification against the blocks in memory, b = {B}, S_f = {SPARE}. Lines: "
            "mean field; points: simulation with 95% intervals; dashes: greedy as published.",
            data,
            functools.partial(_draw_memory, data, claim.facts["greedy"]),
        )


def _draw_memory(data: Table, greedy: float) -> Drawing:
    from flashgc import plot

    series = []
    cells = np.array(data.rows, np.float64)
    for d in np.unique(cells[:, 0]):
        of_d = cells[cells[:, 0] == d]
        group = f"d = {d:g}"
        series += _some(plot.Series, "model", of_d[:, 1], of_d[:, 2], group=group)
        series += _some(plot.Series, "simulation", of_d[:, 1], of_d[:, 3], of_d[:, 4], group=group)
    return plot.against(
        series, x_label="$c$, blocks in memory", reference_lines={"greedy, published": greedy}
    )


def _some(kind: Any, label: str, x: Any, y: Any, error: Any = None, *, group: str) -> list[Any]:
    """A series of the points that there are: a line, or points where there is an ``error``."""
    there = np.isfinite(y)
    if not there.any():
        return []
    if error is None:
        return [kind(label, x[there], y[there], group=group)]
    return [kind(label, x[there], y[there], error[there], kind="points", group=group)]


@runner("dchoices.fig2")
class LeastInMemory:
    """Figure 2: the distribution of the least valid count in memory."""

    D = 10
    #: Memory doubles from one to the next, so that steps can be compared.
    MEMORY = (1, 2, 4, 8, 16, 32, 64)

    def task(self, _claim: Claim, _size: Size) -> Task:
        """Distributions of the model; the same at every size."""
        points = {str(c): mean_field(b=B, spare=SPARE, d=self.D, c=c) for c in self.MEMORY}
        points["greedy"] = model("greedy", pages_per_block=B, spare=SPARE)
        text = ", ".join(map(str, self.MEMORY))
        return Task(
            computations=points,
            settings=f"mean field at c = {text}; greedy in closed form; nothing is simulated",
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """The mean falls, the steps shrink, greedy stays away."""
        names = [f"c = {c}" for c in self.MEMORY]

        def mean_falls() -> tuple[str, Judgement]:
            means = [Value(_mean(self._memory(measured, c))) for c in self.MEMORY]
            return f"{means[0].mean:.2f} to {means[-1].mean:.2f}", verdicts.falling(means, names)

        def steps_shrink() -> tuple[str, Judgement]:
            steps = [Value(step) for step in self._steps(measured)]
            text = ", ".join(f"{step.mean:.4f}" for step in steps)
            return f"to {steps[-1].mean:.4f}", Judgement(
                verdicts.falling(steps, names[1:]).verdict,
                f"distance in total variation at each doubling of c: {text}",
            )

        def greedy_stays_away() -> tuple[str, Judgement]:
            greedy = np.asarray(measured.compute("greedy").victim)
            last = _distance(self._memory(measured, self.MEMORY[-1]), greedy)
            step = self._steps(measured)[-1]
            return f"{last:.4f} away", verdicts.true(
                last > 2 * step,
                f"in total variation; the last doubling of c moved it by {step:.4f}",
            )

        rows = [
            row("mean least valid count", "falls with c", mean_falls),
            row("steps", "shrink", steps_shrink),
            row("greedy's victim", "clearly different", greedy_stays_away),
        ]
        note = "The engine does not report what is in memory: this figure is the model's alone."
        return conclude(claim, measured, rows, figures=self._figures(measured), notes=[note])

    def _memory(self, measured: Measured, c: int) -> NDArray[np.float64]:
        return np.asarray(measured.compute(str(c)).memory)

    def _steps(self, measured: Measured) -> list[float]:
        memories = [self._memory(measured, c) for c in self.MEMORY]
        return [_distance(first, second) for first, second in itertools.pairwise(memories)]

    def _figures(self, measured: Measured) -> list[Figure]:
        shares = {
            f"c = {c}": measured.computed[str(c)].memory
            for c in self.MEMORY
            if str(c) in measured.computed
        }
        if "greedy" in measured.computed:
            shares["greedy's victim"] = measured.computed["greedy"].victim
        if not shares:
            return []
        data = Table(
            ("valid pages", *shares),
            tuple((pages, *each) for pages, each in enumerate(zip(*shares.values(), strict=True))),
        )
        caption = (
            f"Distribution of the least number of valid pages in memory, b = {B}, d = {self.D}, "
            f"S_f = {SPARE}, and of greedy's victim. All from models."
        )
        return [Figure("dchoices.fig2", caption, data, functools.partial(_draw_least, shares))]


#: In the data, and not drawn: curves between two that are.
_CROWDED = ("c = 2", "c = 8", "c = 32")


def _draw_least(shares: dict[str, Sequence[float]]) -> Drawing:
    from flashgc import plot

    drawn = {label: each for label, each in shares.items() if label not in _CROWDED}
    return plot.valid_pages(
        drawn, x_label="least number of valid pages in memory", y_label="probability"
    )


def _ends(values: Sequence[Value]) -> str:
    """The first and the last of a series."""
    return f"{values[0].mean:.4f} to {values[-1].mean:.4f}"


def _mean(shares: NDArray[np.float64]) -> float:
    return float(shares @ np.arange(len(shares)))


def _distance(first: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    """Total variation distance of two distributions, 0 to 1."""
    return float(np.abs(first - two).sum() / 2)
