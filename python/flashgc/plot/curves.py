"""A figure against a parameter: lines, points with intervals, reference lines, in panels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NotRequired, TypeAlias, TypedDict

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from flashgc._core import ConfigError, suggest
from flashgc.plot.labels import wrapped
from flashgc.plot.look import SOFT_INK, Look, Medium, Style, drawing, new_figure
from flashgc.plot.names import Appearance, Drawn, name
from flashgc.plot.scales import logarithmic, ticks
from flashgc.plot.series import (
    Numbers,
    Series,
    check_mapping,
    check_text,
    half_widths,
    numbers,
    shortened,
)

#: The maximum difference of the sum of a distribution from 1; shares may have been rounded.
_TOLERANCE = 1e-3
#: Shares below this part of the largest share are invisible in a picture.
_RARE = 1e-3
#: If the visible range has at most this many numbers of pages, a line has a marker at each.
_FEW = 24


def valid_pages(
    distributions: Mapping[str, ArrayLike],
    *,
    x_label: str = "valid pages",
    y_label: str = "share of blocks",
    measured: Mapping[str, tuple[ArrayLike, ArrayLike | None]] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the distribution of a number of pages from 0 to b, such as the live pages of a block.

    Each of ``distributions``, by label, has b + 1 shares that sum to 1; the i-th share is for i
    pages. Each of ``measured`` has such shares, and half the widths of their 95% intervals or
    ``None``. It has the colour of the distribution with the same label. Rare numbers of pages at
    both ends are omitted.

    Raises :class:`flashgc.ConfigError` if there is no distribution, or one is invalid.

    >>> figure = valid_pages({"FIFO": [0.1, 0.2, 0.7], "greedy": [0, 0.2, 0.8]})
    >>> figure.axes[0].get_ylabel()
    'share of blocks'
    """
    measured = {} if measured is None else measured
    check_mapping(distributions, "distributions", '{"greedy": shares}')
    check_mapping(measured, "measured", '{"greedy": (shares, half_widths)}')
    if not distributions and not measured:
        raise ConfigError("distributions: found none, expected at least one; hint: give one")
    lines = {label: _shares(shares, label) for label, shares in distributions.items()}
    points = {label: _shares(shares, label) for label, (shares, _) in measured.items()}
    both = [*lines.items(), *points.items()]
    first, reference = both[0]
    for label, shares in both:
        if len(shares) != len(reference):
            raise ConfigError(
                f"distribution '{label}': found {len(shares)} shares, expected {len(reference)} as "
                f"in '{first}'; hint: use the same pages per block"
            )
    largest = max(shares.max() for _, shares in both)
    several = len({label for label, _ in both}) > 1
    many = len(_seen([shares for _, shares in both], largest)) > _FEW
    kind: Literal["line", "both"] = "line" if points or many else "both"
    series = []
    for label, shares in lines.items():
        at = _seen([shares], largest)
        name = _name(label, "model", several) if points else label
        series.append(Series(name, at, shares[at], kind=kind, group=label))
    for label, shares in points.items():
        at = _seen([shares, lines.get(label, shares)], largest)
        error = measured[label][1]
        if error is not None:
            error = half_widths(error, len(shares), f"distribution '{label}'")[at]
        name = _name(label, "simulation", several)
        series.append(Series(name, at, shares[at], error, kind="points", group=label))
    panel = Panel(series=series)
    return panels([panel], x_label=x_label, y_label=y_label, title=title, at_ends=False)


def _name(label: str, kind: str, several: bool) -> str:
    return kind if several else f"{label}, {kind}"


def _seen(distributions: Sequence[Numbers], largest: float) -> NDArray[np.intp]:
    """The range of numbers of pages that are visible, and one more at both ends."""
    seen = np.max(distributions, axis=0) > _RARE * largest
    (where,) = np.nonzero(seen)
    return np.arange(max(where[0] - 1, 0), min(where[-1] + 1, len(seen) - 1) + 1)


def _shares(values: ArrayLike, label: str) -> Numbers:
    check_text(label, "label of a distribution")
    what = f"distribution '{label}'"
    shares = numbers(values, what)
    wrong = ~((shares >= 0) & (shares <= 1))
    if wrong.any():
        place = wrong.argmax()
        raise ConfigError(
            f"{what}: found {shares[place]:g} at [{place}], expected a share from 0 to 1; hint: "
            "divide by the number of blocks"
        )
    if abs(shares.sum() - 1) > _TOLERANCE:
        raise ConfigError(
            f"{what}: found shares that sum to {shares.sum():g}, expected 1; hint: divide by their "
            "sum"
        )
    return shares


