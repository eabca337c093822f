"""A table for a paper, and its forms: text, Markdown, LaTeX, HTML, CSV, JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flashgc import _files, tables
from flashgc._core import ConfigError, suggest
from flashgc._documents import Scalar
from flashgc.foreign import for_html, for_markdown, one_line

#: The sign between a mean and half its interval.
_SIGN = "±"
#: The most decimals of a figure.
_MOST = 4
_MISSING = "-"


@dataclass(frozen=True)
class Cell:
    """The mean of a figure in one row and one column."""

    #: The mean, or its ratio to that of the baseline; ``None`` without a result.
    mean: float | None
    #: Half the 95% interval; ``None`` if unknown.
    half: float | None = None
    #: True for the best cell of a column, and for those that cannot be told from it.
    is_best: bool = False
    #: True if this is a best cell, and others of the column cannot be told from it.
    is_tie: bool = False
    #: The reason why there is no result.
    reason: str | None = None


@dataclass(frozen=True)
class Head:
    """A column of cells."""

    #: The value of the option that the columns have; empty if they have none.
    value: str
    #: The figure.
    figure: str
    #: Its label for people, with the unit.
    label: str


@dataclass(frozen=True)
class PaperTable:
    """A table: options in the rows, and figures in the cells."""

    #: The labels of the options in the rows.
    options: tuple[str, ...]
    #: The label of the option in the columns; empty without one.
    across: str
    heads: tuple[Head, ...]
    #: For each row, the values of its options.
    names: tuple[tuple[str, ...], ...]
    #: For each row, a cell for each of ``heads``.
    cells: tuple[tuple[Cell, ...], ...]
    #: The values of the options in the row that others are divided by; empty without one.
    baseline: tuple[str, ...]
    #: Facts for the caption: what intervals are, what bold means, what is missing.
    notes: tuple[str, ...]

    def rows(self) -> list[dict[str, Scalar]]:
        """A tidy table with a row for each cell."""
        return [
            {
                **dict(zip(self.options, names, strict=True)),
                **({self.across: head.value} if self.across else {}),
                "figure": head.figure,
                "mean": cell.mean,
                "ci95": cell.half,
                "best": cell.is_best,
                "tie": cell.is_tie,
                "reason": cell.reason,
            }
            for names, cells in zip(self.names, self.cells, strict=True)
            for head, cell in zip(self.heads, cells, strict=True)
        ]

    def to_frame(self, library: str = "pandas") -> object:
        """The tidy table as a data frame of ``pandas`` or ``polars``.

        Raises :class:`flashgc.ConfigError` if the package is not installed.
        """
        return tables.to_frame(self.rows(), library)

    def save(self, name: str, *, caption: str = "", label: str = "") -> None:
        """Write the table in the form of the name's ending: .md, .tex, .html, .csv, .json, .txt.

        ``caption`` and ``label`` are for LaTeX. Raises :class:`flashgc.ConfigError` for another
        ending, and :class:`OSError`.
        """
        form = ending(name, "name")
        text = to_tex(self, caption, label) if form == ".tex" else FORMS[form](self)
        _files.write(name, text)

    def __str__(self) -> str:
        return to_text(self)


def to_text(table: PaperTable) -> str:
    """The table in aligned columns; best cells have an asterisk, and notes follow."""
    heads, rows = _headings(table), _body(table, lambda text, cell: text + " *" * cell.is_best)
    heads = [*heads[: len(table.options)], *(f"{head}  " for head in heads[len(table.options) :])]
    rows = [
        [
            cell if at < len(table.options) or cell.endswith("*") else f"{cell}  "
            for at, cell in enumerate(row)
        ]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = []
    for row in (heads, *rows):
        cells = [
            cell.ljust(width) if at < len(table.options) else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    notes = [note.replace("bold:", "*:") for note in table.notes]
    return "\n".join([*map(one_line, lines), "", *map(one_line, notes)]) + "\n"


def to_markdown(table: PaperTable) -> str:
    """The table in Markdown, with bold cells; notes follow."""

    def mark(text: str, cell: Cell) -> str:
        return f"**{text}**" if cell.is_best else text

    heads = [for_markdown(head) for head in _headings(table)]
    sides = ["---"] * len(table.options) + ["---:"] * len(table.heads)
    rows = [
        [for_markdown(text) for text in row[: len(table.options)]] + row[len(table.options) :]
        for row in _body(table, mark)
    ]
    lines = ["| " + " | ".join(row) + " |\n" for row in (heads, sides, *rows)]
    return "".join(lines) + "\n" + for_markdown("; ".join(table.notes)) + "\n"


def to_html(table: PaperTable) -> str:
    """The table as HTML, with bold cells; the notes are its caption."""

    def mark(text: str, cell: Cell) -> str:
        return f"<b>{for_html(text)}</b>" if cell.is_best else for_html(text)

    left = len(table.options)
    heads = "".join(f"<th>{for_html(head)}</th>" for head in _headings(table))
    rows = []
    for row in _body(table, mark):
        names = "".join(f"<th scope=row>{for_html(text)}</th>" for text in row[:left])
        cells = "".join(f'<td style="text-align:right">{text}</td>' for text in row[left:])
        rows.append(f"<tr>{names}{cells}</tr>")
    caption = for_html("; ".join(table.notes))
    return (
        f"<table>\n<caption>{caption}</caption>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n"
        + "\n".join(rows)
        + "\n</tbody>\n</table>\n"
    )


def to_tex(table: PaperTable, caption: str = "", label: str = "") -> str:
    r"""The table for LaTeX, with the packages booktabs and siunitx; ready for ``\input``.

    The preamble needs ``\usepackage{booktabs,siunitx}``. Values of the option across are over
    their figures. The notes and ``caption`` make the caption.
    """
    decimals = _decimals(table)
    columns = zip(table.heads, zip(*table.cells, strict=True), decimals, strict=True)
    kinds = [_kind(cells, digits) for _, cells, digits in columns]
    text = " ".join(part for part in (_stop(caption), _stop("; ".join(table.notes))) if part)
    lines = [
        r"\begin{table}",
        r"  \centering",
        f"  \\caption{{{tables.for_tex(text)}}}",
        *([f"  \\label{{{label}}}"] if label else []),
        r"  \smallskip",
        r"  \sisetup{separate-uncertainty=true, detect-weight=true}",
        f"  \\begin{{tabular}}{{{'l' * len(table.options)}{''.join(kinds)}}}",
        r"    \toprule",
        *(f"    {line}" for line in _tex_heads(table)),
        r"    \midrule",
    ]
    for names, cells in zip(table.names, table.cells, strict=True):
        shown = [_tex_cell(cell, digits) for cell, digits in zip(cells, decimals, strict=True)]
        row = " & ".join([*map(tables.for_tex, names), *shown])
        lines.append(f"    {row} \\\\")
    lines += [r"    \bottomrule", r"  \end{tabular}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _tex_heads(table: PaperTable) -> list[str]:
    """The lines of headings: the option across and its values, then the figures."""
    left = len(table.options)
    names = [tables.for_tex(option) for option in table.options]
    figures = list(dict.fromkeys(head.label for head in table.heads))
    if not table.across:
        heads = [f"{{{tables.for_tex(head.label)}}}" for head in table.heads]
        return [" & ".join([*names, *heads]) + r" \\"]
    values = list(dict.fromkeys(head.value for head in table.heads))
    span = len(figures)
    over = f"\\multicolumn{{{len(table.heads)}}}{{c}}{{{tables.for_tex(table.across)}}}"
    lines = [
        " & " * left + over + r" \\",
        f"\\cmidrule(lr){{{left + 1}-{left + len(table.heads)}}}",
    ]
    if span == 1:
        heads = [f"{{{tables.for_tex(value)}}}" for value in values]
        return [*lines, " & ".join([*names, *heads]) + r" \\"]
    tops = [f"\\multicolumn{{{span}}}{{c}}{{{tables.for_tex(value)}}}" for value in values]
    rules = "".join(
        f"\\cmidrule(lr){{{left + 1 + at * span}-{left + (at + 1) * span}}}"
        for at in range(len(values))
    )
    heads = [f"{{{tables.for_tex(head.label)}}}" for head in table.heads]
    return [
        *lines, " & " * left + " & ".join(tops) + r" \\", rules,
        " & ".join([*names, *heads]) + r" \\",
    ]  # fmt: skip


def _kind(cells: Sequence[Cell], digits: int) -> str:
    """The column type of siunitx with room for every cell."""
    means = [abs(cell.mean) for cell in cells if cell.mean is not None]
    whole = max((len(f"{value:.{digits}f}".partition(".")[0]) for value in means), default=1)
    halves = [cell.half for cell in cells if cell.half is not None]
    room = max(
        (len(f"{half:.{digits}f}".replace(".", "").lstrip("0")) for half in halves), default=0
    )
    return f"S[table-format={whole}.{digits}{f'({room})' if room else ''}]"


def _tex_cell(cell: Cell, digits: int) -> str:
    if cell.mean is None:
        return "{--}"
    text = f"{cell.mean:.{digits}f}"
    if cell.half is not None:
        text += f" \\pm {cell.half:.{digits}f}"
    return f"\\bfseries {text}" if cell.is_best else text


def _stop(text: str) -> str:
    """``text`` as a sentence: with a capital letter and a full stop."""
    return text and text[0].upper() + text[1:].rstrip(".") + "."


def _headings(table: PaperTable) -> list[str]:
    several = len({head.figure for head in table.heads}) > 1
    return [*table.options, *(_heading(head, several=several) for head in table.heads)]


def _heading(head: Head, *, several: bool) -> str:
    if not head.value:
        return head.label
    return f"{head.value}: {head.label}" if several else head.value


def _body(table: PaperTable, mark: Callable[[str, Cell], str]) -> list[list[str]]:
    decimals = _decimals(table)
    return [
        [
            *names,
            *(
                mark(_written(cell, digits), cell)
                for cell, digits in zip(cells, decimals, strict=True)
            ),
        ]
        for names, cells in zip(table.names, table.cells, strict=True)
    ]


def _written(cell: Cell, digits: int) -> str:
    if cell.mean is None:
        return _MISSING
    half = "" if cell.half is None else f" {_SIGN}{cell.half:.{digits}f}"
    return f"{cell.mean:.{digits}f}{half}"


def _decimals(table: PaperTable) -> list[int]:
    """The decimals of each column: two digits of its middle interval, or four digits in all."""
    columns = zip(*table.cells, strict=True)
    return [_digits([cell for cell in column if cell.mean is not None]) for column in columns]


def _digits(cells: Sequence[Cell]) -> int:
    """The decimals of the cells of one column.

    >>> _digits([Cell(4.123, 0.021), Cell(3.0, 0.2), Cell(5.0, 0.034)]), _digits([Cell(1234.5)])
    (3, 0)
    """
    halves = sorted(cell.half for cell in cells if cell.half)
    if halves:
        return _decimals_of(halves[len(halves) // 2], 2)
    means = [abs(cell.mean) for cell in cells if cell.mean]
    return _decimals_of(max(means), 4) if means else 0


def _decimals_of(value: float, digits: int) -> int:
    return min(max(digits - 1 - math.floor(math.log10(value)), 0), _MOST)


#: The writer of each form, by the ending of a file's name.
FORMS: Mapping[str, Callable[[PaperTable], str]] = {
    ".csv": lambda table: tables.to_csv(table.rows()),
    ".html": to_html,
    ".json": lambda table: tables.to_json(table.rows()),
    ".md": to_markdown,
    ".tex": to_tex,
    ".txt": to_text,
}


def ending(name: str, option: str) -> str:
    """The ending of a file's name; raises :class:`flashgc.ConfigError` for an unknown one."""
    form = Path(name).suffix.lower()
    if form not in FORMS:
        raise ConfigError(
            f"{option}: {name} ends in no form of a table; hint: {suggest(form, list(FORMS))}"
        )
    return form
