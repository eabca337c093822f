"""Tenants as people read them: a table of what each got."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashgc.command.render import LEFT, RIGHT, show, table
from flashgc.units import format_rate, format_share, format_time

if TYPE_CHECKING:
    from flashgc.command.render import Console
    from flashgc.results import Result


def show_tenants(out: Console, result: Result) -> None:
    """Prints what each tenant got; nothing where the drive has one host."""
    timing = result.timing
    if timing is None or not timing.tenants:
        return
    out.print()
    columns = [("tenant", LEFT), ("requests", RIGHT), ("share", RIGHT)]
    for side in ("read", "write"):
        columns += [(f"{side} mean", RIGHT), ("p99", RIGHT), ("p99.9", RIGHT)]
    made = table(out, columns)
    for one in timing.tenants:
        cells = [one.name, format_rate(one.requests_per_second, ""), format_share(one.share)]
        for figures in (one.read_us, one.write_us):
            times = ("mean", "p99", "p99_9")
            cells += (
                ["-"] * 3
                if figures is None
                else [format_time(getattr(figures, key)) for key in times]
            )
        made.add_row(*cells)
    show(out, made)
