"""Every statement of the papers in one table, and a paragraph on each paper for those who know it.

``statements.toml`` lists what the papers state, each with the claim and the rows that check it, or
with the reason why nothing does. Figures and verdicts are those of outcomes. ``summaries.toml`` has
the sentences of the paragraphs. A sentence names the rows that it is about and the verdicts that it
rests on. A sentence is left out if one of these verdicts or figures differs in this run, so that no
sentence of a summary is false.
"""

from __future__ import annotations

import fnmatch
import functools
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from flashgc import ConfigError
from flashgc_papers.claims import Claim, Input, claims
from flashgc_papers.engine import suggest
from flashgc_papers.entries import document, entries, text_of
from flashgc_papers.reproduce.grading import verdict_of
from flashgc_papers.reproduce.rows import Row
from flashgc_papers.reproduce.runner import Outcome, held
from flashgc_papers.reproduce.tasks import NotMeasuredError
from flashgc_papers.reproduce.verdicts import COUNTED, Value, Verdict
from flashgc_papers.reproduce.words import lines

#: Outcomes by the id of their claims.
Outcomes = Mapping[str, Outcome]


@dataclass(frozen=True)
class Rows:
    """Some rows of a claim under the chosen reading."""

    claim: Claim
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, outcomes: Outcomes, claim: str, patterns: Sequence[str] = ()) -> Rows:
        """The rows whose labels match one of ``patterns`` (``*`` is anything); without any, all.

        Raises :class:`NotMeasuredError` if the claim was not run or has no such row.
        """
        if claim not in outcomes:
            raise NotMeasuredError(f"{claim} was not asked for")
        outcome = outcomes[claim]
        rows = tuple(
            row
            for row in outcome.chosen
            if not patterns or any(fnmatch.fnmatchcase(row.label, pattern) for pattern in patterns)
        )
        if not rows:
            missing = "no such row at this size" if outcome.rows else outcome.why
            raise NotMeasuredError(missing)
        return cls(outcome.claim, rows)

    @property
    def verdict(self) -> Verdict:
        """The verdict on all rows together."""
        return verdict_of(self.claim, self.rows)

    @property
    def holds(self) -> bool:
        """True if every row is as published, whether it counts or not."""
        return self.held == self.of_all

    @property
    def fails(self) -> bool:
        """True if every row is missed."""
        return all(row.verdict is Verdict.MISSED for row in self.rows)

    @property
    def held(self) -> int:
        """Return the number of rows that are as published, whether they count or not."""
        return held(self.rows)

    @property
    def of_all(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    @property
    def means(self) -> list[float]:
        """Return the measured number of each row; raises :class:`NotMeasuredError` without one."""
        values = [row.measured for row in self.rows]
        if not all(isinstance(value, Value) for value in values):
            raise NotMeasuredError("no number was measured")
        return [value.mean for value in values if isinstance(value, Value)]

    @property
    def mean(self) -> float:
        """Return the measured number of the only row."""
        (mean,) = self.means
        return mean

    @property
    def least(self) -> float:
        """Return the least measured number."""
        return min(self.means)

    @property
    def most(self) -> float:
        """Return the largest measured number."""
        return max(self.means)

    @property
    def off(self) -> float:
        """Return the largest distance from a published number, in percent of it."""
        shares = [row.difference for row in self.rows]
        if None in shares:
            raise NotMeasuredError("no number to compare")
        return 100 * max(abs(share) for share in shares if share is not None)

    @property
    def said(self) -> str:
        """Return the measured words of the only row."""
        (row,) = self.rows
        if not isinstance(row.measured, str):
            raise NotMeasuredError("no words were measured")
        return row.measured

    @property
    def published(self) -> float | str:
        """Return the published value of the only row."""
        (row,) = self.rows
        return row.published


#: The word for a statement that no claim checks.
UNCLAIMED = "not measured"
#: The largest number of rows of a statement, and of characters, that a cell of the table has.
FEW, SHORT = 4, 110
#: The columns of the table.
COLUMNS = ("place", "statement", "claim", "reading", "published", "measured", "verdict", "cause")

_KEYS = ("paper", "place", "what", "claim", "rows", "published", "cause", "under", "reason")


@dataclass(frozen=True)
class Statement:
    """Something that a paper states."""

    paper: str
    #: The section, table or figure of the paper.
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
    """A line of the table: a statement with the measured values."""

    statement: Statement
    reading: str
    published: str
    measured: str
    #: A verdict, or :data:`UNCLAIMED`.
    verdict: str
    #: The reason why the statement does not count as met; empty if it does.
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

    Statements without a claim are included if all of the paper's claims are.
    """
    of_paper = [statement for statement in statements() if statement.paper == paper]
    every = whole(paper, outcomes)
    return [
        _line(statement, outcomes) for statement in of_paper if statement.claim in outcomes or every
    ]


def _line(statement: Statement, outcomes: Outcomes) -> Line:
    if not statement.claim:
        return Line(statement, "", statement.published, "", UNCLAIMED, statement.reason)
    outcome = outcomes[statement.claim]
    reading = outcome.reading
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
    """The measured figures of few rows; for many, how many hold, and the range of differences."""
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
    """The argument in the file, the contradiction, or the reasons why rows were missed."""
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


#: A claim, and patterns of the labels of its rows; without patterns all of its rows.
Place = tuple[str, ...]


@dataclass(frozen=True)
class Sentence:
    """A sentence on outcomes.

    ``text`` has fields as in ``str.format``: ``{gain.mean:.1f}`` is the measured number of the
    rows named ``gain``. :class:`Rows` has the other fields.

    >>> Sentence("The gain is {gain.mean:.1f}%.", {"gain": ("zombie.fig5", "*h = 6*")}).filled({})
    ''
    """

    text: str
    #: The rows that it is about, by the name that ``text`` has for them.
    about: Mapping[str, Place] = field(default_factory=dict)
    #: Names of rows that must all be as published. If some of these rows, or of the rows with a
    #: figure in ``text``, do not count, a remark after the sentence says so.
    met: Sequence[str] = ()
    #: Names of rows that must all be missed.
    missed: Sequence[str] = ()
    #: Names of rows; at least one row of each name must not be as published.
    partly: Sequence[str] = ()
    #: Names of rows that must all be measured on stand-ins.
    stand_ins: Sequence[str] = ()
    #: Two figures of rows, as fields of ``text``; the first must be greater.
    greater: Sequence[str] = ()
    #: The reading that must be the chosen one; empty for any.
    under: str = ""

    def filled(self, outcomes: Outcomes) -> str:
        """The sentence with its figures; empty if it does not hold for ``outcomes``."""
        if self.under and all(outcome.reading != self.under for outcome in outcomes.values()):
            return ""
        try:
            rows = {
                name: Rows.of(outcomes, claim, labels)
                for name, (claim, *labels) in self.about.items()
            }
            holds = (
                all(rows[name].holds for name in self.met)
                and all(rows[name].fails for name in self.missed)
                and not any(rows[name].holds for name in self.partly)
                and all(row.stand_in for name in self.stand_ins for row in rows[name].rows)
            )
            if self.greater:
                first, second = (float(f"{{{field}}}".format_map(rows)) for field in self.greater)
                holds = holds and first > second
            shown = {name for name in self._fields() | {*self.met} if name in rows}
            text = self.text.format_map(rows) + remark(rows[name] for name in shown)
            return text if holds else ""
        except NotMeasuredError:
            return ""

    def _fields(self) -> set[str]:
        """The names of the rows with a figure in the text."""
        parts = (field for _, field, _, _ in string.Formatter().parse(self.text) if field)
        return {part.partition(".")[0] for part in parts}


#: The verdicts of rows that are as published and do not count.
UNCOUNTED = (Verdict.FITTED, Verdict.UNSTEADY)


def remark(about: Iterable[Rows]) -> str:
    """The remark on rows that are as published and do not count, or nothing."""
    verdicts = [row.verdict for some in about for row in some.rows]
    parts = [
        str(verdict) if set(verdicts) == {verdict} else f"in part {verdict}"
        for verdict in UNCOUNTED
        if verdict in verdicts
    ]
    return f" [{' and '.join(parts)}: not counted as met]" if parts else ""


@dataclass(frozen=True)
class Summary:
    """The sentences of a paper."""

    #: One line on the chosen reading, and on its fits.
    reading: Sentence
    sentences: Sequence[Sentence]


@functools.cache
def summaries() -> Mapping[str, Summary]:
    """The summaries of all papers by their names."""
    return {
        paper: Summary(
            Sentence(entry["reading"], under=entry.get("under", "")),
            [Sentence(**sentence) for sentence in entry["sentence"]],
        )
        for paper, entry in document("summaries.toml")["paper"].items()
    }


def whole(paper: str, outcomes: Outcomes) -> bool:
    """True if all claims of a paper are among ``outcomes``; only then it has a summary."""
    return all(claim.id in outcomes for claim in claims().select((paper,)))


def reading_line(paper: str, outcomes: Outcomes) -> str:
    """The line on the chosen reading of a paper, or nothing."""
    return summaries()[paper].reading.filled(outcomes) if whole(paper, outcomes) else ""


def paragraph(paper: str, outcomes: Outcomes) -> str:
    """The paragraph on a paper; empty if only a part of its claims was run."""
    if not whole(paper, outcomes):
        return ""
    texts = (sentence.filled(outcomes) for sentence in summaries()[paper].sentences)
    return " ".join(filter(None, texts))
