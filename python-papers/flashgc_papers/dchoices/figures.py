"""Van Houdt's d-choices with memory under uniform random writes: Table 1 and Figures 1, 2 and 3."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flashgc_papers.claims import Claim
from flashgc_papers.dchoices.experiment import (
    BLOCKS,
    DRIVE,
    WHOLE,
    choices,
    mean_field,
    ratio,
    uniform,
)
from flashgc_papers.published import Drawing
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Figure, Outcome, Table, conclude, runner
from flashgc_papers.reproduce.tasks import Measured, Size, Task, model, models
from flashgc_papers.reproduce.verdicts import Judgement, Value


@runner("dchoices.table1.model")
class TableOneModel:
    """Table 1, the column of the mean field."""

    def task(self, claim: Claim, size: Size) -> Task:
        """A fixed point of the mean field for each row; the same points at every size."""
        points = {
            str(at): mean_field(b=b, spare=spare, d=d, c=c)
            for at, (b, spare, d, c, _) in enumerate(claim.rows)
        }
        return Task(computations=points, settings="nine fixed points, at every size the same")

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge each row of the table; the row shows the residual of its fixed point."""
        return conclude(
            claim,
            measured,
            [self._row(claim, measured, at) for at in range(len(claim.rows))],
            heading="b, S_f, d, c",
        )

    def _row(self, claim: Claim, measured: Measured, at: int) -> Row:
        *_, published = claim.rows[at]

        def judge() -> tuple[Value, Judgement]:
            point = measured.compute(str(at))
            value = Value(point.write_amplification)
            verdict, why = verdicts.equal(value, float(published), claim.tolerance)
            return value, Judgement(verdict, f"{why}; residual {point.residual:.0e}")

        return row(label(claim, at), float(published), judge)


