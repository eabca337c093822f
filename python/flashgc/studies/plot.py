"""Pictures of the outcomes of studies, in the style of :mod:`flashgc.plot`.

``from flashgc.studies import plot`` imports them.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from flashgc._core import ConfigError
from flashgc.plot.curves import Panel, panels
from flashgc.plot.labels import header, wrapped
from flashgc.plot.look import COLOURS, SOFT_INK, Style, drawing, new_figure
from flashgc.plot.scales import ticks
from flashgc.plot.series import Series, literal
from flashgc.studies.gaps.outcome import CLAIRVOYANCE, MODEL, ONLINE, PREDICTOR, Gap
from flashgc.studies.identifying.outcome import Identification, Identified
from flashgc.studies.tuning.outcome import Tuned
from flashgc.units import format_share

__all__ = ["gap", "identified", "tune"]

#: The marker of each kind of row, and its name.
_KINDS = {
    ONLINE: ("o", "online"),
    MODEL: ("D", "model"),
    PREDICTOR: ("s", "predictor"),
    CLAIRVOYANCE: ("^", "knows all"),
}


def _rows(style: Style, names: Sequence[str], label: str) -> tuple[Figure, Axes]:
    """A figure with an empty row for each name, the first at the top."""
    medium, width = style.medium, style.size[0]
    texts = [literal(wrapped(name, 0.4 * width, medium.small)) for name in names]
    lines = max(text.count("\n") for text in texts) + 1
    height = (1.1 + 0.9 * lines) * medium.text / 72
    figure = new_figure(width, height * (len(texts) + 0.4) + 6 * medium.text / 72)
    axes = figure.subplots()
    axes.set_yticks(range(len(texts)), texts)
    axes.set_ylim(len(texts) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(ticks(width))
    axes.margins(x=0.05)
    axes.set_xlabel(label)
    return figure, axes


def gap(outcome: Gap, *, title: str | None = None) -> Figure:
    """Draw the rows of :func:`flashgc.gap`, from online schemes to clairvoyance.

    A point is a write amplification with its 95% interval. The dashed line is the best online
    scheme, and the solid line the lower bound. The default ``title`` is the workload; an empty one
    means none.

    Raises :class:`flashgc.ConfigError` if nothing was measured.

    >>> import flashgc
    >>> outcome = flashgc.gap("uniform", blocks=200, pages_per_block=16, spare=0.2, writes="2x",
    ...                     runs=2, schemes=["fifo"], sigma=[1])
    >>> [tick.get_text() for tick in gap(outcome).axes[0].get_yticklabels()][-2:]
    ['predictor, sigma 1', 'clairvoyance']
    """
    rows = [
        row for row in outcome.rows if row.kind in _KINDS and row.write_amplification is not None
    ]
    if not outcome.online:
        raise ConfigError("gap: nothing was measured, expected a figure; hint: run it to its end")
    with drawing() as style:
        figure, axes = _rows(style, [row.name for row in rows], "write amplification")
        colours = dict(zip(_KINDS, COLOURS, strict=False))
        for at, row in enumerate(rows):
            axes.errorbar(
                row.write_amplification or 0.0,
                at,
                xerr=row.write_amplification_ci95,
                fmt=_KINDS[row.kind][0],
                color=colours[row.kind],
                elinewidth=style.medium.line,
                capsize=0.6 * style.medium.marker,
            )
        if outcome.bound is not None:
            axes.axvline(outcome.bound, color=SOFT_INK, linewidth=style.medium.line)
        best = outcome.best.write_amplification or 0.0
        axes.axvline(best, color=SOFT_INK, linewidth=style.medium.line, linestyle="--")
        shown = {row.kind for row in rows}
        handles = [
            Line2D([], [], marker=marker, linestyle="", color=colours[kind], label=label)
            for kind, (marker, label) in _KINDS.items()
            if kind in shown
        ]
        used = literal(outcome.workload) if title is None else title or None
        header(figure, style, used, [handles])
    return figure


def tune(tuned: Tuned, *, title: str | None = None) -> Figure:
    """Draw the ranking of :func:`flashgc.tune`, with a row for each configuration.

    A point is the figure on the workloads used for tuning, with the 95% interval of its difference
    from the best. Hollow points do not differ significantly from the best. A square is the figure
    on the workload that was held back. The default ``title`` is the workload; an empty one means
    none.

    Raises :class:`flashgc.ConfigError` if nothing was measured.

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
        figure, axes = _rows(style, [entry.name for entry in entries], tuned.of.label)
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
                elinewidth=style.medium.line,
                capsize=0.6 * style.medium.marker,
            )
            if entry.held_back is not None:
                axes.plot(entry.held_back / unit, at, "s", color=COLOURS[1], fillstyle="none")
        handles = [
            Line2D([], [], marker="o", linestyle="", color=COLOURS[0], label="tuned"),
            Line2D([], [], marker="s", linestyle="", color=COLOURS[1], fillstyle="none",
                   label="held back"),
        ]  # fmt: skip
        used = literal(tuned.workload) if title is None else title or None
        header(figure, style, used, [handles] if any(entry.held_back for entry in entries) else [])
    return figure


#: The number of explanations that are drawn.
_DRAWN = 3


def identified(identification: Identification, *, title: str | None = None) -> Figure:
    """Draw the measured points of each drive, and the curves of the best three explanations.

    The bars are twice the relative error of a measurement. Workloads are side by side in the order
    of the file. Each drive has a panel.

    Raises :class:`flashgc.ConfigError` if no scheme was simulated.
    """
    parts = [
        _panel(drive, index)
        for drive in identification.drives
        if drive.ranking
        for index in range(len(drive.drives))
    ]
    if not parts:
        raise ConfigError("identification: no scheme was simulated; hint: let it finish")
    figure = panels([panel for panel, _ in parts], x_label="workload", title=title, at_ends=False)
    for axes, (_, names) in zip(figure.axes, parts, strict=True):
        axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
        axes.tick_params(axis="x", labelbottom=True)
    return figure


def _panel(identification: Identified, index: int) -> tuple[Panel, list[str]]:
    drive = identification.drives[index]
    x = list(range(len(drive.points)))
    measured = [point.write_amplification for point in drive.points]
    bars = [2 * point.error * point.write_amplification for point in drive.points]
    series = [Series("measured", x, measured, bars, "points")]
    for ranked in identification.ranking[:_DRAWN]:
        fit = ranked.explanation.fits[index]
        label = ranked.explanation.scheme.name
        if len(identification.drives) == 1:
            label += f", {format_share(fit.spare)} spare"
        series.append(Series(label, x, fit.predicted))
    names = [point.workload.replace("zipf:theta=", "zipf ") for point in drive.points]
    return Panel(series=series, title=drive.name, x_label="workload"), names
