"""The base class of studies: many simulations that are counted, shown and stopped together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from flashgc import _ctrl_c, _engine, _origins
from flashgc._core import ConfigError, Control
from flashgc._origins import Places
from flashgc.execution import parse_jobs
from flashgc.options import Option, find
from flashgc.progress import Show

#: Called with the share done, what is being done, and how much of it.
Progress = Callable[[float, str, int], None]


class Study:
    """The counts of a study: simulations found and run, and whether it was stopped."""

    def __init__(self, show: Show | None, control: Control | None) -> None:
        self._show = show
        #: Other threads stop the work by this control.
        self.control = control or Control()
        #: The number of simulations that were run, and of those stored by earlier commands.
        self.ran = self.found = 0
        #: The cost done, and the total cost expected.
        self.done, self.total = 0.0, 1.0
        #: True if Ctrl-C, or the owner of the control, stopped the work.
        self.interrupted = False

    def show(self, share: float, what: str, number: int, unit: str) -> None:
        """Show the ``share`` of the work that is done, and the ``number`` done of ``unit``."""
        if self._show is not None:
            self._show(min(share, 1.0), what, number, unit)

    @contextlib.contextmanager
    def stoppable(self) -> Iterator[None]:
        """Turn Ctrl-C and SIGTERM into a request to stop."""
        with _engine.interruptible(self.control), _engine.terminable(self.control):
            yield

    @contextlib.contextmanager
    def ending(self) -> Iterator[None]:
        """Treat Ctrl-C between two calls of the engine as the end; keep the results so far."""
        try:
            yield
        except KeyboardInterrupt:
            _ctrl_c.note()
            self.interrupted = True


def without_unit(progress: Progress | None) -> Show | None:
    """Adapt ``progress``, which takes no unit, to a function that takes one."""
    if progress is None:
        return None
    return lambda share, what, number, _unit: progress(share, what, number)


def jobs_of(values: Mapping[str, Mapping[str, Any]], places: Places) -> int:
    """The number of parallel runs (``run.jobs``) in the options."""
    return parse_jobs(values.get("run", {}).get("jobs", 0), places.get("run.jobs", "jobs"))


def refuse(
    unused: Iterable[str],
    values: Mapping[str, Mapping[str, Any]],
    places: Places,
    why: str,
    hint: Callable[[Option], str] = lambda _: "leave it out",
) -> None:
    """Refuse options that do not apply to the study, except ``source``, which is always given."""
    for option in map(find, unused):
        if option.key != "source" and option.key in values.get(option.section, {}):
            text = f"{_origins.subject(places, option.path)} {why}"
            raise ConfigError(f"{text}; hint: {hint(option)}")


def check_again(trace: str, what: str) -> None:
    """Refuse a trace that can be read only once, since ``what`` reads it several times."""
    file = Path(trace)
    if file.is_fifo() or file.is_char_device():
        raise ConfigError(
            f"{file} can be read once, and {what} reads its trace several times; "
            "hint: write it to a file first"
        )
