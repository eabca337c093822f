"""The text output of ``flashgc gap``: a table 80 columns wide, and sentences."""

from __future__ import annotations

from flashgc.command.show.sentences import show_facts, show_sentences
from flashgc.studies.gaps.describe import RULES, heading, text
from flashgc.studies.gaps.outcome import BOUND, CLAIRVOYANCE, MODEL, PREDICTOR, Gap, Row
from flashgc.terminal.render import (
    LEFT,
    RIGHT,
    Text,
    console,
    folded,
    show,
    table,
    unicode,
)

#: Width of a scheme's name in characters.
NAME = 31
#: Texts that replace the names of two kinds of rows.
_KINDS = {CLAIRVOYANCE: "knows all", BOUND: "bound"}


def show_gap(gap: Gap) -> None:
    """Print the rows and the findings."""
    out = console()
    plus_minus, almost = unicode(out, "±", "+-"), unicode(out, "≈", "~")
    show_facts(out, heading(gap))
    out.print()
    columns = (("", LEFT), ("scheme", LEFT), ("write ampl.", RIGHT), ("to the best online", RIGHT))
    listing = table(out, columns)
    for row in gap:
        listing.add_row(
            _KINDS.get(row.kind, row.kind),
            "\n".join(
                line.strip()
                for line in folded(row.name.removeprefix(f"{PREDICTOR}, "), NAME).split("\n")
            ),
            Text(_figure(row, plus_minus), style="bold green" if row.is_best else ""),
            _to_the_best(row, plus_minus, almost),
        )
    show(out, listing)
    out.print()
    show_sentences(out, [finding.sentence for finding in gap.findings if finding.id in RULES])


def _figure(row: Row, plus_minus: str) -> str:
    if row.write_amplification is None:
        return row.reason.partition(":")[0] if row.kind == MODEL else "-"
    if row.write_amplification_ci95 is None:
        return text(row.write_amplification)
    return f"{text(row.write_amplification)} {plus_minus}{text(row.write_amplification_ci95)}"


def _to_the_best(row: Row, plus_minus: str, almost: str) -> str:
    if row.is_best:
        return "best online"
    if row.reason:
        return {"stopped": "stopped"}.get(row.reason, "" if row.kind == MODEL else "cannot be run")
    if row.difference is None:
        return ""
    cell = text(row.difference, sign=True)
    if row.difference_ci95 is not None:
        cell = f"{cell} {plus_minus}{text(row.difference_ci95)}"
    return f"{almost} {cell}" if row.inside_noise else cell
