"""Programs of the simulator under each of its rules, counted page by page."""

from __future__ import annotations

import functools

from flashgc_papers.claims import Cell, Claim
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.rows import row
from flashgc_papers.reproduce.runner import Outcome, conclude, runner
from flashgc_papers.reproduce.tasks import Measured, Size, Task
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.zlean import experiment
from flashgc_papers.zlean.experiment import LOGICAL, PAGES, RULES, UNITS, WRITES


def label(theta: Cell) -> str:
    """A row in words: ``zipf 0.8``."""
    return f"zipf {float(theta):g}"


class Programs:
    """The programs under one rule, a row for each skew."""

    def __init__(self, rule: str) -> None:
        self._rule = rule

    def task(self, claim: Claim, size: Size) -> Task:
        """A simulation for each skew."""
        return Task(
            {
                label(theta): experiment.simulator(self._rule, float(theta), size)
                for theta in claim.column("zipf")
            },
            settings=f"{UNITS} units of {PAGES[size]} pages of 4 KiB, {LOGICAL} of them logical; "
            f"the second half of {WRITES[size]} drive writes after a sequential fill",
            whole="programs are counted from an empty drive on, between the same two writes",
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """A row for each skew, beside the simulator's programs at this size."""
        programs = claim.column(str(measured.size))
        rows = [
            row(
                label(theta),
                int(published),
                functools.partial(_judged, claim, measured, label(theta), int(published)),
            )
            for theta, published in zip(claim.column("zipf"), programs, strict=True)
        ]
        return conclude(claim, measured, rows, heading="writes")


def _judged(claim: Claim, measured: Measured, key: str, published: int) -> tuple[Value, Judgement]:
    result = measured.result(key)
    value = Value(result.host_pages + result.copied_pages)
    return value, verdicts.equal(value, published, claim.tolerance)


for _rule in RULES:
    runner(f"zlean.sim.{_rule}")(functools.partial(Programs, _rule))
