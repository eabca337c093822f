"""Conditions that leave cells out of a grid."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flashgc._core import ConfigError
from flashgc.options import PATHS
from flashgc.units import parse_count, parse_share, parse_size

#: The word for an option that a cell leaves out, so that it has its default.
UNSET = "unset"

_COMPARED = re.compile(r"\s*(<=|>=|!=|<|>)\s*(.+)\Z")
_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True)
class Condition:
    """A cell is left out if all of this holds for it: a value, several of them, or ``<10%``.

    An option that is not in the grid has its default.
    """

    #: By path.
    wanted: Mapping[str, Any]
    #: Its place in the file.
    where: str

    def holds(self, values: Mapping[str, Any]) -> bool:
        """True if it holds for a cell with these values, by path."""
        return all(
            _agrees(path, values.get(path, PATHS[path].usual), wanted, self.where)
            or (path not in values and _has_unset(wanted))
            for path, wanted in self.wanted.items()
        )


def _has_unset(wanted: Any) -> bool:
    return UNSET in wanted if isinstance(wanted, list) else bool(wanted == UNSET)


def _agrees(path: str, value: Any, wanted: Any, where: str) -> bool:
    if isinstance(wanted, list):
        return any(_agrees(path, value, one, where) for one in wanted)
    match = _COMPARED.match(wanted) if isinstance(wanted, str) else None
    if match is not None and match[1] == "!=":
        return not _agrees(path, value, match[2], where)
    if match is not None:
        low, high = _measure(path, value), _measure(path, match[2])
        if high is None:
            raise ConfigError(
                f"{where}: '{wanted}' compares with no number; hint: write \"<10%\", or the value"
            )
        return low is not None and bool(_COMPARE[match[1]](low, high))
    if str(value) == str(wanted):
        return True
    low, high = _measure(path, value), _measure(path, wanted)
    if low is not None and low == high:
        return True
    # A bare name stands for the policy with any parameters.
    named = PATHS[path].kind == "spec" and ":" not in str(wanted)
    return named and str(value).partition(":")[0] == str(wanted)


def sameness(path: str, value: Any) -> str | float:
    """Return a key that equal values of an option have in common.

    >>> sameness("drive.spare", "20%") == sameness("drive.spare", 0.2)
    True
    """
    measured = None if PATHS[path].kind == "spec" else _measure(path, value)
    return str(value) if measured is None else measured


def _measure(path: str, value: Any) -> float | None:
    """The value as a number that can be compared with others of its option."""
    kind = PATHS[path].kind
    # A fraction or a date is no count and no size, but that is told elsewhere.
    value = value if isinstance(value, int) else str(value)
    try:
        if kind == "share":
            return parse_share(value)
        if kind in ("size", "pages"):
            return float(parse_size(value))
        if kind == "count":
            return float(parse_count(value))
        return float(re.sub(r"[a-zA-Z%]+\Z", "", str(value).strip()))
    except (ConfigError, ValueError):
        return None
