"""A table for a paper from stored results: a figure for each row and column, with its interval.

This module computes the cells. :mod:`flashgc.reports.printed` has the table and writes it.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashgc._core import ConfigError
from flashgc.options import find, known
from flashgc.reports.choice import AMPLIFICATION, SEED, Table, number
from flashgc.reports.printed import Cell, Head, PaperTable
from flashgc.reports.view import newest
from flashgc.reports.wording import label, more_is_better, texts
from flashgc.results.figures import NAMES
from flashgc.results.intervals import half_width, mean, welch
from flashgc.store.file import Store
from flashgc.store.query import parted
from flashgc.store.table import Source, rows_of
from flashgc.store.tidy import column

#: The values of one figure by seed and run. Equal keys of two cells are pairs: the same writes.
Samples = Mapping[tuple[Any, int], float]


def paper_table(
    source: Source,
    *,
    rows: Sequence[str] = (),
    columns: str | None = None,
    cells: Sequence[str] = (AMPLIFICATION,),
    baseline: Sequence[str] = (),
    where: Sequence[str] = (),
    what: str = "RESULTS",
) -> PaperTable:
    """Make a table of stored results.

    ``source`` is a file of results, a table, a :class:`flashgc.Sweep` or a list of rows. ``rows``
    are the options whose values make the rows, by default the policies that vary. ``columns`` is
    the option across, by default the next one that varies. ``cells`` are the figures. With
    ``baseline`` (conditions such as ``"placement=none"``, which hold for one row) each cell is the
    ratio to the cell of that row in its column. ``where`` selects results.

    A cell is the mean over seeds and runs, with Student's 95% interval. A ratio is paired, seed by
    seed and run by run, if both rows have the same writes: they differ in options of garbage
    collection alone. Otherwise its interval follows from both intervals. The best cells of a column
    are the first and those whose difference from it, paired or by Welch's test, is not known.

    Raises :class:`flashgc.ConfigError` for unknown columns, if an option varies that is in no row
    and no column, and if the baseline is not one row.
    """
    results = rows_of(source, where, what)
    table = Table(newest(results), whole=True)
    figures = [_figure(table, name) for name in cells]
    down, across = _places(table, rows, columns)
    samples = _samples(source, table, figures)
    groups: dict[tuple[Any, ...], dict[Any, list[int]]] = {}
    for at, row in enumerate(table.rows):
        group = groups.setdefault(tuple(row.get(name) for name in down), {})
        group.setdefault(None if across is None else row.get(across), []).append(at)
    values = [None] if across is None else table.values(across)
    _check_alone(table, down, across, groups)
    base = _base(table, down, groups, baseline) if baseline else None
    keys = _sorted(table, down, groups)
    bodies = {
        (value, figure): _column(table, samples, groups, keys, base, down, value, figure)
        for value in values
        for figure in figures
    }
    heads = [(value, figure) for value in values for figure in figures]
    shown = dict(zip(values, texts(across, values), strict=True)) if across else {None: ""}
    names = _names(down, keys)
    over = "" if across is None else f" over {label(across).removesuffix(' (%)')}"
    subject = " and ".join(label(figure) for figure in figures) + over
    notes = (subject, *_notes(bodies, figures, base is not None, table))
    return PaperTable(
        tuple(label(name) for name in down),
        "" if across is None else label(across).removesuffix(" (%)"),
        tuple(Head(shown[value], figure, label(figure)) for value, figure in heads),
        names,
        tuple(tuple(bodies[head][at] for head in heads) for at in range(len(keys))),
        () if base is None else names[keys.index(base)],
        notes,
    )


def _figure(table: Table, name: str) -> str:
    figures = [at for at in table.names if at not in table.options and table.numeric(at)]
    heading = column(name, table.names, "--cells", figures)
    if heading not in figures:
        raise ConfigError(
            f"--cells: '{heading}' is no figure; hint: flashgc results list --out table.csv has all"
        )
    return heading


def _places(table: Table, rows: Sequence[str], columns: str | None) -> tuple[list[str], str | None]:
    """The options down and across; those that are not named are chosen."""
    down = [column(name, table.names, "--rows", table.varied) for name in rows]
    across = None if columns is None else column(columns, table.names, "--columns", table.varied)
    for place, names in (("--rows", down), ("--columns", [] if across is None else [across])):
        for name in names:
            if name in NAMES:
                raise ConfigError(
                    f"{place}: '{name}' is a figure, expected an option; hint: --cells {name}"
                )
    if across is not None and across in down:
        raise ConfigError(f"--rows and --columns: both are '{across}'; hint: leave one out")
    left = [name for name in table.varied if name != SEED and name not in (*down, across)]
    if not down:
        policies = [name for name in left if _section(name) == "gc"]
        down = policies or left[:1]
        left = [name for name in left if name not in down]
    if not down:
        raise ConfigError("no option varies in these results; hint: name one, --rows victim")
    if across is None and left:
        across = next((name for name in left if name == "workload"), left[0])
    return down, across


def _section(name: str) -> str:
    """The section of an option; empty for a column from elsewhere."""
    return find(name).section if known(name) else ""


def _check_alone(
    table: Table,
    down: Sequence[str],
    across: str | None,
    groups: Mapping[tuple[Any, ...], Mapping[Any, Sequence[int]]],
) -> None:
    """Raise an error if the results of a cell differ in more than the seed."""
    for group in groups.values():
        for places in group.values():
            some = [table.rows[at] for at in places]
            for name in table.varied:
                values = list(dict.fromkeys(row.get(name) for row in some))
                if name not in (*down, across, SEED) and len(values) > 1:
                    first = next(value for value in values if value is not None)
                    raise ConfigError(
                        f"{name} varies as well, and a mean over it would mislead; hint: --where "
                        f"{shlex.quote(f'{name}={first}')}, or --rows "
                        f"{' --rows '.join([*down, name])}"
                    )
            seeds = [row.get(SEED) for row in some]
            if len(set(seeds)) < len(seeds):
                raise ConfigError(
                    "some results differ in no option, and a mean over them would mislead; hint: "
                    "--where with a column in which they differ"
                )


def _base(
    table: Table,
    down: Sequence[str],
    groups: Iterable[tuple[Any, ...]],
    conditions: Sequence[str],
) -> tuple[Any, ...]:
    """The row for which the conditions hold."""
    keys = list(groups)
    for condition in conditions:
        heading, compared, _ = parted(condition)
        name = column(heading, table.names, "--baseline", down)
        if name not in down:
            raise ConfigError(
                f"--baseline: {name} is in no row, expected {' or '.join(down)}; hint: --rows "
                f"{name}"
            )
        if compared != "=":
            raise ConfigError(f"--baseline: found {condition}, expected COLUMN=VALUE; hint: use =")
        rows = [dict(zip(down, key, strict=True)) for key in keys]
        fit = rows_of(rows, [condition]) if rows else []
        keys = [key for key, row in zip(keys, rows, strict=True) if row in fit]
    if len(keys) != 1:
        names = ["/".join(name) for name in _names(down, keys)]
        raise ConfigError(
            f"--baseline: {' and '.join(conditions)} holds for {len(keys)} rows"
            f"{': ' if names else ''}{', '.join(names[:4])}, expected one; hint: repeat --baseline"
        )
    return keys[0]


def _sorted(
    table: Table, down: Sequence[str], groups: Iterable[tuple[Any, ...]]
) -> list[tuple[Any, ...]]:
    """The rows in the order of their first option, then of the others."""
    order = [{value: at for at, value in enumerate(table.values(name))} for name in down]
    return sorted(
        groups, key=lambda key: [places[value] for places, value in zip(order, key, strict=True)]
    )


def _names(down: Sequence[str], keys: Sequence[tuple[Any, ...]]) -> tuple[tuple[str, ...], ...]:
    shown = []
    for at, name in enumerate(down):
        values = list(dict.fromkeys(key[at] for key in keys))
        shown.append(dict(zip(values, texts(name, values), strict=True)))
    return tuple(
        tuple(names[value] for names, value in zip(shown, key, strict=True)) for key in keys
    )


def _samples(source: Source, table: Table, figures: Sequence[str]) -> list[dict[str, Samples]]:
    """For each row, the values of each figure by seed and run."""
    runs: list[dict[str, Samples]] = [
        {name: {(row.get(SEED), 0): value} for name in figures
         if (value := number(row.get(name))) is not None}
        for row in table.rows
    ]  # fmt: skip
    if not isinstance(source, str | os.PathLike) or "key" not in table.names:
        return runs
    path = Path(source)
    if path.suffix.lower() in (".csv", ".json", ".parquet"):
        return runs
    with Store(path, make=False) as store:
        for row, values in zip(table.rows, runs, strict=True):
            kept = store.load(str(row["key"]))
            result = {} if kept is None or kept.result is None else kept.result
            several = {AMPLIFICATION: result.get("run_values"), **(result.get("by_run") or {})}
            for name in values:
                if len(each := several.get(name) or []) > 1:
                    values[name] = {(row.get(SEED), run): at for run, at in enumerate(each)}
    return runs


def _column(
    table: Table,
    samples: Sequence[Mapping[str, Samples]],
    groups: Mapping[tuple[Any, ...], Mapping[Any, Sequence[int]]],
    keys: Sequence[tuple[Any, ...]],
    base: tuple[Any, ...] | None,
    down: Sequence[str],
    value: Any,
    figure: str,
) -> list[Cell]:
    """The cells of one column, in the order of the rows."""
    figures = [_Figure.of(table, samples, groups[key].get(value, ()), figure) for key in keys]
    sign = -1 if more_is_better(figure) else 1
    measured = [at for at, cell in enumerate(figures) if cell.mean is not None]
    first = min(measured, key=lambda at: sign * (figures[at].mean or 0), default=None)
    best = set()
    if first is not None:
        best = {
            at
            for at in measured
            if at == first
            or not _differs(figures[at], figures[first], _pairs(down, keys[at], keys[first]))
        }
    cells = []
    for at, (key, cell) in enumerate(zip(keys, figures, strict=True)):
        mean_, half = cell.mean, cell.half
        if base is not None:
            other = figures[keys.index(base)]
            mean_, half = _ratio(cell, other, _pairs(down, key, base), same=key == base)
        is_best = at in best
        cells.append(Cell(mean_, half, is_best, is_best and len(best) > 1, cell.reason))
    return cells


@dataclass(frozen=True)
class _Figure:
    """A figure of one cell before it is compared."""

    mean: float | None
    half: float | None
    samples: Samples
    reason: str | None

    @classmethod
    def of(
        cls,
        table: Table,
        samples: Sequence[Mapping[str, Samples]],
        places: Sequence[int],
        name: str,
    ) -> _Figure:
        rows = [table.rows[at] for at in places]
        values: dict[tuple[Any, int], float] = {}
        for at in places:
            values |= samples[at].get(name, {})
        if not values:
            reason = next((str(row["reason"]) for row in rows if row.get("reason")), None)
            return cls(None, None, {}, reason)
        if len(rows) == 1:
            # The result's own figure and interval: a percentile of all requests is no mean of runs.
            return cls(number(rows[0].get(name)), number(rows[0].get(f"{name}_ci95")), values, None)
        each = list(values.values())
        if len(set(each)) == 1:  # Without random numbers all seeds give the same.
            return cls(each[0], number(rows[0].get(f"{name}_ci95")), {}, None)
        return cls(mean(each), half_width(each), values, None)


def _pairs(down: Sequence[str], key: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """True if two rows have the same writes: they differ in garbage collection alone."""
    differing = [name for name, a, b in zip(down, key, other, strict=True) if a != b]
    return all(_section(name) == "gc" for name in differing)


def _paired(cell: _Figure, other: _Figure) -> list[tuple[float, float]]:
    """The values of both with the same seed and run."""
    return [
        (value, other.samples[key]) for key, value in cell.samples.items() if key in other.samples
    ]


def _differs(cell: _Figure, other: _Figure, pairs: bool) -> bool:
    """True if two figures are known to differ.

    Paired, it is Student's test of the differences; apart, Welch's. With one value each, the
    figures' own intervals decide. Without any interval, figures differ if they are not equal.
    """
    assert cell.mean is not None
    assert other.mean is not None
    both = _paired(cell, other) if pairs else []
    if len(both) > 1:
        differences = [value - base for value, base in both]
        return abs(mean(differences)) > (half_width(differences) or 0)
    apart = welch([*cell.samples.values()], [*other.samples.values()])
    if apart is not None:
        return abs(apart[0]) > apart[1]
    half = math.hypot(cell.half or 0, other.half or 0)
    return abs(cell.mean - other.mean) > half


def _ratio(
    cell: _Figure, base: _Figure, pairs: bool, *, same: bool
) -> tuple[float | None, float | None]:
    """The ratio of two figures, and half its 95% interval."""
    if cell.mean is None or not base.mean:
        return None, None
    if same:
        return 1.0, None
    both = _paired(cell, base) if pairs else []
    if len(both) > 1 and all(other for _, other in both):
        ratios = [value / other for value, other in both]
        return mean(ratios), half_width(ratios)
    ratio = cell.mean / base.mean
    if cell.half is None or base.half is None:
        return ratio, None
    spread = math.hypot(cell.half / cell.mean, base.half / base.mean) if cell.mean else 0.0
    return ratio, abs(ratio) * spread


def _notes(
    bodies: Mapping[tuple[Any, str], Sequence[Cell]],
    figures: Sequence[str],
    is_ratio: bool,
    table: Table,
) -> tuple[str, ...]:
    """Facts for the caption."""
    cells = [cell for body in bodies.values() for cell in body]
    notes = []
    if any(cell.half is not None for cell in cells):
        notes.append("±: half of the 95% interval")
    if is_ratio:
        notes.append("ratios to the baseline")
    which = "most" if any(more_is_better(name) for name in figures) else "least"
    if any(cell.is_tie for cell in cells):
        notes.append(f"bold: the {which} of a column, and what cannot be told from it")
    else:
        notes.append(f"bold: the {which} of a column")
    doubts = sum(bool(row.get("findings")) for row in table.shown)
    if doubts:
        notes.append(f"{doubts} of {len(table.shown)} results have a doubt: flashgc results list")
    missing = dict.fromkeys(cell.reason for cell in cells if cell.mean is None and cell.reason)
    notes += [f"no result: {reason}" for reason in missing]
    return tuple(notes)
