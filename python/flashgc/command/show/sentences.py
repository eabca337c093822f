"""Prints sentences and named facts, wrapped to the width of a page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flashgc.terminal.render import Console

#: Width of the page in characters.
WIDTH = 80


def show_sentences(out: Console, sentences: Iterable[str]) -> None:
    """Print each sentence in its own lines."""
    for sentence in sentences:
        for line in _wrapped(sentence, WIDTH):
            out.print(line, markup=False)


def show_facts(out: Console, facts: Sequence[tuple[str, str]]) -> None:
    """Print named facts, 80 columns wide."""
    side = max(len(name) for name, _ in facts) + 2
    for name, fact in facts:
        for index, line in enumerate(_wrapped(fact, WIDTH - side)):
            out.print(f"{name if index == 0 else '':{side}}{line}", markup=False, soft_wrap=True)


def _wrapped(text: str, width: int) -> list[str]:
    """A text wrapped to lines; at least one line."""
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False) or [""]
