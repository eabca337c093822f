"""How things look: tables and blocks on a terminal, plain aligned text elsewhere."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from flashgc.units import format_rate, format_size

if TYPE_CHECKING:
    from flashgc.results import Result

LEFT, RIGHT = "left", "right"


class _Console(Console):
    """A console that leaves a broken pipe to the command's entrance."""

    def on_broken_pipe(self) -> None:
        """Goes on with the error that is being handled, rather than exit with code 1."""
        raise  # noqa: PLE0704 - called while one is handled


def console(file: TextIO | None = None) -> Console:
    """The console for ``file`` (standard output): colour only on a terminal without NO_COLOR."""
    file = file or sys.stdout
    if file.isatty() and os.environ.get("TERM") != "dumb":
        return _Console(file=file, highlight=False, emoji=False)
    # Not a terminal: no wrapping and no decoration, so that tools can cut columns.
    return _Console(
        file=file, highlight=False, emoji=False, width=4096, no_color=True, soft_wrap=True
    )


def show(target: Console, what: RenderableType) -> None:
    """Prints ``what``; for tools, without blanks at the ends of lines."""
    if not is_plain(target):
        target.print(what)
        return
    with target.capture() as captured:
        target.print(what)
    lines = [line.rstrip() for line in captured.get().splitlines()]
    target.print("\n".join(lines), markup=False, soft_wrap=True)


def is_plain(target: Console) -> bool:
    """Whether the output is for tools rather than eyes."""
    return not target.is_terminal


def unicode(target: Console, fancy: str, plain: str) -> str:
    """``fancy`` if the output can show it."""
    try:
        fancy.encode(target.encoding)
    except (UnicodeEncodeError, LookupError):
        return plain
    return fancy


def table(target: Console, columns: Iterable[tuple[str, str]], title: str | None = None) -> Table:
    """A table with these columns (heading and alignment)."""
    columns = list(columns)
    headings = [heading for heading, _ in columns]
    made = Table(
        box=None if is_plain(target) else box.SIMPLE_HEAD,
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="bold" if not is_plain(target) else "",
        pad_edge=False,
        # The box adds a column between columns: two in all, or one where they are many.
        padding=(0, 1) if is_plain(target) else (0, int(sum(map(bool, headings)) < 8), 0, 0),
        show_edge=False,
    )
    for heading, align in columns:
        made.add_column(
            heading,
            justify="right" if align == RIGHT else "left",
            no_wrap=align == RIGHT,
            overflow="fold",
        )
    return made


def facts(target: Console, rows: Iterable[tuple[str, RenderableType]]) -> Table:
    """A block of named facts."""
    made = Table.grid(padding=(0, 2))
    made.add_column(style="dim" if not is_plain(target) else "", no_wrap=True)
    made.add_column(overflow="fold")
    for name, fact in rows:
        made.add_row(name, fact)
    return made


def warn(message: str, *, quiet: bool = False) -> None:
    """A warning on standard error."""
    if quiet:
        return
    target = console(sys.stderr)
    line = Text("warning: ", style="bold yellow")
    line.append(message.replace("±", unicode(target, "±", "+-")), style="default not bold")
    target.print(line)


def folded(text: str, width: int) -> str:
    r"""A spec in lines of at most ``width`` where it can be: cut after a comma or colon, no number.

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
    """A small plot of ``values`` in one line of text.

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
    """How fast a simulation was, and the memory that the process took where the system tells."""
    rate = f"{format_rate(result.page_programs_per_second)} a core"
    if result.peak_memory_bytes is None:
        return rate
    return f"{rate}, {format_size(result.peak_memory_bytes)} of memory"
