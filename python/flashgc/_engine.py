"""The one place that calls the engine: Ctrl-C, progress, JSON. It decides nothing."""

from __future__ import annotations

import contextlib
import json
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from flashgc import _core
from flashgc._core import Control

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
) -> list[dict[str, Any]]:
    """Runs configurations and returns the engine's results, with the memory they took."""
    control = control or Control()
    poll = None if progress is None else (lambda: progress(control))
    with interruptible(control):
        text = _core.simulate(
            json.dumps(configs), jobs, control, poll=poll, policies=policies or None
        )
    results: list[dict[str, Any]] = json.loads(text)
    memory = peak_memory_bytes()
    for result in results:
        result["peak_memory_bytes"] = memory
    return results


def rank(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ranks results, least write amplification first."""
    ranks: list[dict[str, Any]] = json.loads(_core.compare(json.dumps(results)))
    return ranks


def peak_memory_bytes() -> int:
    """The largest resident memory of this process so far."""
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else largest * 1024
