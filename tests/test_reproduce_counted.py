"""Rows that agree with the paper but do not count as met: fits, and unsteady runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from flashgc import ConfigError
from flashgc.results import Result
from flashgc_papers.claims import Claim, Input, Kind, claims
from flashgc_papers.command.claims import STYLES, show_claims
from flashgc_papers.reproduce import grading as fits_module
from flashgc_papers.reproduce.document import Reproduction, rows_table
from flashgc_papers.reproduce.folder import MEANINGS, markdown, page
from flashgc_papers.reproduce.grading import Fit, fits, parse
from flashgc_papers.reproduce.mutants import Mutant, compared, weighed
from flashgc_papers.reproduce.readings import readings_of
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Outcome, conclude
from flashgc_papers.reproduce.statements import UNCOUNTED, Sentence
from flashgc_papers.reproduce.steadiness import Runs, runs_of
from flashgc_papers.reproduce.tasks import Measured, Size, Task
from flashgc_papers.reproduce.verdicts import Judgement, Value, Verdict
from outcomes import empty, whole
from papers import result_of

MET, IN_KIND, MISSED = Verdict.MET, Verdict.IN_KIND, Verdict.MISSED
FITTED, UNSTEADY = Verdict.FITTED, Verdict.UNSTEADY
PAPERS = list(claims().papers)
CLAIM = Claim("dchoices.greedy", "x", Kind.EQUAL, Input.EXACT)


def measured(
    results: dict[str, Result], computed: dict[str, Any] | None = None, **task: str
) -> Measured:
    return Measured(Size.QUICK, Task(**task), results, computed or {})


def concluded(
    one: Measured, judge: Callable[[], Value], *, claim: Claim = CLAIM, **given: Any
) -> Row:
    (made,) = conclude(
        claim, one, [row("x", 1.0, lambda: (judge(), Judgement(MET, "")), **given)]
    ).rows
    return made


def moved(drift: float, half: float, *, seed: int = 1, **config: Any) -> Result:
    return result_of({
        "steady": False,
        "steadiness": {"amplification": {"drift": drift, "ci95": half}},
        "config": {"length": {"requests": 1}, "seed": seed, **config},
    })  # fmt: skip


# ------------------------------------------------------------------------ steadiness


def test_a_row_does_not_count_where_a_run_that_it_takes_still_moves() -> None:
    moves = result_of({"config": {"blocks": 2}}, moves=True)
    both = measured({"calm": result_of({}), "moves": moves})

    def taken(*keys: str) -> Row:
        def judge() -> Value:
            for key in keys:
                both.result(key)
            return Value(1.0)

        return concluded(both, judge)

    assert (taken("calm").verdict, taken("calm").runs) == (MET, Runs(1, 0, 0))
    assert (taken("moves").verdict, taken("moves").runs) == (UNSTEADY, Runs(1, 1, 0))
    assert taken("calm", "moves").obstacle == "1 of 2 runs still move"


def test_a_row_that_takes_no_runs_rests_on_all_of_its_claim() -> None:
    some = measured({"moves": result_of({}, moves=True)}, {"model": 1.0})
    assert concluded(some, lambda: Value(1.0)).verdict is UNSTEADY
    # A computed row needs no steady run.
    assert concluded(some, lambda: Value(some.compute("model"))).verdict is MET


@pytest.mark.parametrize("paper", PAPERS)
def test_every_row_takes_its_measurements_while_it_is_judged(paper: str) -> None:
    for outcome in empty(paper).values():
        assert [one.label for one in outcome.rows if not one.taken] == []


def test_what_stands_in_does_not_count_either_and_what_is_missed_stays_missed() -> None:
    one = measured({"moves": result_of({}, moves=True)})
    rig = replace(CLAIM, input=Input.RIG)
    assert concluded(one, lambda: Value(1.0), claim=rig).verdict is UNSTEADY
    missed = row("x", 1.0, lambda: (Value(9.0), Judgement(MISSED, "far off")))
    outcome = conclude(CLAIM, one, [missed])
    assert (outcome.verdict, outcome.why) == (MISSED, "far off")


def test_a_whole_experiment_and_a_life_have_nothing_to_be_steady() -> None:
    moves = result_of({}, moves=True)
    whole_one = measured({"moves": moves}, whole="all of it is run")
    assert concluded(whole_one, lambda: Value(1.0)).verdict is MET
    assert conclude(CLAIM, whole_one, []).notes == ("Nothing has to be steady: all of it is run.",)
    life = moved(0.1, 0.01, length={"until": "failure"})
    assert runs_of([life]) == Runs(1, 0, 0)


def test_what_is_not_known_to_be_steady_counts_and_is_told() -> None:
    unknown = measured({"x": moved(0.1, 0.2), "y": result_of({})})
    assert concluded(unknown, lambda: Value(1.0)).verdict is MET
    notes = conclude(CLAIM, unknown, []).notes
    assert notes == ("Of the 2 simulations 1 are not known to be steady.",)


def test_seeds_are_tested_together_and_many_groups_have_more_chance() -> None:
    # Three seeds with drifts of 3% ± 4 have a mean drift of 3% ± 2.3; opposite drifts cancel.
    assert runs_of([moved(0.03, 0.04, seed=at) for at in range(3)]).moving == 3
    shaken = [moved(drift, 0.02, seed=at) for at, drift in enumerate((0.03, -0.03, 0.001))]
    assert runs_of(shaken) == Runs(3, 0, 3)
    # A single drift of 2.4% ± 2 is beyond chance, but among ten groups one such drift is not.
    far = moved(0.024, 0.02, blocks=0)
    assert runs_of([far]).moving == 1
    calm = [moved(0.0, 0.02, blocks=at) for at in range(1, 10)]
    assert runs_of([far, *calm]).moving == 0
    # A drift of less than 0.2% does not count, however small its interval is.
    assert runs_of([moved(0.0015, 0.0001)]).moving == 0


@pytest.mark.parametrize("test", ["amplification", "transient", "pace"])
def test_each_test_of_a_result_can_tell_that_it_moves(test: str) -> None:
    drift = {"drift": -0.5, "ci95": 0.4}
    raw = {"steady": False, "steadiness": {test: drift}}
    assert runs_of([result_of(raw)]) == Runs(1, 1, 0)


@pytest.mark.parametrize("finding", ["burst", "overload"])
def test_a_finding_that_doubts_a_figure_tells_that_it_moves(finding: str) -> None:
    one = {"id": finding, "message": "x", "hint": "", "gravity": "warning"}
    assert runs_of([result_of({"findings": [one]})]).moving == 1


def test_an_unsteady_wrong_engine_is_not_told_from_the_right_one() -> None:
    right = {"x": Row("x", "", "", MET, "")}
    wrong = {"x": Row("x", "", "", UNSTEADY, "")}
    trial = compared(Mutant("m", "", lambda _: None), right, wrong)
    assert (trial.told, trial.met) == ((), ("x",))


# ------------------------------------------------------------------------ fits


def test_every_fit_is_of_rows_that_there_are_under_readings_that_there_are() -> None:
    for fit in fits():
        (claim,) = claims().select((fit.claim,))
        outcome = empty(claim.paper)[fit.claim]
        assert set(fit.under) <= set(outcome.under), fit
        for reading in fit.under or {one.reading for one in outcome.rows}:
            labels = [one.label for one in outcome.rows if one.reading == reading]
            for pattern in fit.rows or ("*",):
                only = replace(fit, rows=(pattern,))
                assert any(only.covers(label, reading) for label in labels), (fit, pattern)


@pytest.mark.parametrize("paper", PAPERS)
def test_whatever_says_that_it_is_a_fit_has_its_rows_in_the_file(paper: str) -> None:
    outcomes = empty(paper)
    of_paper = [fit for fit in fits() if fit.claim.partition(".")[0] == paper]
    for reading in readings_of(paper):
        said = re.search(r"\b(is|are) (a |the )?fit(s|ted)?\b", reading.argument)
        assert bool(said) <= any(reading.name in fit.under for fit in of_paper), reading.name
    for name, outcome in outcomes.items():
        if any("fitted to" in note for note in outcome.notes):
            assert any(fit.claim == name for fit in of_paper), name


def judged(fit: Fit, monkeypatch: pytest.MonkeyPatch, claim: Claim = CLAIM) -> list[Row]:
    monkeypatch.setattr(fits_module, "fits", lambda: (fit,))
    one = measured({"x": result_of({})})
    labels = ("size at h = 3", "size at h = 6")
    made = [row(label, 1.0, lambda: (Value(1.0), Judgement(MET, ""))) for label in labels]
    return list(conclude(claim, one, made).rows)


def test_a_row_that_a_reading_was_fitted_to_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = judged(Fit(CLAIM.id, "chosen by it", rows=("*h = 3",)), monkeypatch)
    assert (first.verdict, first.obstacle) == (FITTED, "chosen by it")
    assert second.verdict is MET
    every = judged(Fit(CLAIM.id, "chosen by it"), monkeypatch)
    assert {one.verdict for one in every} == {FITTED}
    for other in (Fit("dchoices.fig1", "another claim"), Fit(CLAIM.id, "x", under=("another",))):
        assert {one.verdict for one in judged(other, monkeypatch)} == {MET}


def test_a_trace_of_the_papers_own_was_fitted_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = replace(CLAIM, input=Input.TRACE)
    made = judged(Fit(CLAIM.id, "the stand-in"), monkeypatch, trace)
    assert {one.verdict for one in made} == {MET}


def test_a_fit_is_said_before_steadiness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fits_module, "fits", lambda: (Fit(CLAIM.id, "chosen by it"),))
    moves = measured({"x": result_of({}, moves=True)})
    assert concluded(moves, lambda: Value(1.0)).verdict is FITTED


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[fit]]\nclaim = 'vm.fig5'\nwhy = 'x'\nrow = 1", "here: 'vm.fig5': unknown key 'row'"),
        ("[[fit]]\nclaim = 'vm.fig5'", "here: 'vm.fig5': why: found nothing, expected text"),
        ("[[fit]]\nwhy = 'x'", "here: '?': claim: found nothing, expected text"),
        ("[[fit]]\nclaim = 'vm.fig4'\nwhy = 'x'", "here: 'vm.fig4': unknown claim; hint: did you"),
    ],
)
def test_a_wrong_file_of_fits_says_where_and_what(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse(text, "here")
    assert str(error.value).startswith(message)


# ------------------------------------------------------------------------ bounds


@pytest.mark.parametrize("paper", PAPERS)
def test_every_published_lower_bound_has_a_size(paper: str) -> None:
    bound = re.compile(r"(over|above|at least|more than) ([\d.]+)")
    for outcome in empty(paper).values():
        numbers = {one.label for one in outcome.rows if not isinstance(one.published, str)}
        for one in outcome.rows:
            found = bound.match(str(one.published))
            # Neither rows on the paper's own input nor bounds of 0 are judged by their size.
            if found is None or outcome.claim.input is Input.EXACT or not float(found[2]):
                continue
            # If the size is published, another row judges it.
            if one.label.removeprefix("waits, ") not in numbers - {one.label}:
                assert one.least == float(found[2]), (outcome.claim.id, one.label)


@pytest.mark.parametrize("paper", PAPERS)
def test_rows_of_two_numbers_have_a_size_or_one_of_their_own(paper: str) -> None:
    for name, outcome in empty(paper).items():
        if name not in (
            "dchoices.table4",
            "dchoices.table5",
        ):  # These rows judge the size of each step.
            free = [one for one in outcome.rows if one.base is None]
            assert {one.published for one in free} <= {"less"}, name


@pytest.mark.parametrize(
    ("value", "verdict"), [(35.1, IN_KIND), (52.5, IN_KIND), (52.6, MISSED), (84.0, MISSED)]
)
def test_far_above_a_lower_bound_is_no_rough_size(value: float, verdict: Verdict) -> None:
    one = measured({"x": result_of({})})
    rig = replace(CLAIM, input=Input.RIG)
    made = concluded(one, lambda: Value(value), claim=rig, least=35)
    assert made.verdict is verdict
    # On the paper's own input, the bound alone decides.
    assert concluded(one, lambda: Value(value), least=35).verdict is MET


# ------------------------------------------------------------------------ what is shown


def reproduction(outcomes: dict[str, Outcome]) -> Reproduction:
    papers = {
        name: claims().papers[name] for name in {one.claim.paper for one in outcomes.values()}
    }
    return Reproduction(Size.DEFAULT, (), "0", papers, tuple(outcomes.values()), {}, False, {})


def test_each_verdict_has_a_colour_a_meaning_and_a_class() -> None:
    assert set(STYLES) == set(MEANINGS) == set(Verdict)
    text = page(reproduction({}), {})
    for verdict in Verdict:
        assert f".of-{verdict} {{" in text
        assert f"--{verdict}:" in text


def test_a_fit_is_said_in_the_terminal_the_page_the_json_the_table_and_the_statements(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcomes = whole("vm")
    assert outcomes["vm.fig5"].verdict is FITTED
    made = reproduction(outcomes)
    assert made.counts()["fitted"] >= 1
    assert made.rows()["fitted"] >= 13
    why = "the best of some 40 configurations"
    show_claims(made, None)
    shown = capsys.readouterr().out
    assert "vm.fig5  fitted" in shown
    assert shown.count(f"{why} that were looked at beside this figure") == 1
    assert why in page(made, {})
    document = json.loads(made.to_json())
    (claim,) = (one for one in document["claims"] if one["id"] == "vm.fig5")
    assert {one["verdict"] for one in claim["rows"] if one["reading"] == "window"} == {"fitted"}
    assert all(why in one["uncounted"] for one in claim["rows"] if one["reading"] == "window")
    table = rows_table(outcomes["vm.fig5"])
    assert why in str(dict(zip(table.columns, table.rows[0], strict=True))["uncounted"])
    assert "| fitted |" in markdown(made)


@pytest.mark.parametrize("verdict", UNCOUNTED)
def test_a_sentence_on_rows_that_do_not_count_says_so(verdict: Verdict) -> None:
    outcomes = whole("zombie")
    sentence = Sentence("It holds.", {"all": ("zombie.fig6",)}, met=("all",))
    assert sentence.filled(outcomes) == "It holds."

    def told(labels: int) -> str:
        fig6 = outcomes["zombie.fig6"]
        rows = [
            replace(one, verdict=verdict if at < labels else IN_KIND)
            for at, one in enumerate(fig6.rows)
        ]
        return sentence.filled({**outcomes, "zombie.fig6": replace(fig6, rows=tuple(rows))})

    assert told(1) == f"It holds. [in part {verdict}: not counted as met]"
    assert told(10_000) == f"It holds. [{verdict}: not counted as met]"
    # Figures of such rows get a remark, too. Rows that only decide about printing get none.
    about = {"all": ("zombie.table3",)}
    assert "[in part" not in Sentence("None.", about).filled(outcomes)
    shown = Sentence("{all.held} hold.", about).filled(outcomes)
    assert shown == "12 hold. [fitted: not counted as met]"


def test_a_fit_that_no_wrong_engine_fails_stays_a_fit() -> None:
    outcome = whole("vm")["vm.fig5"]
    rows = {one.key: one for one in outcome.chosen}
    trial = compared(Mutant("m", "", lambda _: None), rows, rows)
    assert set(trial.met) == set(rows)
    assert {one.verdict for one in weighed(outcome, (trial,)).chosen} == {FITTED}
