"""The cells of a claim's table in words, the same in a terminal and in the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flashgc_papers.reproduce.rows import Row
from flashgc_papers.reproduce.runner import Outcome
from flashgc_papers.reproduce.verdicts import Value, Verdict, signed_percent


@dataclass(frozen=True)
class Line:
    """A row in words."""

    row: Row
    published: str
    measured: str
    difference: str


def lines(rows: Sequence[Row]) -> list[Line]:
    """Rows of a claim in words; all published numbers have as many decimals as the longest."""
    numbers = [row.published for row in rows if not isinstance(row.published, str)]
    digits = max((_decimals(number) for number in numbers), default=0)
    return [Line(row, _published(row, digits), _measured(row), _difference(row)) for row in rows]


@dataclass(frozen=True)
class Group:
    """Rows of a claim with one verdict under one reading."""

    verdict: Verdict
    lines: list[Line]


def groups(outcome: Outcome) -> list[tuple[str, list[Group]]]:
    """The rows of a claim in words, by reading, the chosen one first, and by verdict."""
    written = lines(outcome.rows)
    names = dict.fromkeys(line.row.reading for line in written)
    return [
        (name, _by_verdict([line for line in written if line.row.reading == name]))
        for name in names
    ]


def _by_verdict(written: Sequence[Line]) -> list[Group]:
    """Rows that hold come first, then those that do not, each in their order."""
    several = [
        Group(verdict, [line for line in written if line.row.verdict is verdict])
        for verdict in Verdict
    ]
    return [group for group in several if group.lines]


def tally(rows: Sequence[Row]) -> list[tuple[Verdict, int]]:
    """The number of rows with each verdict, without verdicts that no row has."""
    counts = [(verdict, sum(row.verdict is verdict for row in rows)) for verdict in Verdict]
    return [(verdict, count) for verdict, count in counts if count]


def _decimals(number: float) -> int:
    return min(4, len(f"{number!r}".partition(".")[2]))


def _published(row: Row, digits: int) -> str:
    if isinstance(row.published, str):
        return row.published
    half = "" if row.published_ci95 is None else f" ±{row.published_ci95:.{digits}f}"
    return f"{row.published:.{digits}f}{half}"


def _measured(row: Row) -> str:
    if isinstance(row.measured, Value):
        half = f" ±{row.measured.ci95:.4f}" if row.measured.simulated else ""
        return f"{row.measured.mean:.4f}{half}"
    return row.measured or "-"


def _difference(row: Row) -> str:
    return "" if row.difference is None else signed_percent(row.difference)
