"""``tune``: the function that runs a search."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from os import PathLike
from typing import Any, Unpack

from flashgc import _core, _files, _notebook_progress
from flashgc._core import ConfigError, Control
from flashgc._documents import Json
from flashgc._interruptions import interrupts_program
from flashgc._origins import option
from flashgc._typed_keywords import typed_keywords
from flashgc.checkpoints import parse_time
from flashgc.experiment import Experiment
from flashgc.frames import Table
from flashgc.keywords import CompareKeywords
from flashgc.simulation import given_values
from flashgc.studies.rounds import Rounds, folder_of
from flashgc.studies.study import Progress, jobs_of, without_unit
from flashgc.studies.tuning import task
from flashgc.studies.tuning.describe import findings
from flashgc.studies.tuning.objective import OBJECTIVES, Objective
from flashgc.studies.tuning.outcome import Tuned, beating
from flashgc.studies.tuning.search import BUDGET, Search
from flashgc.studies.tuning.space import Candidate
from flashgc.traces import Trace
from flashgc.units import parse_count, parse_share

#: Keys of ``[run]`` that the course of the search sets.
_COURSE = ("writes", "collections", "requests", "warmup", "runs", "seed", "until", "jobs")


def experiment_of(
    experiment: Experiment, winner: Candidate, run: Mapping[str, Any]
) -> dict[str, dict[str, Json]]:
    """Sections and keys of the winner's experiment, from the given options and the search."""
    sections: dict[str, dict[str, Json]] = {}
    for path in experiment:
        section, key = path.split(".")
        if section != "run" or key not in _COURSE:
            sections.setdefault(section, {})[key] = experiment[path]
    gc = sections.setdefault("gc", {})
    gc |= {"victim": winner.victim, "placement": winner.placement}
    if winner.frontier is not None:
        gc["frontier"] = winner.frontier
    sections.setdefault("run", {}).update(run)
    return sections


