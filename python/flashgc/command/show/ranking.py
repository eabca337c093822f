"""A ranking of results from several files as text; the results may differ in any option."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashgc.command.show import swaps, timed
from flashgc.command.show.results import amplification, ratio, show_verdicts
from flashgc.ranking import differences, figure_of
from flashgc.terminal.render import (
    LEFT,
    RIGHT,
    Text,
    console,
    facts,
    folded,
    is_plain,
    show,
    table,
    unicode,
)
from flashgc.units import format_share

if TYPE_CHECKING:
    from flashgc.results import Comparison, Result

#: The maximum number of options whose values are shown on a screen.
_MOST = 12


def show_ranked(comparison: Comparison) -> None:
    """Print the ranking, and the options in which the results differ."""
    out = console()
    plus_minus = unicode(out, "±", "+-")
    results = [rank.result for rank in comparison]
    figure = figure_of(comparison.results[0])
    listing = table(
        out,
        [("#", RIGHT), ("experiment", LEFT), (figure, RIGHT), ("ratio", RIGHT), ("basis", LEFT)],
    )
    for rank in comparison:
        listing.add_row(
            str(rank.place),
            folded(rank.name, 1000 if is_plain(out) else out.width - 50),
            Text(_figure(rank.result, plus_minus), style="bold green" if rank.place == 1 else ""),
            ratio(out, rank),
            "" if rank.place == 1 else _BASIS[rank.basis],
        )
    if comparison.ranking:
        show(out, listing)
    for result in comparison.unmeasured:
        out.print(f"{result.label}: nothing was measured.")
    differing = differences(results)
    if differing:
        out.print()
        out.print("They differ in", style="bold")
        rows = list(differing.items())
        show(out, facts(out, [(name, _values_once(name, values)) for name, values in rows[:_MOST]]))
        if len(rows) > _MOST:
            out.print(f"and {len(rows) - _MOST} options more; hint: --json has all")
    show_verdicts(out, comparison)


#: Texts for the basis of the interval of a difference.
_BASIS = {
    "exact": "exact",
    "runs": "paired runs",
    "passes": "paired passes",
    "batches": "paired batches",
    "apart": "two intervals",
    "none": "no interval",
}


def _values_once(name: str, values: list[str]) -> str:
    """The values in the order of the ranking; equal values appear once."""
    shown = [format_share(float(value), 4) if name == "spare" else value for value in values]
    return ", ".join(dict.fromkeys(shown))


def _figure(result: Result, plus_minus: str) -> str:
    if result.timing is not None:
        return timed.figure(result, plus_minus)
    if result.swap is not None:
        return swaps.figure(result)
    return amplification(result, plus_minus, several=True)
