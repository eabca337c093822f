"""Wrong engines, and the rows of a claim that detect them.

If a deliberately wrong engine also meets a row, the row proves nothing about the right engine. Most
mutants are another configuration, such as random victims instead of the paper's policy. Some are
faults in the code of an engine that is built with them. ``mutants.toml`` lists the mutants of every
paper. It may name functions of the modules ``mutants`` and ``wrong`` in the paper's folder.

Mutants run under the chosen reading of a paper, whose rows decide its verdicts.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import flashgc_papers as papers
from flashgc.described import Simulation
from flashgc.store.cache import Cache
from flashgc.studies.study import Progress
from flashgc_papers.claims import Claim
from flashgc_papers.engine import core, describe
from flashgc_papers.entries import document
from flashgc_papers.reproduce.execute import Work
from flashgc_papers.reproduce.readings import under_chosen
from flashgc_papers.reproduce.rows import Row
from flashgc_papers.reproduce.runner import Outcome, Runner, Trial, conclude_again, runner_of
from flashgc_papers.reproduce.tasks import Computation, Measured, Task
from flashgc_papers.reproduce.verdicts import AS_PUBLISHED, COUNTED, Verdict
from flashgc_papers.reproduce.written import Policies, Written, label

#: Changes the keywords of a simulation; gives ``None`` if the fault does not affect it.
Change = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]

#: The command that builds an engine with the faults in its code, from a clone.
BUILD = (
    "cargo build --release -p flashgc-python --features mutants "
    "&& cp target/release/lib_core.so python/flashgc/_core.abi3.so"
)


@dataclass(frozen=True)
class Mutant:
    """A wrong engine."""

    #: The name on the page: ``random victims``.
    name: str
    #: The fault, as a sentence without its full stop.
    what: str
    #: Changes the options of a simulation. A fault in the code returns the options of affected
    #: simulations unchanged.
    options: Change
    #: The changed parameters of a model.
    params: Change = lambda _: None
    #: The name of the fault in the engine's code; empty if the mutant is another configuration.
    engine: str = ""
    #: Policies in Python that replace those of a simulation with unchanged options.
    policies: Policies | None = None


@functools.cache
def mutants_of(paper: str) -> tuple[Mutant, ...]:
    """The mutants of a paper."""
    every = document("mutants.toml").get(paper, ())
    return tuple(_mutant(f"{papers.__name__}.{paper}", entry) for entry in every)


def _mutant(folder: str, entry: Mapping[str, Any]) -> Mutant:
    def function(key: str, usual: Any) -> Any:
        if key not in entry:
            return usual
        module, _, name = entry[key].partition(".")
        return getattr(importlib.import_module(f"{folder}.{module}"), name)

    return Mutant(
        entry["name"],
        entry["what"],
        function("change", None) or _change(entry),
        function("params", lambda _: None),
        entry.get("engine", ""),
        function("policies", None),
    )


def _change(entry: Mapping[str, Any]) -> Change:
    """The change of options that an entry declares."""
    if "swap" in entry:
        ((key, words),) = entry["swap"].items()
        return swap(key, words)
    if "replace" in entry:
        ((key, (pattern, text)),) = entry["replace"].items()
        return replaced(key, pattern, text)
    if "touched" in entry:
        ((key, pattern),) = entry["touched"].items()
        return lambda options: options if re.fullmatch(pattern, str(options.get(key))) else None
    values, where = entry["set"], entry.get("where", "")
    return lambda options: {**options, **values} if not where or where in options else None


def swap(key: str, words: Mapping[str, str]) -> Change:
    """Changes the option ``key`` if it is one of ``words``.

    >>> swap("victim", {"bsgc": "random"})({"victim": "bsgc", "runs": 1})
    {'victim': 'random', 'runs': 1}
    >>> swap("victim", {"bsgc": "random"})({"victim": "greedy"})
    """

    def change(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
        word = str(options.get(key))
        return {**options, key: words[word]} if word in words else None

    return change


def replaced(key: str, pattern: str, text: str) -> Change:
    """Replaces the parts of the option ``key`` that match ``pattern`` by ``text``.

    >>> replaced("placement", r"regions=.", "regions=1")({"placement": "dac:regions=3"})
    {'placement': 'dac:regions=1'}
    """

    def change(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
        word = str(options.get(key))
        other = re.sub(pattern, text, word)
        return {**options, key: other} if other != word else None

    return change


def built() -> tuple[str, ...]:
    """The faults that this engine has in its code; none in a release."""
    return tuple(core.mutants()) if hasattr(core, "mutants") else ()


def changed(task: Task, mutant: Mutant) -> Task:
    """Return the parts of a task that a mutant changes, and that must run again."""
    simulations = {
        key: Simulation(options)
        for key, simulation in task.simulations.items()
        if (options := mutant.options(simulation.options)) is not None
        and (mutant.engine or mutant.policies or options != simulation.options)
    }
    computations = {
        key: other
        for key, computation in task.computations.items()
        if (other := _computed(computation, mutant)) is not None
    }
    return Task(simulations, computations)


def _computed(computation: Computation, mutant: Mutant) -> Computation | None:
    if computation.remade is None or (params := mutant.params(computation.params)) is None:
        return None
    return computation.remade(**params)


def attempts(
    chosen: Sequence[Claim],
    tasks: Mapping[str, Task],
    right: Mapping[str, Measured],
    *,
    cache: Cache | None,
    jobs: int,
    progress: Progress | None,
) -> tuple[dict[str, tuple[Trial, ...]], bool]:
    """Return the trials of the mutants by claim, and ``True`` if Ctrl-C stopped them."""
    wanted = {
        (claim.id, mutant.name): (mutant, part)
        for claim in chosen
        if claim.id in right
        for mutant in mutants_of(claim.paper)
        if (part := _under_chosen(claim, changed(tasks[claim.id], mutant)))
    }
    works: dict[str, Work] = {}
    for engine, faults in _together(mutant for mutant, _ in wanted.values()).items():
        if faults[0].engine not in ("", *built()):
            continue
        parts = {" ".join(key): part for key, (name, part) in wanted.items() if name in faults}
        work = _work(faults[0], parts, cache=cache and cache.of(engine), jobs=jobs, show=progress)
        works |= dict.fromkeys(parts, work)
        if work.interrupted:
            break
    stopped = any(work.interrupted for work in works.values())
    by_claim: dict[str, tuple[Trial, ...]] = {}
    for claim in chosen:
        trials = []
        for mutant in mutants_of(claim.paper):
            key = f"{claim.id} {mutant.name}"
            if (claim.id, mutant.name) not in wanted:
                continue
            if key not in works:
                why = "interrupted" if stopped else "this engine was built without it"
                trials.append(Trial(mutant.name, mutant.what, failed=why))
                continue
            trials.append(_trial(claim, mutant, right[claim.id], works[key], key))
        by_claim[claim.id] = tuple(trials)
    return by_claim, stopped


def _under_chosen(claim: Claim, part: Task) -> Task | None:
    simulations = under_chosen(claim.paper, part.simulations)
    computations = under_chosen(claim.paper, part.computations)
    return Task(simulations, computations) if simulations or computations else None


def _together(mutants: Iterable[Mutant]) -> dict[str, list[Mutant]]:
    """Groups of mutants that run in one call, by the name of their engine in stored results.

    Mutants that are only another configuration run together. A fault in the code, or a policy in
    Python, runs alone.
    """
    together: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        written = label(mutant.name, mutant.policies) if mutant.policies else ""
        together.setdefault(mutant.engine or written, []).append(mutant)
    return together


def _work(
    mutant: Mutant,
    parts: Mapping[str, Task],
    *,
    cache: Cache | None,
    jobs: int,
    show: Progress | None,
) -> Work:
    """Run the parts with the engine of ``mutant``; if it is a configuration, with the right one."""
    if mutant.policies:
        work: Work = Written(parts, mutant.policies, cache=cache, progress=show)
    else:
        work = Work(parts, cache=cache, jobs=jobs, progress=show)
    if mutant.engine:
        core.choose_mutant(mutant.engine)
    try:
        work.perform()
    finally:
        if mutant.engine:
            core.choose_mutant(None)
    return work


def _trial(claim: Claim, mutant: Mutant, right: Measured, work: Work, key: str) -> Trial:
    runner = runner_of(claim)
    assert runner is not None
    wrong = work.measured(key, right.size)
    if key in work.failed or work.interrupted:
        return Trial(mutant.name, mutant.what, failed=wrong.reason)
    mixed = replace(
        right,
        results={**right.results, **wrong.results},
        computed={**right.computed, **wrong.computed},
    )
    try:
        wrong_rows = _rows(runner, claim, mixed)
    except Exception as error:  # If the result cannot be judged, it is no evidence.
        return Trial(mutant.name, mutant.what, failed=describe(error))
    return compared(mutant, _rows(runner, claim, right), wrong_rows)


def _rows(runner: Runner, claim: Claim, measured: Measured) -> Mapping[str, Row]:
    return {row.key: row for row in runner.judge(claim, measured).chosen}


def compared(mutant: Mutant, right: Mapping[str, Row], wrong: Mapping[str, Row]) -> Trial:
    """Compare rows of the right engine with those of a mutant: list rows that only one meets.

    Rows that agree with the paper but do not count are compared, too.
    """
    # An unsteady row of the mutant still agrees with the paper, so it does not detect the mutant.
    both = [label for label in right if label in wrong]
    return Trial(
        mutant.name,
        mutant.what,
        told=tuple(
            label
            for label in both
            if right[label].verdict in AS_PUBLISHED and wrong[label].verdict not in AS_PUBLISHED
        ),
        met=tuple(label for label in both if right[label].verdict in AS_PUBLISHED),
        fooled=tuple(
            label
            for label in both
            if right[label].verdict is Verdict.MISSED and wrong[label].verdict in AS_PUBLISHED
        ),
    )


def weighed(outcome: Outcome, trials: tuple[Trial, ...]) -> Outcome:
    """The outcome in which rows that detect no mutant do not count as met."""
    tried = [trial for trial in trials if not trial.failed]
    if not tried:
        return replace(outcome, trials=trials)
    decide = {row.key for row in outcome.chosen}
    rows = tuple(_weighed(row, tried) if row.key in decide else row for row in outcome.rows)
    return conclude_again(replace(outcome, trials=trials), rows)


def _weighed(row: Row, tried: Sequence[Trial]) -> Row:
    noticing = [trial.name for trial in tried if row.key in trial.told]
    fooled = [trial.name for trial in tried if row.key in trial.fooled]
    why = [row.why] if row.why else []
    if row.verdict in AS_PUBLISHED:
        if not noticing:
            why.append(f"met by all {len(tried)} wrong engines too")
            verdict = Verdict.BLIND if row.verdict in COUNTED else row.verdict
            return replace(row, verdict=verdict, why="; ".join(why))
        why.append(f"not met by {_listed(noticing)}")
    elif fooled:
        why.append(f"met by the wrong {_listed(fooled)}")
    return replace(row, why="; ".join(why))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def forgotten(key: str, value: Any) -> Change:
    """Sets the parameter ``key`` of a model, or an array of it, to ``value``."""

    def change(params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if key not in params:
            return None
        import numpy

        given = params[key]
        return {**params, key: numpy.full_like(given, value) if hasattr(given, "shape") else value}

    return change
