"""Chooses columns of a tidy table for a picture if the user does not name them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from flashgc._core import ConfigError
from flashgc.options import find, known
from flashgc.results.figures import NAMES
from flashgc.store.tidy import ABOUT, column, is_option

Row = Mapping[str, Any]

#: The option over which figures are averaged.
SEED = "seed"
AMPLIFICATION = "write_amplification"
#: The maximum number of lines in a panel, and of panels.
MOST = 12
#: The maximum number of rows, and of columns, in a heat map or in rows of dots.
MOST_ROWS = 40
#: Figures that can be the default for latency, in order of preference.
_LATENCIES = ("read_p99_us", "write_p99_us", "all_p99_us")


class Table:
    """The rows of a table, with facts about their columns."""

    def __init__(self, rows: list[Row], *, whole: bool) -> None:
        #: ``all`` has all rows, ``shown`` those with a result, and ``rows`` those that are drawn:
        #: with ``whole``, all of them.
        self.all = rows
        self.names = list(dict.fromkeys(name for row in rows for name in row))
        self.shown = [row for row in rows if row.get("status", "result") == "result"]
        self.rows = rows if whole else self.shown
        if not self.shown:
            reason = next((str(row["reason"]) for row in rows if row.get("reason")), "")
            text = f": {reason}" if reason else ""
            raise ConfigError(f"there is no result to draw{text}; hint: flashgc results list")
        self.options = [name for name in self.names if self._is_option(name)]
        self.varied = [name for name in self.options if len(self.values(name)) > 1]

    def _is_option(self, name: str) -> bool:
        """True for an option by its name; in tables from elsewhere, also for a column of texts."""
        if name in ABOUT or name in NAMES:
            return False
        return is_option(name) or any(isinstance(row.get(name), str) for row in self.shown)

    def values(self, name: str) -> list[Any]:
        """The values of a column: numbers in ascending order, others in order of appearance."""
        values = list(dict.fromkeys(row.get(name) for row in self.rows))
        return sorted(values, key=_size) if self.numeric(name) else values

    def numeric(self, name: str) -> bool:
        """True if a column has only numbers and gaps."""
        values = [row[name] for row in self.rows if row.get(name) is not None]
        return bool(values) and all(number(value) is not None for value in values)

    def follows(self, name: str, other: str) -> bool:
        """True if the value of ``other`` determines that of ``name``."""
        pairs = {(row.get(other), row.get(name)) for row in self.rows}
        return len(pairs) == len({first for first, _ in pairs})


def _size(value: Any) -> float:
    return -math.inf if value is None else float(value)


def number(value: Any) -> float | None:
    """A finite number; ``None`` for anything else."""
    whole = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if whole and math.isfinite(value) else None


def figure(table: Table, choice: str | None, what: str, kind: str) -> str:
    """The column of the figure to show: ``choice``, or a default."""
    figures = [name for name in table.names if name not in table.options and table.numeric(name)]
    if choice is None and kind == "pareto":
        choice = next((name for name in _LATENCIES if name in figures), None)
        if choice is None:
            others = [name for name in figures if name != AMPLIFICATION]
            raise ConfigError(f"{what}: no result has a latency{_instead(what, others)}")
    heading = column(choice or AMPLIFICATION, table.names, what, figures)
    if not any(number(row.get(heading)) is not None for row in table.shown):
        raise ConfigError(f"{what}: no result has a number in '{heading}'{_instead(what, figures)}")
    return heading


def _instead(what: str, figures: Sequence[str]) -> str:
    """A hint that names another figure, if there is one."""
    others = [name for name in ("wear_max_erases", "erases", AMPLIFICATION) if name in figures]
    others += [name for name in figures if name not in ABOUT]
    return f"; hint: {what} {others[0]}" if others else ""


class Chosen:
    """The columns by which points differ: those that the user named, and those chosen here."""

    def __init__(
        self,
        table: Table,
        choices: Mapping[str, str | None],
        places: Sequence[str],
        *,
        heat: bool = False,
    ) -> None:
        self.at: dict[str, str | None] = {
            place: None if name is None else column(name, table.names, f"--{place}", table.varied)
            for place, name in choices.items()
        }
        names = [name for name in self.at.values() if name is not None]
        for place, name in self.at.items():
            if name in NAMES:
                raise ConfigError(
                    f"--{place}: '{name}' is a figure, expected an option; hint: --kind pareto "
                    "draws two figures"
                )
        for name in names:
            if names.count(name) > 1:
                both = " and ".join(
                    f"--{place}" for place, column in self.at.items() if column == name
                )
                raise ConfigError(f"{both}: both are '{name}'; hint: leave one out")
        self.left: list[str] = []
        # Only the horizontal axis has room for a column with many values.
        roomy = "x" in places
        for name in table.varied:
            before = [*names, *self.left]
            possible = name != SEED and (roomy or _few(table, name))
            if possible and not any(table.follows(name, other) for other in before):
                self.left.append(name)
        for place in places:
            if self.at[place] is None:
                self.at[place] = self._take(table, place, heat=heat)

    def _take(self, table: Table, place: str, *, heat: bool) -> str | None:
        """Choose one of the remaining columns for a place."""
        numbers = [name for name in self.left if table.numeric(name)]
        words = [name for name in self.left if name not in numbers]
        policies = [name for name in words if name != "workload" and _is_policy(name)]
        workloads = [name for name in words if name == "workload"]
        first = {
            "x": numbers + policies,
            "by": (numbers if heat else []) + policies,
            "panels": workloads,
        }[place]
        # A workload gets a panel, unless no other column is left.
        others = [*first, *(name for name in self.left if name != "workload"), *workloads]
        several = [name for name in others if place == "x" or _few(table, name)]
        duplicate = next(iter(several), None)
        if duplicate is not None:
            self.left.remove(duplicate)
        return duplicate


def _few(table: Table, name: str) -> bool:
    return len(table.values(name)) <= MOST


def _is_policy(name: str) -> bool:
    return known(name) and find(name).kind in ("spec", "word")