class Panel(TypedDict):
    """A panel of :func:`panels`: the arguments of :func:`against` that may differ by panel."""

    series: Sequence[Series]
    title: NotRequired[str]
    x_label: NotRequired[str]
    y_label: NotRequired[str]
    x_log: NotRequired[bool]
    reference_lines: NotRequired[Mapping[str, float]]


#: A line with more points than this has markers on only some of them.
_SPARSE = 12

#: A panel as a mapping, or a function that draws a panel on given axes.
AnyPanel: TypeAlias = Panel | Callable[[Axes], None]


def against(
    series: Sequence[Series],
    *,
    x_label: str,
    y_label: str = "write amplification",
    title: str | None = None,
    x_log: bool = False,
    reference_lines: Mapping[str, float] | None = None,
) -> Figure:
    """Draw series against a parameter: a model as lines, a simulation as points with intervals.

    Each of ``reference_lines``, by label, is a horizontal line with the label at its end. Up to
    four lines are named at their ends, more lines in a legend above the axes. If several groups
    have series with the same label, such as ``"model"``, the legend also explains the labels.

    Raises :class:`flashgc.ConfigError` if there is nothing to draw.

    >>> model = Series("model", [0.05, 0.1, 0.2], [9.2, 4.9, 2.7], group="d = 10")
    >>> measured = Series("simulation", [0.1], [4.91], [0.01], kind="points", group="d = 10")
    >>> figure = against([model, measured], x_label="spare factor $S_f$")
    >>> figure.axes[0].get_ylabel()
    'write amplification'
    """
    panel = Panel(series=series, reference_lines=reference_lines or {})
    return panels([panel], x_label=x_label, y_label=y_label, title=title, x_log=x_log)


def panels(
    parts: Iterable[AnyPanel],
    *,
    x_label: str,
    y_label: str = "write amplification",
    title: str | None = None,
    x_log: bool = False,
    stacked: bool = True,
    same_y: bool = False,
    heights: Sequence[float] | None = None,
    at_ends: bool = True,
) -> Figure:
    """Draw several panels, stacked or side by side, in which a group has the same look everywhere.

    A panel is a mapping (:class:`Panel`), or a function that draws on the axes that it gets. A
    panel without labels has those of the whole picture. Stacked panels without own labels share the
    horizontal axis; with ``same_y`` all share the vertical one. ``heights`` are relative heights of
    stacked panels. If stacked panels have few lines, these are named at their ends, unless
    ``at_ends`` is false.

    Raises :class:`flashgc.ConfigError` if there is nothing to draw.

    >>> top = Panel(series=[Series("c = 1", [0.1, 0.2], [1.2, 1.1])], title="c + d = 10")
    >>> bottom = Panel(series=[Series("c = 1", [0.1, 0.2], [1.6, 1.4])], title="c + d = 20")
    >>> figure = panels([top, bottom], x_label="spare factor", y_label="gain (%)")
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['c + d = 10', 'c + d = 20']
    """
    given = list(parts) if isinstance(parts, Iterable) else []
    if not given:
        raise ConfigError("panels: found none, expected at least one; hint: give some series")
    check_text(x_label, "x_label")
    check_text(y_label, "y_label")
    if title is not None:
        check_text(title, "title")
    if heights is not None and not (stacked and len(heights) == len(given) and min(heights) > 0):
        raise ConfigError(
            f"heights: found {shortened(heights)}, expected one above 0 for each of {len(given)} "
            "stacked panels; hint: leave them out"
        )
    resolved = [
        part if callable(part) else _resolved(part, x_label, y_label, x_log) for part in given
    ]
    described = [part for part in resolved if isinstance(part, _Resolved)]
    own_x = any(not callable(part) and "x_label" in part for part in given)
    with drawing() as style:
        width, height = style.size
        rows, columns = (len(given), 1) if stacked else (1, len(given))
        figure = new_figure(width, height * (1 + 0.75 * (rows - 1)))
        subplots = figure.subplots(
            rows,
            columns,
            sharex=stacked and not own_x,
            sharey=same_y,
            squeeze=False,
            height_ratios=heights,
        )
        grid = list(subplots.flat)
        appearance = Appearance.of([curve for part in described for curve in part.series])
        for index, (part, axes) in enumerate(zip(resolved, grid, strict=True)):
            if stacked and not own_x and index < rows - 1:
                bottom = ""
            else:
                bottom = part.x_label if isinstance(part, _Resolved) else x_label
            axes.set_xlabel(wrapped(bottom, 0.8 * width / columns, style.medium.text))
            left = part.y_label if isinstance(part, _Resolved) else y_label
            if stacked or index == 0 or left != y_label:
                # Title, ticks and the lower label take the rest of a panel.
                share = rows * heights[index] / sum(heights) if heights else 1
                room = (0.6 if rows > 1 else 0.75) * share * height
                axes.set_ylabel(wrapped(left, room, style.medium.text))
            _ticks(axes, style, columns)
            if isinstance(part, _Resolved):
                _fill(axes, style, part, appearance)
            else:
                part(axes)
        drawn = [
            Drawn(axes, part.series, part.reference_lines)
            for part, axes in zip(resolved, grid, strict=True)
            if isinstance(part, _Resolved)
        ]
        name(figure, style, title, drawn, appearance, at_ends=stacked and at_ends)
    return figure


