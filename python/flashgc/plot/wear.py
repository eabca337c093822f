"""Wear: erase counts of blocks, their course over time, and the share of blocks that survive."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from flashgc._core import ConfigError
from flashgc.plot.curves import Panel, panels
from flashgc.plot.labels import header
from flashgc.plot.look import COLOURS, SOFT_INK, Style, drawing, new_figure
from flashgc.plot.outcomes import names
from flashgc.plot.scales import ticks
from flashgc.plot.series import Series, literal
from flashgc.results import Comparison, Lifetime, Milestone, Result, Wear

#: A result, several results, or a comparison.
Results = Result | Comparison | Sequence[Result]

#: The share of a survival picture's width to the left of the first failure.
_BEFORE = 0.06


def wear_histogram(results: Results, *, title: str | None = None) -> Figure:
    """Draw a histogram of erase counts over the blocks of all runs, in one row per result.

    Each row has its own vertical scale, so compare the evenness of rows by the figures beside them:
    the coefficient of variation and the Gini coefficient of the erase counts, as means over the
    runs. A line marks the mean. The default ``title`` is the workload; an empty one means none.

    Raises :class:`flashgc.ConfigError` if nothing was erased.

    >>> import flashgc
    >>> figure = wear_histogram(flashgc.run(blocks=200, pages_per_block=16, writes="4x"))
    >>> figure.axes[-1].get_xlabel()
    'erases of a block'
    """
    group = _several(results)
    wears = [_wear(result) for result in group]
    with drawing() as style:
        medium, (width, height) = style.medium, style.size
        alone = len(group) == 1
        row = height * 0.8 if alone else 5 * medium.text / 72
        figure = new_figure(width, row * len(group) + 5 * medium.text / 72)
        grid = figure.subplots(len(group), 1, sharex=True, squeeze=False)[:, 0]
        rows = names(group)
        for at, (wear, axes) in enumerate(zip(wears, grid, strict=True)):
            least, blocks = np.array(wear.histogram).T
            step = np.diff(least)[0] if len(least) > 1 else 1
            colour = COLOURS[at % len(COLOURS)]
            edges = np.append(least, least[-1] + step) - 0.5
            axes.stairs(blocks, edges, fill=True, color=colour, alpha=0.75)
            axes.axvline(wear.mean, color=SOFT_INK, linewidth=0.9, dashes=(4, 2))
            axes.set_ylim(0, 1.12 * blocks.max())
            axes.xaxis.set_major_locator(ticks(width))
            facts = f"cv {wear.cv:.4f}, Gini {wear.gini:.4f}"
            if alone:
                axes.set_ylabel("blocks" if step == 1 else f"blocks in each {step} counts")
                axes.yaxis.set_major_locator(ticks(5))
                axes.set_title(facts, size=medium.small)
            else:
                _beside_row(axes, style, rows[at], facts)
        grid[-1].set_xlabel("erases of a block")
        header(figure, style, _title(title, group), [])
    return figure


def _beside_row(axes: Axes, style: Style, name: str, facts: str) -> None:
    """Write a row's name and its figures above it, and omit its scale."""
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    small = style.medium.small
    for side, text in (("left", name), ("right", facts)):
        axes.set_title(text, loc=side, size=small, pad=2)  # type: ignore[arg-type]


def wear_evolution(results: Results, *, title: str | None = None) -> Figure:
    """Draw wear over the drive writes of the first run, for drives with an endurance.

    For one result: the mean, least and most worn block, the middle 80% of blocks, and in a lower
    panel the standard deviation of the erase counts, with the failures marked. For several: the
    standard deviation and the Gini coefficient of each. The default ``title`` is the workload; an
    empty one means none.

    Raises :class:`flashgc.ConfigError` for a result without an endurance.

    >>> import flashgc
    >>> drive = {"blocks": 200, "pages_per_block": 16, "frontier": "pool", "endurance": 20}
    >>> figure = wear_evolution(flashgc.run(until="first-failure", **drive))
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['erases of a block', 'deviation']
    """
    group = _several(results)
    for result in group:
        if not _wear(result).series:
            raise ConfigError(
                f"result of {result.policy}: found no wear over time, expected some; hint: give "
                "the drive an endurance, such as --endurance 1000"
            )
    if len(group) == 1:
        return _fan(group[0], _title(title, group))
    deviations: list[Series] = []
    ginis: list[Series] = []
    for name, result in zip(names(group), group, strict=True):
        points = _wear(result).series
        x = [point.drive_writes for point in points]
        deviations.append(Series(name, x, [point.deviation for point in points]))
        gini = [math.nan if point.gini is None else point.gini for point in points]
        ginis.append(Series(name, x, gini))
    return panels(
        [
            Panel(series=deviations, y_label="deviation of erases"),
            Panel(series=ginis, y_label="Gini coefficient"),
        ],
        x_label="drive writes",
        title=_title(title, group),
    )


