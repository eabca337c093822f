"""The persistently isolated drive with more spare space: one run, whose streams are all known."""

from __future__ import annotations

from flashgc_papers.claims import Claim
from flashgc_papers.reproduce.runner import Outcome, conclude, runner
from flashgc_papers.reproduce.tasks import Measured, Size, Task
from flashgc_papers.warp import experiment, figures


@runner("warp.spare20")
class OneRun:
    """The amplification of the drive in one run, which is no figure."""

    def task(self, claim: Claim, size: Size) -> Task:
        """The run."""
        return figures.task(claim, size)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """A row."""
        rows = [figures.cell_row(claim, measured, cell) for cell in experiment.cells(claim)]
        return conclude(claim, measured, rows, heading="jumper's writes, handles")


runner("warp.spare20.handles")(figures.Handles)
