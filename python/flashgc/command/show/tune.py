"""The text output of ``flashgc tune``: the ranking, 80 columns wide, and sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashgc.command.show.sentences import show_facts, show_sentences
from flashgc.studies.tuning.describe import RULES, heading
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

if TYPE_CHECKING:
    from flashgc.studies.tuning.outcome import Entry, Tuned

#: Width of a configuration's name in characters.
NAME = 33
#: The maximum number of rows of the table, besides that of greedy.
ROWS = 20


def show_tuned(tuned: Tuned) -> None:
    """Print the outcome of a search."""
    out = console()
    plus_minus = unicode(out, "±", "+-")
    show_facts(out, heading(tuned))
    out.print()
    if tuned.ranking:
        columns = (
            ("#", RIGHT), ("configuration", LEFT), (tuned.of.heading, RIGHT),
            ("to the best", RIGHT), ("held back", RIGHT),
        )  # fmt: skip
        listing = table(out, columns)
        almost = unicode(out, "≈", "~")
        shown = [
            entry
            for entry in tuned
            if entry.place is None or entry.place <= ROWS or entry.is_reference
        ]
        for entry in shown:
            style = "bold green" if entry.place == 1 else ""
            listing.add_row(
                "" if entry.place is None else str(entry.place),
                "\n".join(line.strip() for line in folded(entry.name, NAME).split("\n")),
                Text(tuned.of.text(entry.figure), style=style),
                _to_the_best(tuned, entry, plus_minus, almost),
                tuned.of.text(entry.held_back),
            )
        show(out, listing)
        if len(shown) < len(tuned):
            out.print(f"{len(tuned) - len(shown)} more are in --json.")
        out.print()
    sentences = [finding.sentence for finding in tuned.findings if finding.id in RULES]
    show_sentences(out, [sentence.replace("±", plus_minus) for sentence in sentences])


def _to_the_best(tuned: Tuned, entry: Entry, plus_minus: str, almost: str) -> str:
    if entry.place == 1:
        return "best"
    of = tuned.of
    text = of.text(entry.difference, sign=True)
    if entry.difference_ci95 is not None:
        text = f"{text} {plus_minus}{of.text(entry.difference_ci95)}"
    return f"{almost} {text}" if entry.inside_noise else text