def _fan(result: Result, title: str | None) -> Figure:
    points = _wear(result).series
    x = np.array([point.drive_writes for point in points])
    deciles = np.array([point.deciles for point in points])
    with drawing() as style:
        width, height = style.size
        figure = new_figure(width, 1.5 * height)
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2.2, 1))
        colour = COLOURS[0]
        above.fill_between(x, deciles[:, 0], deciles[:, -1], color=colour, alpha=0.15, linewidth=0)
        above.fill_between(x, deciles[:, 1], deciles[:, -2], color=colour, alpha=0.3, linewidth=0)
        above.plot(x, [point.mean for point in points], color=colour)
        below.plot(x, [point.deviation for point in points], color=colour)
        above.set_ylabel("erases of a block")
        below.set_ylabel("deviation")
        below.set_xlabel("drive writes")
        for axes in (above, below):
            axes.set_ylim(0)
            axes.margins(x=0.02)
            axes.xaxis.set_major_locator(ticks(width))
            axes.yaxis.set_major_locator(ticks(5))
        marks = []
        for at, dashes, name in _marks(result):
            for axes in (above, below):
                axes.axvline(at, color=SOFT_INK, linewidth=1.1, dashes=dashes)
            handle = Line2D([], [], color=SOFT_INK, linewidth=1.1, label=name)
            handle.set_dashes(dashes)
            marks.append(handle)
        shown: list[Any] = [
            Line2D([], [], color=colour, label="mean"),
            Patch(color=colour, alpha=0.45, linewidth=0, label="middle 80%"),
            Patch(color=colour, alpha=0.15, linewidth=0, label="all blocks"),
        ]
        header(figure, style, title, [shown, marks])
    return figure


def _marks(result: Result) -> list[tuple[float, tuple[float, float], str]]:
    """The failures of the first run: drive writes, the dashes of its line, and its name."""
    life = result.lifetime
    marks: list[tuple[float, tuple[float, float], str]] = []
    if life is None:
        return marks
    if life.failures:
        marks.append((life.failures[0][0], (1.2, 1.2), "first failure"))
    end = life.system_failure
    if end is not None and end.runs == len(result.run_values):
        marks.append((end.run_values[0], (5, 1.6), "system failure"))
    return marks


def survival(results: Results, *, title: str | None = None) -> Figure:
    """Draw the share of blocks that are not bad over drive writes, with a line for each result.

    Lines show the first run. Points are the first failure and the system failure of every run. The
    time before the earliest failure is omitted. The default ``title`` is the workload; an empty one
    means none.

    Raises :class:`flashgc.ConfigError` if no block failed.

    >>> import flashgc
    >>> drive = {"blocks": 200, "pages_per_block": 16, "frontier": "pool", "endurance": 20}
    >>> figure = survival(flashgc.run(until="system-failure", **drive))
    >>> figure.axes[0].get_ylabel()
    'blocks that are not bad (%)'
    """
    group = _several(results)
    for result in group:
        if result.lifetime is None or not result.lifetime.failures:
            raise ConfigError(
                f"result of {result.policy}: found no bad block, expected at least one; hint: "
                "--endurance 1000 --until system-failure"
            )
    lives = [_life(result) for result in group]
    first = min(point for life in lives for point in _points(life.first_failure))
    last = max(life.failures[-1][0] for life in lives)
    start = first - _BEFORE * max(last - first, 0.05 * last)
    series = []
    for name, result, life in zip(names(group), group, lives, strict=True):
        blocks = result.config.superblocks
        writes, bad = np.array(life.failures, dtype=float).T
        alive = 100 * (1 - bad / blocks)
        # Steps: down at each failure, level between failures.
        x = np.concatenate([[start], np.repeat(writes, 2)])
        y = np.concatenate([[100, 100], np.repeat(alive, 2)[:-1]])
        series.append(Series("blocks", x, y, group=name))
        at_x: list[float] = []
        at_y: list[float] = []
        for end in (life.first_failure, life.system_failure):
            if end is not None:
                at_x += end.run_values
                at_y += [100 * (1 - end.bad_blocks / blocks)] * len(end.run_values)
        label = "first and system failure of each run"
        series.append(Series(label, at_x, at_y, kind="points", group=name))
    return panels(
        [Panel(series=series)],
        x_label="drive writes",
        y_label="blocks that are not bad (%)",
        title=_title(title, group),
        at_ends=False,
    )


def _several(results: Results) -> list[Result]:
    if isinstance(results, Result):
        members = [results]
    elif isinstance(results, Comparison):
        members = [rank.result for rank in results.ranking]
    else:
        members = list(results)
    if not members:
        raise ConfigError("results: found none, expected at least one; hint: give one")
    return members


def _wear(result: Result) -> Wear:
    if result.wear is None or result.wear.cv is None:
        raise ConfigError(
            f"result of {result.policy}: no block was erased, expected wear; hint: a longer run"
        )
    return result.wear


def _points(end: Milestone | None) -> tuple[float, ...]:
    """Drive writes of each run that reached this end."""
    return () if end is None else end.run_values


def _life(result: Result) -> Lifetime:
    assert result.lifetime is not None
    return result.lifetime


def _title(given: str | None, results: Sequence[Result]) -> str | None:
    """The title as given, or the default; ``None`` if the given one is empty."""
    if given is not None:
        return given or None
    usual = results[0].workload
    return literal(f"{results[0].policy} on {usual}" if len(results) == 1 else usual)
