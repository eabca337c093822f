"""The text output of ``flashgc qualify``: a data sheet, 80 columns wide, and the IOPS matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashgc.studies.qualifying.outcome import decimal
from flashgc.terminal.render import LEFT, RIGHT, Text, console, facts, show, table
from flashgc.units import format_share, format_size, many

if TYPE_CHECKING:
    from flashgc.studies.qualifying.outcome import Qualification, Rounds


def show_qualification(qualification: Qualification, other: Qualification | None) -> None:
    """Print the facts, the data sheet, and the tests in rounds."""
    out = console()
    out.print(Text(qualification.name, style="bold"))
    used = format_size(qualification.used_bytes)
    rows: list[tuple[str, Text | str]] = [
        ("capacity", f"{decimal(qualification.drive_bytes, 'B')}, of which the tests used {used}"),
        ("spare", f"{format_share(qualification.spare, 2)} of the flash beside parity"),
        ("mapping unit", format_size(qualification.mapping_unit)),
        ("repeat", f"seed {qualification.seed}, flashgc {qualification.version}"),
    ]
    show(out, facts(out, rows))
    out.print()
    columns = [("", LEFT), (qualification.name, LEFT)]
    lines = {line.name: line.value for line in qualification.lines()}
    others = {} if other is None else {line.name: line.value for line in other.lines()}
    if other is not None:
        columns.append((other.name, LEFT))
    listing = table(out, columns)
    for name in dict.fromkeys((*lines, *others)):
        cells = [lines.get(name, ""), *([] if other is None else [others.get(name, "")])]
        listing.add_row(name, *cells)
    show(out, listing)
    matrix = qualification.of("iops")
    if matrix is not None:
        out.print()
        _show_matrix(matrix)
    if qualification.rounds:
        out.print()
        for test in qualification.rounds:
            out.print(_verdict(test))


def _show_matrix(test: Rounds) -> None:
    out = console()
    sizes = list(dict.fromkeys(cell.size for cell in test.cells))
    listing = table(
        out, [("IOPS, read/write", LEFT), *((f"{size / 1024:g} KiB", RIGHT) for size in sizes)]
    )
    for reads in dict.fromkeys(cell.reads for cell in test.cells):
        row = [
            "" if (cell := test.cell(size, reads)) is None
            else decimal(cell.requests_per_second, "")
            for size in sizes
        ]  # fmt: skip
        share = round(100 * reads)
        listing.add_row(f"{share}/{100 - share}", *row)
    show(out, listing)


def _verdict(test: Rounds) -> str:
    window = test.window
    if test.interrupted:
        return f"{test.title}: stopped after {many(len(test.tracked), 'round')}"
    state = "steady in" if window.met else "not steady, figures of"
    return (
        f"{test.title}: {state} rounds {window.first} to {window.last}: range "
        f"{format_share(window.excursion)}, slope {format_share(round(window.slope, 3) or 0.0)}"
    )
