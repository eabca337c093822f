"""Budgets of a bench: limits of figures, and a comparison with an earlier bench."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashgc._core import ConfigError, suggest
from flashgc.device.benching.cells import settings_of
from flashgc.device.benching.outcome import (
    FIGURES,
    FORMAT,
    CellOutcome,
    Figure,
    Outcome,
    value_in_words,
)
from flashgc.device.benching.texts import shown
from flashgc.results.intervals import mean, welch
from flashgc.units import parse_size

#: The figures that a baseline judges by default: those that do not depend on the machine's speed.
JUDGED = ("flash_bytes_per_unit", "host_bytes_per_unit", "write_amplification")

#: The relative change to the worse that a baseline allows.
TOLERANCE = 0.02

_WANTED = re.compile(
    r"\s*(?:(?P<cell>[^<>]+):\s)?\s*(?P<name>\w+)\s*(?P<how><=|>=|<|>)\s*(?P<limit>\S.*?)\s*"
)

#: Microseconds in each unit of time.
_TIMES = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}


@dataclass(frozen=True)
class Wanted:
    """A limit of a figure, for all cells or for those with certain settings."""

    text: str
    figure: str
    how: str
    limit: float
    #: The settings that a cell must have for the limit to apply, as texts; empty for every cell.
    cells: Mapping[str, str]

    def holds(self, value: float) -> bool:
        """True if ``value`` is within the limit."""
        below, may_be_equal = self.how[0] == "<", len(self.how) == 2
        if value == self.limit:
            return may_be_equal
        return (value < self.limit) == below

    def is_for(self, cell: CellOutcome) -> bool:
        """True if the cell has the settings that the limit is for."""
        varied = {name: shown(value) for name, value in cell.cell.varied.items()}
        return self.cells.items() <= varied.items()


def wanted(text: str, where: str = "--wanted") -> Wanted:
    """The limit in a text.

    >>> one = wanted("flash_bytes_per_unit<20KiB")
    >>> one.figure, one.how, one.limit
    ('flash_bytes_per_unit', '<', 20480.0)
    >>> wanted("victim=greedy: write_p99 <= 2ms").limit
    2000.0
    """
    match = _WANTED.fullmatch(text)
    if match is None:
        raise ConfigError(
            f"{where}: found '{text}', expected a figure, <, <=, > or >=, and a limit; hint: "
            "'flash_bytes_per_unit<20KiB'"
        )
    name = match["name"]
    if name not in FIGURES:
        raise ConfigError(
            f"{where}: there is no figure '{name}'; hint: {suggest(name, list(FIGURES))}"
        )
    limit = _limit(match["limit"], FIGURES[name], where)
    return Wanted(text.strip(), name, match["how"], limit, settings_of(match["cell"] or "", where))


def _limit(text: str, figure: Figure, where: str) -> float:
    if figure.kind == "bytes":
        return float(parse_size(text, where, "KiB"))
    match = re.fullmatch(r"([0-9.]+(?:e-?[0-9]+)?)\s*(ns|us|ms|s)?", text)
    is_time = figure.kind == "time"
    try:
        number = float(match[1]) if match else None
    except ValueError:
        number = None
    if match is None or number is None or is_time != bool(match[2]):
        expected = "a time with its unit (2ms)" if is_time else "a plain number"
        raise ConfigError(f"{where}: {figure.name}: found '{text}', expected {expected}")
    return number * _TIMES[match[2]] if is_time else number


@dataclass(frozen=True)
class Missed:
    """A figure that is outside its limit, or worse than in the baseline."""

    cell: str
    figure: str
    #: A sentence for people, with the figure and its limit or its earlier value.
    claim: str


def check(done: Outcome, limits: Sequence[Wanted], baseline: Baseline | None) -> None:
    """Check, before anything runs, that every limit and the baseline apply to some cell.

    Raises :class:`flashgc.ConfigError`.
    """
    names = "; ".join(cell.cell.name for cell in done.cells[:3])
    for limit in limits:
        if not any(limit.is_for(cell) for cell in done.cells):
            raise ConfigError(f"--wanted: no cell is meant by '{limit.text}'; hint: {names}")
    if baseline is not None and not any(baseline.of(cell) for cell in done.cells):
        raise ConfigError(f"--baseline: {baseline.path} has none of these cells; hint: {names}")


def missed(done: Outcome, limits: Sequence[Wanted]) -> Iterator[Missed]:
    """The limits that cells miss. If a mean is unknown, both its bounds must keep the limit."""
    for limit in limits:
        for cell in (cell for cell in done.cells if limit.is_for(cell)):
            mean, bounds = cell.mean(limit.figure), cell.bounds(limit.figure)
            means = [mean] if mean is not None else list(bounds or ())
            if means and all(limit.holds(each.mean) for each in means):
                continue
            is_ = " to ".join(_in_words(limit.figure, each.mean) for each in means) or "unknown"
            wanted = f"{limit.how} {_in_words(limit.figure, limit.limit)}"
            claim = f"{limit.figure} is {is_}, wanted {wanted}"
            yield Missed(cell.cell.name, limit.figure, claim)


def _in_words(figure: str, value: float) -> str:
    return value_in_words(FIGURES[figure].kind, value)


@dataclass(frozen=True)
class Baseline:
    """An earlier bench: the values of each figure, by the settings of its cells."""

    path: Path
    cells: Sequence[tuple[Mapping[str, Any], Mapping[str, Sequence[float]]]]

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """Read the document of an earlier bench.

        Raises :class:`flashgc.ConfigError` if the file is no such document.
        """
        hint = "flashgc device bench FILE.toml --json >baseline.json"
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            if document["format"] != FORMAT:
                other = f"format {document['format']}, expected {FORMAT}"
                raise ConfigError(f"--baseline: {path} has {other}; hint: {hint}")
            cells = [
                (cell["settings"], {k: v["values"] for k, v in cell["figures"].items() if v})
                for cell in document["cells"]
            ]
        except OSError as error:
            raise ConfigError(f"--baseline: {path}: {error.strerror}; hint: {hint}") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ConfigError(
                f"--baseline: {path} is no document of a bench; hint: {hint}"
            ) from None
        return cls(path, cells)

    def of(self, cell: CellOutcome) -> Mapping[str, Sequence[float]] | None:
        """The values of each figure in the cell with the same settings; ``None`` without one."""
        settings = dict(cell.cell.varied)
        return next((figures for key, figures in self.cells if dict(key) == settings), None)


@dataclass(frozen=True)
class Compared:
    """A comparison with an earlier bench."""

    worse: list[Missed]
    #: Number of comparisons made. ``unknown`` has one sentence for each that could not be made.
    made: int
    unknown: list[str]


def against(
    done: Outcome,
    baseline: Baseline,
    figures: Sequence[str] = JUDGED,
    tolerance: float = TOLERANCE,
) -> Compared:
    """Compare each cell with the cell of an earlier bench that has the same settings.

    A figure is worse if the whole 95% interval of its change lies beyond ``tolerance``. The
    interval is Welch's, because repeats of two sessions do not form pairs.
    """
    worse, unknown, count = [], [], 0
    for cell in done.cells:
        before = baseline.of(cell)
        if before is None:
            unknown.append(f"{cell.cell.name}: not in {baseline.path}")
            continue
        for name in figures:
            values = list(cell.values(name).values())
            difference = welch(before.get(name, ()), values)
            old = mean(before[name]) if before.get(name) else 0.0
            if difference is None or old == 0 or cell.mean(name) is None:
                unknown.append(f"{cell.cell.name}: {name} needs two repeats in both")
                continue
            count += 1
            change, half = difference
            sign = -1 if FIGURES[name].more_is_better else 1
            if (sign * change - half) / old > tolerance:
                claim = (
                    f"{name} went from {_in_words(name, old)} to {_in_words(name, mean(values))}: "
                    f"{change / old:+.1%} ± {half / old:.1%}, beyond {tolerance:.1%}"
                )
                worse.append(Missed(cell.cell.name, name, claim))
    if not count:
        raise ConfigError(
            f"--baseline: nothing in {baseline.path} can be compared: {unknown[0]}; hint: the same "
            "axes and two repeats or more in both"
        )
    return Compared(worse, count, unknown)
