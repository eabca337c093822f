"""Pictures of Ji and Shin's figures: every program, and the mean of all."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from flashgc_papers.published import Drawing, marked, ranged

if TYPE_CHECKING:
    from flashgc.plot import Panel

#: Values of each program at each place of the horizontal axis; NaN where there is none.
Curves = Mapping[str, Sequence[float]]


def over_schemes(
    parts: Mapping[str, Curves],
    schemes: Sequence[str],
    published: Mapping[str, Mapping[str, tuple[float, float]]],
) -> Drawing:
    """Draw a panel for each part, by its label: its size under each scheme.

    ``published`` has the ends of the range that the paper prints for the mean, by part and scheme.
    """
    from flashgc import plot

    at = list(range(len(schemes)))
    panels = [_panel(label, at, curves, lines=False) for label, curves in parts.items()]
    figure = plot.panels(panels, x_label="scheme", at_ends=False)
    figure.axes[-1].set_xticks(at, [scheme.replace("LDA-GC", "LDA-\nGC") for scheme in schemes])
    points = {
        place: [ranged(schemes.index(name), *ends) for name, ends in published[label].items()]
        for place, label in enumerate(parts)
        if label in published
    }
    return marked(figure, points)


def over_sizes(parts: Mapping[str, Curves], sizes: Sequence[int], x_label: str) -> Drawing:
    """Draw a panel for each part, by its label, over sizes that double."""
    from flashgc import plot

    panels = [_panel(label, sizes, curves, lines=True) for label, curves in parts.items()]
    figure = plot.panels(panels, x_label=x_label, x_log=True, at_ends=False)
    for axes in figure.axes:
        axes.set_xticks(list(sizes), [str(size) for size in sizes])
        axes.set_xticks([], minor=True)
    return figure


def _panel(label: str, at: Sequence[int], curves: Curves, *, lines: bool) -> Panel:
    """A panel with a curve for each program that has figures, and their mean if several have."""
    from flashgc import plot

    known = {name: values for name, values in curves.items() if not all(map(math.isnan, values))}
    means = [_mean([values[index] for values in known.values()]) for index in range(len(at))]
    series = [
        plot.Series(name, list(at), list(values), kind="line" if lines else "points")
        for name, values in known.items()
    ]
    if len(known) > 1:
        series.insert(0, plot.Series("mean", list(at), means, kind="both"))
    return plot.Panel(series=series, y_label=label)


def _mean(values: Sequence[float]) -> float:
    """The mean of the values that are not NaN.

    >>> _mean([1.0, math.nan, 2.0])
    1.5
    """
    known = [value for value in values if not math.isnan(value)]
    return statistics.fmean(known) if known else math.nan
