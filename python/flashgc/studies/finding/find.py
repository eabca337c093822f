"""``find``: bisection over the values of an option, each simulated with the same seeds."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from flashgc import _notebook_progress
from flashgc._core import ConfigError, Control
from flashgc._documents import Scalar
from flashgc._interruptions import interrupts_program
from flashgc._origins import Given, Places
from flashgc._typed_keywords import typed_keywords
from flashgc.checkpoints import File
from flashgc.execution import COMPARED_RUNS, keeping_in, simulate
from flashgc.experiment import experiment
from flashgc.frames import Table
from flashgc.keywords import RunKeywords
from flashgc.policy_files import Policies, load_policies
from flashgc.results import Result
from flashgc.results.figures import figures_of
from flashgc.results.findings import Finding, Rules
from flashgc.simulation import given_values
from flashgc.studies.finding.outcome import Threshold, Tried
from flashgc.studies.finding.subject import Subject, subject
from flashgc.studies.finding.wanted import Wanted, wanted
from flashgc.studies.study import Progress, Study, without_unit
from flashgc.traces import Trace

RULES = Rules("find")
#: The rule of the main finding, by the status of a search.
_RULES = {
    "found": RULES["from-value"],
    "everywhere": RULES["every-value"],
    "nowhere": RULES["no-value"],
    "interrupted": RULES["find-interrupted"],
}


def outcome(
    option: str,
    wanted: Sequence[str],
    status: str,
    value: Scalar,
    side: str,
    ends: tuple[Scalar, Scalar],
) -> Finding:
    """The main finding of a search."""
    what = " and ".join(wanted)
    first, last = ends
    sentences = {
        "found": f"{option} {value} is the {side} with {what}",
        "everywhere": f"{option}: every value from {first} to {last} has {what}",
        "nowhere": f"{option}: no value from {first} to {last} has {what}",
        "interrupted": f"{option}: not found yet",
    }
    return _RULES[status].found(sentences[status], value=value, first=first, last=last)


def several(values: Sequence[Scalar]) -> Finding:
    """The finding that the condition changes at several ``values``."""
    where = ", ".join(map(str, values))
    return RULES["several-values"].found(
        f"the condition starts or stops to hold at several values ({where})",
        "a smaller range",
        values=list(values),
    )


def cannot(option: str, value: Scalar, reason: str) -> Finding:
    """The finding that a ``value`` is refused for a ``reason``, which may end with a hint."""
    return RULES["value-cannot-run"].found_in(f"{option} {value} cannot run: ", reason, value=value)


#: Positions in the interval of a figure: its mean, and its worse and its better end.
MEAN, WORSE, BETTER = 0, -1, 1


@interrupts_program
@typed_keywords(RunKeywords)
def find(
    option: str,
    conditions: str | Sequence[str],
    workload: str | Trace | Table = "uniform",
    *,
    low: str | float | None = None,
    high: str | float | None = None,
    step: str | float | None = None,
    factor: float | None = None,
    results: File | None = None,
    progress: Progress | None = None,
    control: Control | None = None,
    **options: Unpack[RunKeywords],
) -> Threshold:
    """Find the value of an option from which, or up to which, a drive is good enough.

    ``option`` is a number of the experiment (``"spare"``) or a parameter of a spec
    (``"victim.d"``). Its values go from ``low`` to ``high`` in equal steps or by a ``factor``; by
    default, those of the spare factor go from 2% to 60% in steps of 0.1%. ``conditions`` are on
    figures of a result (``"write_amplification<2"``); all must hold. The other options are those of
    :func:`flashgc.run`, with 5 runs of each value by default; run *i* of all values has the same
    seed.

    Bisection assumes that the condition begins to hold at one value of the range, and holds from
    there on. If simulated values contradict this, there is a warning.

    ``results`` is a file in which the results are stored. Ctrl-C stops the work and
    raises :class:`flashgc.Interruption`, which has the results so far.

    Raises :class:`flashgc.ConfigError`.

    >>> found = find("spare", "write_amplification<2", blocks=256, pages_per_block=32, runs=1,
    ...              victim="greedy", low="15%", high="35%", step="5%")
    >>> found.value, found.side
    ('30%', 'least')
    """
    values, places = given_values(workload, options)
    if options.get("victim") is not None:
        values.setdefault("gc", {})["victim"] = options["victim"]  # type: ignore[typeddict-item]
    table = {"from": low, "to": high, "step": step, "factor": factor}
    sought = subject(option, table, places.get("option", "option"))
    checked = wanted(conditions, places.get("conditions", "conditions"))
    python = workload.python if isinstance(workload, Given) else {}
    with _notebook_progress.shown(progress) as show:
        study = Study(without_unit(show), control)
        search = Search(sought, checked, values, places, python, results, study)
        with study.stoppable():
            try:
                return search.found()
            except _Stopped:
                return search.outcome("interrupted", None, "", None)


def confidence(conditions: int) -> float:
    """A lower bound for the probability that the interval of a search contains the true value.

    Each end of a 95% interval is wrong once in 40 times. The value is below the interval if the
    better end of any condition is wrong. It is above if the worse end of the last condition to hold
    is wrong.

    >>> confidence(1), confidence(2)
    (0.95, 0.925)
    """
    return round(1 - 0.025 * (conditions + 1), 9)


class _Stopped(Exception):  # noqa: N818 - no error
    """Raised when the work was stopped."""


@dataclass(frozen=True)
class _Evaluated:
    """The result of one simulated value, or the reason why it is impossible."""

    result: Result | None
    figures: Mapping[str, Any]
    reason: str


class Search:
    """Simulations of a subject's values, each made only once."""

    def __init__(
        self,
        sought: Subject,
        conditions: tuple[Wanted, ...],
        values: Mapping[str, Mapping[str, Any]],
        places: Places,
        python: Policies,
        results: File | None,
        study: Study,
    ) -> None:
        self._sought, self._conditions = sought, conditions
        self._values, self._places, self._python = values, places, python
        self._results, self._study = results, study
        self._done: dict[int, _Evaluated] = {}
        self._expected = 2 + 3 * math.ceil(math.log2(max(len(sought.values), 2)))

    def found(self) -> Threshold:
        """Search by bisection for the mean, and for both ends of the intervals."""
        last = len(self._sought.values) - 1
        ends = (self._at(0), self._at(last))
        if all(end.reason for end in ends):
            raise ConfigError(ends[0].reason)
        self._refuse_crossing(ends)
        bounds = {shift: self._boundary(shift) for shift in (MEAN, WORSE, BETTER)}
        mean = bounds[MEAN]
        if isinstance(mean, bool):
            return self.outcome("everywhere" if mean else "nowhere", None, "", None)
        side = "least" if self._holds(last, MEAN) else "most"
        values = {shift: self._value(bound) for shift, bound in bounds.items()}
        # A figure without an interval may have any error, so the value has no interval either.
        has_interval = all(
            self._done[at].figures.get(f"{condition.figure}_ci95") is not None
            for condition in self._conditions
            for at in (mean, *(bound for bound in bounds.values() if not isinstance(bound, bool)))
        )
        interval = (values[BETTER], values[WORSE]) if has_interval else None
        return self.outcome("found", mean, side, interval)

    def _refuse_crossing(self, ends: Sequence[_Evaluated]) -> None:
        """Raise an error if one condition holds only at one end and another only at the other end.

        All conditions may hold between, but bisection cannot find that.
        """
        met = [
            [condition.holds(end.figures, MEAN) for end in ends] for condition in self._conditions
        ]
        if all(any(row) for row in met) and not any(map(all, zip(*met, strict=True))):
            low, high = (self._conditions[[row[at] for row in met].index(True)] for at in (0, 1))
            raise ConfigError(
                f"wanted: {low} holds at {self._sought.values[0]} and {high} at "
                f"{self._sought.values[-1]}, so all may hold between; hint: find each alone"
            )

    def _value(self, bound: int | bool) -> Any:
        return None if isinstance(bound, bool) else self._sought.values[bound]

    def _boundary(self, shift: int) -> int | bool:
        """The index at which the conditions still hold, next to one at which they do not.

        If they hold at both ends of the range, or at neither, it is true or false instead.
        """
        low, high = 0, len(self._sought.values) - 1
        first, last = self._holds(low, shift), self._holds(high, shift)
        if first == last:
            return first
        while high - low > 1:
            middle = (low + high) // 2
            if self._holds(middle, shift) == first:
                low = middle
            else:
                high = middle
        return low if first else high

    def _holds(self, index: int, shift: int) -> bool:
        figures = self._at(index).figures
        return all(condition.holds(figures, shift) for condition in self._conditions)

    def _at(self, index: int) -> _Evaluated:
        if index not in self._done:
            self._done[index] = self._evaluated(index)
        return self._done[index]

    def _evaluated(self, index: int) -> _Evaluated:
        if self._study.control.cancelled:
            raise _Stopped
        value = self._sought.values[index]
        places = {**self._places, self._sought.path: f"{self._sought.name} {value}"}

        def look(control: Control) -> None:
            share = (len(self._done) + min(control.done / COMPARED_RUNS, 1)) / self._expected
            self._study.show(share, f"simulating {value}", len(self._done), "values")

        try:
            laid = self._sought.lay(self._values, value)
            simulated = simulate(
                experiment(laid, places),
                self._policies(laid, places),
                places=places,
                default_runs=COMPARED_RUNS,
                progress=look,
                control=self._study.control,
                keeping=keeping_in(self._results, "find"),
            )
        except ConfigError as error:
            return _Evaluated(None, {}, str(error))
        if len(simulated.results) != 1:
            raise ConfigError(
                f"{len(simulated.results)} configurations of one value, expected one; hint: give "
                "one policy"
            )
        result = Result.from_dict(simulated.results[0])
        if result.interrupted:
            raise _Stopped
        figures = figures_of(simulated.results[0])
        missing = [
            condition.figure
            for condition in self._conditions
            if figures.get(condition.figure) is None
        ]
        if missing:
            raise ConfigError(
                f"wanted: no result has {missing[0]}; hint: drives of --drive timed have times"
            )
        return _Evaluated(result, figures, "")

    def _policies(self, laid: Mapping[str, Mapping[str, Any]], places: Places) -> Policies:
        """The policies in Python of one value, which may be a parameter of such a policy."""
        if not self._sought.parameter:
            return self._python
        loaded = load_policies(laid.get("gc"), places)
        return {key: {**self._python.get(key, {}), **loaded[key]} for key in loaded}

    def outcome(
        self,
        status: str,
        index: int | None,
        side: str,
        interval: tuple[Any, Any] | None,
    ) -> Threshold:
        """The outcome from what is known so far."""
        values = self._sought.values
        return Threshold(
            option=self._sought.name,
            wanted=tuple(map(str, self._conditions)),
            status=status,
            value=None if index is None else values[index],
            side=side,
            interval=interval,
            confidence=None if interval is None else confidence(len(self._conditions)),
            ends=(values[0], values[-1]),
            tried=tuple(self._tried(at) for at in sorted(self._done)),
            findings=(
                outcome(
                    self._sought.name,
                    tuple(map(str, self._conditions)),
                    status,
                    None if index is None else values[index],
                    side,
                    (values[0], values[-1]),
                ),
                *self._findings(index),
            ),
            result=None if index is None else self._done[index].result,
        )

    def _tried(self, index: int) -> Tried:
        evaluation = self._done[index]
        names = [name for want in self._conditions for name in (want.figure, f"{want.figure}_ci95")]
        figures = {name: evaluation.figures[name] for name in names if name in evaluation.figures}
        return Tried(
            self._sought.values[index], figures, self._holds(index, MEAN), evaluation.reason
        )

    def _findings(self, at: int | None) -> Iterator[Finding]:
        done = sorted(self._done)
        answers = [self._holds(index, MEAN) for index in done]
        changes = [turn for turn in range(1, len(answers)) if answers[turn] != answers[turn - 1]]
        values, name = self._sought.values, self._sought.name
        if len(changes) > 1:
            yield several([values[done[turn]] for turn in changes])
        impossible = [index for index in done if self._done[index].reason]
        if impossible:
            yield cannot(name, values[impossible[0]], self._done[impossible[0]].reason)
        # Each finding once, preferably from the result at the value found.
        seen = set()
        for index in done if at is None else (at, *done):
            for finding in [] if (result := self._done[index].result) is None else result.findings:
                if finding.id not in seen:
                    seen.add(finding.id)
                    yield dataclasses.replace(
                        finding, claim=f"{name} {values[index]}: {finding.claim}"
                    )
