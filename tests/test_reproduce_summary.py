"""The paragraphs on the papers: only true sentences are printed, with measured figures."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from flashgc_papers.claims import claims
from flashgc_papers.reproduce.rows import Row
from flashgc_papers.reproduce.runner import Outcome
from flashgc_papers.reproduce.statements import Rows, Sentence, paragraph, reading_line, summaries
from flashgc_papers.reproduce.verdicts import Value, Verdict
from outcomes import as_published, empty, invented, whole

PAPERS = list(claims().papers)


def sentences(paper: str) -> list[Sentence]:
    return list(summaries()[paper].sentences)


EVERY = [(paper, at) for paper in PAPERS for at in range(len(sentences(paper)))]


def fitting(sentence: Sentence, paper: str) -> dict[str, Outcome]:
    """Invented outcomes with the verdicts that a sentence requires."""
    made = whole(paper, lambda row: replace(as_published(row), measured=Value(30.0, 0.5)))
    for name in sentence.missed:
        made = flipped(sentence, name, made, Verdict.MISSED, every=True)
    return made


def flipped(
    sentence: Sentence,
    name: str,
    outcomes: dict[str, Outcome],
    verdict: Verdict,
    *,
    every: bool = False,
) -> dict[str, Outcome]:
    """Outcomes in which one row of a sentence, or every row of it, has another verdict."""
    claim, *labels = sentence.about[name]
    rows = Rows.of(outcomes, claim, labels).rows
    keys = {row.key for row in (rows if every else rows[-1:])}

    def change(row: Row) -> Row:
        return replace(row, verdict=verdict) if row.key in keys else row

    return {**outcomes, claim: invented(outcomes[claim], change)}


@pytest.mark.parametrize(("paper", "at"), EVERY)
def test_the_rows_that_a_sentence_is_about_exist(paper: str, at: int) -> None:
    for claim, *labels in sentences(paper)[at].about.values():
        for label in labels or ["*"]:
            assert Rows.of(empty(paper), claim, [label]).rows


@pytest.mark.parametrize(("paper", "at"), EVERY)
def test_a_sentence_with_a_condition_that_does_not_hold_is_not_printed(paper: str, at: int) -> None:
    sentence = sentences(paper)[at]
    so = replace(sentence, partly=(), stand_ins=(), greater=())
    holds = fitting(so, paper)
    rests_on = [*so.met, *so.missed]
    if not rests_on:
        return
    assert so.filled(holds)
    for name in rests_on:
        against = Verdict.MISSED if name in so.met else Verdict.IN_KIND
        assert so.filled(flipped(so, name, holds, against)) == ""
        assert so.filled(flipped(so, name, holds, Verdict.NOT_RUN)) == ""


@pytest.mark.parametrize(("paper", "at"), EVERY)
def test_a_sentence_on_rows_is_not_printed_where_nothing_was_measured(paper: str, at: int) -> None:
    sentence = sentences(paper)[at]
    if sentence.about and (sentence.met or sentence.missed or "mean" in sentence.text):
        assert sentence.filled(empty(paper)) == ""


def test_figures_are_read_from_the_rows() -> None:
    gain = Sentence(
        "It is {gain.mean:.1f} ({gain.published}).",
        {"gain": ("zombie.fig5", "ZGC-GD below GC-GD at h = 6, %")},
    )
    published = whole("zombie")
    assert gain.filled(published) == "It is 47.3 (47.3)."

    def other(row: Row) -> Row:
        return replace(as_published(row), measured=Value(12.34))

    changed = {**published, "zombie.fig5": invented(published["zombie.fig5"], other)}
    assert gain.filled(changed) == "It is 12.3 (47.3)."


def test_every_measured_figure_of_a_summary_is_a_field() -> None:
    # A figure that is typed in a sentence is the paper's, or part of an argument. It may not follow
    # words that announce a measurement.
    for paper in PAPERS:
        for sentence in sentences(paper):
            for words in ("falls by ", "rise by ", "hold in ", "change by ", "knows "):
                for found in re.finditer(re.escape(words), sentence.text):
                    after = sentence.text[found.end() :]
                    assert not re.match(r"[\d.]+", after), sentence.text


def test_a_line_on_a_reading_is_printed_under_that_reading_alone() -> None:
    outcomes = whole("zombie")
    assert "fits" in reading_line("zombie", outcomes)
    literal = {
        name: replace(one, under=dict(reversed(one.under.items())))
        for name, one in outcomes.items()
    }
    assert reading_line("zombie", literal) == ""


def test_a_part_of_a_paper_has_no_summary() -> None:
    outcomes = whole("vm")
    assert paragraph("vm", outcomes)
    del outcomes["vm.fig5"]
    assert paragraph("vm", outcomes) == ""


def test_sixteen_banks_are_above_the_bound_only_if_they_are() -> None:
    published = whole("zombie")
    assert "sixteen banks" not in paragraph("zombie", published)

    def above(row: Row) -> Row:
        return replace(as_published(row), measured=Value(43.0), verdict=Verdict.MISSED)

    beyond = {**published, "zombie.fig7": invented(published["zombie.fig7"], above)}
    assert "sixteen banks the overhead falls by up to 43%" in paragraph("zombie", beyond)


def test_a_paper_that_contradicts_itself_is_told_so_whatever_is_measured() -> None:
    assert "exclude each other" in paragraph("bsgc", empty("bsgc"))
