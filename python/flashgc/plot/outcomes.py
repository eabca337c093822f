"""Results of simulations: one over time, several as a ranking, several beside a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flashgc._core import ConfigError
from flashgc.plot.curves import Panel, panels
from flashgc.plot.labels import header, text_width, wrapped
from flashgc.plot.latency import over_time, percentiles
from flashgc.plot.look import COLOURS, Medium, drawing, new_figure
from flashgc.plot.scales import ticks
from flashgc.plot.series import Series, check_mapping, literal
from flashgc.registry import brief
from flashgc.results import Comparison, Result, varied
from flashgc.units import format_share, many


def run(result: Result, *, title: str | None = None) -> Figure:
    """Draw the write amplification over the drive writes of the first run, and its mean.

    The mean is that of all runs, with its 95% interval. For a drive with a clock, response times
    over time are drawn (:func:`over_time`). By default the title describes the run; an empty
    ``title`` means none.

    Raises :class:`flashgc.ConfigError` if nothing was measured.

    >>> import flashgc
    >>> figure = run(flashgc.run(blocks=200, pages_per_block=16, writes="4x"))
    >>> figure.axes[0].get_xlabel()
    'drive writes'
    """
    if result.timing is not None and result.measured:
        return over_time(result, title=title)
    if not result.measured or not result.series:
        raise ConfigError("result: nothing was measured, expected a figure; hint: a longer run")
    x, y = zip(*result.series, strict=True)
    runs = len(result.run_values)
    mean = f"mean {_amplification(result)} (95%, {many(runs, 'run')})"
    half = _half(result)
    ends = [result.measured_from, x[-1]]
    return panels(
        [
            Panel(
                series=[
                    Series(f"run with seed {result.seed}", x, y),
                    Series(mean, ends, [result.write_amplification] * 2, [half, half]),
                ]
            )
        ],
        x_label="drive writes",
        title=_title(title, _run_in_words(result)),
        at_ends=False,
    )


def compare(comparison: Comparison, *, title: str | None = None) -> Figure:
    """Draw a ranking: a row per configuration, with a point and its 95% interval.

    A hollow point means that these runs cannot tell the configuration from the best one. With
    several spare factors there is a line per configuration over the spare factor. With a page
    cache, the figure is the I/O time, without intervals. For drives with a clock, the picture shows
    percentiles of response times (:func:`percentiles`). The default ``title`` is the workload; an
    empty one means none.

    Raises :class:`flashgc.ConfigError` if nothing was measured.

    >>> import flashgc
    >>> ranking = flashgc.compare(["fifo", "greedy"], blocks=200, pages_per_block=16, runs=2)
    >>> [tick.get_text() for tick in compare(ranking).axes[0].get_yticklabels()]
    ['greedy', 'fifo']
    """
    ranks = comparison.ranking
    if not ranks:
        raise ConfigError("comparison: nothing was measured, expected a figure; hint: longer runs")
    results = [rank.result for rank in ranks]
    if len({result.config.spare_factor for result in results}) > 1 and results[0].timing is None:
        return _over_spare(results, _title(title, results[0].workload))
    rows = names(results)
    if results[0].timing is not None:
        by_name = {row: rank.result for row, rank in zip(rows, ranks, strict=True)}
        return percentiles(by_name, title=_title(title, results[0].workload))
    with drawing() as style:
        medium, width = style.medium, style.size[0]
        # With long names and little space, name and figure are above each point.
        above = max(text_width(row, medium.small) for row in rows) > 0.36 * width
        if above:
            rows = [wrapped(row, 0.6 * width, medium.small) for row in rows]
        lines = 1 + max(row.count("\n") for row in rows)
        row = (1.9 + 1.2 * lines if above else 2) * medium.text / 72
        figure = new_figure(width, row * (len(rows) + 0.4) + 4.2 * medium.text / 72)
        axes = figure.subplots()
        for at, rank in enumerate(ranks):
            hollow = rank.place > 1 and rank.inside_noise
            swap = rank.result.swap
            axes.errorbar(
                rank.result.write_amplification if swap is None else swap.io_seconds,
                at,
                xerr=None if swap is not None else _reach(rank.result),
                fmt="o",
                color=COLOURS[0],
                markerfacecolor="white" if hollow else COLOURS[0],
                elinewidth=medium.line,
                capsize=0.6 * medium.marker,
            )
            up = 0.5 - 0.12 / lines if above else 0
            figure_, weight = _figure(rank.result), "bold" if rank.place == 1 else "normal"
            _beside(axes, medium, figure_, 1, at - up, "right" if above else "left", weight)
            if above:
                _beside(axes, medium, rows[at], 0, at - up, "left", weight)
        axes.set_yticks(range(len(rows)), [""] * len(rows) if above else rows)
        axes.set_ylim(len(rows) - 0.6, -0.8 if above else -0.6)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.xaxis.set_major_locator(ticks(style.size[0]))
        axes.margins(x=0.05)
        axes.set_xlabel("write amplification" if swap is None else "I/O time (s)")
        header(figure, style, _title(title, ranks[0].result.workload), [])
    return figure


def _over_spare(results: Sequence[Result], title: str | None) -> Figure:
    """A line for each configuration over the spare factor, with the 95% intervals."""
    by_name: dict[str, list[Result]] = {}
    for name, result in zip(names(results, with_spare=False), results, strict=True):
        by_name.setdefault(name, []).append(result)
    has_swap = results[0].swap is not None
    lines = []
    for name, unsorted in by_name.items():
        some = sorted(unsorted, key=lambda result: result.config.spare_factor)
        x = [100 * result.config.spare_factor for result in some]
        if has_swap:
            lines.append(
                Series(name, x, [result.swap.io_seconds for result in some if result.swap])
            )
        else:
            y = [result.write_amplification for result in some]
            lines.append(Series(name, x, y, [_half(result) for result in some]))
    label = "I/O time (s)" if has_swap else "write amplification"
    return panels([Panel(series=lines, y_label=label)], x_label="spare factor (%)", title=title)


def _title(given: str | None, usual: str) -> str | None:
    """The title as given, or the default; ``None`` if the given one is empty."""
    return literal(usual) if given is None else given or None


def _beside(
    axes: Axes, medium: Medium, text: str, x: float, at: float, side: str, weight: str
) -> None:
    """Write ``text`` in a row, at the left (0) or the right (1) of the axes."""
    axes.annotate(
        text,
        (x, at),
        xycoords=axes.get_yaxis_transform(),
        xytext=(6 if side == "left" and x else 0, 0),
        textcoords="offset points",
        ha=side,
        va="center",
        size=medium.small,
        weight=weight,
        annotation_clip=False,
    )


#: Texts for each part of a configuration that may differ between rows, in the order of a name.
_NAMES: dict[str, Callable[[Any], str]] = {
    "label": brief,
    "vm_scheme": lambda scheme: scheme or "none",
    "preemption": str,
    "frontier": lambda frontier: "" if frontier == "none" else brief(frontier),
    "allocation": str,
    "wear_levelling": brief,
    "placement": brief,
    "hosting": str,
    "config.spare_factor": format_share,
}


def names(results: Sequence[Result], *, with_spare: bool = True) -> list[str]:
    """The name of each result's row: its policy, and other parts that differ between rows."""
    several = {path for path in _NAMES if len({attrgetter(path)(result) for result in results}) > 1}
    several -= {"frontier", "placement"} - {*varied.differing(results)}
    if not several & {"preemption", "vm_scheme"}:
        several.add("label")
    if not with_spare:
        several.discard("config.spare_factor")
    parts = [(attrgetter(path), words) for path, words in _NAMES.items() if path in several]
    return [
        literal(", ".join(filter(None, (words(of(result)) for of, words in parts))))
        for result in results
    ]


