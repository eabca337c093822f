"""Zombie Chasing's worked example, Figures 2 and 3, on the drive that everything runs on.

A trace writes the three blocks of the figures, says which seven pages are dirty in the host's
cache, and writes those. A replay needs a trace whose pages fill whole blocks: one read of a page
beyond them makes it two blocks. The file of the trace is in ``worked``; the test of this module
makes it again.
"""

from __future__ import annotations

from pathlib import Path

from flashgc.described import Simulation, simulation
from flashgc_papers.claims import Claim
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.runner import (
    Measured,
    NotMeasuredError,
    Outcome,
    Row,
    Size,
    Task,
    conclude,
    row,
    runner,
)
from flashgc_papers.reproduce.verdicts import Judgement, Value

FOLDER = Path(__file__).resolve().parent / "worked"
TRACE = FOLDER / "figure.csv"
#: The traces of Equation 2, by the zombies of a block beside half of its invalid pages.
BOUNDS = {"below": FOLDER / "below-half.csv", "above": FOLDER / "above-half.csv"}


def example(victim: str, trace: Path = TRACE) -> Simulation:
    """Four blocks of ten pages; host writes and copies share the update block."""
    return simulation(
        workload=str(trace),
        paging="floor",
        numbering="first-touch",
        victim=victim,
        placement="dac:regions=1",
        frontier="pool:low=1",
        fill="empty",
        page_size="512B",
        pages_per_block=10,
        spare="50%",
        passes=1,
        warmup="0",
        runs=1,
    )


@runner("zombie.fig2-3")
class Example:
    """Pages copied by greedy and by z-greedy."""

    def task(self, claim: Claim, _size: Size) -> Task:
        """Two collections of each policy, and one for each side of the bound in Equation 2."""
        figures = {str(policy): example(str(policy)) for policy in claim.column("policy")}
        bounds = {side: example("z-greedy", trace) for side, trace in BOUNDS.items()}
        return Task(
            {**figures, **bounds},
            settings="the two collections of Figures 2 and 3, and one for each side of the bound "
            "in Equation 2; at every size the same",
            whole="the worked example has all of its writes",
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Copies of both collections, and that the hints came true."""
        rows = [self._copies(claim, measured, *row) for row in claim.rows]
        rows.append(self._zombies(measured))
        rows += [self._bounded(claim, measured, side) for side in BOUNDS]
        return conclude(claim, measured, rows, heading="policy")

    @staticmethod
    def _copies(claim: Claim, measured: Measured, policy: object, published: object) -> Row:
        def judge() -> tuple[Value, Judgement]:
            result = measured.result(str(policy))
            value = Value(result.copied_pages)
            verdict, why = verdicts.equal(value, float(str(published)), claim.tolerance)
            return value, Judgement(verdict, f"{why}, in {result.collections} collections")

        return row(f"{policy}, pages copied", float(str(published)), judge)

    @staticmethod
    def _bounded(claim: Claim, measured: Measured, side: str) -> Row:
        """The pages copied from the block that Equation 2 chooses."""
        published = float(claim.facts[side])

        def judge() -> tuple[Value, Judgement]:
            result = measured.result(side)
            value = Value(result.copied_pages)
            verdict, why = verdicts.equal(value, published, claim.tolerance)
            return value, Judgement(verdict, f"{why}, in {result.collections} collection")

        label = f"z-greedy, zombies {side} half of the invalid pages, pages copied"
        return row(label, published, judge)

    @staticmethod
    def _zombies(measured: Measured) -> Row:
        def judge() -> tuple[Value, Judgement]:
            zombies = measured.result("z-greedy").zombies
            if zombies is None:
                raise NotMeasuredError("no hints are kept")
            marked, true = zombies.marked, zombies.overwritten
            why = f"{marked} pages became zombies, {true} of them were overwritten"
            return Value(marked), verdicts.true(marked == true == ZOMBIES, why)

        return row("z-greedy, zombies", ZOMBIES, judge)


#: Zombies of the figures: three on block 2, four on block 3.
ZOMBIES = 7
