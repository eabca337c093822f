"""The text output of ``flashgc wear``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from flashgc.logs.outcome import ranged
from flashgc.logs.times import shown
from flashgc.terminal.render import LEFT, Text, console, facts, show, table
from flashgc.units import format_duration, format_share, format_size, many

if TYPE_CHECKING:
    from flashgc.logs.outcome import Wear, Written

#: Decimal units, which data sheets of drives have.
_UNITS = (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


def size(count: float) -> str:
    """A number of bytes in decimal units.

    >>> size(1_920_383_410_176), size(512_000), size(12)
    ('1.92 TB', '512 kB', '12 B')
    """
    for unit, bytes_of_unit in _UNITS:
        if count >= 0.9995 * bytes_of_unit:
            return f"{count / bytes_of_unit:.3g} {unit}"
    return f"{count:.0f} B"


def show_wear(wear: Wear) -> None:
    """Print the figures, then the predictions."""
    out = console()
    name = ", ".join(filter(None, (wear.model, wear.serial))) or "drive"
    headline = Text(name, style="bold")
    amplification = wear.amplification
    if amplification is not None:
        headline.append(": write amplification ")
        headline.append(ranged(amplification), style="bold cyan")
    out.print(headline)
    out.print()
    show(out, facts(out, _rows(wear)))
    if wear.changes:
        out.print()
        listing = table(
            out, [("what would change it", LEFT), ("amplification", LEFT), ("assumed", LEFT)]
        )
        for change in wear.changes:
            low, high = f"{change.low:.2f}", f"{change.high:.2f}"
            span = low if low == high else f"{low} to {high}"
            listing.add_row(change.change, span, change.assumption.replace("; ", ";\n"))
        show(out, listing)


def show_broken(wear: Wear) -> None:
    """Print the limits that are not met, on standard error."""
    out = console(sys.stderr)
    for verdict in wear.broken:
        out.print(f"budget: {verdict.name}={verdict.limit:g} is broken: {ranged(verdict.figure)}")


def _rows(wear: Wear) -> list[tuple[str, Text | str]]:
    rows: list[tuple[str, Text | str]] = []
    if len(wear.times) > 1:
        rows.append(("from", f"{shown(wear.times[0])} to {shown(wear.times[-1])}"))
        length = format_duration(wear.seconds)
        rows.append(("interval", f"{length}, {many(len(wear.times), 'reading')}"))
    else:
        rows.append(("at", shown(wear.times[0])))
    if wear.capacity_bytes is not None:
        rows.append(("capacity", size(wear.capacity_bytes)))
    rows += [
        (f"{name} writes", _written(written))
        for name, written in (("host", wear.host), ("flash", wear.media))
        if written is not None
    ]
    for amplification in wear.amplifications:
        parts = []
        if amplification.interval is not None:
            parts.append(ranged(amplification.interval))
        if amplification.life is not None:
            parts.append(f"{ranged(amplification.life)} since new")
        rows.append(("amplification", "\n".join([*parts, amplification.source])))
    last = wear.steps[-1] if len(wear.steps) > 1 else None
    if last is not None and last.amplification is not None:
        length = format_duration(last.end - last.begin)
        rows.append(("", f"{ranged(last.amplification)} in the last {length}"))
    if wear.drive_writes_a_day is not None:
        rows.append(("drive writes a day", ranged(wear.drive_writes_a_day, 4)))
    used = None if wear.percentage_used is None else f"{wear.percentage_used}%"
    left = None if wear.spare_left_percent is None else f"{wear.spare_left_percent}% spare left"
    if used is not None or left is not None:
        rows.append(("percentage used", ", ".join(filter(None, (used or "-", left)))))
    rows += [("years left", f"{ranged(life.years, 3)}\nby {life.by}") for life in wear.lives]
    if wear.erases is not None:
        figures = (("least", wear.erases.least), ("mean", wear.erases.mean))
        each = [f"{name} {count}" for name, count in (*figures, ("most", wear.erases.most))
                if count is not None]  # fmt: skip
        if wear.erases_in_interval is not None:
            each.append(f"{wear.erases_in_interval} of the mean in the interval")
        rows.append(("erases of a block", ", ".join(each)))
    if wear.mean_write_bytes is not None:
        rows.append(("mean write", format_size(wear.mean_write_bytes)))
    if wear.explanations:
        least = min(wear.explanations, key=lambda each: each.spare_low)
        most = max(wear.explanations, key=lambda each: each.spare_high)
        ends = [format_share(least.spare_low, 1), format_share(most.spare_high, 1)]
        rows.append(
            (
                f"spare if {wear.workload}",
                f"{ends[0]} with {least.scheme}\n"
                + (f"{ends[1]} with {most.scheme}" if ends[0] != ends[1] else ""),
            )
        )
    rows += [
        ("budget", f"{verdict.name}={verdict.limit:g}: {_MET[verdict.met]}")
        for verdict in wear.budget
    ]
    return rows


_MET = {True: "met", False: "broken", None: "cannot tell"}


def _written(written: Written) -> str:
    interval = "" if written.interval is None else f"{size(written.interval.value)}, "
    return f"{interval}{size(written.life.value)} since new\n{written.key}, {written.unit}"
