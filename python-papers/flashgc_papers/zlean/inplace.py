"""Flash that a page costs which a database writes in place, under each reading."""

from __future__ import annotations

import functools

from flashgc_papers.claims import Claim
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import UnderReading, runner_under
from flashgc_papers.reproduce.rows import row
from flashgc_papers.reproduce.runner import Outcome, conclude
from flashgc_papers.reproduce.tasks import Measured, Size, Task
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.zlean import experiment

#: The writes that reach the drive. The larger the database's memory, the more skew it absorbs.
WRITES = {"all of the skew": "zipf:theta={theta:g}", "none of the skew": "uniform"}


@runner_under("zlean.inplace")
class InPlace(UnderReading):
    """KiB of flash for a page, if the memory absorbs nothing of the skew or all of it."""

    def task(self, claim: Claim, size: Size) -> Task:
        """A drive with all of the skew, and one without."""
        theta, fill = claim.facts["theta"], claim.facts["fill"]
        blocks, pages = experiment.PART[size]
        return Task(
            {
                name: experiment.in_place(writes.format(theta=theta), fill, self.reading, size)
                for name, writes in WRITES.items()
            },
            settings=f"{blocks} units of {pages} pages of 4 KiB with the spare factor of a PM9A3",
            left_out="all of the drive but these units",
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """A row for each of the two."""
        rows = [
            row(name, claim.only_value, functools.partial(self._judged, claim, measured, name))
            for name in WRITES
        ]
        return conclude(claim, measured, rows, heading="skew that reaches the drive")

    def _judged(self, claim: Claim, measured: Measured, name: str) -> tuple[Value, Judgement]:
        pages = measured.value(name)
        mean, half = (experiment.kib(part, self.reading) for part in (pages.mean, pages.ci95))
        value = Value(mean, half)
        return value, verdicts.equal(value, claim.only_value, claim.tolerance)
