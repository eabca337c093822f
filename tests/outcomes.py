"""Outcomes of all claims of a paper: without measurements, or with invented ones."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

from flashgc_papers.claims import claims
from flashgc_papers.reproduce.rows import Row
from flashgc_papers.reproduce.runner import Outcome, conclude_again, not_run, runner_of
from flashgc_papers.reproduce.tasks import Measured, Size, Task
from flashgc_papers.reproduce.verdicts import Value, Verdict


@functools.cache
def empty(paper: str, size: Size = Size.DEFAULT) -> dict[str, Outcome]:
    """The outcomes of a paper before any run: every row is there, without a measurement."""
    made = {}
    for claim in claims().select((paper,)):
        runner = runner_of(claim)
        assert runner is not None
        task = runner.task(claim, size)
        if task.not_run or claim.input == "live":
            made[claim.id] = not_run(claim, size, Task(not_run="x"), task.not_run or "x")
        else:
            made[claim.id] = runner.judge(claim, Measured(size, task, {}, {}))
    return made


def invented(outcome: Outcome, change: Callable[[Row], Row]) -> Outcome:
    """The outcome with changed rows, and the verdicts that follow from them."""
    made = conclude_again(outcome, tuple(map(change, outcome.rows)))
    return made if made.rows else outcome


def as_published(row: Row) -> Row:
    """The row as if the published figure had been measured."""
    measured = Value(row.published, 0.5) if isinstance(row.published, float | int) else "words"
    return replace(row, measured=measured, verdict=Verdict.IN_KIND, why="invented")


def whole(paper: str, change: Callable[[Row], Row] = as_published) -> dict[str, Outcome]:
    """All outcomes of a paper with invented rows."""
    return {name: invented(one, change) for name, one in empty(paper).items()}
