"""The progress of long work: it is shown, and a request to stop ends the work."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

from flashgc._core import Control
from flashgc.progress import Show


class Pace:
    """Shows the progress of work, and knows if somebody wants it to stop."""

    def __init__(self, show: Show, control: Control) -> None:
        self._show, self.control = show, control
        self._what, self._unit, self._total, self._done = "", "", 1, 0

    def begin(self, what: str, unit: str, total: int) -> None:
        """Begin work of ``total`` parts."""
        self._what, self._unit, self._total, self._done = what, unit, max(total, 1), 0
        self.look()

    def step(self, done: int = 1) -> None:
        """Note that ``done`` more parts are done."""
        self._done += done
        self.look()

    def at(self, done: int) -> None:
        """Note that ``done`` parts are done in all."""
        self._done = done
        self.look()

    def look(self) -> None:
        """Show the progress."""
        self._show(self._done / self._total, self._what, self._done, self._unit)

    @property
    def is_over(self) -> bool:
        """True if somebody wants the work to stop."""
        return self.control.cancelled

    def wait(self, seconds: float) -> bool:
        """Wait; each second counts as a part. Return false if somebody wants the work to stop."""
        until = time.monotonic() + seconds
        shown = 0.0
        while (left := until - time.monotonic()) > 0 and not self.is_over:
            time.sleep(min(left, 0.1))
            if seconds - left - shown >= 1:
                shown += 1
                self.step()
        return not self.is_over


@contextlib.contextmanager
def terminating() -> Iterator[None]:
    """Let SIGTERM end work as Ctrl-C does, by ``KeyboardInterrupt``."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
