"""Identified drives as text for people: ranking, points, sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashgc.studies.identifying.describe import signed
from flashgc.terminal.render import LEFT, RIGHT, Text, console, folded, show, table
from flashgc.units import format_share

if TYPE_CHECKING:
    from flashgc.studies.identifying.outcome import Identification, Identified
    from flashgc.terminal.render import Console

#: The maximum number of rows of a ranking; further rows are in the JSON document.
_ROWS = 8
#: Width of a scheme's name in characters.
_NAME = 34


def show_identification(identification: Identification) -> None:
    """Print the ranking, the points and the findings of every drive."""
    out = console()
    for number, drive in enumerate(identification.drives):
        if number:
            out.print()
        _show(out, drive)


def _show(out: Console, identification: Identified) -> None:
    out.print(Text(identification.name, style="bold cyan"), soft_wrap=True)
    for finding in identification.findings:
        out.print(Text(finding.sentence))
    if not identification.ranking:
        return
    out.print()
    _ranking(out, identification)
    out.print()
    _points(out, identification)
    for change in identification.what_ifs:
        out.print()
        listing = table(
            out, [("what if", LEFT), ("now", RIGHT), ("then", RIGHT), ("change", RIGHT)]
        )
        for workload, now, then in zip(change.workloads, change.now, change.then, strict=True):
            listing.add_row(workload, f"{now:.3f}", f"{then:.3f}", signed(then / now - 1))
        show(out, listing)


def _ranking(out: Console, identification: Identified) -> None:
    columns = [("#", RIGHT), ("scheme", LEFT), ("spare", RIGHT), ("rms", RIGHT)]
    listing = table(out, [*columns, ("largest", RIGHT), ("verdict", LEFT)])
    for ranked in identification.ranking[:_ROWS]:
        explanation = ranked.explanation
        verdict = "beaten" if ranked.is_told_apart else "cannot tell"
        if ranked.place == 1:
            verdict = "best" if identification.is_explained else "nearest"
        listing.add_row(
            str(ranked.place),
            folded(explanation.scheme.name, _NAME),
            ", ".join(format_share(fit.spare) for fit in explanation.fits),
            format_share(explanation.rms),
            format_share(explanation.largest),
            verdict,
        )
    show(out, listing)
    if len(identification.ranking) > _ROWS:
        out.print(f"{len(identification.ranking) - _ROWS} more are in the JSON document.")


def _points(out: Console, identification: Identified) -> None:
    best = identification.ranking[0].explanation
    several = len(identification.drives) > 1
    columns = [("drive", LEFT)] if several else []
    columns += [("workload", LEFT), ("measured", RIGHT), ("best", RIGHT), ("error", RIGHT)]
    if identification.held_out:
        columns += [("held out", RIGHT), ("error", RIGHT)]
    listing = table(out, columns)
    held = iter(identification.held_out)
    for drive, fit in zip(identification.drives, best.fits, strict=True):
        for point, value, error in zip(drive.points, fit.predicted, fit.errors, strict=True):
            cells = [drive.name] if several else []
            cells += [point.workload, f"{point.write_amplification:.3f}", f"{value:.3f}"]
            cells.append(signed(error))
            if identification.held_out:
                other = next(held)
                cells += [f"{other.predicted:.3f}", signed(other.error)]
            listing.add_row(*cells)
    show(out, listing)
