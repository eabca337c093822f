"""The slowest requests of a drive with a clock, and the causes of their delay."""

from __future__ import annotations

import math

from flashgc import results
from flashgc._summaries import Shown, Shows
from flashgc.results.parts import clock
from flashgc.units import format_count, format_size, format_time

#: The parts of a response time: field names, and names for people.
PARTS = (
    ("queue_us", "queue"),
    ("collection_us", "collections"),
    ("bus_us", "bus"),
    ("cell_us", "cells"),
)


#: The maximum number of collections of a die that the engine remembers.
MOST_COLLECTIONS = 16


class Worst(Shows, clock.Worst):
    """The slowest request of its kind, and what held it. Moments are since the start of the run."""

    @property
    def held(self) -> results.WorstCollection | None:
        """The collection that held it for longest."""
        return next(
            (collection for collection in self.collections if collection.number == self.held_by),
            None,
        )

    @property
    def story(self) -> tuple[str, str]:
        """Return a description of the request, as two lines of less than 80 characters.

        The parts are rounded so that they sum to the whole.
        """
        whole, parts, unit = rounded(self)
        first = f"{self.kind} of {format_size(self.bytes)} at {format_time(self.arrived_us)}: "
        first += f"{whole} {unit}; {self._held_where()}"
        sums = (f"{name} {part}" for (_, name), part in zip(PARTS, parts, strict=True))
        second = f"= {' + '.join(sums)} {unit}"
        if self.held is not None:
            second += f"; {format_count(self.held.programmed)} pages copied"
        return first, second

    def _held_where(self) -> str:
        if self.die is None:
            return "no die"
        if self.held_by is not None:
            more = len(self.collections) - 1
            least = "+" if more + 1 == MOST_COLLECTIONS else ""
            others = f" and {more}{least} more" if more else ""
            return f"die {self.die}, collection {self.held_by}{others}"
        return f"die {self.die}" + (", held by another" if self.collection_us else "")

    def _shown(self) -> Shown:
        first, second = self.story
        shares = [(name, f"{format_time(getattr(self, field))}") for field, name in PARTS]
        return Shown(
            f"{first} {second}", [("response time", format_time(self.response_us)), *shares]
        )


def rounded(worst: Worst) -> tuple[str, list[str], str]:
    """The response time, its parts, rounded so that they sum to it, and the unit.

    >>> one = Worst("read", 0, 0, 0, 4096, 0, 30.0, 10.04, 10.04, 9.92, 0.0, 0, None, ())
    >>> rounded(one)
    ('30.0', ['10.1', '10.0', '9.9', '0.0'], 'us')
    >>> one = Worst("read", 9, 0, 0, 4096, 0, 4205.0, 210.0, 3960.0, 10.0, 25.0, 0, 1, ())
    >>> rounded(one)
    ('4.21', ['0.21', '3.96', '0.01', '0.03'], 'ms')
    """
    size, unit = next(
        ((size, unit) for size, unit in ((1e6, "s"), (1e3, "ms")) if worst.response_us >= size),
        (1.0, "us"),
    )
    whole = worst.response_us / size
    digits = 2 if whole < 10 else 1
    step = 10**digits
    exact = [getattr(worst, field) / size * step for field, _ in PARTS]
    parts = [math.floor(part + 1e-9) for part in exact]
    total = math.floor(whole * step + 0.5)
    missing = total - sum(parts)
    # The parts that lose most by rounding down are rounded up.
    order = sorted(range(len(parts)), key=lambda at: parts[at] - exact[at])
    for at in order[:missing]:
        parts[at] += 1
    return f"{total / step:.{digits}f}", [f"{part / step:.{digits}f}" for part in parts], unit
