"""The display of results: one line of text, and a small table with notes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from flashgc.foreign import for_html

#: The maximum number of rows shown of a table. A note gives the number of further rows.
MOST_ROWS = 40
#: The maximum number of characters of a name in a line of text.
MOST_CHARACTERS = 120


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    heading: str
    #: True if it has figures, which are right-aligned.
    is_figure: bool = False


@dataclass(frozen=True)
class Shown:
    """The line and the table of a result."""

    #: The result in one line.
    line: str
    #: Cells of the table, row by row.
    rows: Sequence[Sequence[str]]
    #: The columns; empty for a table of names and values, which needs no headings.
    columns: Sequence[Column] = ()
    #: Notes for readers, below the table.
    notes: Sequence[str] = ()


class Shows:
    """An object that is displayed as one line, and in notebooks and by ``print`` as a table."""

    def _shown(self) -> Shown:
        """The line and the table. By default they show the attributes that are numbers or texts."""
        plain = [
            (
                name.replace("_", " "),
                f"{value:,}".replace(",", " ") if type(value) is int else f"{value}",
            )
            for name, value in vars(self).items()
            if not name.startswith("_") and isinstance(value, bool | int | float | str)
        ]
        return Shown(", ".join(f"{name} {value}" for name, value in plain[:4]), plain)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._shown().line}>"

    def __str__(self) -> str:
        return to_text(self._shown())

    def _repr_html_(self) -> str:
        shown = self._shown()
        return to_html(f"{type(self).__name__}: {shown.line}", shown)


def to_html(caption: str, shown: Shown) -> str:
    """The table as HTML; every text is escaped.

    Colours are those of the page, light or dark, and have no meaning.

    >>> "a&lt;b" in to_html("", Shown("", [("a<b", "1")]))
    True
    """
    columns = shown.columns or [Column("")] * max(map(len, shown.rows), default=0)
    parts = [
        '<div style="overflow-x:auto"><table style="font-variant-numeric:tabular-nums">',
        f'<caption style="text-align:left;color:inherit">{for_html(caption)}</caption>',
    ]
    if shown.columns:
        heads = "".join(_cell(column.heading, column, "th") for column in columns)
        parts.append(f"<thead><tr>{heads}</tr></thead>")
    parts.append("<tbody>")
    for row in shown.rows[:MOST_ROWS]:
        cells = (_cell(text, column, "td") for text, column in zip(row, columns, strict=True))
        parts.append(f"<tr>{''.join(cells)}</tr>")
    parts.append("</tbody></table>")
    more = len(shown.rows) - MOST_ROWS
    for note in (*([f"{more} more rows"] if more > 0 else []), *shown.notes):
        parts.append(f"<p>{for_html(note)}</p>")
    return "".join([*parts, "</div>"])


def to_text(shown: Shown) -> str:
    """The line, the table and the notes as lines of text.

    >>> print(to_text(Shown("2 results", [("a", "10"), ("bb", "9")], notes=["too few"])))
    2 results
    a   10
    bb  9
    note: too few
    """
    columns = shown.columns or [Column("")] * max(map(len, shown.rows), default=0)
    rows = [[column.heading for column in columns]] if shown.columns else []
    rows += [list(row) for row in shown.rows[:MOST_ROWS]]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    lines = [shown.line]
    for row in rows:
        cells = (
            cell.rjust(width) if column.is_figure else cell.ljust(width)
            for cell, width, column in zip(row, widths, columns, strict=True)
        )
        lines.append("  ".join(cells).rstrip())
    more = len(shown.rows) - MOST_ROWS
    notes = [*([f"{more} more rows"] if more > 0 else []), *shown.notes]
    return "\n".join([*lines, *(f"note: {note}" for note in notes)])


def _cell(text: str, column: Column, tag: str) -> str:
    side = "right" if column.is_figure else "left"
    return f'<{tag} style="text-align:{side};min-width:0">{for_html(text)}</{tag}>'


def short(text: str) -> str:
    """``text``, shortened in the middle if it is too long for a line.

    >>> len(short("x" * 500))
    120
    """
    if len(text) <= MOST_CHARACTERS:
        return text
    half = MOST_CHARACTERS // 2
    return f"{text[: half - 1]}…{text[-half:]}"


def figure(value: float | None, half: float | None = None) -> str:
    """A figure with half its 95% interval, if there is one.

    >>> figure(4.90512, 0.0123), figure(None), figure(float("nan"))
    ('4.9051 ±0.0123', '-', '-')
    """
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.4f}" + ("" if half is None else f" ±{half:.4f}")


def runs(count: int) -> str:
    """Return a text with the number of runs.

    >>> runs(1), runs(3)
    ('1 run', '3 runs')
    """
    return f"{count} run{'s' if count != 1 else ''}"
