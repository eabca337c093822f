"""The table of all statements: each statement has a row, and each row a measurement."""

from __future__ import annotations

import fnmatch
from dataclasses import replace
from pathlib import Path

import pytest

from flashgc import ConfigError
from flashgc_papers.claims import claims
from flashgc_papers.reproduce.rows import Row
from flashgc_papers.reproduce.runner import Outcome
from flashgc_papers.reproduce.statements import UNCLAIMED, Line, Rows, parse, statements, table
from flashgc_papers.reproduce.tasks import Size
from flashgc_papers.reproduce.verdicts import Value, Verdict
from outcomes import as_published, empty, invented, whole

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "reference" / "statements.md"
PAPERS = list(claims().papers)
CHECKED = [one for one in statements() if one.claim]


def line(paper: str, what: str, outcomes: dict[str, Outcome]) -> Line:
    (found,) = (one for one in table(paper, outcomes) if one.statement.what.startswith(what))
    return found


def test_every_claim_checks_a_statement() -> None:
    assert {one.claim for one in CHECKED} == {claim.id for claim in claims().claims}


@pytest.mark.parametrize("one", CHECKED, ids=lambda one: f"{one.claim} {one.what[:30]}")
def test_the_rows_of_a_statement_exist(one) -> None:
    outcome = empty(one.paper)[one.claim]
    for label in one.rows:
        assert not outcome.rows or Rows.of({one.claim: outcome}, one.claim, [label]).rows, label


@pytest.mark.parametrize("paper", PAPERS)
def test_every_row_of_a_claim_belongs_to_a_statement(paper: str) -> None:
    of = {name: [one for one in CHECKED if one.claim == name] for name in empty(paper)}
    alone = [
        f"{name}: {row.label}"
        for name, outcome in empty(paper).items()
        for row in outcome.chosen
        if not any(
            not one.rows or any(fnmatch.fnmatchcase(row.label, label) for label in one.rows)
            for one in of[name]
        )
    ]
    # Zombies that become dead are counted beside the copies of the worked example.
    assert alone == (["zombie.fig2-3: z-greedy, zombies"] if paper == "zombie" else [])


def test_a_statement_has_measured_figures_with_intervals_and_no_cause_where_it_holds() -> None:
    one = line("zombie", "h = 6: write amplification", whole("zombie"))
    assert one.published == "47.3; 32.9"
    assert one.measured == "47.3 ±0.5; 32.9 ±0.5"
    assert (one.reading, one.verdict, one.cause) == ("idle", Verdict.IN_KIND, "")


def missed(outcome: Outcome) -> Outcome:
    def change(row: Row) -> Row:
        return replace(as_published(row), measured=Value(1.0), verdict=Verdict.MISSED)

    return invented(outcome, change)


def test_a_missed_statement_has_the_papers_argument_or_the_rows_reason() -> None:
    outcomes = whole("zombie")
    outcomes |= {name: missed(outcomes[name]) for name in ("zombie.fig6", "zombie.fig9")}
    argued = line("zombie", "2 GB: the overhead", outcomes)
    assert argued.cause.startswith("one figure is printed for both")
    assert line("zombie", "less than 3% at h = 20", outcomes).cause == "invented"


def test_a_cause_that_is_about_a_reading_is_left_out_under_another() -> None:
    outcomes = {name: missed(one) for name, one in whole("pgc").items()}
    assert "Pareto" in line("pgc", "variance falls by", outcomes).cause
    literal = {
        name: replace(one, under=dict(reversed(one.under.items())))
        for name, one in outcomes.items()
    }
    assert "Pareto" not in line("pgc", "variance falls by", literal).cause


def test_a_cause_that_is_about_stand_ins_is_left_out_with_the_traces() -> None:
    outcomes = {name: missed(one) for name, one in whole("dchoices").items()}
    assert "stand-ins" in line("dchoices", "one write frontier: write amp", outcomes).cause

    def replayed(row: Row) -> Row:
        return replace(row, stand_in="")

    outcomes["dchoices.table4"] = invented(outcomes["dchoices.table4"], replayed)
    assert line("dchoices", "one write frontier: write amp", outcomes).cause == "invented"


def test_a_contradiction_is_the_cause_of_what_it_excludes() -> None:
    outcomes = {name: missed(one) for name, one in whole("bsgc").items()}
    one = line("bsgc", "the lives in seconds", outcomes)
    assert one.verdict == Verdict.CONTRADICTED
    assert "3072 s" in one.cause


def test_a_statement_without_a_claim_has_a_reason_and_stands_in_whole_papers_alone() -> None:
    one = line("zombie", "a search for a victim takes", empty("zombie"))
    assert (one.verdict, one.measured) == (UNCLAIMED, "")
    assert one.cause.startswith("of the prototype's processor")
    part = {"zombie.fig5": empty("zombie")["zombie.fig5"]}
    assert {each.statement.claim for each in table("zombie", part)} == {"zombie.fig5"}


def test_many_rows_are_counted() -> None:
    one = line("dchoices", "two write frontiers: write", whole("dchoices"))
    assert one.measured == "48 of 48 rows hold; +0% to +0%"


def test_what_a_size_leaves_out_is_not_run() -> None:
    quick = empty("vm", Size.QUICK)
    assert all(one.verdict in (Verdict.NOT_RUN, UNCLAIMED) for one in table("vm", quick))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('paper = "vm"\nplace = "x"\nwhat = "y"\nclam = "vm.fig5"', "unknown key 'clam'"),
        ('paper = "vn"\nplace = "x"\nwhat = "y"\nreason = "z"', "there is no [paper.vn]"),
        ('paper = "vm"\nplace = "x"\nwhat = "y"', "expected one of them"),
        ('paper = "vm"\nplace = "x"\nwhat = "y"\nclaim = "vm.fig50"', "unknown claim 'vm.fig50'"),
    ],
)
def test_a_fault_in_the_file_is_told(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse(f"[[statement]]\n{text}", "it")
    assert said in str(error.value)


def test_the_document_has_every_statement() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    for one in statements():
        cells = f"| {one.place} | {one.what} | {one.claim} |".replace("  ", " ")
        assert cells in text.replace("  ", " "), f"{cells}; hint: make papers"
