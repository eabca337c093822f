"""Pictures of Zombie Chasing's Figures 5 to 9: write amplification and its savings."""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flashgc_papers.published import Drawing, Point, marked
from flashgc_papers.reproduce.runner import Figure, Table
from flashgc_papers.reproduce.tasks import Measured, measured_or
from flashgc_papers.reproduce.verdicts import Value
from flashgc_papers.zombie.experiment import amplification, key
from flashgc_papers.zombie.timed import seconds

if TYPE_CHECKING:
    from flashgc.plot import Panel

#: All h of Figures 5 to 7 and 9.
ALL_H = (3, 6, 10, 20, 50)


@dataclass(frozen=True)
class Saving:
    """A panel of the savings of some collectors over others in percent, with published values."""

    label: str
    #: Pairs of collectors: the second is the one with which the first is compared.
    pairs: Sequence[tuple[str, str]]
    of: Callable[[Measured, str, str], Value]
    published: Sequence[Point] = ()
    #: Published bounds of all values, by their labels.
    bounds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Axis:
    """The horizontal axis: its values, and the name of a collector's run at a value."""

    label: str
    points: Sequence[float]
    run: Callable[[str, float], str]
    log: bool = True


def over_h(cache: float = 4) -> Axis:
    """The axis over h, with a cache of ``cache`` GiB."""
    return Axis("h, %", ALL_H, lambda name, h: key(name, h, cache))


def figure(
    measured: Measured,
    name: str,
    caption: str,
    names: Sequence[str],
    axis: Axis,
    *,
    published: Sequence[Point] = (),
    savings: Sequence[Saving] = (),
) -> Figure:
    """A panel of the write amplification of collectors, and one of each saving below it."""
    table = _table(measured, names, axis, savings)
    draw = functools.partial(_draw, table, names, axis, published, savings)
    return Figure(name, caption, table, draw)


def _table(
    measured: Measured, names: Sequence[str], axis: Axis, savings: Sequence[Saving]
) -> Table:
    """Write amplification and seconds of each collector, then savings; empty if not run."""

    def written(name: str, at: float) -> tuple[float | None, ...]:
        value = measured_or(None, lambda: amplification(measured, axis.run(name, at)))
        taken = measured_or(None, lambda: statistics.fmean(seconds(measured, axis.run(name, at))))
        if value is None or taken is None:
            return None, None, None
        return value.mean, value.ci95, taken

    def saved(saving: Saving, less: str, more: str, at: float) -> tuple[float | None, ...]:
        runs = axis.run(less, at), axis.run(more, at)
        value = measured_or(None, lambda: saving.of(measured, *runs))
        return (None, None) if value is None else (value.mean, value.ci95)

    each = [(saving, *pair) for saving in savings for pair in saving.pairs]
    rows = tuple(
        (
            at,
            *(cell for name in names for cell in written(name, at)),
            *(cell for pair in each for cell in saved(*pair, at)),
        )
        for at in axis.points
    )
    columns = [column for name in names for column in (name, f"{name} ci95", f"{name}, seconds")]
    columns += [
        column
        for saving, less, _ in each
        for column in (_column(less, saving), f"{_column(less, saving)} ci95")
    ]
    return Table(("at", *columns), rows)


def _column(name: str, saving: Saving) -> str:
    return f"{name}, {saving.label}"


def _draw(
    table: Table,
    names: Sequence[str],
    axis: Axis,
    published: Sequence[Point],
    savings: Sequence[Saving],
) -> Drawing:
    from flashgc import plot

    parts, points = [_panel(table, {name: name for name in names}, "write amplification")], {}
    points[0] = list(published)
    for saving in savings:
        columns = {less: _column(less, saving) for less, _ in saving.pairs}
        part = _panel(table, columns, saving.label)
        if part["series"]:
            part["reference_lines"] = saving.bounds
            points[len(parts)] = list(saving.published)
            parts.append(part)
    figure = plot.panels(parts, x_label=axis.label, x_log=axis.log, at_ends=False)
    if axis.log:
        for axes in figure.axes:
            axes.set_xticks(list(axis.points), [f"{at:g}" for at in axis.points])
            axes.set_xticks([], minor=True)
    return marked(figure, points)


def _panel(table: Table, columns: Mapping[str, str], label: str) -> Panel:
    """A panel with a line for each column, by the name of the line; a column may have no values."""
    from flashgc import plot

    series = []
    for name, column in columns.items():
        at = table.columns.index(column)
        half = table.columns.index(f"{column} ci95")
        cells = [(_number(line[0]), _number(line[at]), _number(line[half])) for line in table.rows]
        there = [each for each in cells if not math.isnan(each[1])]
        if there:  # A column of interrupted runs may have no values, and then has no line.
            xs, ys, halves = map(list, zip(*there, strict=True))
            series.append(plot.Series(name, xs, ys, halves, kind="both"))
    return plot.Panel(series=series, y_label=label)


def _number(cell: float | str | None) -> float:
    return math.nan if cell is None else float(cell)
