"""Tenants as people read them: a table of what each got."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashgc.terminal.render import LEFT, RIGHT, show, table
from flashgc.units import format_rate, format_share, format_time

if TYPE_CHECKING:
    from flashgc.results import Result
    from flashgc.terminal.render import Console


def show_tenants(out: Console, result: Result) -> None:
    """Prints what each tenant got; nothing where the drive has one host."""
    timing = result.timing
    if timing is None or not timing.tenants:
        return
    out.print()
    names = ("mean", "p50", "p99", "p99.9", "max")
    columns = [("tenant", LEFT), ("share", RIGHT), ("requests/s", RIGHT), ("", LEFT)]
    made = table(out, [*columns, *((name, RIGHT) for name in names)])
    for one in timing.tenants:
        head = [one.name, format_share(one.share), format_rate(one.requests_per_second, "")[:-3]]
        for side, figures in (("read", one.read_us), ("write", one.write_us)):
            if figures is not None:
                times = (getattr(figures, name.replace(".", "_")) for name in names)
                made.add_row(*head, side, *map(format_time, times))
                head = [""] * len(head)
        if head[0]:
            made.add_row(*head, "", *["-"] * len(names))
    show(out, made)
