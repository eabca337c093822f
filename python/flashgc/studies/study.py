"""A study: many simulations that are counted, shown and stopped in one way."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from flashgc import _engine
from flashgc._core import Control
from flashgc.pace import Show

#: Called with the share that is done, what is being done, and how many are.
Progress = Callable[[float, str, int], None]


class Study:
    """What has been found, run and stopped so far."""

    def __init__(self, show: Show | None, control: Control | None) -> None:
        self._show = show
        #: With which others stop the work.
        self.control = control or Control()
        #: Simulations that were run, and those that earlier work had kept.
        self.ran = self.found = 0
        #: Cost that is done, and that is expected in all.
        self.done, self.total = 0.0, 1.0
        #: Whether Ctrl-C, or whoever has the control, stopped the work.
        self.interrupted = False

    def show(self, share: float, what: str, number: int, unit: str) -> None:
        """Shows that ``share`` is done: so many of a unit."""
        if self._show is not None:
            self._show(min(share, 1.0), what, number, unit)

    @contextlib.contextmanager
    def stoppable(self) -> Iterator[None]:
        """Turns Ctrl-C and the signal to terminate into a request to stop."""
        with _engine.interruptible(self.control), _engine.terminable(self.control):
            yield

    @contextlib.contextmanager
    def ending(self) -> Iterator[None]:
        """Takes Ctrl-C between two calls of the engine for the end; what there is stays."""
        try:
            yield
        except KeyboardInterrupt:
            self.interrupted = True


def without_unit(progress: Progress | None) -> Show | None:
    """What shows progress by a function that takes no unit."""
    if progress is None:
        return None
    return lambda share, what, number, _unit: progress(share, what, number)
