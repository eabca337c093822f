"""The cells of a claim's table in words, the same in a terminal and in the page."""

from __future__ import annotations

from flashgc.reproduce.runner import Row
from flashgc.reproduce.verdicts import Value


def published(row: Row) -> str:
    """The published value or statement of a row, with as many decimals as were printed."""
    if isinstance(row.published, str):
        return row.published
    if row.published_ci95 is not None:
        return f"{row.published:.4f} ±{row.published_ci95:.4f}"
    _, _, digits = f"{row.published!r}".partition(".")
    return f"{row.published:.{min(4, len(digits))}f}"


def measured(row: Row) -> str:
    """What was measured for a row."""
    if isinstance(row.measured, Value):
        half = f" ±{row.measured.ci95:.4f}" if row.measured.simulated else ""
        return f"{row.measured.mean:.4f}{half}"
    return row.measured or "-"


def difference(row: Row) -> str:
    """How far measured is from published."""
    return "" if row.difference is None else f"{row.difference * 100:+.3f}%"
