"""Successive halving: short runs of many candidates, longer runs of the best third, and so on."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from time import monotonic
from typing import Any

from flashgc._core import ConfigError
from flashgc.results import Finding, Result
from flashgc.results.intervals import mean
from flashgc.studies.rounds import Outcome, Rounds, Wanted
from flashgc.studies.tuning.course import Course, Stage
from flashgc.studies.tuning.objective import Objective
from flashgc.studies.tuning.outcome import Entry, Measured, Rung, Skipped, ranked
from flashgc.studies.tuning.space import Candidate, Space

#: One of ``DIVISOR`` candidates reaches the next rung, but at least ``KEPT`` candidates do.
DIVISOR, KEPT = 3, 5
#: The default number of configurations of a search.
BUDGET = 81
#: The number of candidates drawn together if the budget is a time.
BATCH = 12
#: The maximum number of draws per configuration of the budget. Then the drawing ends, even if too
#: few candidates can run.
_DRAWS = 20
#: The share of the remaining time that is planned for later stages, since estimates are uncertain.
_MARGIN = 0.8


def kept(count: int) -> int:
    """Return the number of candidates out of ``count`` that reach the next rung.

    >>> kept(81), kept(27), kept(9), kept(3)
    (27, 9, 5, 3)
    """
    return min(count, max(KEPT, math.ceil(count / DIVISOR)))


class Search:
    """A search, stage by stage; its results so far are available at any time."""

    def __init__(
        self,
        config: Mapping[str, Any],
        space: Space,
        course: Course,
        objective: Objective,
        study: Rounds,
        reference: Candidate,
    ) -> None:
        self._config, self._course, self._objective = config, course, objective
        self._space, self._study = space, study
        self._starts = space.starts()
        #: True if greedy is part of the search; it is run in any case.
        self.searched = reference in self._starts
        self._reference = reference
        self._skipped: dict[str, list[str]] = {}
        self._measured: list[dict[Candidate, Measured]] = []
        self._came: list[int] = []
        #: For each rung, true if it was completed.
        self._whole: list[bool] = []
        #: The measurements on the data held back.
        self.held_back: dict[Candidate, Measured] = {}

    def perform(self, budget: int | None, seconds: float | None) -> None:
        """Run the search; Ctrl-C and the end of the time stop it, and results so far remain.

        Raises :class:`flashgc.ConfigError` if no candidate can run.
        """
        with self._study.ending():
            self._perform(budget, seconds)

    @property
    def rungs(self) -> tuple[Rung, ...]:
        """The stages so far."""
        return tuple(
            Rung(stage.words, came, len(measured), whole)
            for stage, came, measured, whole in zip(
                self._course.rungs, self._came, self._measured, self._whole, strict=False
            )
        )

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The impossible candidates, grouped by reason, the most frequent reason first."""
        groups = [Skipped(reasons[0], len(reasons)) for reasons in self._skipped.values()]
        return tuple(sorted(groups, key=lambda skipped: -skipped.count))

    def ranking(self) -> list[Entry]:
        """The ranking of the last completed rung; if none is completed, that of the first."""
        whole = [
            measured
            for measured, is_whole in zip(self._measured, self._whole, strict=False)
            if measured and is_whole
        ]
        last = whole[-1] if whole else (self._measured or [{}])[0]
        return ranked(
            last, self.held_back, self._objective, self._reference, searched=self.searched
        )

    def _perform(self, budget: int | None, seconds: float | None) -> None:
        first, *others = self._course.rungs
        if budget is not None:
            self._study.total = self._cost(budget)
        alive = self._first(first, budget, seconds)
        self._study.total = self._study.done + self._rest(len(alive))
        for number, stage in enumerate(others, start=2):
            if self._study.stopped:
                return
            alive = self._best(self._measured[-1], kept(len(alive)))
            self._begin(len(alive))
            self._measure(alive, stage, f"rung {number} of {len(others) + 1}", self._measured[-1])
            self._end()
        if not self._study.stopped:
            alive = self._best(self._measured[-1], KEPT)
            self._measure(alive, self._course.held_back, "held-back part", self.held_back)

    def _first(self, stage: Stage, budget: int | None, seconds: float | None) -> list[Candidate]:
        """Run the first rung: the starting candidates, then drawn ones until there are enough."""
        what = f"rung 1 of {len(self._course.rungs)}"
        begin = monotonic()
        starts = [*dict.fromkeys([*self._starts, self._reference])]
        self._begin(budget or len(starts))
        measurements = self._measured[0]
        self._measure(starts, stage, what, measurements)
        if not measurements and not self._study.stopped and self._skipped:
            raise ConfigError(next(iter(self._skipped.values()))[0])
        limit = None if budget is None else _DRAWS * budget
        draws = islice(self._space.draws(int(self._config["seed"])), limit)
        while not self._study.stopped:
            wanted = BATCH if budget is None else budget - len(measurements)
            if seconds is not None:
                needed = (monotonic() - begin) * (
                    1 + self._rest(len(measurements)) / self._of_first(measurements)
                )
                wanted = 0 if needed > _MARGIN * seconds else wanted
            batch = list(islice(draws, max(wanted, 0)))
            if not batch:
                break
            self._measure(batch, stage, what, measurements)
        if not self._study.stopped:
            self._came[0] = len(measurements)
            self._end()
        return list(measurements)

    def _of_first(self, measurements: Mapping[Candidate, Measured]) -> float:
        return max(len(measurements), 1) * self._course.rungs[0].cost

    def _cost(self, count: int) -> float:
        """The cost of a search that starts with ``count`` candidates."""
        return count * self._course.rungs[0].cost + self._rest(count)

    def _rest(self, count: int) -> float:
        """The cost of the stages after the first, which had ``count`` candidates."""
        cost = 0.0
        for stage in self._course.rungs[1:]:
            count = kept(count)
            cost += count * stage.cost
        return cost + (min(count, KEPT) + 1) * self._course.held_back.cost

    def _begin(self, came: int) -> None:
        """Begin a rung that ``came`` candidates reached."""
        self._came.append(came)
        self._measured.append({})
        self._whole.append(False)

    def _end(self) -> None:
        """Note whether the rung was completed."""
        self._whole[-1] = not self._study.stopped

    def _best(self, measured: Mapping[Candidate, Measured], count: int) -> list[Candidate]:
        """The ``count`` best searched candidates, and greedy; those with equal results are last.

        Greedy takes no other candidate's place, and is always run for comparison.
        """
        searched = [
            candidate for candidate in measured if self.searched or candidate != self._reference
        ]
        searched.sort(key=lambda candidate: self._objective.better(measured[candidate].figure))
        first = {measured[candidate].values: candidate for candidate in reversed(searched)}
        twins = [
            candidate for candidate in searched if first[measured[candidate].values] != candidate
        ]
        best = [*(candidate for candidate in searched if candidate not in twins), *twins][:count]
        return [*best, *({self._reference} & measured.keys() - {*best})]

    def _measure(
        self,
        candidates: Sequence[Candidate],
        stage: Stage,
        what: str,
        measurements: dict[Candidate, Measured],
    ) -> None:
        """Run the parts of a stage with every candidate, and add the results to ``measurements``.

        Candidates that fail are skipped with a reason.
        """
        wanted = [
            Wanted(part.of(self.config_of(candidate)), part.cost)
            for candidate in candidates
            for part in stage.parts
        ]
        outcomes = self._study.run(wanted, what, possible=stage != self._course.rungs[0])
        count = len(stage.parts)
        for index, candidate in enumerate(candidates):
            of_one = slice(index * count, (index + 1) * count)
            measurement = self._of(outcomes[of_one], stage)
            if isinstance(measurement, str):
                self._skip(measurement)
            elif measurement is not None:
                measurements[candidate] = measurement

    def _of(self, outcomes: Sequence[Outcome], stage: Stage) -> Measured | str | None:
        figures, values, findings = [], [], dict[str, Finding]()
        for outcome in outcomes:
            if not isinstance(outcome, dict):
                return outcome
            result = Result.from_dict(outcome)
            figure = self._objective.figure(result)
            if figure is None or not math.isfinite(figure):
                return f"nothing was measured: {self._objective.missing}"
            figures.append(figure)
            values += self._objective.values(result, blocks=stage.blocks) or [figure]
            # A part of a trace need not be steady or long, so findings on that are omitted.
            findings |= {
                finding.id: finding
                for finding in result.findings
                if not stage.blocks or finding.window == "configuration"
            }
        return Measured(mean(figures), tuple(values), tuple(findings.values()))

    def config_of(self, candidate: Candidate) -> dict[str, Any]:
        """The configuration of a candidate that all stages share."""
        chosen = {"victim": candidate.victim, "placement": candidate.placement}
        if candidate.frontier is not None:
            chosen["frontier"] = candidate.frontier
        return {**self._config, **chosen}

    def _skip(self, reason: str) -> None:
        """Count an impossible candidate, by its reason without specs and numbers."""
        kind = re.sub(r":[\w-]+=\S+|, found .*|[\d.]+", "#", reason.partition("; hint: ")[0])
        self._skipped.setdefault(kind, []).append(reason)
