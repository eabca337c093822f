"""Names of curves: at the ends of the lines, or, for many lines, in a legend above the axes."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.typing import LineStyleType

from flashgc.plot.labels import (
    EndLabel,
    Handle,
    at_the_right,
    displacements,
    figure_of,
    header,
    text_width,
    wrapped,
)
from flashgc.plot.look import DASHES, SOFT_INK, Look, Style, looks
from flashgc.plot.series import Series


@dataclass(frozen=True)
class Appearance:
    """The looks of the series of one picture.

    A group has a colour, a dash and a marker. If several groups have lines with the same labels,
    the dash stands for the label, and the group's markers are on the lines.
    """

    groups: Mapping[str, Look]
    #: Dashes by label, if dashes stand for labels.
    dashes: Mapping[str, LineStyleType]
    #: True if labels only give the kind of a series (model, simulation), and groups tell apart the
    #: series of one kind.
    by_group: bool

    @classmethod
    def of(cls, series: Sequence[Series]) -> Appearance:
        """The looks of all series of a picture."""
        owners: dict[str, set[str]] = {}
        for curve in series:
            if curve.group is not None:
                owners.setdefault(curve.label, set()).add(curve.group)
        by_group = any(len(groups) > 1 for groups in owners.values())
        lines = dict.fromkeys(
            curve.label for curve in series if curve.group is not None and curve.kind != "points"
        )
        labelled = by_group and len(lines) > 1
        return cls(
            looks(curve.shown for curve in series),
            dict(zip(lines, itertools.cycle(DASHES), strict=False)) if labelled else {},
            by_group,
        )

    def look(self, series: Series) -> Look:
        """The look of one series."""
        look = self.groups[series.shown]
        if series.group is None or series.label not in self.dashes:
            return look
        return dataclasses.replace(look, dash=self.dashes[series.label])


#: The maximum number of lines of a panel that are named at their ends.
DIRECT = 4
#: The largest share of a picture's width for names at the ends.
_SHARE = 0.3


@dataclass(frozen=True)
class Drawn:
    """A panel with what was drawn in it."""

    axes: Axes
    series: Sequence[Series]
    reference_lines: Mapping[str, float]

    def ends(self) -> dict[str, float] | None:
        """The y value at the end of each group's line; ``None`` if a line ends before the right."""
        scale = self.axes.transData.transform
        x = np.concatenate([curve.points[0] for curve in self.series])
        left, right = (float(scale((at, 1))[0]) for at in (x.min(), x.max()))
        values: dict[str, float] = {}
        for curve in self.series:
            if curve.kind == "points":
                continue
            known = ~np.isnan(curve.points[1])
            x, y = curve.points[0][known], curve.points[1][known]
            last = x.argmax()
            reached = float(scale((x[last], 1))[0]) >= right - 0.02 * (right - left)
            if curve.shown in values or not reached:
                return None
            values[curve.shown] = float(y[last])
        return values if values.keys() == {curve.shown for curve in self.series} else None


def name(
    figure: Figure,
    style: Style,
    title: str | None,
    drawn: Sequence[Drawn],
    appearance: Appearance,
    *,
    at_ends: bool,
) -> None:
    """Draw title, legend, and labels at the ends of lines if ``at_ends`` permits them."""
    series = [curve for panel in drawn for curve in panel.series]
    is_grouped = appearance.by_group or len({curve.label for curve in series}) == len(
        appearance.groups
    )
    direct = at_ends and is_grouped and all(_fits(panel, style) for panel in drawn)
    blocks: list[list[Handle]] = []
    if not direct:
        entries = _by_group if appearance.by_group else _by_label
        blocks.append(entries(series, appearance, style))
    if appearance.by_group:
        blocks.append(_kinds(series, appearance, style))
    header(figure, style, title, blocks)
    for panel in drawn:
        labels = [
            EndLabel(wrapped(text, _SHARE * style.size[0], style.medium.small), y, SOFT_INK)
            for text, y in panel.reference_lines.items()
        ]
        if direct:
            colours = {group: look.colour for group, look in appearance.groups.items()}
            ends = panel.ends() or {}
            labels += [EndLabel(group, y, colours[group]) for group, y in ends.items()]
        at_the_right(panel.axes, labels, style.medium.small)


def _fits(panel: Drawn, style: Style) -> bool:
    """True if the lines of a panel can be named at their ends."""
    ends = panel.ends()
    size = style.medium.small
    if ends is None or len(ends) > DIRECT:
        return False
    if max(text_width(group, size) for group in ends) > _SHARE * style.size[0]:
        return False
    figure_of(panel.axes).draw_without_rendering()
    labels = [(y, 1) for y in [*panel.reference_lines.values(), *ends.values()]]
    return max(map(abs, displacements(panel.axes, labels, size))) <= size


def _by_label(series: Sequence[Series], appearance: Appearance, style: Style) -> list[Handle]:
    """One legend entry per series."""
    entries = {(curve.label, curve.shown): curve for curve in series}
    return [_handle(entry, appearance.look(entry), style) for entry in entries.values()]


def _by_group(series: Sequence[Series], appearance: Appearance, style: Style) -> list[Handle]:
    """One legend entry per group, with the line and the marker of its series."""
    handles: list[Handle] = []
    for group, look in appearance.groups.items():
        kinds = {curve.kind for curve in series if curve.shown == group}
        lines = kinds != {"points"}
        points = kinds != {"line"} or bool(appearance.dashes)
        shown = dataclasses.replace(look, dash="solid") if appearance.dashes else look
        handles.append(_sample(group, shown, style, lines, points, filled="points" not in kinds))
    return handles


def _kinds(series: Iterable[Series], appearance: Appearance, style: Style) -> list[Handle]:
    """One grey legend entry for each label within groups."""
    entries = {curve.label: curve for curve in series if curve.group is not None}
    return [
        _handle(entry, Look(SOFT_INK, appearance.dashes.get(label, "solid"), "o"), style)
        for label, entry in entries.items()
    ]


def _handle(series: Series, look: Look, style: Style) -> Handle:
    lines, points = series.kind != "points", series.kind != "line"
    sample = _sample(series.label, look, style, lines, points, filled=lines)
    if series.error is None or not points:
        return sample
    bars = LineCollection([], colors=look.colour, linewidths=sample.get_markeredgewidth())
    return ErrorbarContainer((sample, (), (bars,)), has_yerr=True, label=series.label)


def _sample(
    label: str, look: Look, style: Style, lines: bool, points: bool, *, filled: bool
) -> Line2D:
    return Line2D(
        [],
        [],
        color=look.colour,
        linestyle=look.dash if lines else "none",
        marker=look.marker if points else "none",
        markerfacecolor=look.colour if filled else "white",
        markeredgewidth=0.7 * style.medium.line,
        label=label,
    )
