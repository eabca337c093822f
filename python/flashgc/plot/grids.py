"""Stored results of grids: lines, small multiples, Pareto fronts, heat maps, distributions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from matplotlib.figure import Figure

from flashgc.plot.grid_distribution import distribution
from flashgc.plot.grid_heatmap import heatmap
from flashgc.plot.grid_lines import lines
from flashgc.plot.grid_pareto import pareto
from flashgc.plot.look import Style, drawing
from flashgc.plot.series import check_text
from flashgc.reports.view import View, view
from flashgc.store.table import Source, rows_of

_DRAW: dict[str, Callable[[View, Style, str | None], Figure]] = {
    "lines": lines, "pareto": pareto, "heatmap": heatmap, "distribution": distribution,
}  # fmt: skip


def grid(
    source: Source,
    *,
    x: str | None = None,
    y: str | None = None,
    by: str | None = None,
    panels: str | None = None,
    kind: Literal["lines", "pareto", "heatmap", "distribution"] = "lines",
    where: Sequence[str] = (),
    title: str | None = None,
) -> Figure:
    """Draws the results of a grid: a figure ``y`` over an option ``x``, a line for each ``by``.

    ``source`` is a file of results, a table (.csv, .json, .parquet), a :class:`flashgc.Sweep`, or a
    list of rows as dictionaries. ``panels`` gives a panel to each value of an option; ``where``
    selects rows (``["spare<20%"]``). Columns that are not given are chosen, and seeds averaged, as
    :func:`flashgc.reports.view.view` says. Kinds:

    - ``lines``: with 95% bands; if ``x`` is not numeric, rows of dots with their intervals.
    - ``pareto``: two figures, and the front: configurations that no other one beats in both.
    - ``heatmap``: the figure as colour, over two options.
    - ``distribution``: the share of rows up to each value; median and 95th percentile are marked.

    Raises :class:`flashgc.ConfigError` if there is nothing to draw, or if a mean over an option
    that is not given would be drawn.

    >>> rows = [
    ...     {"spare": spare, "victim": victim, "write_amplification": wa}
    ...     for victim, spare, wa in [
    ...         ("greedy", 0.1, 4.5), ("greedy", 0.2, 2.5), ("fifo", 0.1, 5.2), ("fifo", 0.2, 2.7)
    ...     ]
    ... ]
    >>> figure = grid(rows)
    >>> figure.axes[0].get_xlabel(), [text.get_text() for text in figure.axes[0].texts]
    ('spare factor (%)', ['greedy', 'fifo'])
    """
    if title is not None:
        check_text(title, "title")
    shown = view(rows_of(source, where), x=x, y=y, by=by, panels=panels, kind=kind)
    return of_view(shown, title=title)


def of_view(shown: View, *, title: str | None = None) -> Figure:
    """Draw a view of chosen and averaged results."""
    with drawing() as style:
        return _DRAW[shown.kind](shown, style, title)
