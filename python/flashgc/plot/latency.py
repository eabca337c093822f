"""Response times of drives with a clock: percentiles, distributions, over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from flashgc._core import ConfigError, suggest
from flashgc.plot.labels import header
from flashgc.plot.look import COLOURS, SOFT_INK, Style, drawing, looks, new_figure
from flashgc.plot.series import Numbers, literal
from flashgc.results import Result

#: Kinds of requests whose response times can be drawn.
SIDES = ("all", "read", "write", "trim")
#: Shares of requests that get a tick.
_TICKS = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)


def percentiles(
    results: Result | Mapping[str, Result], *, of: str = "all", title: str | None = None
) -> Figure:
    """Draw response time against the share of requests that took at most this time.

    The slowest requests are at the right: the horizontal scale is logarithmic in the share of
    requests that took longer. ``results`` is one result, with a line for reads and one for writes,
    or several by label. For several, ``of`` selects the requests: ``all``, ``read``, ``write``,
    ``trim``.

    Raises :class:`flashgc.ConfigError` if there is no such response time.

    >>> import flashgc
    >>> result = flashgc.run(kind="timed", device="mlc", requests=2000, warmup="0")
    >>> percentiles(result).axes[0].get_ylabel()
    'response time'
    """
    return _lines(results, of, title, _percentile_axes)


def distribution(
    results: Result | Mapping[str, Result], *, of: str = "all", title: str | None = None
) -> Figure:
    """Draw the share of requests that took at most a time, against this response time.

    Results are chosen and refused as in :func:`percentiles`.

    >>> import flashgc
    >>> result = flashgc.run(kind="timed", device="mlc", requests=2000, warmup="0")
    >>> distribution(result).axes[0].get_xlabel()
    'response time'
    """
    return _lines(results, of, title, _share_axes)


def over_time(result: Result, *, title: str | None = None) -> Figure:
    """Draws mean and longest response times over the time of the first run.

    The background is darker the more dies have a collection in progress. Throughput is below.

    Raises :class:`flashgc.ConfigError` if the result has no series over time.

    >>> import flashgc
    >>> result = flashgc.run(kind="timed", device="mlc", requests=2000, warmup="0")
    >>> [axes.get_ylabel() for axes in over_time(result).axes]
    ['response time', 'requests a second']
    """
    timing = result.timing
    if timing is None or not timing.over_time.collecting:
        raise ConfigError(
            'result: found no series over time, expected a drive with a clock; hint: kind="timed"'
        )
    series = timing.over_time
    seconds = series.resolution_seconds
    at = (np.arange(len(series.collecting)) + 0.5) * seconds
    with drawing() as style:
        width, height = style.size
        figure = new_figure(width, 1.5 * height)
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        _shade(upper, np.asarray(series.collecting), seconds)
        handles: list[Any] = []
        for side, look in looks(("read", "write")).items():
            service = series.of(side)
            mean, longest = _numbers(service.mean_us), _numbers(service.max_us)
            if np.isnan(mean).all():
                continue
            upper.plot(at, mean, color=look.colour, label=f"mean of {side}s")
            upper.plot(
                at,
                longest,
                color=look.colour,
                linestyle="none",
                marker=".",
                markersize=0.5 * style.medium.marker,
            )
            rate = _numbers(service.requests_per_second)
            lower.plot(at, rate, color=look.colour)
            handles += [
                Line2D([], [], color=look.colour, label=f"{side}s, mean"),
                Line2D(
                    [],
                    [],
                    color=look.colour,
                    linestyle="none",
                    marker=".",
                    label=f"{side}s, longest",
                ),
            ]
        handles.append(Patch(color=_SHADE, alpha=0.5, label="collections under way"))
        upper.set_yscale("log")
        _time_ticks(upper.yaxis)
        upper.set_ylabel("response time")
        lower.set_ylim(bottom=0)
        lower.set_ylabel("requests a second")
        lower.set_xlabel("time (s)")
        usual = f"{result.policy}, preemption {result.preemption}, on {result.workload}"
        header(figure, style, literal(usual) if title is None else title or None, [handles])
    return figure


_SHADE = COLOURS[1]


def _shade(axes: Axes, collecting: Numbers, seconds: float) -> None:
    """Shade times with collections in progress, relative to the busiest moment."""
    most = collecting.max()
    if most <= 0:
        return
    for index, share in enumerate(collecting):
        if share > 0:
            axes.axvspan(
                index * seconds,
                (index + 1) * seconds,
                color=_SHADE,
                alpha=0.35 * float(share / most),
                linewidth=0,
            )


def _numbers(values: Sequence[float | None]) -> Numbers:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _lines(
    results: Result | Mapping[str, Result], of: str, title: str | None, finish: Any
) -> Figure:
    if of not in SIDES:
        raise ConfigError(f"of: unknown requests '{of}'; hint: {suggest(str(of), list(SIDES))}")
    drawn = _chosen(results, of)
    with drawing() as style:
        width, height = style.size
        figure = new_figure(width, height)
        axes = figure.subplots()
        handles = []
        for label, look in looks(drawn).items():
            x, y = finish(*drawn[label])
            axes.plot(x, y, color=look.colour, linestyle=look.dash)
            handles.append(
                Line2D([], [], color=look.colour, linestyle=look.dash, label=literal(label))
            )
        if finish is _percentile_axes:
            _finish_percentiles(axes, style)
        else:
            axes.set_xscale("log")
            _time_ticks(axes.xaxis)
            axes.set_xlabel("response time")
            axes.set_ylabel("share of the requests")
            axes.set_ylim(0, 1)
        header(figure, style, title, [handles])
    return figure


def _chosen(results: Result | Mapping[str, Result], of: str) -> dict[str, tuple[Numbers, Numbers]]:
    """Response times in microseconds and shares of requests, by label."""
    if isinstance(results, Result):
        sides = {side: (results, side) for side in (("read", "write") if of == "all" else (of,))}
    else:
        sides = {label: (result, of) for label, result in results.items()}
    curves = {}
    for label, (result, side) in sides.items():
        figures = None if result.timing is None else result.timing.latency_us.of(side)
        if figures:
            times, shares = zip(*figures.distribution, strict=True)
            curves[label] = (np.array(times), np.array(shares))
    if not curves:
        raise ConfigError(
            'results: found no such response times, expected some; hint: kind="timed", and '
            "requests of that kind"
        )
    return curves


def _percentile_axes(times: Numbers, shares: Numbers) -> tuple[Numbers, Numbers]:
    # No request took longer than the last point. The logarithmic axis has no place for the share 0,
    # so the point gets half the share of the point before.
    beyond = 1 - shares
    beyond[-1] = beyond[beyond > 0].min() / 2 if (beyond > 0).any() else 0.5
    return 1 / beyond, times


def _share_axes(times: Numbers, shares: Numbers) -> tuple[Numbers, Numbers]:
    return times, shares


def _finish_percentiles(axes: Axes, style: Style) -> None:
    axes.set_xscale("log")
    right = axes.get_xlim()[1]
    ticks = [share for share in _TICKS if 1 / (1 - share) <= right]
    axes.set_xticks(
        [1 / (1 - share) for share in ticks], [f"{100 * share:.6g}%" for share in ticks]
    )
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(left=1 / (1 - 0.3))
    axes.set_yscale("log")
    _time_ticks(axes.yaxis)
    axes.set_xlabel("share of the requests that took at most so long")
    axes.set_ylabel("response time")
    axes.tick_params(axis="x", labelsize=style.medium.small, labelcolor=SOFT_INK)


def _time_ticks(axis: Any) -> None:
    """Ticks of times in microseconds, on a logarithmic axis."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda us, _: _time(us)))
    axis.set_minor_formatter(NullFormatter())


def _time(us: float) -> str:
    for factor, unit in ((1e6, "s"), (1e3, "ms"), (1.0, "µs")):
        if us >= factor:
            return f"{us / factor:g} {unit}"
    return f"{us * 1e3:g} ns"
