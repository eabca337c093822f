"""A bench as one page for a browser: the picture of its cells, their figures, and its findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flashgc.device.benching.budget import Missed
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
from flashgc.device.execution.page import STYLE
from flashgc.foreign import for_html

#: The figures of the table.
COLUMNS = (
    "flash_bytes_per_unit",
    "host_bytes_per_unit",
    "written_bytes_per_unit",
    "write_amplification",
    "units_per_second",
    "write_p99",
)


def page(done: Outcome, missed: Sequence[Missed] = ()) -> str:
    """The page as HTML that loads no other file."""
    title = for_html(f"{done.bench.path.name}: {label('flash_bytes_per_unit', done.bench.unit)}")
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}body {{ max-width: 1000px }}</style>\n"
        f"<h1>{title}</h1>\n{_missed(missed)}{picture(done)}\n"
        f"<p>Dots are repeats. A mark is their mean, a line its 95% interval.</p>\n{_table(done)}\n"
        f"{_said(done)}<h2>The bench</h2>\n<dl>{''.join(_facts(done))}</dl>\n</html>\n"
    )


def _missed(missed: Sequence[Missed]) -> str:
    if not missed:
        return ""
    lines = "".join(f"<li>{for_html(claim.cell)}: {for_html(claim.claim)}" for claim in missed)
    return f"<h2>Missed</h2>\n<ul>{lines}</ul>\n"


def _table(done: Outcome) -> str:
    figures = [name for name in COLUMNS if any(cell.bounds(name) for cell in done.cells)]
    names = [*done.cells[0].cell.varied]
    labels = [label(name, done.bench.unit) for name in figures]
    every = (*names, *labels[:1], f"against {done.against}", "", *labels[1:])
    heads = "".join(f"<th>{for_html(name)}" for name in every)
    rows = "".join(_row(done, cell, figures) for cell in done.cells)
    return f'<h2>Cells</h2>\n<div class="wide"><table><tr>{heads}{rows}</table></div>'


def _row(done: Outcome, cell: CellOutcome, figures: Sequence[str]) -> str:
    change = done.change(cell)
    texts = [
        *(shown(value) for value in cell.cell.varied.values()),
        *(cell_in_words(name, cell) for name in figures[:1]),
        change_in_words(change),
        noise_in_words(change),
        *(cell_in_words(name, cell) for name in figures[1:]),
    ]
    return "<tr>" + "".join(f"<td>{for_html(text)}" for text in texts)


def _said(done: Outcome) -> str:
    if not done.findings:
        return ""
    lines = "".join(f"<li>{for_html(finding.sentence)}" for finding in done.findings)
    return f"<h2>To know before these figures are used</h2>\n<ul>{lines}</ul>\n"


def _facts(done: Outcome) -> Iterator[str]:
    bench = done.bench
    fixed = {**bench.axes, **bench.drive, **bench.run}
    for name, text in (
        ("command", _text(bench.command)),
        ("setup", _text(bench.setup)),
        ("repeats", str(bench.repeats)),
        *((name, ", ".join(map(shown, values))) for name, values in fixed.items()),
    ):
        if text:
            yield f"<dt>{for_html(name)}<dd>{for_html(text)}"


def _text(words: str | tuple[str, ...] | None) -> str:
    return words if isinstance(words, str) else " ".join(words or ())