@dataclass(frozen=True)
class _Resolved:
    """A checked panel; arguments that it does not give are those of the whole picture."""

    series: tuple[Series, ...]
    title: str
    x_label: str
    y_label: str
    x_log: bool
    reference_lines: Mapping[str, float]


def _resolved(part: Panel, x_label: str, y_label: str, x_log: bool) -> _Resolved:
    check_mapping(part, "panel", "Panel(series=[...])")
    for key in part:
        if key not in Panel.__annotations__:
            hint = suggest(str(key), list(Panel.__annotations__))
            raise ConfigError(f"panel: unknown key '{key}'; hint: {hint}")
    given: object = part.get("series", ())
    series = tuple(given) if isinstance(given, Iterable) else (given,)
    if not series:
        raise ConfigError("series: found none, expected at least one; hint: Series(label, x, y)")
    for curve in series:
        if not isinstance(curve, Series):
            raise ConfigError(
                f"series: found {shortened(curve)}, expected a Series; hint: Series(label, x, y)"
            )
    lines = part.get("reference_lines", {})
    check_mapping(lines, "reference_lines", '{"greedy": 4.82}')
    for label, y in lines.items():
        check_text(label, "label of a reference line")
        if np.isnan(numbers([y], f"reference line '{label}'")).any():
            raise ConfigError(
                f"reference line '{label}': found nan, expected a number; hint: leave it out"
            )
    for key, value in part.items():
        if key.endswith(("title", "label")):
            check_text(value, f"{key} of a panel")
    logarithmic = part.get("x_log", x_log)
    least = min(float(curve.points[0].min()) for curve in series)
    if logarithmic and least <= 0:
        raise ConfigError(f"x_log: found x = {least:g}, expected x above 0; hint: leave x_log out")
    return _Resolved(
        series,
        part.get("title", ""),
        part.get("x_label", x_label),
        part.get("y_label", y_label),
        logarithmic,
        lines,
    )


def _fill(axes: Axes, style: Style, part: _Resolved, appearance: Appearance) -> None:
    if part.x_log:
        x = np.concatenate([curve.points[0] for curve in part.series])
        logarithmic(axes, "x", float(x.min()), float(x.max()))
    for y in part.reference_lines.values():
        axes.axhline(y, color=SOFT_INK, linewidth=0.9, dashes=(4, 2), zorder=1.5)
    for curve in part.series:
        marked = curve.kind == "line" and curve.label in appearance.dashes
        draw(axes, curve, appearance.look(curve), style.medium, marked=marked)
    axes.set_title(part.title)


def _ticks(axes: Axes, style: Style, columns: int) -> None:
    """Limit the number of ticks to the space available."""
    width, height = (72 * inches / style.medium.small for inches in style.size)
    axes.xaxis.set_major_locator(ticks(np.clip(width / columns / 5, 3, 8)))
    axes.yaxis.set_major_locator(ticks(np.clip(height / 3.5, 3, 6)))


def draw(axes: Axes, series: Series, look: Look, medium: Medium, *, marked: bool) -> None:
    """Draw one series on ``axes``; with ``marked``, a line has markers at some points."""
    (x, y), error = series.points, series.half_widths
    if series.kind != "points":
        axes.plot(
            x,
            y,
            color=look.colour,
            linestyle=look.dash,
            marker=look.marker if marked else "none",
            markersize=0.8 * medium.marker,
            markevery=1 if len(x) < _SPARSE else (0.02, 0.12),
        )
    if series.kind == "line" and error is not None:
        low, high = y - error, y + error
        axes.fill_between(x, low, high, color=look.colour, alpha=0.2, linewidth=0)
    if series.kind != "line":
        thin = 0.7 * medium.line
        axes.errorbar(
            x,
            y,
            error,
            fmt=look.marker,
            color=look.colour,
            markerfacecolor="white" if series.kind == "points" else look.colour,
            markeredgewidth=thin,
            elinewidth=thin,
            capthick=thin,
            capsize=0.5 * medium.marker,
            zorder=3,
        )
