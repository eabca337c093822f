"""Summaries: a paragraph on each paper, for somebody who knows it by heart.

``summaries.toml`` has the sentences. A sentence names the rows that it is about and the verdicts
that it rests on. Its figures are read from these rows. It is left out where a verdict or a figure
is another one in this run, so that no sentence of a summary is false.
"""

from __future__ import annotations

import functools
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from flashgc_papers.claims import claims
from flashgc_papers.entries import document
from flashgc_papers.reproduce.runner import NotMeasuredError
from flashgc_papers.reproduce.selection import Outcomes, Rows
from flashgc_papers.reproduce.verdicts import Verdict

#: A claim, and patterns of the labels of its rows; without patterns all of its rows.
Place = tuple[str, ...]


@dataclass(frozen=True)
class Sentence:
    """A sentence on outcomes.

    ``text`` has fields as ``str.format`` has them: ``{gain.mean:.1f}`` is the measured number of
    the rows named ``gain``, and :class:`Rows` has what else there is.

    >>> Sentence("The gain is {gain.mean:.1f}%.", {"gain": ("zombie.fig5", "*h = 6*")}).filled({})
    ''
    """

    text: str
    #: The rows that it is about, by the name that ``text`` has for them.
    about: Mapping[str, Place] = field(default_factory=dict)
    #: Names of rows that must be as published, each. If some of these, or of those with a figure in
    #: ``text``, do not count, a remark after the sentence says so.
    met: Sequence[str] = ()
    #: Names of rows that must be missed, each.
    missed: Sequence[str] = ()
    #: Names of rows of which at least one must not be as published.
    partly: Sequence[str] = ()
    #: Names of rows that must be measured on stand-ins, each.
    stand_ins: Sequence[str] = ()
    #: Two figures of rows, as fields of ``text``; the first must be greater.
    greater: Sequence[str] = ()
    #: The reading that must be the chosen one; empty for any.
    under: str = ""

    def filled(self, outcomes: Outcomes) -> str:
        """The sentence with its figures, or nothing where it does not hold of ``outcomes``."""
        if self.under and not any(
            _chosen(outcome.under) == self.under for outcome in outcomes.values()
        ):
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


def _chosen(under: Mapping[str, object]) -> str:
    return next(iter(under), "")


@dataclass(frozen=True)
class Summary:
    """The sentences of a paper."""

    #: The chosen reading, and what in it is a fit: one line.
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
    """True if all claims of a paper are among ``outcomes``: of a part there is no summary."""
    return all(claim.id in outcomes for claim in claims().select((paper,)))


def reading_line(paper: str, outcomes: Outcomes) -> str:
    """The line on the chosen reading of a paper, or nothing."""
    return summaries()[paper].reading.filled(outcomes) if whole(paper, outcomes) else ""


def paragraph(paper: str, outcomes: Outcomes) -> str:
    """The paragraph on a paper, or nothing where only a part of it was asked for."""
    if not whole(paper, outcomes):
        return ""
    texts = (sentence.filled(outcomes) for sentence in summaries()[paper].sentences)
    return " ".join(filter(None, texts))
