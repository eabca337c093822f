"""Plain tables have the layout of rich, although rich is not imported for them."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flashgc.terminal import render
from flashgc.terminal.render import LEFT, RIGHT

#: A line of a cell; in rich, blanks at its end count for the width of a column, too.
LINES = st.text("ab1±≈磁[]", max_size=8)
CELLS = st.lists(LINES, min_size=1, max_size=2).map("\n".join)
SIDES = st.sampled_from([LEFT, RIGHT])


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[tuple[str, str]], list[list[str]]]:
    """Headings with their sides, and rows of cells."""
    # One heading is never empty: without headings, our table has no line of headings, and the
    # table of rich has an empty one.
    columns = [("of", LEFT), *draw(st.lists(st.tuples(LINES, SIDES), min_size=1, max_size=3))]
    row = st.lists(CELLS, min_size=len(columns), max_size=len(columns))
    return columns, draw(st.lists(row, max_size=4))


def by_rich(table: Table) -> str:
    """The text of a table by rich on a wide terminal, without blanks at the ends of lines."""
    file = io.StringIO()
    Console(file=file, width=4096, markup=False).print(table)
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def by_us(table: render.AnyTable) -> str:
    file = io.StringIO()
    render.show(render.Plain(file), table)
    return file.getvalue()


@given(made=tables(), least=st.integers(0, 12))
def test_a_plain_table_is_as_rich_lays_it_out(
    made: tuple[list[tuple[str, str]], list[list[str]]], least: int
) -> None:
    columns, rows = made
    plain = render.table(render.Plain(io.StringIO()), columns)
    rich = Table(box=None, pad_edge=False, padding=(0, 1), show_edge=False, header_style="")
    for heading, side in columns:
        rich.add_column(heading, justify="right" if side == RIGHT else "left", no_wrap=True)
    plain.columns[0].min_width = rich.columns[0].min_width = least
    for row in rows:
        plain.add_row(*row)
        rich.add_row(*row)
    assert by_us(plain) == by_rich(rich)


@given(rows=st.lists(st.tuples(LINES.filter(bool), CELLS), min_size=1, max_size=4))
def test_plain_facts_are_as_rich_lays_them_out(rows: list[tuple[str, str]]) -> None:
    rich = Table.grid(padding=(0, 2))
    rich.add_column(no_wrap=True)
    rich.add_column(overflow="fold")
    for row in rows:
        rich.add_row(*row)
    assert by_us(render.facts(render.Plain(io.StringIO()), rows)) == by_rich(rich)


def test_a_text_has_its_styles_on_a_terminal_and_none_for_tools() -> None:
    text = render.Text("no", style="bold")
    text.append("  why", style="dim")
    text.append(" [more]")
    file = io.StringIO()
    Console(file=file, force_terminal=True, color_system="standard", width=80).print(text)
    expected = Text("no", style="bold")
    expected.append("  why", style="dim")
    expected.append(" [more]")
    told = io.StringIO()
    Console(file=told, force_terminal=True, color_system="standard", width=80).print(expected)
    assert (
        file.getvalue()
        == told.getvalue()
        == "\x1b[1mno\x1b[0m\x1b[1;2m  why\x1b[0m\x1b[1m [more]\x1b[0m\n"
    )
    assert str(text) == "no  why [more]"
