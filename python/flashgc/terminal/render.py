"""The form of output: tables and blocks on a terminal, plain aligned text elsewhere."""

from __future__ import annotations

import itertools
import math
import os
import re
import sys
from typing import TYPE_CHECKING, TextIO, TypeAlias

from flashgc.foreign import for_terminal
from flashgc.units import format_rate, format_size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.table import Table as Decorated
    from rich.text import Text as Coloured

    from flashgc.results import Result
    from flashgc.terminal.screen import Screen

    #: The types of consoles and of tables, for tools and for terminals.
    Console: TypeAlias = "Plain | Screen"
    AnyTable: TypeAlias = "Table | Decorated"

LEFT, RIGHT = "left", "right"


class Plain:
    """Output for tools: without colours, and without limits on lines and columns."""

    #: The width for callers that wrap text; it is large enough for all text.
    width = 4096

    def __init__(self, file: TextIO) -> None:
        self.file = file

    @property
    def encoding(self) -> str:
        """The encoding of the file."""
        return self.file.encoding or "utf-8"

    def print(self, what: object = "", **_look: object) -> None:
        """Print ``what``; options on its look have no effect here."""
        print(what, file=self.file, flush=True)


class Text:
    """Text in parts, with their styles on a terminal.

    The style of the first part also applies to other parts unless they have their own.
    """

    def __init__(self, text: str = "", style: str = "") -> None:
        self.parts = [(text, style)]

    def append(self, text: str, style: str = "") -> None:
        """Adds a part."""
        self.parts.append((text, style))

    def __str__(self) -> str:
        return "".join(text for text, _ in self.parts)

    def __rich__(self) -> Coloured:
        """Return the text for rich."""
        from rich.text import Text as Coloured

        (text, style), *others = [(for_terminal(text), style) for text, style in self.parts]
        label = Coloured(text, style=style)
        for text, style in others:
            label.append(text, style=style or None)
        return label


class Column:
    """A column of a plain table."""

    #: The attribute of the same name of rich's columns; a plain table never wraps a line.
    no_wrap = True

    def __init__(self, heading: str, align: str) -> None:
        self.heading, self.align = heading, align
        self.min_width: int | None = None

    def padded(self, text: str, width: int) -> str:
        """A cell padded to ``width``."""
        if self.align == RIGHT:
            text = text.rstrip()
            return " " * (width - cells(text)) + text
        return text + " " * (width - cells(text))


class Table:
    r"""A table as aligned text.

    >>> made = Table([Column("of", LEFT), Column("n", RIGHT)])
    >>> made.add_row("blocks", "5")
    >>> made.add_row("pages\nin a block", "64")
    >>> print(made)
    of           n
    blocks       5
    pages       64
    in a block
    """

    def __init__(self, columns: list[Column]) -> None:
        self.columns = columns
        self._rows: list[list[list[str]]] = []

    def add_row(self, *row: Text | str) -> None:
        """Adds a row; cells may have several lines."""
        self._rows.append([str(cell).split("\n") for cell in row])

    def __str__(self) -> str:
        headings = [[column.heading] for column in self.columns]
        rows = [headings, *self._rows] if any(heading[0] for heading in headings) else self._rows
        widths = [
            max(column.min_width or 0, *(cells(line) for row in rows for line in row[index]), 0)
            for index, column in enumerate(self.columns)
        ]
        return "\n".join(
            "  ".join(map(Column.padded, self.columns, line, widths)).rstrip()
            for row in rows
            for line in itertools.zip_longest(*row, fillvalue="")
        )


def cells(text: str) -> int:
    """Return the width of a text in characters; East Asian wide characters count as two.

    >>> cells("±1"), cells("磁碟")
    (2, 4)
    """
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 1 + (east_asian_width(c) in "WF") for c in text)


def console(file: TextIO | None = None) -> Console:
    """The console for ``file`` (standard output): coloured only on a terminal, without NO_COLOR."""
    file = file or sys.stdout
    if not is_screen(file):
        return Plain(file)
    from flashgc.terminal.screen import Screen

    return Screen(file)


def is_screen(file: TextIO) -> bool:
    """True if ``file`` is a terminal that can move the cursor."""
    return file.isatty() and os.environ.get("TERM") != "dumb"


def show(target: Console, what: AnyTable) -> None:
    """Print a table or facts; for tools, without blanks at the ends of lines."""
    target.print(what)


def is_plain(target: Console) -> bool:
    """True if the output is for tools, and not for people."""
    return isinstance(target, Plain)


def unicode(target: Console, fancy: str, plain: str) -> str:
    """``fancy`` if the output's encoding has its characters, else ``plain``."""
    try:
        fancy.encode(target.encoding)
    except (UnicodeEncodeError, LookupError):
        return plain
    return fancy


def table(target: Console, columns: Iterable[tuple[str, str]]) -> AnyTable:
    """A table with these columns (heading and alignment)."""
    if isinstance(target, Plain):
        return Table([Column(heading, align) for heading, align in columns])
    from flashgc.terminal import screen

    return screen.table(list(columns))


def facts(target: Console, rows: Iterable[tuple[str, Text | str]]) -> AnyTable:
    """A block of facts, each with its name."""
    if isinstance(target, Plain):
        listing: AnyTable = Table([Column("", LEFT), Column("", LEFT)])
    else:
        from flashgc.terminal import screen

        listing = screen.facts()
    for name, fact in rows:
        listing.add_row(name, fact)
    return listing


def warn(message: str, *, quiet: bool = False) -> None:
    """Print a warning on standard error."""
    if quiet:
        return
    target = console(sys.stderr)
    line = Text("warning: ", style="bold yellow")
    line.append(
        " ".join(message.split("\n")).replace("±", unicode(target, "±", "+-")),
        style="default not bold",
    )
    target.print(line)


def folded(text: str, width: int) -> str:
    r"""A spec in lines of at most ``width`` if possible, broken only after a comma or a colon.

    >>> folded("d-choices:d=1000,c=1000", 18)
    'd-choices:d=1000,\nc=1000'
    """
    lines = [""]
    for piece in re.findall(r"[^,:]*[,:]?", text):
        if lines[-1] and len(lines[-1]) + len(piece) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)


def sparkline(values: list[float], width: int = 24) -> str:
    """A small plot of ``values`` as one line of text.

    >>> sparkline([3, 2, 1, 1], 4)
    '█▄▁▁'
    """
    finite = [value for value in values if not math.isnan(value)]
    if not finite:
        return ""
    step = max(1, -(-len(finite) // width))
    means = [
        sum(finite[start : start + step]) / len(finite[start : start + step])
        for start in range(0, len(finite), step)
    ]
    low, high = min(means), max(means)
    bars = "▁▂▃▄▅▆▇█"
    if high - low <= 1e-12 * abs(high):
        return bars[0] * len(means)
    return "".join(bars[int((value - low) / (high - low) * 7)] for value in means)


def speed(result: Result) -> str:
    """Return a text with the speed of a simulation, and the process's memory if it is known."""
    rate = f"{format_rate(result.page_programs_per_second)} a core"
    if result.peak_memory_bytes is None:
        return rate
    return f"{rate}, {format_size(result.peak_memory_bytes)} of memory"
