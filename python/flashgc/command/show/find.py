"""The output of ``flashgc find``, as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashgc.command.show.results import drive, policy
from flashgc.terminal.render import (
    LEFT,
    RIGHT,
    Text,
    console,
    facts,
    is_plain,
    show,
    table,
    unicode,
)

if TYPE_CHECKING:
    from flashgc.studies.finding.outcome import Found, Tried


def show_found(found: Found) -> None:
    """Prints the value, its interval, and the values that were tried."""
    out = console()
    plus_minus = unicode(out, "±", "+-")
    first, last = found.ends
    head = found.findings[0].claim
    mark, style = str(found.value), "bold cyan"
    if found.status != "found":
        mark, style = head.removeprefix(f"{found.option}: "), "bold yellow"
    before, _, behind = head.removeprefix(found.option).partition(mark)
    headline = Text(found.option, style="" if is_plain(out) else "bold")
    headline.append(before)
    headline.append(mark, style=style)
    headline.append(behind)
    out.print(headline, soft_wrap=is_plain(out))
    out.print()
    rows: list[tuple[str, Text | str]] = []
    if found.interval is not None:
        rows.append(("interval", _interval(found)))
    elif found.status == "found":
        rows.append(("interval", "none: a figure has none; several --runs give it one"))
    if found.result is not None:
        rows += [
            ("workload", found.result.workload),
            ("policy", policy(found.result)),
            ("drive", drive(found.result)),
        ]
    show(
        out, facts(out, [*rows, ("searched", f"{first} to {last}, {len(found.tried)} values run")])
    )
    out.print()
    names = [name for name in _names(found) if not name.endswith("_ci95")]
    made = table(out, [(found.option, RIGHT), *((name, RIGHT) for name in names), ("", LEFT)])
    for one in found.tried:
        mark = "cannot run" if one.reason else "holds" if one.holds else ""
        made.add_row(str(one.value), *(_cell(one, name, plus_minus) for name in names), mark)
    show(out, made)


def _interval(found: Found) -> str:
    assert found.interval is not None
    better, worse = found.interval
    sure = f"{100 * (found.confidence or 0):g}%"
    if better is None and worse is None:
        return "beyond the range on both sides"
    if better is None:
        return f"to {worse}, {sure}; its other end is beyond the range"
    if worse is None:
        return f"from {better}, {sure}; no value of the range is sure"
    return f"{better} to {worse}, {sure}" if better != worse else f"{better}, {sure}"


def _names(found: Found) -> list[str]:
    return list(dict.fromkeys(name for one in found.tried for name in one.figures))


def _cell(one: Tried, name: str, plus_minus: str) -> str:
    value, half = one.figures.get(name), one.figures.get(f"{name}_ci95")
    if not isinstance(value, int | float):
        return "-"
    if not isinstance(half, float):
        return f"{value:.6g}"
    return f"{value:.6g} {plus_minus}" + (f"{half:.0f}" if half >= 100 else f"{half:.2g}")
