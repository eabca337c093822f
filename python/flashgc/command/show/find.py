"""The text output of ``flashgc find``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashgc.command.show.results import drive, policy
from flashgc.terminal.render import (
    LEFT,
    RIGHT,
    Text,
    console,
    facts,
    show,
    table,
    unicode,
)

if TYPE_CHECKING:
    from flashgc.studies.finding.outcome import Threshold, Tried


def show_found(outcome: Threshold) -> None:
    """Print the value, its interval, and the values that were simulated."""
    out = console()
    plus_minus = unicode(out, "±", "+-")
    first, last = outcome.ends
    head = outcome.findings[0].claim
    mark, style = str(outcome.value), "bold cyan"
    if outcome.status != "found":
        mark, style = head.removeprefix(f"{outcome.option}: "), "bold yellow"
    before, _, behind = head.removeprefix(outcome.option).partition(mark)
    headline = Text(outcome.option, style="bold")
    headline.append(before)
    headline.append(mark, style=style)
    headline.append(behind)
    out.print(headline)
    out.print()
    rows: list[tuple[str, Text | str]] = []
    if outcome.interval is not None:
        rows.append(("interval", _interval(outcome)))
    elif outcome.status == "found":
        rows.append(("interval", "none: a figure has none; several --runs give it one"))
    if outcome.result is not None:
        rows += [
            ("workload", outcome.result.workload),
            ("policy", policy(outcome.result)),
            ("drive", drive(outcome.result)),
        ]
    show(
        out,
        facts(out, [*rows, ("searched", f"{first} to {last}, {len(outcome.tried)} values run")]),
    )
    out.print()
    names = [name for name in _names(outcome) if not name.endswith("_ci95")]
    listing = table(out, [(outcome.option, RIGHT), *((name, RIGHT) for name in names), ("", LEFT)])
    for trial in outcome.tried:
        mark = "cannot run" if trial.reason else "holds" if trial.holds else ""
        listing.add_row(str(trial.value), *(_cell(trial, name, plus_minus) for name in names), mark)
    show(out, listing)


def _interval(outcome: Threshold) -> str:
    assert outcome.interval is not None
    better, worse = outcome.interval
    sure = f"{100 * (outcome.confidence or 0):g}%"
    if better is None and worse is None:
        return "beyond the range on both sides"
    if better is None:
        return f"to {worse}, {sure}; its other end is beyond the range"
    if worse is None:
        return f"from {better}, {sure}; no value of the range is sure"
    return f"{better} to {worse}, {sure}" if better != worse else f"{better}, {sure}"


def _names(outcome: Threshold) -> list[str]:
    return list(dict.fromkeys(name for trial in outcome.tried for name in trial.figures))


def _cell(trial: Tried, name: str, plus_minus: str) -> str:
    value, half = trial.figures.get(name), trial.figures.get(f"{name}_ci95")
    if not isinstance(value, int | float):
        return "-"
    if not isinstance(half, float):
        return f"{value:.6g}"
    return f"{value:.6g} {plus_minus}" + (f"{half:.0f}" if half >= 100 else f"{half:.2g}")
