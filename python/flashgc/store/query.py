"""Conditions on stored results: ``victim=greedy``, ``spare<0.1``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from flashgc import _core
from flashgc._core import ConfigError
from flashgc.units import parse_share

#: Columns of the table of results that a query may name, each with the type of its values.
COLUMNS = {
    "key": "text", "status": "text", "made": "number", "seconds": "number", "version": "text",
    "engine": "text", "work": "text", "workload": "text", "victim": "text", "placement": "text",
    "frontier": "text", "mapping": "text", "drive": "text", "spare": "share", "blocks": "number",
    "seed": "number", "write_amplification": "number", "half": "number", "digest": "text",
    "reason": "text", "place": "number",
}  # fmt: skip

_CONDITION = re.compile(r"\s*([\w-]+)\s*(<=|>=|!=|=|<|>)\s*(.*?)\s*\Z")

#: A condition: column, comparison and value.
Condition = tuple[str, str, str | float]


def parted(text: str) -> tuple[str, str, str]:
    """The column, the comparison and the value of a condition, as they are written.

    >>> parted("page-size <= 4KiB")
    ('page-size', '<=', '4KiB')
    """
    match = _CONDITION.match(text)
    if match is None:
        raise ConfigError(f"--where: '{text}' is not understood; hint: write victim=greedy")
    column, compared, value = match.groups()
    return column, compared, value


def conditions(texts: Sequence[str]) -> list[Condition]:
    """Parse conditions; raises :class:`flashgc.ConfigError`.

    >>> conditions(["victim=greedy", "spare<10%"])
    [('victim', '=', 'greedy'), ('spare', '<', 0.1)]
    """
    conditions: list[Condition] = []
    for text in texts:
        column, compared, value = parted(text)
        column = "write_amplification" if column == "WA" else column
        if column not in COLUMNS:
            hint = _core.suggest(column, list(COLUMNS))
            raise ConfigError(f"--where: unknown column '{column}'; hint: {hint}")
        conditions.append((column, compared, _value(column, value)))
    return conditions


def _value(column: str, text: str) -> str | float:
    kind = COLUMNS[column]
    if kind == "text":
        return text
    try:
        return parse_share(text) if kind == "share" else float(text)
    except (ConfigError, ValueError):
        raise ConfigError(f"--where: {column} is a number, found '{text}'") from None


def clause(wanted: Sequence[Condition]) -> tuple[str, list[Any]]:
    """The WHERE clause of a query, and its values; a bare policy name matches any parameters."""
    parts, values = [], []
    for column, compared, value in wanted:
        if isinstance(value, str) and compared in ("=", "!="):
            negated = "NOT " if compared == "!=" else ""
            parts.append(f"{negated}({column} = ? OR substr({column}, 1, ?) = ?)")
            values += [value, len(value) + 1, f"{value}:"]
        else:
            parts.append(f"{column} {compared} ?")
            values.append(value)
    return (f" WHERE {' AND '.join(parts)}" if parts else ""), values
