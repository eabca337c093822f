"""The colour, dash and marker of each series."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.typing import LineStyleType

from flashgc.plot.look import DASHES, Look, looks
from flashgc.plot.series import Series


@dataclass(frozen=True)
class Appearance:
    """The look of the series of one picture.

    A group has a colour, a dash and a marker. Where several groups have lines of the same labels,
    such as one for each memory in each size of blocks, the dash is the label's and the lines carry
    the group's markers.
    """

    groups: Mapping[str, Look]
    #: Dashes by label, where they are the labels'.
    dashes: Mapping[str, LineStyleType]
    #: True if a label gives only the kind of a series (line, marker), and its group the content.
    by_group: bool

    @classmethod
    def of(cls, series: Sequence[Series]) -> Appearance:
        """The looks of all series of a picture."""
        owners: dict[str, set[str]] = {}
        for one in series:
            if one.group is not None:
                owners.setdefault(one.label, set()).add(one.group)
        by_group = any(len(groups) > 1 for groups in owners.values())
        lines = dict.fromkeys(
            one.label for one in series if one.group is not None and one.kind != "points"
        )
        labelled = by_group and len(lines) > 1
        return cls(
            looks(one.shown for one in series),
            dict(zip(lines, itertools.cycle(DASHES), strict=False)) if labelled else {},
            by_group,
        )

    def look(self, series: Series) -> Look:
        """The look of one series."""
        look = self.groups[series.shown]
        if series.group is None or series.label not in self.dashes:
            return look
        return dataclasses.replace(look, dash=self.dashes[series.label])
