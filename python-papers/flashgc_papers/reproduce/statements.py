"""Every statement of the papers in one table: published, measured, verdict, and why it is missed.

``statements.toml`` lists what the papers state, each with the claim and the rows that check it, or
with the reason why nothing does. Figures and verdicts are those of outcomes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from flashgc import ConfigError
from flashgc_papers.claims import Input, claims
from flashgc_papers.engine import suggest
from flashgc_papers.entries import entries, text_of
from flashgc_papers.reproduce.runner import NotMeasuredError, Row
from flashgc_papers.reproduce.selection import Outcomes, Rows
from flashgc_papers.reproduce.verdicts import COUNTED, Value, Verdict
from flashgc_papers.reproduce.words import lines

#: The word for a statement that no claim checks.
UNCLAIMED = "not measured"
#: Up to this many rows of a statement are written out, in this many characters.
FEW, SHORT = 4, 110
#: The columns of the table.
COLUMNS = ("place", "statement", "claim", "reading", "published", "measured", "verdict", "cause")

_KEYS = ("paper", "place", "what", "claim", "rows", "published", "cause", "under", "reason")


@dataclass(frozen=True)
class Statement:
    """Something that a paper states."""

    paper: str
    #: Section, table or figure.
    place: str
    what: str
    #: The claim that checks it; empty if none does.
    claim: str = ""
    #: Patterns of the labels of its rows; empty for all rows of the claim.
    rows: tuple[str, ...] = ()
    #: The published figure in words, where the rows do not say it.
    published: str = ""
    #: The reason why it is missed, where the rows do not say it.
    cause: str = ""
    #: The reading that the cause is about; empty for any.
    under: str = ""
    #: The reason why no claim checks it.
    reason: str = ""


@dataclass(frozen=True)
class Line:
    """A line of the table: a statement beside what was measured."""

    statement: Statement
    reading: str
    published: str
    measured: str
    #: A verdict, or :data:`UNCLAIMED`.
    verdict: str
    #: Empty where the statement is met.
    cause: str

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the cells under :data:`COLUMNS`."""
        statement = self.statement
        figures = (self.reading, self.published, self.measured, self.verdict, self.cause)
        return (statement.place, statement.what, statement.claim, *figures)


@functools.cache
def statements() -> tuple[Statement, ...]:
    """The statements of all papers, in the order of the file."""
    return parse(text_of("statements.toml"), "statements.toml")


def parse(text: str, place: str) -> tuple[Statement, ...]:
    """Reads a file of statements; raises :class:`flashgc.ConfigError`, naming the statement."""
    known = claims()
    ids = [claim.id for claim in known.claims]
    parsed = []
    for at, raw in entries(text, place, "statement", "what", _KEYS):
        statement = Statement(**{**raw, "rows": tuple(raw.get("rows", ()))})
        if statement.paper not in known.papers:
            raise ConfigError(f"{at}: there is no [paper.{statement.paper}]")
        if bool(statement.claim) == bool(statement.reason):
            raise ConfigError(f"{at}: found a claim and a reason, or neither; expected one of them")
        if statement.claim and statement.claim not in ids:
            raise ConfigError(
                f"{at}: unknown claim '{statement.claim}'; hint: {suggest(statement.claim, ids)}"
            )
        parsed.append(statement)
    return tuple(parsed)


def table(paper: str, outcomes: Outcomes) -> list[Line]:
    """The statements of a paper whose claims are among ``outcomes``.

    Those without a claim are there where all of the paper's claims are.
    """
    of_paper = [statement for statement in statements() if statement.paper == paper]
    whole = all(claim.id in outcomes for claim in claims().select((paper,)))
    return [
        _line(statement, outcomes) for statement in of_paper if statement.claim in outcomes or whole
    ]


def _line(statement: Statement, outcomes: Outcomes) -> Line:
    if not statement.claim:
        return Line(statement, "", statement.published, "", UNCLAIMED, statement.reason)
    outcome = outcomes[statement.claim]
    reading = next(iter(outcome.under), "")
    try:
        rows = Rows.of(outcomes, statement.claim, statement.rows)
    except NotMeasuredError as missing:
        return Line(statement, reading, statement.published, "", str(Verdict.NOT_RUN), str(missing))
    verdict = rows.verdict if statement.rows else outcome.verdict
    missed = verdict not in COUNTED
    return Line(
        statement,
        reading,
        statement.published or _published(rows.rows),
        _measured(rows),
        str(verdict),
        _cause(statement, rows, verdict, reading) if missed else "",
    )


def _published(rows: Sequence[Row]) -> str:
    texts = [line.published for line in lines(rows)]
    text = "; ".join(texts if len(set(texts)) > 1 else texts[:1])
    return text if len(rows) <= FEW and len(text) <= SHORT else ""


def _measured(rows: Rows) -> str:
    """The measured figures of few rows; of many how many hold, and how far numbers are off."""
    written = "; ".join(_short(row) for row in rows.rows)
    if rows.of_all == 1 or (rows.of_all <= FEW and len(written) <= SHORT):
        return written
    text = f"{rows.held} of {rows.of_all} rows hold"
    if all(row.verdict is Verdict.NOT_RUN for row in rows.rows):
        return ""
    shares = [row.difference for row in rows.rows]
    numbers = [100 * share for share in shares if share is not None]
    if len(numbers) == len(shares):
        text += f"; {_percent(min(numbers))} to {_percent(max(numbers))}"
    return text


def _percent(value: float) -> str:
    """A difference in two digits, or in whole percents.

    >>> _percent(0.0137), _percent(-12.3), _percent(4912.2)
    ('+0.014%', '-12%', '+4912%')
    """
    return f"{value:+.2g}%" if abs(value) < 100 else f"{value:+.0f}%"


def _short(row: Row) -> str:
    """A measured figure in four digits, with its interval."""
    if not isinstance(row.measured, Value):
        return row.measured or "-"
    value = row.measured
    text = f"{value.mean:.4g}"
    if value.simulated:
        text += f" ±{value.ci95:.2g}"
    return text


def _cause(statement: Statement, rows: Rows, verdict: Verdict, reading: str) -> str:
    """The argument that the file has, the contradiction, or why the rows were missed."""
    replayed = rows.claim.input is Input.TRACE and not any(row.stand_in for row in rows.rows)
    argued = statement.cause if statement.under in ("", reading) and not replayed else ""
    if verdict is Verdict.CONTRADICTED:
        return argued or rows.claim.contradiction
    if verdict is Verdict.MISSED and argued:
        return argued
    # Rows that decide the verdict come first.
    ranked = sorted(rows.rows, key=lambda row: row.verdict is not verdict)
    whys = {row.obstacle: None for row in ranked if row.verdict not in COUNTED and row.obstacle}
    few = list(whys)[:2]
    more = f"; and {len(whys) - len(few)} more" if len(whys) > len(few) else ""
    return "; ".join(few) + more
