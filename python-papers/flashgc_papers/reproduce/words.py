"""The cells of a claim's table in words, the same in a terminal and in the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flashgc_papers.reproduce.runner import Outcome, Row
from flashgc_papers.reproduce.verdicts import Value, Verdict, signed_percent


@dataclass(frozen=True)
class Line:
    """A row in words."""

    row: Row
    published: str
    measured: str
    difference: str


def lines(rows: Sequence[Row]) -> list[Line]:
    """Rows of a claim in words; published numbers with as many decimals as any of them has."""
    numbers = [one.published for one in rows if not isinstance(one.published, str)]
    digits = max((_decimals(number) for number in numbers), default=0)
    return [Line(one, _published(one, digits), _measured(one), _difference(one)) for one in rows]


@dataclass(frozen=True)
class Group:
    """Rows of a claim with one verdict under one reading."""

    verdict: Verdict
    lines: list[Line]


def groups(outcome: Outcome) -> list[tuple[str, list[Group]]]:
    """The rows of a claim in words, by reading, the chosen one first, and by verdict."""
    made = lines(outcome.rows)
    names = dict.fromkeys(one.row.reading for one in made)
    return [(name, _by_verdict([one for one in made if one.row.reading == name])) for name in names]


def _by_verdict(made: Sequence[Line]) -> list[Group]:
    """Rows that hold come first, then those that do not, each in their order."""
    found = [
        Group(verdict, [one for one in made if one.row.verdict is verdict]) for verdict in Verdict
    ]
    return [one for one in found if one.lines]


def tally(rows: Sequence[Row]) -> list[tuple[Verdict, int]]:
    """The number of rows with each verdict that there is."""
    found = [(verdict, sum(row.verdict is verdict for row in rows)) for verdict in Verdict]
    return [(verdict, count) for verdict, count in found if count]


def _decimals(number: float) -> int:
    return min(4, len(f"{number!r}".partition(".")[2]))


def _published(one: Row, digits: int) -> str:
    if isinstance(one.published, str):
        return one.published
    half = "" if one.published_ci95 is None else f" ±{one.published_ci95:.{digits}f}"
    return f"{one.published:.{digits}f}{half}"


def _measured(one: Row) -> str:
    if isinstance(one.measured, Value):
        half = f" ±{one.measured.ci95:.4f}" if one.measured.simulated else ""
        return f"{one.measured.mean:.4f}{half}"
    return one.measured or "-"


def _difference(one: Row) -> str:
    return "" if one.difference is None else signed_percent(one.difference)
