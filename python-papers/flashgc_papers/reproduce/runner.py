"""Runners of claims: their tasks, what was measured, rows and outcomes; the registry.

A runner describes and judges; it runs nothing. See :mod:`flashgc_papers` for how to write one.
"""

from __future__ import annotations

import functools
import importlib
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import flashgc_papers as papers
from flashgc.described import Simulation, flags
from flashgc.results import Result
from flashgc_papers.claims import Claim
from flashgc_papers.reproduce import grading
from flashgc_papers.reproduce.grading import fitted
from flashgc_papers.reproduce.steadiness import Noted, Runs, noting
from flashgc_papers.reproduce.verdicts import (
    AS_PUBLISHED,
    COUNTED,
    Judgement,
    Value,
    Verdict,
    relative,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


class Size(StrEnum):
    """The size of a reproduction."""

    #: Minutes for all claims together; every task says what it leaves out.
    QUICK = "quick"
    DEFAULT = "default"
    #: The paper's own sizes.
    FULL = "full"


def seeded(key: str, simulation: Simulation) -> dict[str, Simulation]:
    """The runs of a simulation one by one, so that each of their figures has an interval.

    :meth:`Measured.runs` finds them again by ``key``.
    """
    runs = range(1, simulation.options["runs"] + 1)
    return {
        f"{key} run {n}": Simulation({**simulation.options, "runs": 1, "seed": n}) for n in runs
    }


@dataclass(frozen=True)
class Computation:
    """Anything that is computed rather than simulated: a model, the statistics of a trace."""

    #: The command that gives it alone; empty if there is none.
    command: str
    call: Callable[[], Any]
    #: Expected seconds on one core, for the progress bar.
    seconds: float = 0.1
    #: The parameters of a model, and the function that makes the computation with others.
    params: Mapping[str, Any] = field(default_factory=dict)
    remade: Callable[..., Computation] | None = None


@dataclass(frozen=True)
class Study(Computation):
    """Work of hours that keeps what it has: called with a folder for that and with a progress."""

    call: Callable[..., Any]


def model(name: str, **params: Any) -> Computation:
    """The model ``name`` at one point; gives a :class:`flashgc.model.ModelResult`."""

    def call() -> Any:
        return importlib.import_module("flashgc.model").evaluate(name, **params)

    command = " ".join([f"flashgc model {name}", *flags(params)])
    return Computation(command, call, 0.01, params, functools.partial(model, name))


def models(name: str, **params: Any) -> Computation:
    """The write amplification of the model ``name`` over arrays of parameters, as an array."""
    import numpy

    points = numpy.broadcast(*params.values()).size

    def call() -> Any:
        return importlib.import_module("flashgc.model").write_amplification(name, **params)

    given = ", ".join(f"{key}={numpy.asarray(value).tolist()!r}" for key, value in params.items())
    program = f"from flashgc import model; print(model.write_amplification({name!r}, {given}))"
    command = f"python -c {shlex.quote(program)}"
    return Computation(command, call, 0.001 * points, params, functools.partial(models, name))


@dataclass(frozen=True)
class Task:
    """The work that a claim needs at a size. Equal configurations of several claims run once."""

    simulations: Mapping[str, Simulation] = field(default_factory=dict)
    computations: Mapping[str, Computation] = field(default_factory=dict)
    #: The size in words: blocks, lengths, runs.
    settings: str = ""
    #: The parts of the published experiment that this size leaves out; empty if none.
    left_out: str = ""
    #: The reason why nothing can be run at all; empty if it can.
    not_run: str = ""
    #: The whole experiment of the paper that the runs are, from a defined beginning to its end:
    #: their figures are those of all of it, and have nothing to be steady. Empty where a figure is
    #: that of a level, or where a part of the experiment is left out.
    whole: str = ""


class NotMeasuredError(Exception):
    """A value is asked for that was not measured: interrupted, or it failed."""


@dataclass(frozen=True)
class Measured:
    """The results of a claim's task; some may be missing."""

    size: Size
    task: Task
    results: Mapping[str, Result]
    computed: Mapping[str, Any]
    #: The reason why something is missing.
    reason: str = "interrupted"

    def __post_init__(self) -> None:
        """Have it noted which measurements a row takes."""
        object.__setattr__(self, "results", Noted(self.results))
        object.__setattr__(self, "computed", Noted(self.computed))

    def result(self, key: str) -> Result:
        """The result of a simulation; raises :class:`NotMeasuredError` without one."""
        if key not in self.results:
            raise NotMeasuredError(self.reason)
        return self.results[key]

    def runs(self, key: str) -> list[Result]:
        """The results of :func:`seeded`; raises :class:`NotMeasuredError` unless all are there."""
        wanted = [name for name in self.task.simulations if name.rpartition(" run ")[0] == key]
        if not wanted:
            raise NotMeasuredError(self.reason)
        return [self.result(name) for name in wanted]

    def value(self, key: str) -> Value:
        """Write amplification of a simulation with its interval, in pages as papers count it."""
        result = self.result(key)
        half = result.write_amplification_ci95
        figure, pages = result.write_amplification, result.page_amplification
        return Value(pages, math.nan if half is None else half * pages / figure)

    def get(self, key: str) -> Value:
        """As :meth:`value`, not a number where there is none: for figures."""
        return self.value(key) if key in self.results else Value(math.nan, math.nan)

    def compute(self, key: str) -> Any:
        """Return the result of a computation; raises :class:`NotMeasuredError` without it."""
        if key not in self.computed:
            raise NotMeasuredError(self.reason)
        return self.computed[key]


@dataclass(frozen=True)
class Row:
    """A line of a claim's table: one published statement, and what was measured."""

    #: The subject of the row: ``"b = 64, S_f = 0.08, d = 5, c = 2"``, or a part of the statement.
    label: str
    #: The published value, or the statement in words.
    published: float | str
    measured: Value | str | None
    verdict: Verdict
    why: str
    #: The paper's own half width, where it gives one; it does not enter the verdict.
    published_ci95: float | None = None
    #: The stand-in for the published input; empty if none. Such a row is met in kind at best.
    stand_in: str = ""
    #: The value without any effect: 100 for percents of something else, 1 for a ratio. A published
    #: number that is met in kind must be met in the size of its effect; ``None`` where the row's
    #: own judgement has looked at that.
    base: float | None = 0.0
    #: A published lower bound, which ``published`` has in words, where the paper says no more of a
    #: size. Such a row is met in kind up to 1.5 times the bound.
    least: float | None = None
    #: The reading under which it was measured; empty where the paper leaves nothing open.
    reading: str = ""
    #: The reason why it does not count although it is as published; empty if it does.
    uncounted: str = ""
    #: The measurements that it was judged by, by their names in the task.
    taken: frozenset[str] = frozenset()
    #: The simulations among them; ``None`` before its claim is concluded.
    runs: Runs | None = None

    @property
    def key(self) -> str:
        """A name that no other row of the claim has."""
        return f"{self.label} ({self.reading})" if self.reading else self.label

    @property
    def obstacle(self) -> str:
        """The reason why it does not count, in words; nothing for a row that does."""
        if self.verdict in AS_PUBLISHED:
            return self.uncounted
        return self.why

    @property
    def reason(self) -> str:
        """The reason why it has its verdict, in words."""
        parts = dict.fromkeys((self.why, self.obstacle))
        return "; ".join(filter(None, parts))

    @property
    def difference(self) -> float | None:
        """Measured from published, as a share of published, where both are numbers."""
        if isinstance(self.published, str) or not isinstance(self.measured, Value):
            return None
        share = relative(self.measured.mean, self.published)
        return share if math.isfinite(share) else None


def row(
    label: str,
    published: float | str,
    judge: Callable[[], tuple[Value | str, Judgement]],
    *,
    published_ci95: float | None = None,
    stand_in: str = "",
    base: float | None = 0.0,
    least: float | None = None,
) -> Row:
    """A row of what ``judge`` measures and finds; not run where that was not measured.

    It rests on the measurements that ``judge`` takes, and on all of the claim if it takes none.
    """
    with noting() as taken:
        try:
            measured, (verdict, why) = judge()
        except NotMeasuredError as missing:
            measured, verdict, why = None, Verdict.NOT_RUN, str(missing)
    return Row(
        label, published, measured, verdict, why, published_ci95, stand_in, base, least,
        taken=frozenset(taken),
    )  # fmt: skip


@dataclass(frozen=True)
class Table:
    """Columns of data, as they go to a CSV file."""

    columns: tuple[str, ...]
    rows: tuple[tuple[float | str | None, ...], ...]
    #: The number of first columns that say what a row is about.
    keys: int = 1

    @property
    def has_numbers(self) -> bool:
        """True if there are numbers of ours: not where all was interrupted.

        The columns whose names begin with "published" are the paper's.
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
    #: Draws it with :mod:`flashgc.plot`.
    draw: Callable[[], Drawing]


@dataclass(frozen=True)
class Trial:
    """The verdict of a claim's rows on a wrong engine."""

    #: The wrong engine, and what is wrong with it.
    name: str
    what: str
    #: Rows that the right engine meets and this one does not.
    told: tuple[str, ...] = ()
    #: All rows that the right engine meets.
    met: tuple[str, ...] = ()
    #: Rows that this one meets and the right engine does not.
    fooled: tuple[str, ...] = ()
    #: The reason why it was not run; empty if it was.
    failed: str = ""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a claim."""

    claim: Claim
    size: Size
    task: Task
    verdict: Verdict
    #: One or two sentences.
    why: str
    #: The heading of the rows' labels.
    heading: str = ""
    rows: tuple[Row, ...] = ()
    figures: tuple[Figure, ...] = ()
    #: Notes for readers: findings, things that are odd.
    notes: tuple[str, ...] = ()
    #: Wrong engines that were asked for the same.
    trials: tuple[Trial, ...] = ()
    #: The verdict under each reading of the paper, that of the chosen one first; empty where the
    #: paper leaves nothing open.
    under: Mapping[str, Verdict] = field(default_factory=dict)

    @property
    def chosen(self) -> tuple[Row, ...]:
        """Return the rows that decide the verdict: those under the chosen reading."""
        name = next(iter(self.under), "")
        return tuple(row for row in self.rows if row.reading in ("", name))

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
    """The outcome of a claim with these rows, whose labels are of ``heading``.

    Here stand-ins lose the right to be met: in kind they are if sign, order and rough size are the
    published ones. So do rows whose runs still move, and rows to which a reading was fitted.
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
        (*notes, *grading.doubts(measured)),
    )


def conclude_again(outcome: Outcome, rows: tuple[Row, ...]) -> Outcome:
    """The outcome with other verdicts of its rows."""
    rows = tuple(fitted(outcome.claim, row) for row in rows)
    under = {
        name: grading.verdict_of(outcome.claim, [row for row in rows if row.reading == name])
        for name in outcome.under
    }
    changed = replace(outcome, rows=rows, under=under)
    verdict = grading.verdict_of(changed.claim, changed.chosen)
    return replace(changed, verdict=verdict, why=grading.reason_of(changed.chosen))


def not_run(claim: Claim, size: Size, task: Task, why: str) -> Outcome:
    """The outcome of a claim of which nothing was run."""
    return Outcome(claim, size, task, Verdict.NOT_RUN, why)


class Runner(Protocol):
    """Describes what a claim needs, and judges what came of it."""

    def task(self, claim: Claim, size: Size) -> Task:
        """Return the task of ``claim`` at ``size``."""

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Rows with verdicts, figures and notes: see :func:`row` and :func:`conclude`."""


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
    """The runner of a claim, if its part of flashgc exists."""
    papers.load(claim.paper)
    return _RUNNERS.get(claim.id)
