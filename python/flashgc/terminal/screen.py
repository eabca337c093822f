"""The form of output on a terminal. It is imported only when needed, because rich loads slowly."""

from __future__ import annotations

from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table

from flashgc.foreign import for_terminal
from flashgc.terminal.guard import unguarded


class Screen(Console):
    """A console that lets the command's entrance handle a broken pipe."""

    def __init__(self, file: TextIO) -> None:
        super().__init__(file=unguarded(file), highlight=False, emoji=False, markup=False)

    def print(self, *objects: Any, **look: Any) -> None:
        """Print ``objects``; control characters in texts are escaped."""
        super().print(
            *(for_terminal(item) if isinstance(item, str) else item for item in objects), **look
        )

    def on_broken_pipe(self) -> None:
        """Raise the current error again, instead of an exit with code 1."""
        raise  # noqa: PLE0704 - called while one is handled


class Rows(Table):
    """A table that escapes control characters in its cells."""

    def add_row(self, *cells: Any, **look: Any) -> None:
        """Add a row."""
        super().add_row(
            *(for_terminal(cell) if isinstance(cell, str) else cell for cell in cells), **look
        )


def table(columns: list[tuple[str, str]]) -> Table:
    """A table with these columns (heading and alignment)."""
    headings = [heading for heading, _ in columns]
    rows = Rows(
        box=box.SIMPLE_HEAD,
        header_style="bold",
        pad_edge=False,
        # The box adds one column between two columns, so the gap is two wide, or one if columns are
        # many.
        padding=(0, int(sum(map(bool, headings)) < 8), 0, 0),
        show_edge=False,
    )
    for heading, align in columns:
        if align == "right":
            rows.add_column(heading, justify="right", no_wrap=True, overflow="fold")
        else:
            rows.add_column(heading, overflow="fold")
    return rows


def facts() -> Table:
    """An empty block of named facts."""
    table = Rows.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    return table
