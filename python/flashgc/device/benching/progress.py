"""Progress of a bench: a bar on a terminal, and a line for each run elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Self

from flashgc.device._closing import Worker
from flashgc.device.benching.cells import Run
from flashgc.device.benching.outcome import COMPARED, FIGURES, Mean, in_words, one_of
from flashgc.terminal.progress import Bar
from flashgc.terminal.render import is_screen
from flashgc.units import format_duration

#: Seconds between two updates of the bar, which also moves during a run.
LOOK = 0.5


class Countdown(Worker):
    """Shows how many runs are done, and how long the rest will take."""

    def __init__(self, runs: int, unit: str, *, quiet: bool) -> None:
        super().__init__()
        self._runs, self._unit, self._quiet = runs, unit, quiet
        self._bar = Bar(quiet=quiet)
        self._is_screen = is_screen(sys.stderr)
        self._seconds = 0.0
        self._share, self._what = 0.0, ""

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return super().__enter__()

    def close(self) -> None:
        """Takes the bar away."""
        self._bar.__exit__()

    def _work(self) -> None:
        while not self._over.wait(LOOK):
            self._bar.show(self._share, self._what, 0)

    def begins(self, at: int, run: Run) -> None:
        """Show which run begins; ``at`` is its number, from 0."""
        self._share = at / self._runs
        self._what = f"run {at + 1} of {self._runs}: {run.cell.name}"

    def ended(self, at: int, run: Run, document: Mapping[str, Any], seconds: float) -> None:
        """Show the result of a run, and how long the rest will take."""
        self._seconds += seconds
        done = at + 1
        self._share = done / self._runs
        if self._quiet or self._is_screen:
            return
        value = FIGURES[COMPARED].of(document)
        text = "-" if value is None else in_words(COMPARED, Mean(value, None))
        left = self._seconds / done * (self._runs - done)
        rest = f", about {format_duration(left)} left" if done < self._runs else ""
        print(
            f"run {done} of {self._runs}: {run.cell.name}: {text} of flash per "
            f"{one_of(self._unit)}, {format_duration(seconds)}{rest}",
            file=sys.stderr,
            flush=True,
        )
