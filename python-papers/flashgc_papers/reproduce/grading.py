"""Grades of rows: they count less on a stand-in, with unsteady runs, or after a fit.

A reading, a preset or a parameter was chosen because a fitted row then agreed with the paper. So
its agreement proves nothing. ``fits.toml`` lists such rows, with the reason. They are ``fitted``,
and do not count as met.
"""

from __future__ import annotations

import fnmatch
import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from flashgc import ConfigError
from flashgc.results import Result
from flashgc.results.findings import NOTE
from flashgc_papers.claims import Claim, Input, claims
from flashgc_papers.engine import suggest
from flashgc_papers.entries import entries, text_of
from flashgc_papers.reproduce.rows import Row
from flashgc_papers.reproduce.steadiness import runs_of
from flashgc_papers.reproduce.tasks import Measured
from flashgc_papers.reproduce.verdicts import COUNTED, Value, Verdict, beyond, sized, together

_KEYS = ("claim", "under", "rows", "why")
#: Verdicts that ``fitted`` replaces.
_REPLACED = (Verdict.MET, Verdict.IN_KIND, Verdict.UNSTEADY)


@dataclass(frozen=True)
class Fit:
    """Rows of a claim to which something was fitted."""

    claim: str
    #: The choices that these rows decided, in words.
    why: str
    #: The names of the fitted readings; empty for all readings of the claim.
    under: tuple[str, ...] = ()
    #: Patterns of the labels of the rows; empty for all rows of the claim.
    rows: tuple[str, ...] = ()

    def covers(self, label: str, reading: str) -> bool:
        """Return true if the row ``label`` under ``reading`` is one of the fitted rows."""
        is_named = not self.rows or any(
            fnmatch.fnmatchcase(label, pattern) for pattern in self.rows
        )
        return is_named and (not self.under or reading in self.under)


@functools.cache
def fits() -> tuple[Fit, ...]:
    """The fits of all papers, in the order of the file."""
    return parse(text_of("fits.toml"), "fits.toml")


def parse(text: str, place: str) -> tuple[Fit, ...]:
    """Reads a file of fits; raises :class:`flashgc.ConfigError`, naming the claim."""
    ids = [claim.id for claim in claims().claims]
    covered = []
    for at, raw in entries(text, place, "fit", "claim", _KEYS):
        for key in ("claim", "why"):
            if not raw.get(key):
                raise ConfigError(f"{at}: {key}: found nothing, expected text")
        if raw["claim"] not in ids:
            raise ConfigError(f"{at}: unknown claim; hint: {suggest(raw['claim'], ids)}")
        lists = {key: tuple(raw.get(key, ())) for key in ("under", "rows")}
        covered.append(Fit(raw["claim"], raw["why"], **lists))
    return tuple(covered)


def fitted(claim: Claim, row: Row) -> Row:
    """The row, with the verdict ``fitted`` if it agrees and a choice was made by it.

    Only rows on stand-ins can be fitted; rows on the paper's own trace cannot.
    """
    own = claim.input is Input.TRACE and not row.stand_in
    if row.verdict not in _REPLACED or own:
        return row
    for fit in fits():
        if fit.claim == claim.id and fit.covers(row.label, row.reading):
            return replace(row, verdict=Verdict.FITTED, uncounted=fit.why)
    return row


def graded(claim: Claim, measured: Measured, row: Row) -> Row:
    """The row with its final verdict, and with the runs that it depends on."""
    return fitted(claim, _settled(measured, _in_kind(claim, row)))


def _in_kind(claim: Claim, row: Row) -> Row:
    stands_in = claim.input in (Input.RIG, Input.LIVE) or (
        claim.input is Input.TRACE and row.stand_in
    )
    if row.verdict is not Verdict.MET or not stands_in:
        return row
    if isinstance(row.measured, Value) and row.least is not None:
        verdict, size = beyond(row.measured, row.least)
    elif (
        isinstance(row.measured, Value)
        and not isinstance(row.published, str)
        and row.base is not None
    ):
        verdict, size = sized(row.measured, float(row.published), base=row.base)
    else:
        return replace(row, verdict=Verdict.IN_KIND)
    kind = Verdict.IN_KIND if verdict is Verdict.MET else Verdict.MISSED
    return replace(row, verdict=kind, why=f"{row.why}; {size}" if row.why else size)


def _settled(measured: Measured, row: Row) -> Row:
    """The row with its runs; it does not count as met if some of them are not steady."""
    keys = [key for key in measured.results if key in row.taken or not row.taken]
    runs = runs_of([measured.results[key] for key in keys])
    if row.verdict not in COUNTED or not runs.moving or measured.task.whole:
        return replace(row, runs=runs)
    why = f"{runs.moving} of {runs.all} runs still move"
    return replace(row, runs=runs, verdict=Verdict.UNSTEADY, uncounted=why)


def verdict_of(claim: Claim, rows: Sequence[Row]) -> Verdict:
    """The verdict on rows: ``contradicts-itself`` instead of ``missed`` if the paper does so."""
    verdict = together([row.verdict for row in rows])
    is_excluded = verdict is Verdict.MISSED and claim.contradiction
    return Verdict.CONTRADICTED if is_excluded else verdict


def reason_of(rows: Sequence[Row]) -> str:
    """The reason of the only row, or how many rows have each verdict."""
    if len(rows) == 1:
        return rows[0].reason
    counts = {verdict: sum(row.verdict is verdict for row in rows) for verdict in Verdict}
    if len(rows) in counts.values():
        return f"all {len(rows)} rows"
    text = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    return f"{text} of {len(rows)} rows"


def doubts(measured: Measured) -> list[str]:
    """Notes on the runs that are not steady, and on findings that question figures of runs."""
    return [*_unsettled(measured), *_findings(measured.results)]


def _unsettled(measured: Measured) -> list[str]:
    if measured.task.whole:
        return [f"Nothing has to be steady: {measured.task.whole}."] if measured.results else []
    runs = runs_of([*measured.results.values()])
    parts = [(runs.moving, "still move"), (runs.unknown, "are not known to be steady")]
    text = " and ".join(f"{count} {what}" for count, what in parts if count)
    return [f"Of the {runs.all} simulations {text}."] if text else []


def _findings(results: Mapping[str, Result]) -> list[str]:
    counts = Counter(
        id_
        for result in results.values()
        for id_ in {finding.id for finding in result.findings if finding.gravity != NOTE}
    )
    if not counts:
        return []
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    text = ", ".join(f"{id_} of {count}" for id_, count in ranked)
    return [f"Findings of the {len(results)} simulations that doubt their figures: {text}."]
