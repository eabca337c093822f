"""What a level of the campaign came to, and how it says how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flashgc._core import Control

#: What shows progress: the share done, what is done, how many, and of what.
Show = Callable[[float, str, int, str], None]


class BrokenPromiseError(Exception):
    """The drive, or what lives on it, is not as it was promised."""


@dataclass
class Broken:
    """A promise that was broken: what a run with this seed meets again, or most likely does."""

    seed: int
    what: str
    script: list[str] = field(default_factory=list)


@dataclass
class Level:
    """What a level came to."""

    name: str
    #: What was done, by its names.
    counts: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    broken: Broken | None = None
    #: Why it was not run, or not to its end.
    skipped: str | None = None
    stopped: bool = False

    def add(self, name: str, count: int = 1) -> None:
        """Counts ``name``."""
        self.counts[name] = self.counts.get(name, 0) + count

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        broken = None if self.broken is None else vars(self.broken)
        return {**vars(self), "broken": broken, "seconds": round(self.seconds, 3)}


class Pace:
    """How far a level is, and whether it should stop."""

    def __init__(self, show: Show, control: Control) -> None:
        self._show, self.control = show, control
        self._what, self._unit, self._total, self._done = "", "", 1, 0

    def begin(self, what: str, unit: str, total: int) -> None:
        """Begins work of ``total`` parts."""
        self._what, self._unit, self._total, self._done = what, unit, max(total, 1), 0
        self.look()

    def step(self, done: int = 1) -> None:
        """Notes that a part is done."""
        self._done += done
        self.look()

    def at(self, done: int) -> None:
        """Notes how many parts are done."""
        self._done = done
        self.look()

    def look(self) -> None:
        """Shows how far it is."""
        self._show(self._done / self._total, self._what, self._done, self._unit)

    @property
    def is_over(self) -> bool:
        """Whether somebody wants the end."""
        return self.control.cancelled

    def wait(self, seconds: float) -> bool:
        """Waits, one second a part; whether nobody wanted the end."""
        until = time.monotonic() + seconds
        shown = 0.0
        while (left := until - time.monotonic()) > 0 and not self.is_over:
            time.sleep(min(left, 0.1))
            if seconds - left - shown >= 1:
                shown += 1
                self.step()
        return not self.is_over
