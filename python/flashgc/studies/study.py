"""A study: many simulations that are asked for, counted, shown and stopped in one way."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from flashgc import _engine, _origins
from flashgc._core import ConfigError, Control
from flashgc._origins import Places
from flashgc.execution import parse_jobs
from flashgc.options import Option, find
from flashgc.progress import Show

#: Called with the share that is done, what is being done, and how many are.
Progress = Callable[[float, str, int], None]


class Study:
    """The counts of a study: found, run, and whether it was stopped."""

    def __init__(self, show: Show | None, control: Control | None) -> None:
        self._show = show
        #: With which others stop the work.
        self.control = control or Control()
        #: Simulations that were run, and those that earlier work had kept.
        self.ran = self.found = 0
        #: Cost that is done, and that is expected in all.
        self.done, self.total = 0.0, 1.0
        #: True if Ctrl-C, or whoever has the control, stopped the work.
        self.interrupted = False

    def show(self, share: float, what: str, number: int, unit: str) -> None:
        """Shows that ``share`` is done: this many of a unit."""
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
    """Return a function that shows progress by one that takes no unit."""
    if progress is None:
        return None
    return lambda share, what, number, _unit: progress(share, what, number)


def jobs_of(values: Mapping[str, Mapping[str, Any]], places: Places) -> int:
    """The number of runs side by side (``run.jobs``) that the options ask for."""
    return parse_jobs(values.get("run", {}).get("jobs", 0), places.get("run.jobs", "jobs"))


def refuse(
    unused: Iterable[str],
    values: Mapping[str, Mapping[str, Any]],
    places: Places,
    why: str,
    hint: Callable[[Option], str] = lambda _: "leave it out",
) -> None:
    """Refuses options that the study has no use for; every workload has a source."""
    for option in map(find, unused):
        if option.key != "source" and option.key in values.get(option.section, {}):
            text = f"{_origins.subject(places, option.path)} {why}"
            raise ConfigError(f"{text}; hint: {hint(option)}")


def check_again(trace: str, what: str) -> None:
    """Refuses a trace that can be read once: ``what`` reads it several times."""
    file = Path(trace)
    if file.is_fifo() or file.is_char_device():
        raise ConfigError(
            f"{file} can be read once, and {what} reads its trace several times; "
            "hint: write it to a file first"
        )
