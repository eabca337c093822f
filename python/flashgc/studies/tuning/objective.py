"""Objectives of tuning: the figure of a simulation, and the values for its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from flashgc.results import Result
from flashgc.results.intervals import mean

#: The number of intervals (blocks of page writes, not of flash) into which a trace's window is
#: divided. The differences of two candidates in them give an interval of the mean difference.
BLOCKS = 10


@dataclass(frozen=True)
class Objective:
    """The figure that a search optimises."""

    #: The name, as typed.
    name: str
    #: The heading of its column.
    heading: str
    #: A phrase for sentences, with the unit and a place for the figure.
    words: str
    #: The label of the axis in a picture.
    label: str
    #: The reason why a figure may be missing, with a hint.
    missing: str
    #: True if more is better.
    is_more: bool = False
    #: The format of the figure.
    format: str = ".4f"
    #: The figure is divided by this number before it is shown.
    unit: float = 1.0

    def text(self, value: float | None, *, sign: bool = False) -> str:
        """The figure as text for people.

        >>> OBJECTIVES["write-amplification"].text(1.25), OBJECTIVES["life"].text(-2, sign=True)
        ('1.2500', '-2.000')
        """
        if value is None or not math.isfinite(value):
            return "-"
        return f"{value / self.unit:{'+' if sign else ''}{self.format}}"

    def in_words(self, value: float | None) -> str:
        """The figure in a phrase for a sentence.

        >>> OBJECTIVES["write-amplification"].in_words(1.25)
        'write amplification 1.2500'
        """
        return self.words.format(self.text(value))

    def better(self, value: float) -> float:
        """The figure with its sign changed if more is better, so that the least is the best."""
        return -value if self.is_more else value

    def figure(self, result: Result) -> float | None:
        """The figure of a result; ``None`` if nothing was measured."""
        if self.name == "life":
            end = str(result.config.length["until"]).replace("-", "_")
            lived = None if result.lifetime is None else result.lifetime.of(end)
            return None if lived is None else lived.drive_writes
        if self.name == "p99.9-read":
            read = None if result.timing is None else result.timing.latency_us.read
            return None if read is None else read.p99_9
        return result.write_amplification if result.measured else None

    def values(self, result: Result, *, blocks: bool) -> list[float]:
        """The means over the intervals of a trace's window; without ``blocks`` an empty list.

        The entries of ``result.series`` have equal numbers of page writes, so that the mean over an
        interval is the mean of its entries.
        """
        if not blocks:
            return []
        begin = result.measured_from + 1e-9
        measured = [value for at, value in result.series if at > begin and math.isfinite(value)]
        count = min(BLOCKS, len(measured))
        edges = [index * len(measured) // count for index in range(count + 1)] if count else []
        return [mean(measured[a:b]) for a, b in pairwise(edges)]


OBJECTIVES: Mapping[str, Objective] = {
    objective.name: objective
    for objective in (
        Objective(
            "write-amplification",
            "write ampl.",
            "write amplification {}",
            "write amplification",
            "no writes; hint: longer runs",
        ),
        Objective(
            "p99.9-read",
            "p99.9 ms",
            "{} ms at the 99.9th percentile of reads",
            "99.9th percentile of reads (ms)",
            "no reads; hint: a workload that reads, such as uniform:read=0.5",
            format=".2f",
            unit=1e3,
        ),
        Objective(
            "life",
            "drive writes",
            "{} drive writes until the failure",
            "drive writes until the failure",
            "no failure; hint: a smaller endurance",
            is_more=True,
            format=".3f",
        ),
    )
}
