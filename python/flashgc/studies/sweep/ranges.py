"""Ranges of values from one end to the other, in equal steps or by a factor."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from flashgc._core import ConfigError

_NUMBER = re.compile(r"\s*([-+]?\d+(?:\.\d+)?)\s*(\S*)\s*\Z")
_KEYS = ("from", "to", "step", "count", "factor")
#: The maximum number of values of a range.
LONGEST = 100_000
_HINT = (
    'hint: write { from = "5%", to = "30%", step = "5%" }, with count = 6 or factor = 2 for step'
)


def values(table: Mapping[str, Any], where: str) -> list[Any]:
    """The values of a range, including both ends.

    The ends must have the same unit, if any, and the values get this unit. Raises
    :class:`flashgc.ConfigError`, which names the place ``where``.

    >>> values({"from": "5%", "to": "15%", "step": "5%"}, "spare")
    ['5%', '10%', '15%']
    >>> values({"from": 1, "to": 4, "count": 4}, "seed")
    [1, 2, 3, 4]
    >>> values({"from": "1GiB", "to": "8GiB", "factor": 2}, "capacity")
    ['1GiB', '2GiB', '4GiB', '8GiB']
    """
    unknown = [key for key in table if key not in _KEYS]
    if unknown:
        raise ConfigError(f"{where}: unknown key '{unknown[0]}' in a range; {_HINT}")
    ways = [key for key in ("step", "count", "factor") if key in table]
    if len(ways) != 1 or "from" not in table or "to" not in table:
        raise ConfigError(
            f"{where}: a range needs from, to and one of step, count, factor; {_HINT}"
        )
    (first, unit), (last, other) = (_number_and_unit(table[key], where) for key in ("from", "to"))
    if unit != other:
        raise ConfigError(f"{where}: the ends have different units; {_HINT}")
    if ways == ["count"]:
        numbers = _counted(first, last, table["count"], where)
    else:
        numbers = _stepped(
            first, last, *_number_and_unit(table[ways[0]], where), unit, ways[0], where
        )
    typed = any(isinstance(table[key], str) for key in ("from", "to"))
    return [_written(value, unit) if typed else _plain(value) for value in numbers]


def _counted(first: Fraction, last: Fraction, count: Any, where: str) -> list[Fraction]:
    if not isinstance(count, int) or isinstance(count, bool) or not 2 <= count <= LONGEST:
        raise ConfigError(f"{where}: count is {count!r}, expected 2 to {LONGEST}; {_HINT}")
    return [first + (last - first) * index / (count - 1) for index in range(count)]


def _stepped(
    first: Fraction, last: Fraction, by: Fraction, by_unit: str, unit: str, how: str, where: str
) -> list[Fraction]:
    if how == "step" and by_unit != unit:
        raise ConfigError(f"{where}: the step has another unit than the ends; {_HINT}")
    if how == "factor" and (by_unit or by <= 0 or by == 1 or first * last <= 0):
        raise ConfigError(f"{where}: a factor is above 0, and not 1; {_HINT}")
    numbers, value = [], first
    up = last >= first
    if (by == 0) or (how == "step" and (by > 0) != up) or (how == "factor" and (by > 1) != up):
        raise ConfigError(
            f"{where}: the range never reaches its last value from its first; {_HINT}"
        )
    while (value <= last) if up else (value >= last):
        numbers.append(value)
        value = value + by if how == "step" else value * by
        if len(numbers) > LONGEST:
            raise ConfigError(f"{where}: more than {LONGEST} values; hint: a larger {how}")
    if numbers[-1] != last:
        raise ConfigError(
            f"{where}: from {_plain(first)} by {how} {_plain(by)} the range ends at "
            f"{_plain(numbers[-1])}, not at {_plain(last)}; hint: end it there"
        )
    return numbers


def _number_and_unit(value: Any, where: str) -> tuple[Fraction, str]:
    match = _NUMBER.match(str(value))
    if isinstance(value, bool) or match is None:
        raise ConfigError(f"{where}: found {value!r}, expected a number with its unit; {_HINT}")
    return Fraction(match[1]), match[2]


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def _written(value: Fraction, unit: str) -> str:
    return f"{_plain(value):.12g}{unit}" if value.denominator != 1 else f"{int(value)}{unit}"
