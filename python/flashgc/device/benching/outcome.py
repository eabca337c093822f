"""Figures of runs and of cells: means with their intervals, and differences by repeat."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flashgc._documents import Json
from flashgc.device.benching.cells import Cell, Run, reference
from flashgc.device.benching.file import Bench, as_json
from flashgc.results import Finding
from flashgc.results.intervals import half_width, mean
from flashgc.units import format_count, format_size, format_time

#: The word for a change whose interval holds 0.
NOISE = "inside the noise"

#: The units for each kind of figure: factor and name, the largest first.
_UNITS = {
    "bytes": ((2**30, " GiB"), (2**20, " MiB"), (2**10, " KiB"), (1, " B")),
    "time": ((1e6, " s"), (1e3, " ms"), (1, " us")),
    "number": ((1, ""),),
}


def label(figure: str, unit: str) -> str:
    """The name of a figure, with the unit of the work.

    >>> label("flash_bytes_per_unit", "transactions")
    'flash bytes per transaction'
    """
    text = FIGURES[figure].label
    return text.replace("per UNIT", f"per {one_of(unit)}").replace("UNIT", unit)


def one_of(unit: str) -> str:
    """The unit in the singular.

    >>> one_of("transactions"), one_of("writes of 4 KiB"), one_of("pass")
    ('transaction', 'writes of 4 KiB', 'pass')
    """
    return unit[:-1] if unit.endswith("s") and not unit.endswith("ss") else unit


def value_in_words(kind: str, value: float) -> str:
    """A value for people.

    >>> value_in_words("bytes", 2048), value_in_words("time", 1500), value_in_words("number", 1.5)
    ('2 KiB', '1.50 ms', '1.500')
    """
    if kind == "bytes":
        return format_size(value)
    if kind == "time":
        return format_time(value)
    return format_count(value) if value >= 100 else f"{value:.3f}"


def in_words(figure: str, mean: Mean | None) -> str:
    """A mean with half its interval, both in one unit; the interval has two digits.

    >>> in_words("flash_bytes_per_unit", Mean(12_595.0, 409.6))
    '12.30 ± 0.40 KiB'
    >>> in_words("write_p99", Mean(2000.0, None)), in_words("units_per_second", Mean(1234.5, 21.0))
    ('2.00 ms', '1 234 ± 21')
    >>> in_words("write_p99", None)
    '-'
    """
    if mean is None:
        return "-"
    units = _UNITS[FIGURES[figure].kind]
    factor, name = next((unit for unit in units if mean.mean >= unit[0]), units[-1])
    number, half = mean.mean / factor, None if mean.half is None else mean.half / factor
    digits = _digits(number, half)
    if half is None:
        return f"{_number(number, digits)}{name}"
    return f"{_number(number, digits)} ± {_number(half, digits)}{name}"


def cell_in_words(figure: str, cell: CellOutcome) -> str:
    """The mean of a figure in a cell; if it is unknown, the means of its lower and upper bound."""
    mean, bounds = cell.mean(figure), cell.bounds(figure)
    if mean is not None or bounds is None:
        return in_words(figure, mean)
    return " to ".join(in_words(figure, bound) for bound in bounds)


def _digits(number: float, half: float | None) -> int:
    """The number of decimals: two digits of the interval, and at most four digits of the number."""
    rough = half if half else number / 20
    wanted = next((at for at in range(4) if rough * 10**at >= 9.5), 3)
    most = next((at for at in range(3, 0, -1) if number * 10**at < 9999.5), 0)
    return min(wanted, most)


def _number(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}".replace(",", " ")


def change_in_words(mean: Mean | None) -> str:
    """A change in percent with half its interval.

    >>> change_in_words(Mean(-0.123, 0.0123)), change_in_words(Mean(0.5, None))
    ('-12.3% ± 1.2%', '+50.0%')
    >>> change_in_words(Mean(-0.0086, 0.0087))
    '-0.86% ± 0.87%'
    """
    if mean is None:
        return "-"
    if mean.half is None:
        return f"{mean.mean:+.1%}"
    digits = 2 if mean.half < 0.00995 else 1
    return f"{mean.mean:+.{digits}%} ± {mean.half:.{digits}%}"


def noise_in_words(mean: Mean | None) -> str:
    """A note on a change: empty if its interval does not hold 0."""
    if mean is None:
        return ""
    if mean.holds_zero is None:
        return "one repeat"
    return NOISE if mean.holds_zero else ""


#: Format version of the document.
FORMAT = 1


@dataclass(frozen=True)
class Figure:
    """A figure of a run."""

    name: str
    #: Its name for people; ``UNIT`` stands for the unit of the work.
    label: str
    #: ``bytes``, ``time`` (microseconds) or ``number``.
    kind: str
    #: Returns the figure's value from a run's document; ``None`` if it is unknown.
    of: Callable[[Mapping[str, Any]], float | None]
    #: True if more is better.
    more_is_better: bool = False
    #: True if the value depends on the machine's speed, and not only on what the command wrote.
    of_machine: bool = False


def _per_unit(key: str) -> Callable[[Mapping[str, Any]], float | None]:
    return lambda run: run["executed"][key] / run["units"]


def _whole(key: str) -> Callable[[Mapping[str, Any]], float | None]:
    return lambda run: run["executed"][key]


def _written(key: str) -> Callable[[Mapping[str, Any]], float | None]:
    def of(run: Mapping[str, Any]) -> float | None:
        value = run["executed"]["written"][key]
        return None if value is None else value / run["units"]

    return of


def _latency(key: str) -> Callable[[Mapping[str, Any]], float | None]:
    def of(run: Mapping[str, Any]) -> float | None:
        writes = run["executed"]["latency_us"].get("write") or {"count": 0}
        return writes[key] if writes["count"] else None

    return of


_ALL = (
    Figure("units_per_second", "UNIT/s", "number",
           lambda run: run["units"] / run["executed"]["seconds"], True, True),
    Figure("flash_bytes_per_unit", "flash bytes per UNIT", "bytes", _per_unit("flash_bytes")),
    Figure("host_bytes_per_unit", "host bytes per UNIT", "bytes", _per_unit("host_bytes")),
    Figure("written_bytes_per_unit", "written bytes per UNIT", "bytes", _written("bytes")),
    Figure("written_least_per_unit", "written bytes per UNIT, least", "bytes", _written("least")),
    Figure("written_most_per_unit", "written bytes per UNIT, most", "bytes", _written("most")),
    Figure("write_amplification", "write amplification", "number", _whole("write_amplification")),
    Figure("write_p50", "write p50", "time", _latency("p50"), of_machine=True),
    Figure("write_p99", "write p99", "time", _latency("p99"), of_machine=True),
    Figure("write_p999", "write p99.9", "time", _latency("p999"), of_machine=True),
    Figure("write_max", "longest write", "time", _latency("max"), of_machine=True),
    Figure("flash_bytes", "flash bytes", "bytes", _whole("flash_bytes")),
    Figure("host_bytes", "host bytes", "bytes", _whole("host_bytes")),
    Figure("erases", "erases", "number", _whole("erases")),
    Figure("units", "UNIT", "number", lambda run: run["units"], True, True),
    Figure("seconds", "seconds", "number", _whole("seconds"), of_machine=True),
)  # fmt: skip

#: All figures, by their names.
FIGURES = {figure.name: figure for figure in _ALL}

#: The names of the lower and the upper bound of a figure that may be unknown in some runs.
BOUNDS = {"written_bytes_per_unit": ("written_least_per_unit", "written_most_per_unit")}

#: The figure whose change from the reference cell is in the table.
COMPARED = "flash_bytes_per_unit"


@dataclass(frozen=True)
class Mean:
    """A mean over repeats with half the width of its 95% interval; ``None`` with one repeat."""

    mean: float
    half: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """The mean of values."""
        return cls(mean(values), half_width(values))

    @property
    def holds_zero(self) -> bool | None:
        """True if the interval holds 0; ``None`` without an interval."""
        return None if self.half is None else abs(self.mean) <= self.half


@dataclass(frozen=True)
class CellOutcome:
    """The finished runs of a cell."""

    cell: Cell
    #: The documents of the runs, by the number of the repeat.
    runs: Mapping[int, Mapping[str, Any]]

    def values(self, figure: str) -> dict[int, float]:
        """The values of a figure by repeat, without repeats where it is unknown."""
        values = {at: FIGURES[figure].of(run) for at, run in self.runs.items()}
        return {at: value for at, value in values.items() if value is not None}

    def mean(self, figure: str) -> Mean | None:
        """The mean of a figure; ``None`` if it is unknown in some run, or no run is finished."""
        values = self.values(figure)
        if not values or len(values) < len(self.runs):
            return None
        return Mean.of(list(values.values()))

    def bounds(self, figure: str) -> tuple[Mean, Mean] | None:
        """The means of the lower and the upper bound of a figure; ``None`` if they are unknown."""
        least, most = (self.mean(name) for name in BOUNDS.get(figure, (figure, figure)))
        return None if least is None or most is None else (least, most)


@dataclass(frozen=True)
class Outcome:
    """A bench with its finished runs."""

    bench: Bench
    cells: list[CellOutcome]
    #: The number of runs that are still to do.
    missing: int
    findings: list[Finding]
    #: The index of the cell with which others are compared.
    reference: int = 0

    @property
    def against(self) -> str:
        """A phrase for the cell with which others are compared."""
        return "the first" if self.reference == 0 else f"number {self.reference + 1}"

    def change(self, cell: CellOutcome, figure: str = COMPARED) -> Mean | None:
        """The change of a figure from the reference to another cell, as a share, by repeat.

        ``None`` for the reference, or if the two cells have no finished repeat in common.
        """
        first = self.cells[self.reference]
        return None if cell is first else change(first, cell, figure)

    def to_dict(self) -> dict[str, Json]:
        """The whole outcome as plain Python values."""
        return {
            "format": FORMAT,
            "bench": as_json(self.bench),
            "missing": self.missing,
            "against": dict(self.cells[self.reference].cell.varied),
            "cells": [self._cell(cell) for cell in self.cells],
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def _cell(self, cell: CellOutcome) -> dict[str, Json]:
        return {
            "settings": dict(cell.cell.varied),
            "repeats": sorted(cell.runs),
            "figures": {name: self._figure(cell, name) for name in FIGURES},
        }

    def _figure(self, cell: CellOutcome, name: str) -> dict[str, Json] | None:
        mean, values = cell.mean(name), cell.values(name)
        if mean is None:
            return None
        by = self.change(cell, name)
        return {
            "mean": mean.mean,
            "half_ci95": mean.half,
            "values": [values[at] for at in sorted(values)],
            "change": None if by is None else by.mean,
            "change_half_ci95": None if by is None else by.half,
        }


def change(first: CellOutcome, second: CellOutcome, figure: str) -> Mean | None:
    """The mean of the relative changes from ``first`` to ``second``, repeat by repeat.

    Two runs with the same repeat number ran in the same round, and form a pair. The interval is
    that of the pairs' changes.
    """
    before, after = first.values(figure), second.values(figure)
    shared = [at for at in sorted(before) if at in after and before[at]]
    if not shared:
        return None
    return Mean.of([after[at] / before[at] - 1 for at in shared])


def outcome(
    bench: Bench,
    runs: Sequence[Run],
    kept: Mapping[str, Mapping[str, Any]],
    *,
    say: Callable[[Outcome], list[Finding]] = lambda _: [],
) -> Outcome:
    """The outcome of the finished runs; ``kept`` has their documents by the names of the runs."""
    outcomes: dict[int, CellOutcome] = {}
    for run in sorted(runs, key=lambda run: (run.cell.number, run.repeat)):
        cell = outcomes.setdefault(run.cell.number, CellOutcome(run.cell, {}))
        if run.name in kept:
            cell.runs[run.repeat] = kept[run.name]  # type: ignore[index]
    cells = list(outcomes.values())
    place = reference(bench, [cell.cell for cell in cells])
    outcome = Outcome(bench, cells, len(runs) - len(kept), [], place)
    return replace(outcome, findings=say(outcome))
