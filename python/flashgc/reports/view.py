"""The contents of a picture of a tidy table: its columns, and the mean and interval of each point.

This module draws nothing. :mod:`flashgc.plot` and the page draw what it returns, so that both show
the same.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashgc import _core
from flashgc._core import ConfigError
from flashgc.reports.choice import (
    AMPLIFICATION,
    MOST,
    MOST_ROWS,
    SEED,
    Chosen,
    Row,
    Table,
    figure,
    number,
)
from flashgc.reports.wording import more_is_better, text
from flashgc.results.intervals import half_width, mean

KINDS = ("lines", "pareto", "heatmap", "distribution")


@dataclass(frozen=True)
class Point:
    """A point of a picture: the mean of some rows."""

    #: Position on the horizontal axis: an option's value, a mean in a Pareto picture, or a figure's
    #: value in a distribution.
    x: Any
    #: The mean; in a distribution, the share of values up to ``x``. ``None`` without a result.
    y: float | None
    #: The ends of the 95% interval of ``y``; ``None`` if unknown.
    low: float | None = None
    high: float | None = None
    #: The number of rows in the mean; seeds that all give the same value count as one.
    count: int = 1
    #: In a Pareto picture, the options by which it differs from other points of its line.
    at: Mapping[str, Any] | None = None
    #: The reason why there is no result.
    reason: str | None = None
    #: The number of seeds that all give the same value, because the runs use no random numbers; the
    #: mean is then exact.
    same: int = 1


@dataclass(frozen=True)
class Line:
    """The points with one value of ``by``, sorted by ``x``; in a heat map, a row of cells."""

    by: Any
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Pane:
    """The lines with one value of ``panels``."""

    at: Any
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class View:
    """The columns and panes that a picture draws."""

    #: One of :data:`KINDS`.
    kind: str
    #: The columns on the axes; for a distribution, ``y`` is ``"share"``.
    x: str
    y: str
    by: str | None
    panels: str | None
    panes: tuple[Pane, ...]
    #: True if the horizontal axis is numeric.
    numeric: bool
    #: Notes for readers on averages, and on cells without a result.
    notes: tuple[str, ...]


def view(
    rows: Iterable[Row],
    *,
    x: str | None = None,
    y: str | None = None,
    by: str | None = None,
    panels: str | None = None,
    kind: str = "lines",
) -> View:
    """Choose the columns that are not given, and average over seeds.

    Among the options that vary, the first numeric one becomes ``x``, the first policy ``by``, and
    the next one ``panels``, preferably the workload. The default of ``y`` is the write
    amplification. Seeds are averaged, with a 95% interval (Student's t). If all seeds give the same
    value, they count as one, as the runs of a comparison do, because the runs use no random
    numbers. The interval of a single row is that of the result, if any. A heat map has ``x`` and
    ``by`` as its axes. A Pareto picture has two figures as ``x`` and ``y``, and a point for each
    configuration. A distribution has a line for each ``by`` over the values of ``y``, and averages
    nothing.

    Raises :class:`flashgc.ConfigError` for an unknown column, if there is nothing to draw, and if
    an average over an option that is not given would be drawn.

    >>> rows = [
    ...     {"spare": 0.1, "victim": "fifo", "seed": seed, "write_amplification": wa}
    ...     for seed, wa in [(1, 4.0), (2, 4.0)]
    ... ] + [{"spare": 0.2, "victim": "fifo", "seed": 1, "write_amplification": 3.0}]
    >>> view(rows).panes[0].lines[0].points[0]
    Point(x=0.1, y=4.0, low=None, high=None, count=1, at=None, reason=None, same=2)
    >>> view(rows).notes
    ('also varies: seed (1 of 2 points is exact: all its seeds give the same, and count once)',)
    """
    if kind not in KINDS:
        raise ConfigError(f"--kind: unknown kind '{kind}'; hint: {_core.suggest(kind, [*KINDS])}")
    every = list(rows)
    latest = newest(every)
    # A heat map also shows cells that are impossible.
    table = Table(latest, whole=kind == "heatmap")
    shown = figure(table, y, "--y", kind)
    places = {"x": x, "by": by, "panels": panels}
    if kind == "distribution" and x is not None:
        raise ConfigError(f"--x: a distribution is over the values of --y alone; hint: --y {x}")
    if kind in ("pareto", "distribution"):
        chosen = Chosen(table, {"by": by, "panels": panels}, ("by",))
        across = shown if kind == "distribution" else figure(table, x, "--x", "lines")
        if kind == "pareto" and across == shown:
            raise ConfigError(f"--x and --y: both are '{shown}'; hint: leave one out")
    else:
        chosen = Chosen(table, places, tuple(places), heat=kind == "heatmap")
        across = _axis(table, chosen, kind)
    at = View(
        kind, across, "share" if kind == "distribution" else shown,
        chosen.at["by"], chosen.at["panels"], (), table.numeric(across), (),
    )  # fmt: skip
    make = {"pareto": _scattered, "distribution": _ranked}.get(kind, _means)
    panes = tuple(
        Pane(pane, tuple(Line(line, make(table, at, shown, some)) for line, some in lines))
        for pane, lines in (
            (pane, _parted(table, at.by, part))
            for pane, part in _parted(table, at.panels, table.rows)
        )
    )
    _check_size(table, at, panes)
    notes = _notes(table, at, shown, panes)
    if older := len(every) - len(latest):
        notes += (
            f"{older} of {len(every)} rows left out: a newer row has the same command, with "
            "another build or other content of a file",
        )
    return dataclasses.replace(at, panes=panes, notes=notes)


def front(view: View, pane: Pane) -> list[Point]:
    """The points of a Pareto picture that no other point beats in both figures, sorted by ``x``.

    Less is better, except for figures such as requests per second.
    """
    signs = [-1 if more_is_better(name) else 1 for name in (view.x, view.y)]
    known = [point for line in pane.lines for point in line.points if point.y is not None]

    def rank(point: Point) -> tuple[float, float]:
        assert point.y is not None
        return signs[0] * point.x, signs[1] * point.y

    points: list[Point] = []
    for point in sorted(known, key=rank):
        if not points or rank(point)[1] < rank(points[-1])[1] or rank(point) == rank(points[-1]):
            points.append(point)
    return sorted(points, key=lambda point: float(point.x))


def newest(rows: Sequence[Row]) -> list[Row]:
    """Return the last row of each command; rows with a result are preferred."""
    chosen: dict[Any, Row] = {}
    for row in rows:
        earlier = chosen.get(row.get("command"))
        if earlier is None or _has_result(row) or not _has_result(earlier):
            chosen[row.get("command")] = row
    return [row for row in rows if not row.get("command") or chosen[row["command"]] is row]


def _has_result(row: Row) -> bool:
    return bool(row.get("status", "result") == "result")


def _axis(table: Table, chosen: Chosen, kind: str) -> str:
    """The column on the horizontal axis of lines and heat maps."""
    across, other = chosen.at["x"], chosen.at["by"]
    if across is None:
        raise ConfigError("no option varies in these results; hint: --kind distribution")
    for place in ("x", "by") if kind == "heatmap" else ("x",):
        name = chosen.at[place]
        if name is None:
            raise ConfigError(
                f"a heat map has two options, and only {across} varies; hint: --kind lines"
            )
        if len(table.values(name)) < 2:
            others = [name for name in table.varied if name not in (across, other)]
            hint = f"--{place} {others[0]}" if others else "--kind distribution"
            value = text(name, table.values(name)[0])
            raise ConfigError(f"--{place}: {name} has one value, {value}; hint: {hint}")
    return across


def _check_size(table: Table, at: View, panes: Sequence[Pane]) -> None:
    """Raise an error if more would be drawn than readers can tell apart."""
    if at.kind == "heatmap" or (at.kind == "lines" and not at.numeric):
        for name, place in ((at.x, "x"), (at.by, "by")):
            count = 0 if name is None else len(table.values(name))
            if count > MOST_ROWS:
                raise ConfigError(
                    f"--{place}: {name} has {count} values, more than the {MOST_ROWS} that have "
                    "room; hint: --kind distribution"
                )
    lines = 0 if at.kind == "heatmap" else max(len(pane.lines) for pane in panes)
    for name, place, count in ((at.by, "by", lines), (at.panels, "panels", len(panes))):
        if name is not None and count > MOST:
            some = shlex.quote(f"{name}={next(v for v in table.values(name) if v is not None)}")
            raise ConfigError(
                f"--{place}: {name} has {count} values, more than the {MOST} that eyes tell "
                f"apart; hint: --where {some}"
            )


def _parted(table: Table, name: str | None, rows: Sequence[Row]) -> list[tuple[Any, list[Row]]]:
    """The rows by their values in a column, in the order of the table's values."""
    if name is None:
        return [(None, list(rows))]
    groups: dict[Any, list[Row]] = {value: [] for value in table.values(name)}
    for row in rows:
        groups[row.get(name)].append(row)
    return [(value, some) for value, some in groups.items() if some]


def _means(table: Table, at: View, shown: str, rows: Sequence[Row]) -> tuple[Point, ...]:
    """A point for each value on the horizontal axis."""
    places = (at.x, at.by, at.panels)
    points = [
        _point(value, shown, _seeds(table, places, some))
        for value, some in _parted(table, at.x, rows)
        if not (at.numeric and value is None)
    ]
    return tuple(
        points if at.kind == "heatmap" else [point for point in points if point.y is not None]
    )


def _scattered(table: Table, at: View, shown: str, rows: Sequence[Row]) -> tuple[Point, ...]:
    """A point for each configuration, at the means of two figures."""
    apart = [name for name in table.varied if name != SEED]
    names = [name for name in apart if name not in (at.by, at.panels)]
    cells: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        cells.setdefault(tuple(row.get(name) for name in apart), []).append(row)
    points = []
    for some in cells.values():
        both = [
            row for row in _seeds(table, apart, some)
            if number(row.get(at.x)) is not None and number(row.get(shown)) is not None
        ]  # fmt: skip
        if both:
            across = mean([float(row[at.x]) for row in both])
            point = _point(across, shown, both)
            points.append(
                dataclasses.replace(point, at={name: both[0].get(name) for name in names})
            )
    return tuple(sorted(points, key=lambda point: float(point.x)))


def _ranked(_table: Table, _at: View, shown: str, rows: Sequence[Row]) -> tuple[Point, ...]:
    """The empirical distribution: for each value, the share of values up to it."""
    values = sorted(figure for row in rows if (figure := number(row.get(shown))) is not None)
    return tuple(Point(value, (rank + 1) / len(values)) for rank, value in enumerate(values))


def _seeds(table: Table, columns: Iterable[str | None], rows: Sequence[Row]) -> list[Row]:
    """The rows of one point, which differ only in the seed; raises an error otherwise."""
    for name in table.varied:
        values = [row.get(name) for row in rows]
        if name not in (*columns, SEED) and len(set(values)) > 1:
            some = next(value for value in values if value is not None)
            raise ConfigError(
                f"{name} varies as well, and a mean over it would mislead; hint: --where "
                + shlex.quote(f"{name}={some}")
            )
    groups: dict[Any, Row] = {}
    for row in rows:
        seed = row.get(SEED)
        if seed in groups:
            raise ConfigError(
                "some rows differ in no option, and a mean over them would mislead; hint: "
                "--kind distribution"
            )
        groups[seed] = row
    return list(groups.values())


def _point(x: Any, shown: str, rows: Sequence[Row]) -> Point:
    """The mean of a figure over rows, with its interval."""
    known = [row for row in rows if number(row.get(shown)) is not None]
    if not known:
        return Point(x, None, count=0, reason=next((row.get("reason") for row in rows), None))
    values = [float(row[shown]) for row in known]
    # If all seeds give the same figures, they tell nothing about chance, so they count as one.
    alike = len({(row[shown], row.get(AMPLIFICATION)) for row in known}) == 1
    count, same = (1, len(values)) if alike else (len(values), 1)
    half = half_width(values[:count])
    if alike and shown == AMPLIFICATION:
        half = number(known[0].get(f"{AMPLIFICATION}_ci95"))
    y = values[0] if alike else mean(values)
    if half is None:
        return Point(x, y, count=count, same=same)
    return Point(x, y, y - half, y + half, count, same=same)


def _notes(table: Table, at: View, shown: str, panes: Iterable[Pane]) -> tuple[str, ...]:
    """Return notes on what was averaged and what was left out."""
    names = []
    points = [point for pane in panes for line in pane.lines for point in line.points]
    drawn = [point for point in points if point.y is not None]
    counts = sorted({point.count for point in drawn if point.same == 1})
    if at.kind != "distribution" and counts and counts[-1] > 1:
        several = " to ".join(dict.fromkeys([str(counts[0]), str(counts[-1])]))
        names.append(f"also varies: {SEED} (mean and 95% interval of {several})")
    exact = sum(point.same > 1 for point in drawn)
    if at.kind != "distribution" and exact:
        its = "its" if exact == 1 else "their"
        is_ = "is" if exact == 1 else "are"
        some = f"{exact} of {len(drawn)} points {is_} " if exact < len(drawn) else ""
        names.append(
            f"also varies: {SEED} ({some}exact: all {its} seeds give the same, and count once)"
        )
    if at.kind == "distribution":
        others = [name for name in table.varied if name not in (at.by, at.panels)]
        if others:
            names.append(f"also varies: {', '.join(others)} (each row counts once)")
    without = len(table.all) - len(table.shown)
    if without:
        names.append(f"{without} of {len(table.all)} cells have no result")
    nothing = sum(number(row.get(shown)) is None for row in table.shown)
    if nothing:
        names.append(f"{nothing} of {len(table.shown)} results have no number in {shown}")
    return tuple(names)
