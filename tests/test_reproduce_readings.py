"""Readings of a paper: every claim runs under each, and the first decides."""

from __future__ import annotations

import re

import pytest

from flashgc.results import Result
from flashgc_papers.claims import Claim, Input, Kind, Paper
from flashgc_papers.reproduce import readings, runner
from flashgc_papers.reproduce.document import Reproduction, rows_table
from flashgc_papers.reproduce.folder import page
from flashgc_papers.reproduce.mutants import Mutant, compared, weighed
from flashgc_papers.reproduce.readings import Reading, runner_under, under_chosen
from flashgc_papers.reproduce.rows import row
from flashgc_papers.reproduce.runner import Outcome, conclude, runner_of
from flashgc_papers.reproduce.tasks import Computation, Measured, Size, Task
from flashgc_papers.reproduce.verdicts import Judgement, Value, Verdict

MET, MISSED, NOT_RUN = Verdict.MET, Verdict.MISSED, Verdict.NOT_RUN
CLAIM = Claim("dchoices.x", "x is 1", Kind.EQUAL, Input.EXACT)
GOOD = Reading("good", "X is 1.", "It is printed.", {"x": 1.0})
POOR = Reading("poor", "X is 2.", "It is not.", {"x": 2.0})


class Runner:
    """A runner whose measured number depends on the reading."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def task(self, _claim: Claim, _size: Size) -> Task:
        return Task(computations={"x": Computation("", lambda: self._reading["x"])}, settings="s")

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        def judge() -> tuple[Value, Judgement]:
            found = measured.compute("x")
            return Value(found), Judgement(MET if found == 1 else MISSED, "")

        return conclude(claim, measured, [row("x", 1.0, judge)])


@pytest.fixture(autouse=True)
def _registries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "_OF_PAPERS", {})
    monkeypatch.setattr(runner, "_RUNNERS", {})
    monkeypatch.setattr(runner.papers, "load", lambda _paper: None)


def judged(*order: Reading, computed: dict[str, float] | None = None) -> Outcome:
    readings._OF_PAPERS[CLAIM.paper] = order
    runner_under(CLAIM.id)(Runner)
    under = runner_of(CLAIM)
    assert under is not None
    task = under.task(CLAIM, Size.QUICK)
    if computed is None:
        computed = {key: one.call() for key, one in task.computations.items()}
    return under.judge(CLAIM, Measured(Size.QUICK, task, dict[str, Result](), computed))


def test_the_first_reading_decides_and_the_others_stand_beside_it() -> None:
    made = judged(GOOD, POOR)
    assert made.verdict is MET
    assert dict(made.under) == {"good": MET, "poor": MISSED}
    assert [(one.reading, one.verdict) for one in made.rows] == [("good", MET), ("poor", MISSED)]
    assert [one.key for one in made.rows] == ["x (good)", "x (poor)"]
    assert (made.rows_met, len(made.chosen)) == (1, 1)
    made = judged(POOR, GOOD)
    assert made.verdict is MISSED
    assert list(made.under) == ["poor", "good"]
    assert made.rows_met == 0


def test_what_was_not_measured_under_one_reading_is_not_run_there() -> None:
    made = judged(GOOD, POOR, computed={"poor: x": 2.0})
    assert dict(made.under) == {"good": NOT_RUN, "poor": MISSED}
    assert made.verdict is NOT_RUN


def test_a_wrong_engine_is_told_under_the_chosen_reading() -> None:
    right = judged(GOOD, POOR)
    wrong = judged(GOOD, POOR, computed={"good: x": 3.0, "poor: x": 1.0})
    mutant = Mutant("other", "x is another", lambda _: None)
    trial = compared(
        mutant, {one.key: one for one in right.chosen}, {one.key: one for one in wrong.chosen}
    )
    assert (trial.told, trial.fooled) == (("x (good)",), ())
    assert weighed(right, (trial,)).verdict is MET
    # A wrong engine that meets the row shows that the row proves nothing.
    blind = compared(
        mutant, {one.key: one for one in right.chosen}, {right.rows[0].key: right.rows[0]}
    )
    made = weighed(right, (blind,))
    assert made.verdict is Verdict.BLIND
    # Wrong engines run only under the chosen reading, so rows of other readings stay as they are.
    assert [row.verdict for row in made.rows] == [Verdict.BLIND, MISSED]


def test_wrong_engines_run_under_the_chosen_reading_alone() -> None:
    judged(GOOD, POOR)
    part = {"good: a": 1, "poor: a": 2, "a": 3}
    assert under_chosen("dchoices", part) == {"good: a": 1, "a": 3}
    assert under_chosen("vm", part) == part  # This paper has no readings.


def test_page_and_table_say_which_reading() -> None:
    made = judged(GOOD, POOR)
    paper = Paper("dchoices", "A paper", "Somebody, 2000")
    whole = Reproduction(Size.QUICK, (), "0", {"dchoices": paper}, (made,), {}, False, {})
    (document,) = whole.to_dict()["claims"]
    assert document["readings"] == {"good": "met", "poor": "missed"}
    assert whole.under("dchoices", "poor")["missed"] == 1
    assert whole.rows_under("dchoices", "good") == "1 of 1"
    assert whole.rows()["missed"] == 0, "rows of the chosen reading are counted"
    table = rows_table(made)
    assert [line[table.columns.index("reading")] for line in table.rows] == ["good", "poor"]
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page(whole, {})))
    assert "good X is 1. It is printed. poor X is 2. It is not." in text
    assert "under good ; under poor missed" in text
