"""Counts as text for people, in the words of their declarations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from flashgc import _core
from flashgc.units import format_count, format_size

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from flashgc.results import Result

#: The heading of a column of a comparison, and its explanation.
HEADING = "rounding"
LEGEND = "rounding: programmed to fill mapping units and flash pages"


def matters(results: Sequence[Result]) -> bool:
    """True if any result has rounding or padding."""
    return any(result.bytes.rounding or result.bytes.padding for result in results)


def cell(result: Result) -> str:
    """Rounding and padding per byte of the host."""
    written = result.bytes
    return f"{written.per_host_byte('rounding') + written.per_host_byte('padding'):.3f}"


def in_pages(result: Result) -> list[tuple[str, str]]:
    """A row with the amplification in pages, if it differs from that in bytes."""
    if result.bytes.rounding or result.bytes.merged:
        return [("in pages", f"{result.page_amplification:.4f} units programmed per unit written")]
    return []


def rows(result: Result) -> list[tuple[str, str]]:
    """Rows on rounding, padding and merged bytes, each per byte that the host wrote."""
    written, unit = result.bytes, result.config.unit
    pairs: list[tuple[str, str]] = []
    for part, why in (
        (
            "rounding",
            f"{format_count(result.short_writes)} writes of less than {format_size(unit)}",
        ),
        ("padding", f"{format_count(written.padding // unit)} mapping units without data"),
        ("merged", "overwritten in the write cache"),
    ):
        if getattr(written, part):
            pairs.append((part, f"{written.per_host_byte(part):.4f} per byte written: {why}"))
    if written.parity:
        whole = f"write amplification {result.write_amplification_with_parity:.4f} with it"
        pairs.append(("parity", f"{written.per_host_byte('parity'):.4f} per byte written: {whole}"))
    return pairs


#: The words for each count in tables, by its type; empty for counts that tables omit.
WORDS: dict[str, dict[str, str]] = {
    entry["name"]: {count["name"]: count["words"] for count in entry["counts"]}
    for entry in json.loads(_core.registry())["counts"]
}


def in_words(counts: object, *, but: Collection[str] = ()) -> list[str]:
    """The counts of a part of a result that are not 0, except ``but``, each with its words.

    >>> from flashgc.results import Hints
    >>> in_words(Hints(due=1200, sent=7, overtaken=0, lost=0, late=5, wrong=0, commands=0))
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
    """A note if all runs of the results are identical, without random numbers; else empty."""
    for result in results:
        runs = {*result.run_values} if result.timing is None else {*result.timing.mean_us_runs}
        if len(result.run_values) < 2 or len(runs) != 1:
            return ""
    return ", all identical: one counts"
