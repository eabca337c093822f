"""The outcome of a search: a row for each configuration, with the interval of its difference."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from flashgc._core import ConfigError
from flashgc.plot.labels import header, wrapped
from flashgc.plot.look import COLOURS, drawing, new_figure
from flashgc.plot.scales import ticks
from flashgc.plot.series import literal
from flashgc.studies.tuning.outcome import Tuned


def tune(tuned: Tuned, *, title: str | None = None) -> Figure:
    """Draws the ranking of :func:`flashgc.tune`: a row for each configuration.

    A point is the figure on what was tuned, with the 95% interval of its difference to the best.
    Hollow points cannot be told apart from the best. A square is the figure on what was held back.
    The default ``title`` is the workload; an empty text means no title.

    Raises :class:`flashgc.ConfigError` where nothing was measured.

    >>> import flashgc
    >>> tuned = flashgc.tune("uniform", blocks=100, pages_per_block=16, writes="4x", runs=2,
    ...                      budget=2, victim=["greedy:ties=latest", "fifo"], placement="none",
    ...                      frontier="single")
    >>> [tick.get_text() for tick in tune(tuned).axes[0].get_yticklabels()]
    ['greedy, single', 'fifo, single']
    """
    entries = tuned.ranking
    if not entries:
        raise ConfigError("tuned: nothing was measured, expected a figure; hint: a longer search")
    unit = tuned.of.unit
    with drawing() as style:
        medium, width = style.medium, style.size[0]
        rows = [literal(wrapped(entry.name, 0.4 * width, medium.small)) for entry in entries]
        lines = max(row.count("\n") for row in rows) + 1
        height = (1.1 + 0.9 * lines) * medium.text / 72
        figure = new_figure(width, height * (len(rows) + 0.4) + 6 * medium.text / 72)
        axes = figure.subplots()
        for at, entry in enumerate(entries):
            hollow = entry.inside_noise and entry.place != 1
            half = entry.difference_ci95
            axes.errorbar(
                entry.figure / unit,
                at,
                xerr=None if not half else half / unit,
                fmt="o",
                color=COLOURS[0],
                markerfacecolor="white" if hollow else COLOURS[0],
                elinewidth=medium.line,
                capsize=0.6 * medium.marker,
            )
            if entry.held_back is not None:
                axes.plot(entry.held_back / unit, at, "s", color=COLOURS[1], fillstyle="none")
        axes.set_yticks(range(len(rows)), rows)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.xaxis.set_major_locator(ticks(width))
        axes.margins(x=0.05)
        axes.set_xlabel(tuned.of.label)
        handles = [
            Line2D([], [], marker="o", linestyle="", color=COLOURS[0], label="tuned"),
            Line2D([], [], marker="s", linestyle="", color=COLOURS[1], fillstyle="none",
                   label="held back"),
        ]  # fmt: skip
        used = literal(tuned.workload) if title is None else title or None
        header(figure, style, used, [handles] if any(entry.held_back for entry in entries) else [])
    return figure
