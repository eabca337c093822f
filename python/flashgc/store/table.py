"""Tidy rows from a file of results, a table in a file, a sweep, or a list."""

from __future__ import annotations

import csv
import io
import json
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from flashgc import tables
from flashgc._core import ConfigError
from flashgc.store.file import Store
from flashgc.store.query import COLUMNS, conditions, parted
from flashgc.store.tidy import axis_value, column, tidy

if TYPE_CHECKING:
    from flashgc.studies.sweep.outcome import Sweep

Row = Mapping[str, Any]
#: Objects that rows can be read from.
Source: TypeAlias = "str | os.PathLike[str] | Sweep | Iterable[Mapping[str, Any]]"

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def rows_of(source: Source, where: Sequence[str] = (), what: str = "RESULTS") -> list[Row]:
    """The rows of a file of results, of a table (.csv, .json, .parquet), a sweep or a list.

    For a file of results and a sweep, cells without a result are included, with their ``status``
    and ``reason``. ``where`` are conditions on any column (``spare<10%``); for a file of results,
    the conditions of ``flashgc results list`` are also possible.

    Raises :class:`flashgc.ConfigError`, and :class:`OSError` if a file cannot be read.
    """
    if isinstance(where, str):
        raise ConfigError(f"where: found a text, expected a list; hint: where=['{where}']")
    wanted = [parted(condition) for condition in where]
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        ending = path.suffix.lower()
        if ending not in _READ:
            return _rows_of_store(path, where, wanted, what)
        rows = _rows_of_table(path, ending, what)
    elif hasattr(source, "cells"):
        rows = _rows_of_sweep(source)
    else:
        rows = _rows_of_list(source)
    return _where(rows, wanted)


def _rows_of_store(
    path: Path, where: Sequence[str], wanted: Sequence[tuple[str, str, str]], what: str
) -> list[Row]:
    """The rows of a file of results; SQLite checks conditions on columns that the rows lack."""
    with Store(path, what, make=False) as store:
        rows = tidy(store)
        names = tables.columns(rows)
        own = [name in COLUMNS and name not in names for name, _, _ in wanted]
        own_conditions = [text for text, mine in zip(where, own, strict=True) if mine]
        if own_conditions:
            rows = tidy(store, conditions(own_conditions))
    left = [condition for condition, mine in zip(wanted, own, strict=True) if not mine]
    return _where(rows, left, names)


def _rows_of_sweep(sweep: Any) -> list[Row]:
    """The rows of a sweep, including cells without a result."""
    return [
        {
            "status": cell.status,
            **dict(axis_value(name, value) for name, value in cell.at.items()),
            **cell.figures,
            "reason": cell.reason or None,
        }
        for cell in sweep.cells
        if cell.status != "missing"
    ]


def _rows_of_list(source: Any) -> list[Row]:
    rows = list(source) if isinstance(source, Iterable) else [source]
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ConfigError(
                f"rows: found {str(row)[:40]} at [{index}], expected a row as a dictionary; hint: "
                "of a data frame, frame.to_dict('records')"
            )
    _check_values(rows, "rows")
    return rows


def _rows_of_table(path: Path, ending: str, what: str) -> list[Row]:
    """The rows of a table in a file."""
    if not path.exists():
        raise ConfigError(f"{what}: {path}: no such file; hint: flashgc results list --out {path}")
    try:
        rows = _READ[ending](path)
    except (UnicodeDecodeError, csv.Error, json.JSONDecodeError, TypeError) as error:
        raise ConfigError(f"{what}: {path} is no table: {error}; hint: give another file") from None
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise ConfigError(f"{what}: {path} is no list of rows; hint: give another file")
    if not rows:
        raise ConfigError(f"{what}: {path} has no row; hint: give another file")
    _check_values(rows, f"{what}: {path}")
    return [dict(axis_value(name, value) for name, value in row.items()) for row in rows]


def _check_values(rows: Sequence[Row], what: str) -> None:
    """Raise an error if a value is no number, text, boolean or ``None``."""
    for index, row in enumerate(rows):
        for name, value in row.items():
            if isinstance(value, Mapping | list | set):
                raise ConfigError(
                    f"{what}: found {str(value)[:40]} as '{name}' of row {index + 1}, expected a "
                    "number or a text; hint: leave the column out, or make columns of its parts"
                )


def _csv(path: Path) -> list[Row]:
    text = io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")
    reader = csv.reader(text, strict=True)
    names = next(reader, [])
    rows: list[Row] = []
    for cells in reader:
        if cells and len(cells) != len(names):
            raise ConfigError(
                f"{path}:{reader.line_num}: found {len(cells)} values, expected {len(names)}, as "
                "the first line has names; hint: put texts with commas in quotes"
            )
        if cells:
            rows.append({name: _value(cell) for name, cell in zip(names, cells, strict=True)})
    return rows


def _json(path: Path) -> list[Row]:
    rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))
    return rows


def _parquet(path: Path) -> list[Row]:
    arrow = tables.package("pyarrow", "pyarrow", f"{path}")
    parquet = tables.package("pyarrow.parquet", "pyarrow", f"{path}")
    try:
        rows: list[Row] = parquet.read_table(path).to_pylist()
    except arrow.ArrowInvalid as error:
        raise TypeError(str(error).split(".")[0]) from None
    return rows


_READ: Mapping[str, Callable[[Path], list[Row]]] = {
    ".csv": _csv, ".json": _json, ".parquet": _parquet,
}  # fmt: skip


def _value(cell: str) -> Any:
    """The value of a cell of a CSV file: a number, a boolean, ``None``, or a text."""
    if cell in ("", "true", "false"):
        return None if not cell else cell == "true"
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            pass
    return cell


def _where(
    rows: Sequence[Row], wanted: Sequence[tuple[str, str, str]], names: Sequence[str] | None = None
) -> list[Row]:
    """The rows for which all conditions hold."""
    known = tables.columns(rows) if names is None else names
    matches = list(rows)
    for heading, compared, value in wanted:
        name = column(heading, known, "--where")
        matches = [row for row in matches if _holds(name, row.get(name), compared, value)]
        if rows and not matches:
            raise ConfigError(
                f"--where: no row has {heading}{compared}{value}; hint: {heading} is "
                f"{_first_values(dict.fromkeys(str(row.get(name)) for row in rows))}"
            )
    return matches


def _first_values(values: Iterable[str]) -> str:
    """The first values in a line, and an ellipsis if there are more."""
    listed = list(values)
    return ", ".join(listed[:4]) + (", ..." if len(listed) > 4 else "")


def _holds(name: str, value: Any, compared: str, wanted: str) -> bool:
    """True if a value meets a condition; a bare policy name matches any parameters."""
    if value is None:
        return compared == "!="
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = _number(name, wanted)
        if compared in _COMPARE:
            return _COMPARE[compared](value, number)
        return (value == number) == (compared == "=")
    if compared in _COMPARE:
        raise ConfigError(f"--where: {name} is no number; hint: {name}={value}")
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    same = text == wanted or (":" not in wanted and text.partition(":")[0] == wanted)
    return same == (compared == "=")


def _number(name: str, text: str) -> float:
    """The number in a condition in the column's unit, from ``7%``, ``4KiB`` or plain digits."""
    try:
        return float(text)
    except ValueError:
        parsed = axis_value(name.removesuffix("_bytes"), text)[1]
    if not isinstance(parsed, int | float):
        raise ConfigError(f"--where: {name} is a number, found '{text}'")
    return parsed
