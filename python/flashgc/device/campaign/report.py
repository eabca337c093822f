"""Outcomes of the levels of the campaign."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


class BrokenPromiseError(Exception):
    """The drive, or the software on it, breaks a promise."""


@dataclass
class Broken:
    """A promise that was broken, with the seed of the run that showed it."""

    seed: int
    what: str
    script: list[str] = field(default_factory=list)


@dataclass
class Level:
    """Outcome of one level of the campaign."""

    name: str
    #: Counts of the work, by name.
    counts: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    broken: Broken | None = None
    #: The reason why the level was not run; ``None`` if it was run. ``stopped`` is true if somebody
    #: stopped it.
    skipped: str | None = None
    stopped: bool = False

    def add(self, name: str, count: int = 1) -> None:
        """Add ``count`` to the counter ``name``."""
        self.counts[name] = self.counts.get(name, 0) + count

    def to_dict(self) -> dict[str, Any]:
        """The level as plain values."""
        broken = None if self.broken is None else vars(self.broken)
        return {**vars(self), "broken": broken, "seconds": round(self.seconds, 3)}
