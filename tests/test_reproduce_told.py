"""The outputs for a whole paper with invented outcomes: page, terminal and files."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from flashgc_papers.claims import claims
from flashgc_papers.command.claims import show_claims
from flashgc_papers.reproduce.document import Reproduction
from flashgc_papers.reproduce.folder import markdown, page
from flashgc_papers.reproduce.rows import Row
from flashgc_papers.reproduce.runner import Figure, Outcome, Table, conclude, held
from flashgc_papers.reproduce.tasks import Measured, Size, Task
from flashgc_papers.reproduce.verdicts import Verdict
from flashgc_papers.reproduce.words import groups, tally
from outcomes import as_published, invented, whole


def reproduction(outcomes: dict[str, Outcome], *, interrupted: bool = False) -> Reproduction:
    papers = {one.claim.paper: claims().papers[one.claim.paper] for one in outcomes.values()}
    return Reproduction(
        Size.DEFAULT, tuple(papers), "0.0", papers, tuple(outcomes.values()), {}, interrupted, {}
    )


def with_a_miss() -> dict[str, Outcome]:
    """Outcomes of Ji and Shin as published, except the first and last rows of Figure 5."""
    made = whole("vm")
    rows = made["vm.fig5"].chosen
    keys = {rows[0].key, rows[-1].key}

    def change(row: Row) -> Row:
        return replace(row, verdict=Verdict.MISSED, why="too much") if row.key in keys else row

    return {**made, "vm.fig5": invented(made["vm.fig5"], change)}


def test_the_page_begins_a_paper_with_its_paragraph_and_ends_with_its_statements() -> None:
    text = page(reproduction(whole("vm")), {})
    head = text.index('id="paper-vm"')
    assert head < text.index("7 claims:") < text.index("is exact (8 and 4 pages copied)")
    assert text.index("is exact (8 and 4") < text.index('<section class="card" id="vm.fig1-3"')
    assert text.index('<section class="card" id="vm.fig14"') < text.index('id="statements"')
    assert "the best window for kword is 64" in text[text.index('id="statements"') :]


def test_rows_stand_in_groups_by_verdict_those_that_hold_first() -> None:
    outcome = with_a_miss()["vm.fig5"]
    (_, chosen), (_, literal) = groups(outcome)
    assert [(one.verdict, len(one.lines)) for one in chosen] == [
        (Verdict.FITTED, len(outcome.chosen) - 2),
        (Verdict.MISSED, 2),
    ]
    assert [one.verdict for one in literal] == [Verdict.IN_KIND]
    assert tally(outcome.chosen) == [
        (Verdict.FITTED, len(outcome.chosen) - 2),
        (Verdict.MISSED, 2),
    ]


def test_the_page_says_how_many_rows_of_a_missed_claim_hold() -> None:
    text = page(reproduction(with_a_miss()), {})
    card = text[text.index('<section class="card" id="vm.fig5"') :]
    card = card[: card.index("</section>")]
    assert "0 of 13 rows met" in card
    assert re.search(r"<b>11</b> rows fitted.*<b>2</b> rows missed", card, re.DOTALL)
    assert "the best of some 40 configurations" in card
    assert re.search(r"<details class=\"reading\"><summary>under literal: met-in-kind", card)


def test_a_part_of_a_paper_has_its_statements_and_no_paragraph() -> None:
    text = page(reproduction({"vm.fig13": whole("vm")["vm.fig13"]}), {})
    assert '<div class="summary">' not in text
    assert "I/O time of LDA-GC5 falls with the victim window" in text
    assert "the best window for kword is 64" not in text


def test_an_interrupted_paper_has_no_paragraph() -> None:
    assert reproduction(whole("vm"), interrupted=True).summary("vm") is None


def test_the_terminal_begins_with_the_paragraph(capsys: pytest.CaptureFixture[str]) -> None:
    show_claims(reproduction(whole("vm")), None)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("7 claims:")
    assert "is exact (8 and 4 pages copied)" in lines[2]
    assert lines[4].startswith("window: The regions of the page cache are fixed")


def test_the_document_has_the_paragraph_and_the_statements_of_a_paper() -> None:
    made = reproduction(with_a_miss())
    (paper,) = json.loads(made.to_json())["papers"]
    assert paper["summary"]["paragraph"].startswith("The five traces are not public")
    missed = [one for one in paper["statements"] if one["verdict"] == "missed"]
    assert [one["place"] for one in missed] == ["Section III", "Figure 5"]
    assert missed[0]["cause"] == "too much"
    text = markdown(made)
    assert paper["summary"]["paragraph"] in text
    assert text.count("\n| ") == 2 + len(paper["statements"])


def test_a_figure_is_named_for_its_paper() -> None:
    (claim,) = claims().select(("vm.fig13",))
    figure = Figure("fig13", "", Table(("x", "y"), ((1, 2),)), lambda: pytest.fail("not drawn"))
    with pytest.raises(AssertionError, match="fig13"):
        conclude(claim, Measured(Size.QUICK, Task(), {}, {}), [], figures=[figure])


def test_every_row_of_a_group_is_as_published_where_it_was_invented_so() -> None:
    made = whole("bsgc", as_published)
    assert all(held(one.chosen) == len(one.chosen) for one in made.values())
    assert all(one.rows_met == len(one.chosen) for name, one in made.items() if "fig5" in name)
