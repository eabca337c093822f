"""The span from greedy to 1: a row for each scheme, from the most writes to the least."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from flashgc._core import ConfigError
from flashgc.plot.labels import header, wrapped
from flashgc.plot.look import COLOURS, SOFT_INK, drawing, new_figure
from flashgc.plot.scales import ticks
from flashgc.plot.series import literal
from flashgc.studies.gaps.outcome import CLAIRVOYANCE, MODEL, ONLINE, PREDICTOR, Gap

#: The marker of each kind, and its name.
_KINDS = {
    ONLINE: ("o", "online"),
    MODEL: ("D", "model"),
    PREDICTOR: ("s", "predictor"),
    CLAIRVOYANCE: ("^", "knows all"),
}


def gap(found: Gap, *, title: str | None = None) -> Figure:
    """Draws the rows of :func:`flashgc.gap`, from online schemes to clairvoyance.

    A point is a write amplification with its 95% interval. The dashed line is the best online
    couple, and the solid line the lower bound. The default ``title`` is the workload; an empty text
    means no title.

    Raises :class:`flashgc.ConfigError` where nothing was measured.

    >>> import flashgc
    >>> found = flashgc.gap("uniform", blocks=200, pages_per_block=16, spare=0.2, writes="2x",
    ...                     runs=2, couples=["fifo"], sigma=[1])
    >>> [tick.get_text() for tick in gap(found).axes[0].get_yticklabels()][-2:]
    ['predictor, sigma 1', 'clairvoyance']
    """
    rows = [row for row in found.rows if row.kind in _KINDS and row.write_amplification is not None]
    if not found.online:
        raise ConfigError("gap: nothing was measured, expected a figure; hint: run it to its end")
    with drawing() as style:
        medium, width = style.medium, style.size[0]
        names = [literal(wrapped(row.name, 0.4 * width, medium.small)) for row in rows]
        lines = max(name.count("\n") for name in names) + 1
        height = (1.1 + 0.9 * lines) * medium.text / 72
        figure = new_figure(width, height * (len(rows) + 0.4) + 6 * medium.text / 72)
        axes = figure.subplots()
        colours = dict(zip(_KINDS, COLOURS, strict=False))
        for at, row in enumerate(rows):
            axes.errorbar(
                row.write_amplification or 0.0,
                at,
                xerr=row.write_amplification_ci95,
                fmt=_KINDS[row.kind][0],
                color=colours[row.kind],
                elinewidth=medium.line,
                capsize=0.6 * medium.marker,
            )
        if found.bound is not None:
            axes.axvline(found.bound, color=SOFT_INK, linewidth=medium.line)
        best = found.best.write_amplification or 0.0
        axes.axvline(best, color=SOFT_INK, linewidth=medium.line, linestyle="--")
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.xaxis.set_major_locator(ticks(width))
        axes.margins(x=0.05)
        axes.set_xlabel("write amplification")
        shown = {row.kind for row in rows}
        handles = [
            Line2D([], [], marker=marker, linestyle="", color=colours[kind], label=label)
            for kind, (marker, label) in _KINDS.items()
            if kind in shown
        ]
        used = literal(found.workload) if title is None else title or None
        header(figure, style, used, [handles])
    return figure