@runner("dchoices.table1.simulation")
class TableOneSimulation:
    """Table 1, the column of the simulation, and how far it lies from the mean field."""

    def task(self, claim: Claim, size: Size) -> Task:
        """The paper's runs; for most drives, the quick size has fewer of them."""
        simulations, points, runs = {}, {}, []
        for at, (b, spare, d, c, _, _, published_runs) in enumerate(claim.rows):
            runs.append(int(published_runs))
            if size is Size.QUICK:
                # Short blocks make short runs and wide intervals, so they get at least 50 runs.
                runs[-1] = max(8, runs[-1] // 4) if b != 16 else max(50, runs[-1] // 2)
            simulations[str(at)] = uniform(b=b, spare=spare, victim=choices(d, c), runs=runs[-1])
            points[str(at)] = mean_field(b=b, spare=spare, d=d, c=c)
        left_out = "about two thirds of the runs" if size is Size.QUICK else ""
        settings = f"{DRIVE}, {min(runs)} to {max(runs)} runs"
        return Task(simulations, points, settings, left_out, whole=WHOLE)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """One row for each row of the table, and one for the largest difference from the model."""
        rows = [self._row(claim, measured, at) for at in range(len(claim.rows))]
        tol = claim.tolerance

        def beside_the_model() -> tuple[str, Judgement]:
            off = [
                measured.value(key).mean / measured.compute(key).write_amplification - 1
                for key in map(str, range(len(claim.rows)))
            ]
            largest = max(off, key=abs)
            name = label(claim, off.index(largest))
            text = f"{largest * 100:+.3f}%"
            return text, verdicts.true(abs(largest) <= tol.amount, f"the largest is at {name}")

        rows.append(row("off the mean field", f"at most {tol}", beside_the_model))
        return conclude(claim, measured, rows, heading="b, S_f, d, c")

    def _row(self, claim: Claim, measured: Measured, at: int) -> Row:
        *_, published, half, _ = claim.rows[at]

        def judge() -> tuple[Value, Judgement]:
            value = measured.value(str(at))
            return value, verdicts.equal(value, float(published), claim.tolerance)

        return row(label(claim, at), float(published), judge, published_ci95=float(half))


def label(claim: Claim, at: int) -> str:
    """The parameters of a row of Table 1, which are its first four cells."""
    b, spare, d, c, *_ = claim.rows[at]
    return f"{b}, {spare:.2f}, {d}, {c}"


@runner("dchoices.greedy")
class Greedy:
    """The value of greedy for many blocks: in closed form, and simulated."""

    def task(self, claim: Claim, size: Size) -> Task:
        """One simulated drive, and the closed form."""
        runs = {Size.QUICK: 8, Size.DEFAULT: 25, Size.FULL: 100}[size]
        drive = uniform(b=64, spare=0.1, victim="greedy", runs=runs)
        form = model("greedy", pages_per_block=64, spare=0.1)
        settings = f"{DRIVE}, {runs} runs"
        return Task({"simulated": drive}, {"closed form": form}, settings, whole=WHOLE)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge a row for the closed form, and one for the simulation."""
        published = claim.only_value

        def closed_form() -> tuple[Value, Judgement]:
            value = Value(measured.compute("closed form").write_amplification)
            return value, verdicts.equal(value, published, claim.tolerance)

        def simulated() -> tuple[Value, Judgement]:
            value = measured.value("simulated")
            return value, verdicts.equal(value, published, claim.tolerance)

        rows = [
            row("closed form, N to infinity", published, closed_form),
            row(f"simulated, N = {BLOCKS}", published, simulated),
        ]
        return conclude(claim, measured, rows, heading="greedy")


@runner("dchoices.single-equals-double")
class TwoFrontiers:
    """One write frontier and two, under uniform random writes."""

    #: b, S_f, d, c: the drive of most of the paper's figures, without memory and with it, and a
    #: smaller drive.
    DRIVES = ((64, 0.1, 10, 0), (64, 0.1, 9, 1), (16, 0.06, 10, 1))

    def task(self, claim: Claim, size: Size) -> Task:
        """Both frontiers on three drives."""
        runs = {Size.QUICK: 4, Size.DEFAULT: 16, Size.FULL: 50}[size]
        simulations = {
            f"{at} {frontier}": uniform(
                b=b, spare=spare, victim=choices(d, c), runs=runs, frontier=frontier
            )
            for at, (b, spare, d, c) in enumerate(self.DRIVES)
            for frontier in ("single", "double")
        }
        return Task(simulations, settings=f"{DRIVE}, {runs} runs", whole=WHOLE)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """One row for each drive: write amplification with two frontiers over that with one."""
        rows = [self._row(claim, measured, at) for at in range(len(self.DRIVES))]
        return conclude(claim, measured, rows, heading="two over one: b, S_f, d, c")

    def _row(self, claim: Claim, measured: Measured, at: int) -> Row:
        def judge() -> tuple[Value, Judgement]:
            value = ratio(measured.value(f"{at} double"), measured.value(f"{at} single"))
            return value, verdicts.equal(value, 1.0, claim.tolerance)

        b, spare, d, c = self.DRIVES[at]
        return row(f"{b}, {spare:.2f}, {d}, {c}", 1.0, judge)


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
        """Judge every part of the statement, for each d."""
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
            # If the gain that is left shrank like 1/c, it would be about the gain of the last
            # doubling of c. More than twice that gain means that the limit is not greedy's value.
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
    """A series of the finite points: a line, or markers if ``error`` is given; else no series."""
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
    #: Memory doubles from each value to the next, so that steps can be compared.
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
        """Judge three rows: the mean falls, the steps shrink, and greedy's victim stays apart."""
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
        return conclude(claim, measured, rows, figures=self._figures(measured))

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


#: Curves that are in the data but not drawn, because they lie between two others.
_CROWDED = ("c = 2", "c = 8", "c = 32")


def _draw_least(shares: dict[str, Sequence[float]]) -> Drawing:
    from flashgc import plot

    drawn = {label: each for label, each in shares.items() if label not in _CROWDED}
    return plot.valid_pages(
        drawn, x_label="least number of valid pages in memory", y_label="probability"
    )


def _ends(values: Sequence[Value]) -> str:
    """The first and the last value of a series, as text."""
    return f"{values[0].mean:.4f} to {values[-1].mean:.4f}"


def _mean(shares: NDArray[np.float64]) -> float:
    return float(shares @ np.arange(len(shares)))


def _distance(first: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    """Total variation distance of two distributions, 0 to 1."""
    return float(np.abs(first - two).sum() / 2)
