"""A bench as one page for a browser: the picture of its cells, their figures, and its findings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from flashgc.device.benching.budget import Missed
from flashgc.device.benching.file import Bench
from flashgc.device.benching.outcome import (
    CellOutcome,
    Outcome,
    cell_in_words,
    change_in_words,
    label,
    noise_in_words,
)
from flashgc.device.benching.picture import picture
from flashgc.device.benching.texts import shown
from flashgc.device.execution.page import PAGES, STYLE

#: The figures of the table.
COLUMNS = (
    "flash_bytes_per_unit",
    "host_bytes_per_unit",
    "written_bytes_per_unit",
    "write_amplification",
    "units_per_second",
    "write_p99",
)


TEMPLATE = PAGES.from_string(Path(__file__).with_name("page.html.j2").read_text(encoding="utf-8"))


def page(done: Outcome, missed: Sequence[Missed] = ()) -> str:
    """The page as one text; it loads no other file."""
    figures = [name for name in COLUMNS if any(cell.bounds(name) for cell in done.cells)]
    labels = [label(name, done.bench.unit) for name in figures]
    varied = [*done.cells[0].cell.varied]
    text = TEMPLATE.render(
        title=f"{done.bench.path.name}: {label('flash_bytes_per_unit', done.bench.unit)}",
        style=Markup(STYLE),
        missed=missed,
        picture=Markup(picture(done)),
        heads=[*varied, *labels[:1], f"against {done.against}", "", *labels[1:]],
        rows=[_row(done, cell, figures) for cell in done.cells],
        findings=done.findings,
        facts=_facts(done.bench),
    )
    return f"{text}\n"


def _row(done: Outcome, cell: CellOutcome, figures: Sequence[str]) -> list[str]:
    change = done.change(cell)
    return [
        *(shown(value) for value in cell.cell.varied.values()),
        *(cell_in_words(name, cell) for name in figures[:1]),
        change_in_words(change),
        noise_in_words(change),
        *(cell_in_words(name, cell) for name in figures[1:]),
    ]


def _facts(bench: Bench) -> list[tuple[str, str]]:
    fixed = {**bench.axes, **bench.drive, **bench.run}
    return [
        ("command", _text(bench.command)),
        ("setup", _text(bench.setup)),
        ("repeats", str(bench.repeats)),
        *((name, ", ".join(map(shown, values))) for name, values in fixed.items()),
    ]


def _text(words: str | tuple[str, ...] | None) -> str:
    return words if isinstance(words, str) else " ".join(words or ())
