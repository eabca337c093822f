"""The output of ``flashgc sweep``."""

from __future__ import annotations

import re
from collections import Counter

from flashgc._documents import Scalar
from flashgc.command.show.sentences import show_sentences
from flashgc.execution import parse_jobs
from flashgc.options import OPTIONS
from flashgc.studies.executing import cores
from flashgc.studies.sweep.outcome import WITHOUT, Sweep, Swept
from flashgc.studies.sweep.sweep import Plan
from flashgc.terminal.render import LEFT, RIGHT, console, folded, is_plain, show, table, unicode
from flashgc.units import format_duration

#: Rows that are shown on a terminal, and characters of a value.
ROWS, WORD = 40, 24


def show_plan(plan: Plan, jobs: str) -> None:
    """Prints what a sweep is going to do."""
    out = console()
    used = cores(parse_jobs(jobs, "--jobs"))
    basis = "at the speed of earlier results" if plan.measured else "at usual speeds"
    out.print(f"{_counted(plan.cells)}: {plan.missing} to run, {plan.found} found", highlight=False)
    if plan.cannot:
        out.print(f"{plan.cannot} cannot run; hint: flashgc sweep lists the reasons")
    if plan.failed:
        out.print(f"{plan.failed} failed before; hint: --retry runs them again")
    if plan.missing:
        words = "core" if used == 1 else "cores"
        out.print(f"about {format_duration(plan.seconds / used)} on {used} {words}, {basis}")


def show_swept(swept: Sweep) -> None:
    """Prints the cells with their figures, and what did not come to a result."""
    out = console()
    complete = swept.of("result")
    plus_minus = unicode(out, "±", "+-")
    if complete:
        made = table(
            out,
            [*((name, LEFT) for name in swept.axes), ("write amplification", RIGHT), ("", LEFT)],
        )
        shown = complete if is_plain(out) else complete[:ROWS]
        for cell in shown:
            half = cell.figures["write_amplification_ci95"]
            made.add_row(
                *(_word(str(value), plain=is_plain(out)) for value in cell.at.values()),
                _figure(cell.figures["write_amplification"]),
                "" if half is None else f"{plus_minus}{half:.4f}",
            )
        show(out, made)
        if len(shown) < len(complete):
            out.print(f"{len(complete) - len(shown)} more; hint: --out table.csv has all")
        out.print()
    out.print(
        f"{_counted(len(swept))}: {swept.ran} run, {swept.found} found in {swept.results}"
        + (f", {same} the same as others of them" if (same := swept.same) else ""),
        soft_wrap=True,
    )
    for status, words in WITHOUT.items():
        show_sentences(out, _reasons(swept.of(status), words))


def _reasons(cells: tuple[Swept, ...], words: str) -> list[str]:
    """A line for each reason: how many cells have it."""
    counts = Counter(cell.reason for cell in cells)
    return [
        f"{count} {words}: {reason}" if reason else f"{count} {words}"
        for reason, count in counts.most_common(10)
    ]


def warnings(swept: Sweep) -> list[str]:
    """Return the warnings for readers, each once, and values with which no cell can be."""
    said: dict[str, list[Swept]] = {}
    for cell in swept:
        for text in cell.warnings:
            said.setdefault(text, []).append(cell)
    most = sorted(said.items(), key=lambda one: -len(one[1]))[:10]
    lines = [f"{_place_or_count(cells)}: {_in_files(text)}" for text, cells in most]
    return lines + [f"no cell with {name} = {value} can run" for name, value, _ in swept.impossible]


def _place_or_count(cells: list[Swept]) -> str:
    if len(cells) > 1:
        return _counted(len(cells))
    return ", ".join(f"{name}={value}" for name, value in cells[0].at.items()) or "1 cell"


def _in_files(text: str) -> str:
    """A text with the options as a grid names them, not as a command does.

    >>> _in_files("not steady; hint: more --passes")
    'not steady; hint: more run.passes'
    """
    return re.sub(r"--([a-z][a-z-]*)", lambda match: _KEYS.get(match[1], match[0]), text)


#: The keys of a file by the names of options.
_KEYS = {option.flag: option.path for option in OPTIONS}


def _counted(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"


def _word(text: str, *, plain: bool) -> str:
    return text if plain else folded(text, WORD)


def _figure(value: Scalar) -> str:
    return f"{value:.4f}" if isinstance(value, float) else "-"
