"""The pace of long work: it says how far it is, and hears that somebody wants its end."""

from __future__ import annotations

import time
from collections.abc import Callable

from flashgc._core import Control

#: A function that shows progress: the share done, what is done, how many, and of what.
Show = Callable[[float, str, int, str], None]


class Pace:
    """The progress of work, and the wish that it stop."""

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
        """True if somebody wants the end."""
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
