"""Distributions of valid pages: of the model as lines, of a simulation as points with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from flashgc._core import ConfigError
from flashgc.plot.curves import Panel, panels
from flashgc.plot.series import Numbers, Series, check_mapping, check_text, half_widths, numbers

#: By how much the shares of a distribution may miss 1: what rounding to three digits does.
_TOLERANCE = 1e-3
#: Shares below this part of the largest one cannot be seen in a picture.
_RARE = 1e-3
#: Distributions over so few numbers of pages get a marker on each.
_FEW = 24


def valid_pages(
    distributions: Mapping[str, ArrayLike],
    *,
    x_label: str = "valid pages",
    y_label: str = "share of blocks",
    measured: Mapping[str, tuple[ArrayLike, ArrayLike | None]] | None = None,
    title: str | None = None,
) -> Figure:
    """Draws the distribution of a number of pages from 0 to b, such as the valid pages of a block.

    Each of ``distributions``, by its label, has b + 1 shares that sum to 1, the i-th the share of
    what has i pages. Each of ``measured`` has such shares and half the widths of their 95%
    intervals, or ``None``; it has the colour of the distribution of the same label. Numbers of
    pages that hardly occur, at either end, are left out.

    Raises :class:`flashgc.ConfigError` where there is no distribution, or something is none.

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
        named = _name(label, "model", several) if points else label
        series.append(Series(named, at, shares[at], kind=kind, group=label))
    for label, shares in points.items():
        at = _seen([shares, lines.get(label, shares)], largest)
        error = measured[label][1]
        if error is not None:
            error = half_widths(error, len(shares), f"distribution '{label}'")[at]
        named = _name(label, "simulation", several)
        series.append(Series(named, at, shares[at], error, kind="points", group=label))
    panel = Panel(series=series)
    return panels([panel], x_label=x_label, y_label=y_label, title=title, at_ends=False)


def _name(label: str, kind: str, several: bool) -> str:
    return kind if several else f"{label}, {kind}"


def _seen(distributions: Sequence[Numbers], largest: float) -> NDArray[np.intp]:
    """The numbers of pages that are not too rare to be seen, and one more at either end."""
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