def toml_of(tuned: Tuned) -> str:
    """The experiment as TOML, with the figures of the search in a comment."""
    best, of = tuned.best, tuned.of
    lines = [
        f"# Found by flashgc tune, {tuned.version}: {of.in_words(best.figure)}.",
        f"# Held back, on {tuned.held_back}: {of.in_words(best.held_back)}.",
    ]
    for name, keys in tuned.experiment.items():
        lines += ["", f"[{name}]"]
        lines += [f"{key} = {_value(value)}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def _value(value: Json) -> str:
    """``value`` as TOML; texts and numbers have the same form as in JSON."""
    if isinstance(value, list) and len(value) == 1:
        return _value(value[0])
    return json.dumps(value, ensure_ascii=False)


def save(tuned: Tuned, name: str) -> None:
    """Write the file ``name``, completely or not at all; raises :class:`OSError`."""
    _files.write(name, toml_of(tuned))


#: The default share of a trace that is held back.
HOLD_BACK = 0.3
#: The smallest and the largest share of a trace that may be held back.
_HELD_BACK = (0.05, 0.9)


@interrupts_program
@typed_keywords(CompareKeywords)
def tune(
    workload: str | Trace | Table,
    *,
    objective: str = "write-amplification",
    budget: int | str | None = None,
    time: str | None = None,
    hold_back: float | str | None = None,
    victim: str | list[str] | None = None,
    cache: str | PathLike[str] | None = None,
    resume: bool = True,
    progress: Progress | None = None,
    control: Control | None = None,
    **options: Unpack[CompareKeywords],
) -> Tuned:
    """Search victim policies, placements, frontiers and their parameters for one workload.

    ``objective`` is ``"write-amplification"``, ``"p99.9-read"`` (a drive with a clock) or
    ``"life"`` (blocks with an ``endurance``). ``budget`` is the number of configurations, 81 by
    default; instead, ``time`` limits the time of the search (``"10min"``). ``hold_back`` is the
    share at the end of a trace that the search does not see, 0.3 by default; for a generator, other
    seeds are held back. ``victim``, ``placement``, ``frontier`` and ``scheme`` narrow the
    search. The search varies the parameters of a bare name, and uses a spec with parameters as it
    is. The other options are those of :func:`flashgc.run`, one value each; ``runs`` are the seeds
    of a generator's last rung.

    ``cache`` is a folder in which every finished simulation is stored; the next search with it does
    not repeat them, unless ``resume`` is false. ``progress`` is called with the share that is done,
    what is being done, and pages programmed. Ctrl-C stops the search and
    raises :class:`flashgc.Interruption`, which has the results so far.

    Raises :class:`flashgc.ConfigError` for options that cannot be searched, and
    :class:`flashgc.TraceError` for a trace that cannot be read.

    >>> tuned = tune("uniform", blocks=100, pages_per_block=16, writes="4x", runs=2, budget=3,
    ...              victim=["random", "greedy:ties=latest", "fifo"], placement="none",
    ...              frontier="single")
    >>> tuned.best.name
    'greedy, single'
    """
    values, places = given_values(workload, {**options, "victim": victim})
    with _notebook_progress.shown(progress) as show:
        wanted = _objective(objective, places)
        count, seconds = _budget(budget, time, places)
        jobs = jobs_of(values, places)
        job = task.checked(values, places, wanted)
        share = _hold_back(hold_back, job.is_trace, places)
        study = Rounds(
            folder_of(cache, option(places, "cache"), "tune"),
            show=without_unit(show),
            control=control,
            jobs=jobs,
            resume=resume,
            limit=seconds,
            places=places,
        )
        plan = None
        with study.ending():
            plan = job.planned(study, share)
        if plan is None:
            return _nothing(job, study)
        starts = len(plan.space.starts())
        if count is not None and count < starts:
            raise ConfigError(
                f"{option(places, 'budget')}: found {count}, and {starts} configurations start "
                f"with their defaults; hint: give at least {starts}, or name fewer of "
                f"{option(places, 'gc.victim')}"
            )
        search = Search(job.config, plan.space, plan.course, wanted, study, plan.reference)
        search.perform(count, seconds)
        ranking = search.ranking()
        is_checked = not study.stopped and bool(ranking) and ranking[0].held_back is not None
        better = beating(ranking, wanted) if is_checked else []
        experiment = {}
        if ranking:
            experiment = experiment_of(job.experiment, ranking[0].candidate, plan.course.run)
        tuned = Tuned(
            workload=str(job.config["workload"]),
            objective=wanted.name,
            ranking=tuple(ranking),
            holds_up=not better if is_checked else None,
            beaten_by=tuple(entry.name for entry in better),
            rungs=search.rungs,
            held_back=plan.course.held_back.words,
            skipped=search.skipped,
            simulations=study.ran,
            found=study.found,
            interrupted=study.interrupted,
            out_of_time=study.late,
            seed=int(job.config["seed"]),
            version=_core.version(),
            experiment=experiment,
            unkept=study.unkept,
        )
        return _with_findings(tuned)


def _with_findings(tuned: Tuned) -> Tuned:
    return dataclasses.replace(tuned, findings=tuple(findings(tuned)))


def _nothing(job: task.Task, study: Rounds) -> Tuned:
    """The outcome of a search that was stopped before it began."""
    tuned = Tuned(
        str(job.config["workload"]), job.objective.name, (), None, (), (), "", (),
        study.ran, study.found, study.interrupted, study.late,
        int(job.config["seed"]), _core.version(),
    )  # fmt: skip
    return _with_findings(tuned)


def _objective(name: str, places: dict[str, str]) -> Objective:
    if name not in OBJECTIVES:
        hint = _core.suggest(name, list(OBJECTIVES))
        raise ConfigError(
            f"{option(places, 'objective')}: unknown objective '{name}'; hint: {hint}"
        )
    return OBJECTIVES[name]


def _budget(
    budget: int | str | None, time: str | None, places: dict[str, str]
) -> tuple[int | None, float | None]:
    """The limit of a search: a number of configurations, or seconds; the other is ``None``."""
    at = option(places, "budget")
    if budget is not None and time is not None:
        raise ConfigError(
            f"{option(places, 'time')}: found together with {at}; hint: give one of them"
        )
    if time is not None:
        seconds = parse_time(str(time))
        if not seconds:
            raise ConfigError(
                f"{option(places, 'time')}: found '{time}', expected a time; hint: write 10min"
            )
        return None, seconds
    try:
        count = BUDGET if budget is None else parse_count(budget)
    except ConfigError:
        count = 0
    if count < 1:
        raise ConfigError(
            f"{at}: found {budget!r}, expected a number of configurations; hint: write {BUDGET}"
        )
    return count, None


def _hold_back(given: float | str | None, is_trace: bool, places: dict[str, str]) -> float:
    at, (least, most) = option(places, "hold_back"), _HELD_BACK
    if given is None:
        return HOLD_BACK
    if not is_trace:
        raise ConfigError(
            f"{at} only applies to traces, and the workload is a generator, of which other seeds "
            "are held back; hint: leave it out"
        )
    try:
        share = parse_share(given)
    except ConfigError as error:
        raise ConfigError(f"{at}: {re.sub('^share: ', '', str(error))}") from None
    if not least <= share <= most:
        raise ConfigError(f"{at}: found {given}, expected {least:.0%} to {most:.0%}; hint: 30%")
    return share
