"""Van Houdt's d-choices with memory under uniform random writes: Table 1, greedy, two frontiers."""

from __future__ import annotations

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
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.runner import (
    Measured,
    Outcome,
    Row,
    Size,
    Task,
    conclude,
    model,
    row,
    runner,
)
from flashgc_papers.reproduce.verdicts import Judgement, Value


@runner("dchoices.table1.model")
class TableOneModel:
    """Table 1, the column of the mean field."""

    def task(self, claim: Claim, size: Size) -> Task:
        """A fixed point a row; the same at every size."""
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
        """The paper's runs; quick makes a quarter of the long ones."""
        simulations, points, runs = {}, {}, []
        for at, (b, spare, d, c, _, _, published_runs) in enumerate(claim.rows):
            runs.append(int(published_runs))
            if size is Size.QUICK:
                # Short blocks make short runs, and wider intervals: those keep all their runs.
                runs[-1] = max(8, runs[-1] // 4) if b != 16 else max(50, runs[-1] // 2)
            simulations[str(at)] = uniform(b=b, spare=spare, victim=choices(d, c), runs=runs[-1])
            points[str(at)] = mean_field(b=b, spare=spare, d=d, c=c)
        left_out = "about two thirds of the runs" if size is Size.QUICK else ""
        settings = f"{DRIVE}, {min(runs)} to {max(runs)} runs"
        return Task(simulations, points, settings, left_out, whole=WHOLE)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """A row each, and the largest difference from the mean field."""
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
        """One drive, one closed form."""
        runs = {Size.QUICK: 8, Size.DEFAULT: 25, Size.FULL: 100}[size]
        drive = uniform(b=64, spare=0.1, victim="greedy", runs=runs)
        form = model("greedy", pages_per_block=64, spare=0.1)
        settings = f"{DRIVE}, {runs} runs"
        return Task({"simulated": drive}, {"closed form": form}, settings, whole=WHOLE)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """A row of each."""
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

    #: b, S_f, d, c: the drive of most of the paper's figures, with memory, and a smaller one.
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
        """The ratio of two frontiers to one, a row a drive."""
        rows = [self._row(claim, measured, at) for at in range(len(self.DRIVES))]
        return conclude(claim, measured, rows, heading="two over one: b, S_f, d, c")

    def _row(self, claim: Claim, measured: Measured, at: int) -> Row:
        def judge() -> tuple[Value, Judgement]:
            value = ratio(measured.value(f"{at} double"), measured.value(f"{at} single"))
            return value, verdicts.equal(value, 1.0, claim.tolerance)

        b, spare, d, c = self.DRIVES[at]
        return row(f"{b}, {spare:.2f}, {d}, {c}", 1.0, judge)
