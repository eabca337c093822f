"""Identified drives as people read them: ranking, points, sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashgc.studies.identifying.describe import signed
from flashgc.terminal.render import LEFT, RIGHT, Text, console, folded, is_plain, show, table
from flashgc.units import format_share

if TYPE_CHECKING:
    from flashgc.studies.identifying.outcome import Identification, Identified
    from flashgc.terminal.render import Console

#: Rows of a ranking: more are in the JSON document.
_ROWS = 8
#: Characters of a scheme's name in a table.
_NAME = 34


def show_identification(made: Identification) -> None:
    """Prints everything about every drive."""
    out = console()
    for number, one in enumerate(made.drives):
        if number:
            out.print()
        _show(out, one)


def _show(out: Console, one: Identified) -> None:
    out.print(Text(one.name, style="" if is_plain(out) else "bold cyan"), soft_wrap=True)
    for finding in one.findings:
        out.print(Text(finding.sentence), soft_wrap=is_plain(out))
    if not one.ranking:
        return
    out.print()
    _ranking(out, one)
    out.print()
    _points(out, one)
    for change in one.what_ifs:
        out.print()
        made = table(out, [("what if", LEFT), ("now", RIGHT), ("then", RIGHT), ("change", RIGHT)])
        for workload, now, then in zip(change.workloads, change.now, change.then, strict=True):
            made.add_row(workload, f"{now:.3f}", f"{then:.3f}", signed(then / now - 1))
        show(out, made)


def _ranking(out: Console, one: Identified) -> None:
    columns = [("#", RIGHT), ("scheme", LEFT), ("spare", RIGHT), ("rms", RIGHT)]
    made = table(out, [*columns, ("largest", RIGHT), ("verdict", LEFT)])
    for ranked in one.ranking[:_ROWS]:
        explanation = ranked.explanation
        verdict = "beaten" if ranked.is_told_apart else "cannot tell"
        if ranked.place == 1:
            verdict = "best" if one.is_explained else "nearest"
        made.add_row(
            str(ranked.place),
            folded(explanation.scheme.name, _NAME),
            ", ".join(format_share(fit.spare) for fit in explanation.fits),
            format_share(explanation.rms),
            format_share(explanation.largest),
            verdict,
        )
    show(out, made)
    if len(one.ranking) > _ROWS:
        out.print(f"{len(one.ranking) - _ROWS} more are in the JSON document.")


def _points(out: Console, one: Identified) -> None:
    best = one.ranking[0].explanation
    several = len(one.drives) > 1
    columns = [("drive", LEFT)] if several else []
    columns += [("workload", LEFT), ("measured", RIGHT), ("best", RIGHT), ("error", RIGHT)]
    if one.held_out:
        columns += [("held out", RIGHT), ("error", RIGHT)]
    made = table(out, columns)
    held = iter(one.held_out)
    for drive, fit in zip(one.drives, best.fits, strict=True):
        for point, value, error in zip(drive.points, fit.predicted, fit.errors, strict=True):
            cells = [drive.name] if several else []
            cells += [point.workload, f"{point.write_amplification:.3f}", f"{value:.3f}"]
            cells.append(signed(error))
            if one.held_out:
                other = next(held)
                cells += [f"{other.predicted:.3f}", signed(other.error)]
            made.add_row(*cells)
    show(out, made)