def _run_in_words(result: Result) -> str:
    """Return a description of a run: policy, workload, frontier and scheme."""
    frontier = "" if result.frontier == "none" else f", {result.frontier} frontier"
    scheme = "" if result.vm_scheme is None else f", {result.vm_scheme}"
    return f"{brief(result.label)} on {result.workload}{frontier}{scheme}"


def model_beside_simulation(
    parameter: str,
    model_values: Mapping[float, float],
    results: Mapping[float, Result],
    *,
    title: str | None = None,
    x_log: bool = False,
) -> Figure:
    """Draw a model's write amplification against a parameter, with simulations.

    ``parameter`` names the horizontal axis; the keys of ``model_values`` and ``results`` are its
    values. The lower panel shows the difference of the simulation from the model in percent, with
    its 95% interval, since close agreement is invisible in the upper panel.

    Raises :class:`flashgc.ConfigError` if a result has no model value, or nothing was measured.

    >>> import flashgc
    >>> results = {
    ...     spare: flashgc.run(victim="random", spare=spare, blocks=500, pages_per_block=16, runs=2)
    ...     for spare in (0.1, 0.2)
    ... }
    >>> figure = model_beside_simulation("spare factor", {0.1: 10, 0.15: 6.67, 0.2: 5}, results)
    >>> len(figure.axes)
    2
    """
    check_mapping(model_values, "model_values", "{0.1: 4.82}")
    check_mapping(results, "results", "{0.1: flashgc.run(spare=0.1)}")
    if not results:
        raise ConfigError("results: found none, expected at least one; hint: give one")
    for at, result in results.items():
        if at not in model_values:
            raise ConfigError(
                f"results: found a result at {at:g} without a model value; hint: "
                f"evaluate the model at {at:g} too"
            )
        if not result.measured:
            raise ConfigError(
                f"result at {at:g}: nothing was measured, expected a figure; hint: a longer run"
            )
    x = sorted(model_values)
    model = Series("model", x, [model_values[at] for at in x])
    where = sorted(results)
    predictions = np.array([model_values[at] for at in where])
    measurements = np.array([results[at].write_amplification for at in where])
    error = np.array([_half(results[at]) for at in where])
    label = "simulation, 95%"
    measured = Series(label, where, measurements, error, kind="points", group="model")
    off = 100 * (measurements / predictions - 1)
    difference = Series(label, where, off, 100 * error / predictions, kind="points", group="model")
    zero = Series("model", [x[0], x[-1]], [0, 0])
    return panels(
        [
            Panel(series=[model, measured]),
            Panel(series=[zero, difference], y_label="difference (%)"),
        ],
        x_label=parameter,
        title=title,
        x_log=x_log,
        heights=(2.2, 1),
    )


def _half(result: Result) -> float:
    half = result.write_amplification_ci95
    return math.nan if half is None else half


def _reach(result: Result) -> list[list[float]] | None:
    """Return how far the interval extends below and above the figure."""
    if result.write_amplification_interval is None:
        return None
    least, most = result.write_amplification_interval
    return [[result.write_amplification - least], [most - result.write_amplification]]


def _figure(result: Result) -> str:
    if result.swap is not None:
        return f"{result.swap.io_seconds:.4f} s"
    return _amplification(result)


def _amplification(result: Result) -> str:
    half = result.write_amplification_ci95
    text = f"{result.write_amplification:.4f}"
    return text if half is None else f"{text} ±{half:.4f}"
