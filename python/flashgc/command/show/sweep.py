"""The text output of ``flashgc sweep``."""

from __future__ import annotations

from flashgc._documents import Scalar
from flashgc.command.show.sentences import show_sentences
from flashgc.execution import parse_jobs
from flashgc.studies.executing import cores
from flashgc.studies.sweep.cost import PAGE, PICK
from flashgc.studies.sweep.outcome import Sweep
from flashgc.studies.sweep.sweep import Plan
from flashgc.terminal.render import LEFT, RIGHT, console, folded, is_plain, show, table, unicode
from flashgc.units import format_duration, many

#: Findings that are printed below the table; others are warnings.
SENTENCES = frozenset(("cells-cannot", "cells-failed", "cells-missing"))
#: The maximum number of rows on a terminal, and of characters of a value.
ROWS, WORD = 40, 24


def show_plan(plan: Plan, jobs: str) -> None:
    """Print the plan of a sweep."""
    out = console()
    used = cores(parse_jobs(jobs, "--jobs"))
    basis = "at the speed of earlier results" if plan.measured else "at usual speeds"
    cells = many(plan.cells, "cell")
    out.print(f"{cells}: {plan.missing} to run, {plan.found} found", highlight=False)
    if plan.cannot:
        out.print(f"{plan.cannot} cannot run; hint: flashgc sweep lists the reasons")
    if plan.failed:
        out.print(f"{plan.failed} failed before; hint: --retry runs them again")
    if plan.missing:
        took = format_duration(plan.seconds_on(used))
        out.print(f"about {took} on {many(used, 'core')}, {basis}")
    if plan.in_python:
        out.print(
            f"an estimate: {many(plan.in_python, 'cell')} of policies in Python, one at a time, "
            f"with {PICK * 1e6:g} us a pick and {PAGE * 1e6:g} us a page placed",
            highlight=False,
        )


def show_swept(swept: Sweep, shard: str | None = None) -> None:
    """Print the cells with their figures, and the cells without a result."""
    out = console()
    if not swept.cells:
        out.print(f"0 cells: the grid has fewer cells than shards, and {shard} has none")
        return
    complete = swept.of("result")
    plus_minus = unicode(out, "±", "+-")
    if complete:
        listing = table(
            out,
            [*((name, LEFT) for name in swept.axes), ("write amplification", RIGHT), ("", LEFT)],
        )
        shown = complete if is_plain(out) else complete[:ROWS]
        for cell in shown:
            half = cell.figures["write_amplification_ci95"]
            listing.add_row(
                *(_word(str(value), plain=is_plain(out)) for value in cell.at.values()),
                _figure(cell.figures["write_amplification"]),
                "" if half is None else f"{plus_minus}{half:.4f}",
            )
        show(out, listing)
        if len(shown) < len(complete):
            out.print(f"{len(complete) - len(shown)} more; hint: --out table.csv has all")
        out.print()
    out.print(
        f"{many(len(swept), 'cell')}: {swept.ran} run, {swept.found} found in {swept.results}"
        + (f", {same} the same as others of them" if (same := swept.same) else ""),
        soft_wrap=True,
    )
    sentences = [finding.text for finding in swept.findings if finding.id in SENTENCES]
    show_sentences(out, sentences)


def _word(text: str, *, plain: bool) -> str:
    return text if plain else folded(text, WORD)


def _figure(value: Scalar) -> str:
    return f"{value:.4f}" if isinstance(value, float) else "-"
