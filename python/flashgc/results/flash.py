"""The work of the flash: merges of log blocks, and the life of its blocks."""

from __future__ import annotations

from flashgc import results
from flashgc.results.parts import counts, life


class Merges(counts.MergeCounts):
    """Merges of log blocks in the measured parts of all runs."""

    @property
    def total(self) -> int:
        """Merges of every kind."""
        return self.switch + self.partial + self.full + self.dead


class Lifetime(life.Lifetime):
    """The lifetime of drives with an endurance."""

    def of(self, end: str) -> results.Milestone | None:
        """The moment called ``end``: ``first_failure``, ``system_failure``.

        Raises :class:`KeyError` for any other.
        """
        ends = {"first_failure": self.first_failure, "system_failure": self.system_failure}
        return ends[end]
