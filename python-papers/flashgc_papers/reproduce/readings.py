"""Readings: complete sets of answers to what a paper leaves open.

Every claim of a paper runs under each of its readings. One reading is chosen for the whole paper,
and decides whether a claim is met. Results under the others are shown as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from flashgc_papers.claims import Claim
from flashgc_papers.entries import document
from flashgc_papers.reproduce.runner import Outcome, Runner, conclude_again, register_runner
from flashgc_papers.reproduce.tasks import Measured, Size, Task

T = TypeVar("T")
V = TypeVar("V")


@dataclass(frozen=True)
class Reading:
    """A complete set of answers to what a paper leaves open."""

    #: A short name for tables: ``literal``.
    name: str
    #: The answers, in a sentence or two.
    what: str
    #: The case for these answers and against them, in the paper's own terms.
    argument: str
    #: The answers, as the paper's experiments use them.
    answers: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        """Return the answer called ``name``; ``None`` if the reading has no such answer."""
        return self.answers.get(name)


#: The readings of each paper, the chosen one first.
_OF_PAPERS = {
    paper: tuple(Reading(**entry) for entry in entries)
    for paper, entries in document("readings.toml").items()
}


def readings_of(paper: str) -> tuple[Reading, ...]:
    """The readings of a paper, the chosen one first; none where it leaves nothing open."""
    return _OF_PAPERS.get(paper, ())


class UnderReading:
    """The base of runners that depend on a reading."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading


def under_chosen(paper: str, part: Mapping[str, V]) -> dict[str, V]:
    """The part of a task that runs under the chosen reading; all of it if there are no readings."""
    others = tuple(_key(reading.name, "") for reading in readings_of(paper)[1:])
    return {key: value for key, value in part.items() if not key.startswith(others)}


def runner_under(claim_id: str) -> Callable[[Callable[[Reading], T]], Callable[[Reading], T]]:
    """Registers a class as the runner of a claim, with an object for each reading of the paper."""
    readings = readings_of(claim_id.partition(".")[0])

    def register(runner: Callable[[Reading], T]) -> Callable[[Reading], T]:
        under = {reading.name: runner(reading) for reading in readings}
        register_runner(claim_id, _Under(under))  # type: ignore[arg-type]
        return runner

    return register


def has_readings(runner: Runner | None) -> bool:
    """Return true if a claim with this runner runs under readings."""
    return isinstance(runner, _Under)


def chosen_alone(runner: Runner) -> Runner:
    """Return the runner under the chosen reading alone; ``runner`` itself if it has no readings."""
    if not isinstance(runner, _Under):
        return runner
    (name, first), *others = runner.runners.items()
    return _Under({name: first}, tuple(other for other, _ in others))


class _Under:
    """A runner that combines the runners of all readings, except those in ``left_out``."""

    def __init__(self, runners: Mapping[str, Runner], left_out: Sequence[str] = ()) -> None:
        self.runners = runners
        self._left_out = left_out

    def task(self, claim: Claim, size: Size) -> Task:
        """The tasks under all readings; a simulation that several readings share runs once."""
        tasks = {name: runner.task(claim, size) for name, runner in self.runners.items()}
        first = next(iter(tasks.values()))
        if first.not_run:
            return first
        less = (first.left_out, *(f"the reading {name}" for name in self._left_out))
        return replace(
            first,
            left_out="; ".join(part for part in less if part),
            simulations=_joined({name: task.simulations for name, task in tasks.items()}),
            computations=_joined({name: task.computations for name, task in tasks.items()}),
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """The outcome under the first reading, with the rows and verdicts of the others."""
        outcomes = {
            name: runner.judge(claim, _part(measured, name, runner.task(claim, measured.size)))
            for name, runner in self.runners.items()
        }
        first = next(iter(outcomes.values()))
        rows = tuple(
            replace(row, reading=name) for name, outcome in outcomes.items() for row in outcome.rows
        )
        under = {name: outcome.verdict for name, outcome in outcomes.items()}
        return conclude_again(replace(first, task=measured.task, under=under), rows)


def _key(reading: str, key: str) -> str:
    return f"{reading}: {key}"


def _joined(parts: Mapping[str, Mapping[str, V]]) -> dict[str, V]:
    """The parts of all readings in one mapping."""
    return {_key(name, key): value for name, part in parts.items() for key, value in part.items()}


def _of(reading: str, keys: Iterable[str], joined: Mapping[str, V]) -> dict[str, V]:
    """The entries of a reading from a mapping of :func:`_joined`; missing ones are left out."""
    return {key: joined[name] for key in keys if (name := _key(reading, key)) in joined}


def _part(measured: Measured, name: str, task: Task) -> Measured:
    """Return the measurements under one reading."""
    return replace(
        measured,
        task=task,
        results=_of(name, task.simulations, measured.results),
        computed=_of(name, task.computations, measured.computed),
    )
