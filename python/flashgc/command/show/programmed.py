"""Bytes programmed beside those of the host and copies, as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashgc.units import format_count, format_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flashgc.results import Result

#: The column of a comparison, and its meaning.
HEADING = "rounding"
LEGEND = "rounding: programmed to fill mapping units and flash pages"


def matters(results: Sequence[Result]) -> bool:
    """True if any result has rounding or padding."""
    return any(result.bytes.rounding or result.bytes.padding for result in results)


def cell(result: Result) -> str:
    """Rounding and padding for each byte of the host."""
    written = result.bytes
    return f"{written.per_host_byte('rounding') + written.per_host_byte('padding'):.3f}"


def in_pages(result: Result) -> list[tuple[str, str]]:
    """The row of the amplification in pages, where it is not that in bytes."""
    if result.bytes.rounding or result.bytes.merged:
        return [("in pages", f"{result.page_amplification:.4f} units programmed per unit written")]
    return []


def rows(result: Result) -> list[tuple[str, str]]:
    """The rows of a result: each part for each byte of the host."""
    written, unit = result.bytes, result.config.unit
    made: list[tuple[str, str]] = []
    for part, why in (
        (
            "rounding",
            f"{format_count(result.short_writes)} writes of less than {format_size(unit)}",
        ),
        ("padding", f"{format_count(written.padding // unit)} mapping units without data"),
        ("merged", "overwritten in the write cache"),
    ):
        if getattr(written, part):
            made.append((part, f"{written.per_host_byte(part):.4f} per byte written: {why}"))
    return made
