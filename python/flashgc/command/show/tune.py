"""The output of ``flashgc tune``: the ranking in 80 columns, and sentences."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from flashgc.studies.tune.describe import heading, sentences
from flashgc.terminal.render import (
    LEFT,
    RIGHT,
    Text,
    console,
    folded,
    is_plain,
    show,
    table,
    unicode,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flashgc.studies.tune.outcome import Entry, Tuned
    from flashgc.terminal.render import Console

#: Columns of the page, and those that a configuration's name has of them.
WIDTH, NAME = 80, 33
#: Rows of the table at most, and greedy's.
ROWS = 20


def show_tuned(tuned: Tuned) -> None:
    """Prints the outcome of a search."""
    out = console()
    plus_minus = unicode(out, "±", "+-")
    show_facts(out, heading(tuned))
    out.print()
    if tuned.ranking:
        columns = (
            ("#", RIGHT), ("configuration", LEFT), (tuned.of.heading, RIGHT),
            ("to the best", RIGHT), ("held back", RIGHT),
        )  # fmt: skip
        made = table(out, columns)
        almost = unicode(out, "≈", "~")
        shown = [one for one in tuned if one.place is None or one.place <= ROWS or one.is_reference]
        for entry in shown:
            style = "bold green" if entry.place == 1 else ""
            made.add_row(
                "" if entry.place is None else str(entry.place),
                "\n".join(line.strip() for line in folded(entry.name, NAME).split("\n")),
                Text(tuned.of.text(entry.figure), style=style),
                _to_the_best(tuned, entry, plus_minus, almost),
                tuned.of.text(entry.held_back),
            )
        show(out, made)
        if len(shown) < len(tuned):
            out.print(f"{len(tuned) - len(shown)} more are in --json.")
        out.print()
    for sentence in sentences(tuned, plus_minus):
        for line in wrapped(sentence, WIDTH):
            out.print(line, markup=False, soft_wrap=is_plain(out))


def _to_the_best(tuned: Tuned, entry: Entry, plus_minus: str, almost: str) -> str:
    if entry.place == 1:
        return "best"
    of = tuned.of
    text = of.text(entry.difference, sign=True)
    if entry.difference_ci95 is not None:
        text = f"{text} {plus_minus}{of.text(entry.difference_ci95)}"
    return f"{almost} {text}" if entry.inside_noise else text


def show_facts(out: Console, facts: Sequence[tuple[str, str]]) -> None:
    """Prints named facts, in 80 columns."""
    side = max(len(name) for name, _ in facts) + 2
    for name, fact in facts:
        for index, line in enumerate(wrapped(fact, WIDTH - side)):
            out.print(f"{name if index == 0 else '':{side}}{line}", markup=False, soft_wrap=True)


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines; one at least."""
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False) or [""]
