"""The one place that calls the engine: Ctrl-C, progress, JSON. It decides nothing."""

from __future__ import annotations

import contextlib
import json
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from flashgc import _core
from flashgc._core import Control


@dataclass(frozen=True)
class Simulated:
    """What the engine says: results in the order asked for, and their ranking."""

    results: list[dict[str, Any]]
    ranking: list[dict[str, Any]]


#: Called about 20 times a second while the engine works.
Progress = Callable[[Control], None]


@contextlib.contextmanager
def interruptible(control: Control) -> Iterator[None]:
    """Turns Ctrl-C into a request to stop, for as long as the engine works.

    A second Ctrl-C interrupts at once. Signals reach only the main thread; elsewhere nothing is
    changed, and whoever started the thread may call ``control.cancel()``.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return

    def stop(signum: int, frame: FrameType | None) -> None:
        if control.cancelled:
            signal.default_int_handler(signum, frame)
        control.cancel()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def simulate(
    configs: list[dict[str, Any]],
    *,
    jobs: int = 0,
    progress: Progress | None = None,
    policies: dict[int, tuple[str, object]] | None = None,
    control: Control | None = None,
) -> Simulated:
    """Runs configurations and returns the engine's results, with the memory they took."""
    control = control or Control()
    poll = None if progress is None else (lambda: progress(control))
    with interruptible(control):
        text = _core.simulate(
            json.dumps(configs), jobs, control, poll=poll, policies=policies or None
        )
    simulated = Simulated(**json.loads(text))
    memory = peak_memory_bytes()
    for result in simulated.results:
        result["peak_memory_bytes"] = memory
    return simulated


def peak_memory_bytes() -> int:
    """The largest resident memory of this process so far."""
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else largest * 1024
