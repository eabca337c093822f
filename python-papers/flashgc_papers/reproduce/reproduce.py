"""The entry point: takes names of claims, and returns their outcomes."""

from __future__ import annotations

from dataclasses import replace

from flashgc import ConfigError, version
from flashgc.store.cache import Cache
from flashgc.studies.study import Progress
from flashgc_papers.claims import Claim, Input, claims
from flashgc_papers.engine import interrupts_program
from flashgc_papers.reproduce.document import Reproduction
from flashgc_papers.reproduce.execute import Work
from flashgc_papers.reproduce.mutants import attempts, weighed
from flashgc_papers.reproduce.readings import chosen_alone, has_readings
from flashgc_papers.reproduce.runner import Outcome, Runner, not_run, runner_of
from flashgc_papers.reproduce.tasks import Size, Task


@interrupts_program
def reproduce(
    what: tuple[str, ...] = (),
    *,
    size: Size = Size.DEFAULT,
    cache: Cache | None = None,
    jobs: int = 0,
    progress: Progress | None = None,
    mutants: bool = False,
    readings: str = "",
) -> tuple[Reproduction, Work]:
    """Runs the claims that ``what`` names (all if it is empty) and judges them.

    Results of simulations are read from ``cache`` and stored there. Ctrl-C stops the work and
    raises :class:`flashgc.Interruption`; claims without measurements are then not run. With
    ``mutants``, wrong engines run the claims, too, and rows that do not detect them do not
    count. Claims run under the ``readings`` of their papers, ``all`` or the ``chosen`` one: by
    default all, and in a quick run the chosen one. Raises :class:`flashgc.ConfigError` for an
    unknown name, and for ``readings`` if no claim has any.
    """
    known = claims()
    chosen = select(what, readings)
    alone = readings == "chosen" or (not readings and size is Size.QUICK)
    runners = {claim.id: _runner(claim, alone=alone) for claim in chosen}
    tasks = {
        claim.id: _task(claim, runners[claim.id], size, is_named=claim.id in what)
        for claim in chosen
    }
    work = Work(
        {name: task for name, task in tasks.items() if not task.not_run},
        cache=cache,
        jobs=jobs,
        progress=progress,
    )
    work.perform()
    outcomes = tuple(
        _judged(claim, runners[claim.id], size, tasks[claim.id], work) for claim in chosen
    )
    measured = {name: work.measured(name, size) for name, task in tasks.items() if not task.not_run}
    interrupted = work.interrupted
    if mutants and not interrupted:
        trials, interrupted = attempts(
            chosen, tasks, measured, cache=cache, jobs=jobs, progress=progress
        )
        outcomes = tuple(weighed(outcome, trials.get(outcome.claim.id, ())) for outcome in outcomes)
    papers = {name: known.papers[name] for name in dict.fromkeys(claim.paper for claim in chosen)}
    reproduction = Reproduction(
        size,
        what,
        version(),
        papers,
        outcomes,
        measured,
        interrupted,
        work.failed,
        mutants,
        readings,
    )
    return reproduction, work


def select(what: tuple[str, ...], readings: str) -> tuple[Claim, ...]:
    """Return the claims that ``what`` names; :func:`reproduce` says what it raises."""
    chosen = claims().select(what)
    if readings and not any(has_readings(runner_of(claim)) for claim in chosen):
        raise ConfigError(
            f"--readings: found with {', '.join(what)}, where no claim has readings; "
            "hint: leave it out"
        )
    return chosen


def _runner(claim: Claim, *, alone: bool) -> Runner | None:
    runner = runner_of(claim)
    return chosen_alone(runner) if runner is not None and alone else runner


def _task(claim: Claim, runner: Runner | None, size: Size, *, is_named: bool) -> Task:
    if runner is None:
        return Task(not_run="nothing here runs it yet")
    if claim.input is Input.LIVE and not is_named:
        why = f"it mounts drives and runs servers; hint: flashgc reproduce {claim.id}"
        return replace(runner.task(claim, size), computations={}, not_run=why)
    return runner.task(claim, size)


def _judged(claim: Claim, runner: Runner | None, size: Size, task: Task, work: Work) -> Outcome:
    if runner is None or task.not_run:
        return not_run(claim, size, task, task.not_run)
    return runner.judge(claim, work.measured(claim.id, size))
