"""A table of counts over time: a CSV file with a row for each time."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator

from flashgc._core import ConfigError, suggest
from flashgc.foreign import one_line
from flashgc.logs.counts import Count
from flashgc.logs.log import TABLE, Log
from flashgc.logs.text import refuse, whole
from flashgc.logs.times import seconds
from flashgc.units import parse_size

TIME, HOST, MEDIA = "time", "host_bytes_written", "media_bytes_written"
#: The columns, each with a description of its cells.
COLUMNS = {
    TIME: "2026-11-30T12:00 or seconds since 1970",
    HOST: "bytes since the drive was new, such as 1400TB",
    MEDIA: "bytes programmed since then",
    "percentage_used": "0 to 255",
    "power_on_hours": "a whole number",
    "serial": "a name",
    "capacity": "bytes that the host sees, such as 960GB",
}


def is_table(text: str) -> bool:
    """True for a text whose first line has the columns of a table."""
    first = text.lstrip("\ufeff \r\n").split("\n", 1)[0]
    return not first.startswith(("{", "[")) and TIME in map(str.strip, re.split("[,;\t]", first))


def logs_of(path: str, text: str) -> Iterator[Log]:
    """The rows of a table."""
    shown = one_line(path)
    rows = _rows(shown, text)
    heading, first = next((line, row) for line, row in rows if any(map(str.strip, row)))
    columns = [cell.strip() for cell in first]
    if len(columns) == 1 and columns[0] not in COLUMNS:
        refuse(
            f"{shown}:{heading}",
            f"found '{one_line(columns[0])}', expected cells with commas between",
            "save the table with commas",
        )
    for name in columns:
        if name not in COLUMNS:
            refuse(f"{shown}:{heading}", f"unknown column '{one_line(name)}'",
                   suggest(name, list(COLUMNS)))  # fmt: skip
        if columns.count(name) > 1:
            refuse(f"{shown}:{heading}", f"a second column '{name}'", "remove one")
    if HOST not in columns:
        refuse(f"{shown}:{heading}", f"found no column '{HOST}'", f"its cells: {COLUMNS[HOST]}")
    for line, row in rows:
        if not any(map(str.strip, row)):
            continue
        if len(row) != len(columns):
            refuse(f"{shown}:{line}", f"found {len(row)} cells, expected {len(columns)}",
                   "a cell for each column")  # fmt: skip
        cells = dict(zip(columns, map(str.strip, row), strict=True))
        yield _log(cells, shown, line, columns)


def _rows(shown: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """The lines with cells, each with its number."""
    rows = csv.reader(io.StringIO(text.lstrip("\ufeff"), newline=""), strict=True)
    try:
        for row in rows:
            yield rows.line_num, row
    except csv.Error as fault:
        refuse(f"{shown}:{rows.line_num}", f"damaged table: {one_line(str(fault))}",
               "is a quotation mark missing?")  # fmt: skip


def _log(cells: dict[str, str], path: str, line: int, columns: list[str]) -> Log:
    def place(name: str) -> str:
        return f"{path}:{line}:{columns.index(name) + 1}"

    def number(name: str, parse: Callable[[str], int]) -> int | None:
        text = cells.get(name, "")
        if not text:
            return None
        try:
            value = parse(text)
        except (ConfigError, ValueError):
            value = -1
        if value < 0:
            refuse(f"{place(name)} (cell)", f"{name}: found '{one_line(text)}'", COLUMNS[name])
        return value

    def count(name: str) -> dict[str, Count]:
        value = number(name, _bytes)
        return {} if value is None else {TABLE: Count(value, 1, name, place(name))}

    if not cells[TIME]:
        refuse(f"{place(TIME)} (cell)", "the time is empty", COLUMNS[TIME])
    return Log(
        "table",
        f"{path}:{line}",
        host=count(HOST),
        media=count(MEDIA),
        time=seconds(cells[TIME], f"{place(TIME)} (cell)"),
        used=number("percentage_used", int),
        hours=number("power_on_hours", int),
        serial=cells.get("serial") or None,
        capacity=number("capacity", _bytes),
    )


def _bytes(text: str) -> int:
    number = whole(text)
    return int(parse_size(text)) if number is None else number[0]
