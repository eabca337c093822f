"""Runners of claims and their outcomes; the registry.

A runner describes and judges; it runs nothing. See :mod:`flashgc_papers` for how to write one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeVar

import flashgc_papers as papers
from flashgc_papers.claims import Claim, notes_of
from flashgc_papers.reproduce import grading
from flashgc_papers.reproduce.grading import fitted
from flashgc_papers.reproduce.rows import Row
from flashgc_papers.reproduce.tasks import Measured, Size, Task
from flashgc_papers.reproduce.verdicts import AS_PUBLISHED, COUNTED, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


@dataclass(frozen=True)
class Table:
    """Columns of data, as they go to a CSV file."""

    columns: tuple[str, ...]
    rows: tuple[tuple[float | str | None, ...], ...]
    #: The number of leading columns that name the subject of a row.
    keys: int = 1

    @property
    def has_numbers(self) -> bool:
        """True if the table has measured numbers; false if every run was interrupted.

        Columns whose names begin with "published" have the paper's numbers, which do not count.
        """
        columns = enumerate(self.columns)
        ours = [at for at, name in columns if at >= self.keys and not name.startswith("published")]
        cells = (row[at] for row in self.rows for at in ours)
        return any(isinstance(cell, int | float) and math.isfinite(cell) for cell in cells)


@dataclass(frozen=True)
class Figure:
    """A figure as the paper draws it, and the data that it shows."""

    #: Part of file names, beginning with the paper: ``dchoices.fig1``.
    name: str
    caption: str
    data: Table
    #: Draws the figure with :mod:`flashgc.plot`.
    draw: Callable[[], Drawing]


@dataclass(frozen=True)
class Trial:
    """The verdict of a claim's rows on a wrong engine."""

    #: The wrong engine, and what is wrong with it.
    name: str
    what: str
    #: Rows that the right engine meets and the wrong engine does not.
    told: tuple[str, ...] = ()
    #: All rows that the right engine meets.
    met: tuple[str, ...] = ()
    #: Rows that the wrong engine meets and the right engine does not.
    fooled: tuple[str, ...] = ()
    #: The reason why the wrong engine was not run or not judged; empty if it was.
    failed: str = ""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a claim."""

    claim: Claim
    size: Size
    task: Task
    verdict: Verdict
    #: The reason in one or two sentences.
    why: str
    #: The heading of the rows' labels.
    heading: str = ""
    rows: tuple[Row, ...] = ()
    figures: tuple[Figure, ...] = ()
    #: Notes for readers: findings, things that are odd.
    notes: tuple[str, ...] = ()
    #: The trials of wrong engines on the same claim.
    trials: tuple[Trial, ...] = ()
    #: The verdict under each reading of the paper, that of the chosen one first; empty where the
    #: paper leaves nothing open.
    under: Mapping[str, Verdict] = field(default_factory=dict)

    @property
    def reading(self) -> str:
        """The name of the chosen reading; empty where the paper leaves nothing open."""
        return next(iter(self.under), "")

    @property
    def chosen(self) -> tuple[Row, ...]:
        """Return the rows that decide the verdict: those under the chosen reading."""
        return tuple(row for row in self.rows if row.reading in ("", self.reading))

    @property
    def rows_met(self) -> int:
        """Return the number of :attr:`chosen` rows that are met, or met in kind."""
        return met(self.chosen)


def held(rows: Sequence[Row]) -> int:
    """Return the number of rows that are as published, whether they count or not."""
    return sum(row.verdict in AS_PUBLISHED for row in rows)


def met(rows: Sequence[Row]) -> int:
    """Return the number of rows that are met, or met in kind."""
    return sum(row.verdict in COUNTED for row in rows)


def conclude(
    claim: Claim,
    measured: Measured,
    rows: Sequence[Row],
    *,
    heading: str = "part",
    figures: Sequence[Figure] = (),
    notes: Sequence[str] = (),
) -> Outcome:
    """The outcome of a claim with these rows; ``heading`` is the heading of their labels.

    Rows are graded here. Rows on stand-ins are at best met in kind, if sign, order and rough size
    agree. Rows with unsteady runs, and rows to which a reading was fitted, do not count as met.
    """
    for figure in figures:
        # Files and the page have the figures of all papers by their names.
        assert figure.name.startswith(claim.paper), figure.name
    graded = tuple(grading.graded(claim, measured, row) for row in rows)
    return Outcome(
        claim,
        measured.size,
        measured.task,
        grading.verdict_of(claim, graded),
        grading.reason_of(graded),
        heading,
        graded,
        tuple(figure for figure in figures if figure.data.has_numbers),
        (*notes_of(claim), *notes, *grading.doubts(measured)),
    )


def conclude_again(outcome: Outcome, rows: tuple[Row, ...]) -> Outcome:
    """The outcome with changed rows, and with the verdicts of the claim that follow from them."""
    rows = tuple(fitted(outcome.claim, row) for row in rows)
    under = {
        name: grading.verdict_of(outcome.claim, [row for row in rows if row.reading == name])
        for name in outcome.under
    }
    changed = replace(outcome, rows=rows, under=under)
    verdict = grading.verdict_of(changed.claim, changed.chosen)
    return replace(changed, verdict=verdict, why=grading.reason_of(changed.chosen))


def not_run(claim: Claim, size: Size, task: Task, why: str) -> Outcome:
    """The outcome of a claim that was not run."""
    return Outcome(claim, size, task, Verdict.NOT_RUN, why)


class Runner(Protocol):
    """Describes the work of a claim, and judges its results."""

    def task(self, claim: Claim, size: Size) -> Task:
        """Return the task of ``claim`` at ``size``."""

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Return rows with verdicts, figures and notes: see :func:`row` and :func:`conclude`."""


_RUNNERS: dict[str, Runner] = {}
R = TypeVar("R", bound=Callable[..., Runner])


def runner(claim_id: str) -> Callable[[R], R]:
    """Registers a class as the runner of a claim."""

    def register(runner_class: R) -> R:
        _RUNNERS[claim_id] = runner_class()
        return runner_class

    return register


def register_runner(claim_id: str, instance: Runner) -> None:
    """Registers the runner of a claim."""
    _RUNNERS[claim_id] = instance


def runner_of(claim: Claim) -> Runner | None:
    """The runner of a claim; ``None`` if no module of its paper registers one."""
    papers.load(claim.paper)
    return _RUNNERS.get(claim.id)
