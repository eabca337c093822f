"""Measured write amplification over skew, and the curves that explain it."""

from __future__ import annotations

from matplotlib.figure import Figure

from flashgc._core import ConfigError
from flashgc.plot.curves import Panel, panels
from flashgc.plot.series import Series
from flashgc.studies.identifying.outcome import Identification, Identified
from flashgc.units import format_share

#: Explanations that are drawn.
_DRAWN = 3


def identified(made: Identification, *, title: str | None = None) -> Figure:
    """Draws the measured points of each drive, and the curves of the best three explanations.

    The bars are twice the relative error of a measurement. Workloads stand side by side in the
    order of the file. Each drive has a panel.

    Raises :class:`flashgc.ConfigError` where no scheme was simulated.
    """
    parts = [
        _panel(drive, index)
        for drive in made.drives
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
