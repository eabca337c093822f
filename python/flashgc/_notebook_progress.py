"""Progress in notebooks: a bar below the cell, for work of over a second."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Any

from flashgc._core import Control
from flashgc.foreign import for_html
from flashgc.units import format_count, format_duration

#: Seconds before the bar is shown, and between two updates.
PATIENCE, PAUSE = 1.0, 0.2


def display() -> Any:
    """Return IPython's function ``display``; ``None`` outside of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display as shown

    return shown


class Bar:
    """A bar that appears if the work takes long, and disappears when it is done."""

    def __init__(self, shows: Any) -> None:
        self._shows = shows
        self._begin = self._last = time.monotonic()
        self._handle: Any = None
        self._share, self._told = 0.0, ""

    def show(self, share: float, what: str, done: int, unit: str = "") -> None:
        """Show the ``share`` of the work that is done, and the number ``done`` of ``unit``."""
        now = time.monotonic()
        if now - self._begin < PATIENCE or now - self._last < PAUSE:
            return
        self._last, self._share = now, min(share, 1.0)
        self._told = f"{what}, {self._share:.0%}"
        if done and unit:
            self._told += f", {format_count(done)} {unit}"
        if self._share > 0:
            left = (now - self._begin) * (1 / self._share - 1)
            self._told += f", {format_duration(round(left))} left"
        if self._handle is None:
            self._handle = self._shows(self, display_id=True)
        else:
            self._handle.update(self)

    def close(self) -> None:
        """Remove the bar."""
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)

    def __repr__(self) -> str:
        return self._told

    def _repr_html_(self) -> str:
        return f'<progress max="1" value="{self._share:.4f}"></progress> {for_html(self._told)}'


@contextlib.contextmanager
def shown(progress: Any) -> Iterator[Any]:
    """Yield ``progress`` if given; else, in a notebook, a bar's ``show``; else ``None``."""
    shows = display() if progress is None else None
    if shows is None:
        yield progress
        return
    bar = Bar(shows)
    try:
        yield bar.show
    finally:
        bar.close()


@contextlib.contextmanager
def of_runs(progress: Any, runs: int) -> Iterator[Any]:
    """Yield a function that shows the engine's progress from a :class:`flashgc.Control`."""
    with shown(progress) as show:
        if show is progress:
            yield progress
            return

        def look(control: Control) -> None:
            reading = control.done == 0 and control.total_bytes and not control.programs
            if reading:
                show(control.read_bytes / control.total_bytes, "reading the trace", 0)
            else:
                show(control.done / max(runs, 1), "simulating", control.programs, "programs")

        yield look
