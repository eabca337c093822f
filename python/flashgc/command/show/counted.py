"""Counts as people read them, in the words of their declarations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from flashgc import _core
from flashgc.units import format_count

if TYPE_CHECKING:
    from collections.abc import Collection

    from flashgc.results import Result

#: The words for each count in tables, by its type; none of a count that a table leaves out.
WORDS: dict[str, dict[str, str]] = {
    one["name"]: {count["name"]: count["words"] for count in one["counts"]}
    for one in json.loads(_core.registry())["counts"]
}


def told(counts: object, *, but: Collection[str] = ()) -> list[str]:
    """The counts of a part of a result that are not 0, except ``but``, each with its words.

    >>> from flashgc.results import Hints
    >>> told(Hints(due=1200, sent=7, overtaken=0, lost=0, late=5, wrong=0, commands=0))
    ['1 200 due', '7 sent', '5 too late']
    """
    words = {
        name: words
        for cls in type(counts).__mro__
        for name, words in WORDS.get(cls.__name__, {}).items()
    }
    numbers = ((getattr(counts, name), words[name]) for name in words if name not in but)
    return [f"{format_count(number)} {text}" for number, text in numbers if number and text]


def identical(*results: Result) -> str:
    """Words for results whose runs all give the same, since they draw nothing: these are one."""
    for result in results:
        runs = {*result.run_values} if result.timing is None else {*result.timing.mean_us_runs}
        if len(result.run_values) < 2 or len(runs) != 1:
            return ""
    return ", all identical: one counts"
