"""Van Houdt's d-choices with memory, uniform random writes: Table 1, greedy, Figures 1 to 3."""

from __future__ import annotations

from flashgc.papers.claims import Claim
from flashgc.reproduce import verdicts
from flashgc.reproduce.runner import (
    Measured,
    Outcome,
    Size,
    Task,
    conclude,
    row,
    runner,
    simulation,
)
from flashgc.reproduce.verdicts import Judgement, Value


@runner("dchoices.greedy")
class Greedy:
    """The greedy reference value, simulated."""

    def task(self, claim: Claim, size: Size) -> Task:
        """The drive of Table 1 under greedy."""
        runs = {Size.QUICK: 2, Size.DEFAULT: 8, Size.FULL: 25}[size]
        drive = simulation(
            workload="uniform", blocks=50_000, pages_per_block=64, spare=0.1, fill="random",
            victim="greedy", collections=250_000, warmup="1/3", runs=runs,
        )  # fmt: skip
        return Task({"greedy": drive}, settings=f"N = 50 000, 250 000 collections, {runs} runs")

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """One row."""
        published, tol = claim.value, claim.tol
        assert published is not None
        assert tol is not None

        def simulated() -> tuple[Value, Judgement]:
            value = measured.value("greedy")
            return value, verdicts.equal(value, published, tol)

        return conclude(claim, measured, [row("simulated", published, simulated)])
