"""Sentences and named facts, in the columns of a page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from flashgc.terminal.render import is_plain

if TYPE_CHECKING:
    from flashgc.terminal.render import Console

#: Columns of the page.
WIDTH = 80


def show_sentences(out: Console, sentences: Iterable[str]) -> None:
    """Prints each sentence in lines of its own."""
    for sentence in sentences:
        for line in _wrapped(sentence, WIDTH):
            out.print(line, markup=False, soft_wrap=is_plain(out))


def show_facts(out: Console, facts: Sequence[tuple[str, str]]) -> None:
    """Prints named facts, in 80 columns."""
    side = max(len(name) for name, _ in facts) + 2
    for name, fact in facts:
        for index, line in enumerate(_wrapped(fact, WIDTH - side)):
            out.print(f"{name if index == 0 else '':{side}}{line}", markup=False, soft_wrap=True)


def _wrapped(text: str, width: int) -> list[str]:
    """A text in lines; one at least."""
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False) or [""]
