"""Counts as people read them, in the words of their declarations."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from flashgc.registry import listing
from flashgc.units import format_count

if TYPE_CHECKING:
    from collections.abc import Collection


@functools.cache
def declared(name: str) -> dict[str, str]:
    """The counts of a class of :mod:`flashgc.results.counts`, with their words."""
    (found,) = (one for one in listing()["counts"] if one["name"] == name)
    return {count["name"]: count["words"] for count in found["counts"]}


def told(counts: object, *, but: Collection[str] = ()) -> list[str]:
    """The counts of a part of a result that are not 0, except ``but``, each with its words.

    >>> from flashgc.results import Hints
    >>> told(Hints(due=1200, sent=7, overtaken=0, lost=0, late=5, wrong=0, commands=0))
    ['1 200 due', '7 sent', '5 too late']
    """
    words = {
        name: words
        for cls in type(counts).__mro__
        if cls.__module__ == "flashgc.results.counts"
        for name, words in declared(cls.__name__).items()
    }
    numbers = ((getattr(counts, name), words[name]) for name in words if name not in but)
    return [f"{format_count(number)} {text}" for number, text in numbers if number and text]
