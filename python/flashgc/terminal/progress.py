"""The progress bar: on standard error, only on a terminal, and only for work of over a second."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING

from flashgc.foreign import for_terminal
from flashgc.progress import Show
from flashgc.terminal.render import is_screen
from flashgc.units import format_count, format_rate

if TYPE_CHECKING:
    from rich.progress import TaskID

    from flashgc._core import Control
    from flashgc.terminal.captioned import CaptionedBar

#: Seconds before the bar is shown.
PATIENCE = 1.0


class Bar:
    """A progress bar that appears if the work takes long; a call updates it.

    ``runs`` is the number of runs that the engine's :class:`Control` will count. ``unit`` names the
    things whose rate is shown.
    """

    def __init__(self, runs: int = 1, *, quiet: bool, unit: str = "programs") -> None:
        self._runs, self._unit = runs, unit
        self._begin = time.monotonic()
        self._programs = (self._begin, 0)
        self._quiet = quiet or not is_screen(sys.stderr)
        self._progress: CaptionedBar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def expect(self, runs: int) -> None:
        """Set the number of runs that are left, since some results were found."""
        self._runs = runs

    def __call__(self, control: Control) -> None:
        """Show the progress in ``control``."""
        if control.accesses:
            self.show(None, f"recording, {format_count(control.accesses)} accesses", 0)
            return
        reading = control.done == 0 and control.total_bytes and not control.programs
        if reading:
            self.show(control.read_bytes / control.total_bytes, "reading the trace", 0)
        else:
            self._say_worst(control.worst)
            self.show(control.done / max(self._runs, 1), "simulating", control.programs)

    def _say_worst(self, worst: str | None) -> None:
        """Show below the bar what delayed the slowest request so far."""
        if worst is None or self._progress is None:
            return
        import json

        from flashgc._documents import read
        from flashgc.results import Worst

        first, second = read(Worst, json.loads(worst)).story
        self._progress.below = f"worst: {first}\n  {second}"

    def show(self, share: float | None, what: str, programs: int, unit: str = "") -> None:
        """Shows that ``share`` of the work is done, by ``programs`` page programs so far.

        The count ``programs`` may have another ``unit``.

        A ``share`` of ``None`` means unknown.
        """
        now = time.monotonic()
        if self._quiet or now - self._begin < PATIENCE:
            return
        if self._progress is None:
            self._progress = _bar()
            self._task = self._progress.add_task("", total=None if share is None else 1.0, rate="")
            self._progress.start()
        assert self._task is not None  # It is made together with the bar.
        began, before = self._programs
        rate = (programs - before) / max(now - began, 1e-9)
        self._progress.update(
            self._task,
            completed=min(share or 0.0, 1.0),
            description=for_terminal(what),
            rate=format_rate(rate, unit or self._unit) if rate > 0 else "",
        )


def _bar() -> CaptionedBar:
    from rich.progress import (
        BarColumn,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    from flashgc.terminal.captioned import CaptionedBar
    from flashgc.terminal.screen import Screen

    return CaptionedBar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TaskProgressColumn(),
        TextColumn("[dim]{task.fields[rate]}"),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        console=Screen(sys.stderr),
        transient=True,
    )


class Bars:
    """A progress bar for each part of the work, one part after the other."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._what = ""
        self._bar = contextlib.ExitStack()
        self._show: Show = lambda *_: None

    def show(self, share: float, what: str, done: int, unit: str) -> None:
        """Show how much of ``what`` is done, with the rate and the remaining time."""
        if what != self._what:
            self._bar.close()
            self._what = what
            self._show = self._bar.enter_context(Bar(quiet=self._quiet)).show
        self._show(share, what, done, unit)

    def close(self) -> None:
        """Remove the bar."""
        self._bar.close()
        self._what = ""

    def __enter__(self) -> Bars:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()
