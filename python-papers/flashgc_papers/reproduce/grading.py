"""Grades of rows: what they lose on a stand-in, by runs that still move, and by a fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from flashgc.results import Result
from flashgc.results.findings import NOTE
from flashgc_papers.claims import Claim, Input
from flashgc_papers.reproduce.fits import fitted
from flashgc_papers.reproduce.steadiness import runs_of
from flashgc_papers.reproduce.verdicts import COUNTED, Value, Verdict, beyond, sized, together

if TYPE_CHECKING:
    from flashgc_papers.reproduce.runner import Measured, Row


def graded(claim: Claim, measured: Measured, one: Row) -> Row:
    """The row with the verdict that it keeps, and with the runs that it rests on."""
    return fitted(claim, _settled(measured, _in_kind(claim, one)))


def _in_kind(claim: Claim, one: Row) -> Row:
    stands_in = claim.input in (Input.RIG, Input.LIVE) or (
        claim.input is Input.TRACE and one.stand_in
    )
    if one.verdict is not Verdict.MET or not stands_in:
        return one
    if isinstance(one.measured, Value) and one.least is not None:
        verdict, size = beyond(one.measured, one.least)
    elif (
        isinstance(one.measured, Value)
        and not isinstance(one.published, str)
        and one.base is not None
    ):
        verdict, size = sized(one.measured, float(one.published), base=one.base)
    else:
        return replace(one, verdict=Verdict.IN_KIND)
    kind = Verdict.IN_KIND if verdict is Verdict.MET else Verdict.MISSED
    return replace(one, verdict=kind, why=f"{one.why}; {size}" if one.why else size)


def _settled(measured: Measured, one: Row) -> Row:
    """The row with its runs; it does not count as met where some of them still move."""
    keys = [key for key in measured.results if key in one.taken or not one.taken]
    runs = runs_of([measured.results[key] for key in keys])
    if one.verdict not in COUNTED or not runs.moving or measured.task.whole:
        return replace(one, runs=runs)
    why = f"{runs.moving} of {runs.all} runs still move"
    return replace(one, runs=runs, verdict=Verdict.UNSTEADY, uncounted=why)


def verdict_of(claim: Claim, rows: Sequence[Row]) -> Verdict:
    """The verdict on a claim with these rows; none is missed where its paper excludes it."""
    verdict = together([one.verdict for one in rows])
    is_excluded = verdict is Verdict.MISSED and claim.contradiction
    return Verdict.CONTRADICTED if is_excluded else verdict


def reason_of(rows: Sequence[Row]) -> str:
    """The reason of the only row, or how many rows have each verdict."""
    if len(rows) == 1:
        return rows[0].reason
    counts = {verdict: sum(one.verdict is verdict for one in rows) for verdict in Verdict}
    if len(rows) in counts.values():
        return f"all {len(rows)} rows"
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    return f"{said} of {len(rows)} rows"


def doubts(measured: Measured) -> list[str]:
    """Notes on the runs that are not steady, and on findings that doubt their figures."""
    return [*_unsettled(measured), *_findings(measured.results)]


def _unsettled(measured: Measured) -> list[str]:
    if measured.task.whole:
        return [f"Nothing has to be steady: {measured.task.whole}."] if measured.results else []
    runs = runs_of([*measured.results.values()])
    parts = [(runs.moving, "still move"), (runs.unknown, "are not known to be steady")]
    said = " and ".join(f"{count} {what}" for count, what in parts if count)
    return [f"Of the {runs.all} simulations {said}."] if said else []


def _findings(results: Mapping[str, Result]) -> list[str]:
    found = Counter(
        id_
        for result in results.values()
        for id_ in {one.id for one in result.findings if one.gravity != NOTE}
    )
    if not found:
        return []
    ranked = sorted(found.items(), key=lambda one: (-one[1], one[0]))
    said = ", ".join(f"{id_} of {count}" for id_, count in ranked)
    return [f"Findings of the {len(results)} simulations that doubt their figures: {said}."]
