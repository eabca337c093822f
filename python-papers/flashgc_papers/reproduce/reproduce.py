"""The entrance: what to reproduce in, what became of it out, and the folder that keeps it."""

from __future__ import annotations

from dataclasses import replace

from flashgc._core import version
from flashgc.store.cache import Cache
from flashgc.studies.study import Progress
from flashgc_papers.claims import Claim, Input, claims
from flashgc_papers.reproduce.document import Reproduction
from flashgc_papers.reproduce.execute import Work
from flashgc_papers.reproduce.mutants import attempts, weighed
from flashgc_papers.reproduce.runner import Outcome, Size, Task, not_run, runner_of


def reproduce(
    what: tuple[str, ...] = (),
    *,
    size: Size = Size.DEFAULT,
    cache: Cache | None = None,
    jobs: int = 0,
    progress: Progress | None = None,
    mutants: bool = False,
) -> tuple[Reproduction, Work]:
    """Runs the claims that ``what`` names (nothing names all) and judges them.

    Results of simulations are taken from ``cache`` and kept there. Ctrl-C stops; what had not been
    measured is then not run. With ``mutants`` the claims are asked of wrong engines too, and rows
    that do not tell those from the right one are not counted. Raises
    :class:`flashgc.ConfigError` for a name of nothing.
    """
    known = claims()
    chosen = known.select(what)
    tasks = {claim.id: _task(claim, size, named=claim.id in what) for claim in chosen}
    work = Work(
        {name: task for name, task in tasks.items() if not task.not_run},
        cache=cache,
        jobs=jobs,
        progress=progress,
    )
    work.perform()
    outcomes = tuple(_judged(claim, size, tasks[claim.id], work) for claim in chosen)
    measured = {name: work.measured(name, size) for name, task in tasks.items() if not task.not_run}
    interrupted = work.interrupted
    if mutants and not interrupted:
        trials, interrupted = attempts(
            chosen, tasks, measured, cache=cache, jobs=jobs, progress=progress
        )
        outcomes = tuple(weighed(one, trials.get(one.claim.id, ())) for one in outcomes)
    papers = {name: known.papers[name] for name in dict.fromkeys(claim.paper for claim in chosen)}
    made = Reproduction(
        size, what, version(), papers, outcomes, measured, interrupted, work.failed, mutants
    )
    return made, work


def _task(claim: Claim, size: Size, *, named: bool) -> Task:
    runner = runner_of(claim)
    if runner is None:
        return Task(not_run="nothing here runs it yet")
    if claim.input is Input.LIVE and not named:
        why = f"it mounts drives and runs servers; hint: flashgc reproduce {claim.id}"
        return replace(runner.task(claim, size), computations={}, not_run=why)
    return runner.task(claim, size)


def _judged(claim: Claim, size: Size, task: Task, work: Work) -> Outcome:
    runner = runner_of(claim)
    if runner is None or task.not_run:
        return not_run(claim, size, task, task.not_run)
    return runner.judge(claim, work.measured(claim.id, size))
