"""The only module that calls the engine to simulate. It handles Ctrl-C, progress and JSON."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flashgc import _core, _ctrl_c, _faults, _naming
from flashgc._core import Control

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType

    from flashgc.checkpoints import Checkpoint


@dataclass(frozen=True)
class Simulated:
    """The answer of the engine: results in the order asked for, and their ranking."""

    results: list[dict[str, Any]]
    ranking: list[dict[str, Any]]
    #: Configurations that are impossible: their index among those given, their name and the reason.
    left_out: list[dict[str, Any]]


#: Called about 20 times a second while the engine works.
Progress = Callable[[Control], None]

#: Called with the index of a configuration and its result, as soon as the result is complete.
OnResult = Callable[[int, dict[str, Any]], None]


#: Seconds from the first Ctrl-C to the message :data:`IMPATIENT`. Before that, half a second after
#: Ctrl-C, the engine aborts a read that waits for data.
PATIENCE = 1.0
IMPATIENT = "stopping at the end of what is being done; Ctrl-C again stops at once\n"


@contextlib.contextmanager
def interruptible(control: Control) -> Iterator[bool]:
    """Turn Ctrl-C into a request to stop while the engine works; yield false if this is impossible.

    The second Ctrl-C interrupts at once, and the third ends the process, even if a policy catches
    exceptions. Nothing changes outside the main thread, which alone gets signals, or if the program
    handles Ctrl-C itself. The caller may then call ``control.cancel()``.
    """
    ours = _ctrl_c.is_held() or signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not ours or threading.current_thread() is not threading.main_thread():
        yield False
        return

    presses = 0
    notice = threading.Timer(PATIENCE, _say_that_it_stops)
    notice.daemon = True

    def stop(signum: int, frame: FrameType | None) -> None:
        nonlocal presses
        presses += 1
        if presses == 1:
            _ctrl_c.note()
            control.cancel()
            notice.start()
        elif presses == 2:
            signal.default_int_handler(signum, frame)
        else:
            signal.signal(signum, signal.SIG_DFL)
            signal.raise_signal(signum)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield True
    finally:
        signal.signal(signal.SIGINT, before)
        notice.cancel()
        if presses:
            # The timer's thread may be printing the message. Later messages of the command must
            # follow it.
            notice.join()


@contextlib.contextmanager
def terminable(control: Control) -> Iterator[None]:
    """Turn SIGTERM into a request to stop, so that finished results are kept.

    The command then reports the results and ends by itself. A program that imports flashgc is ended
    by SIGTERM after the ``with`` block.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield
        return
    is_stopping = False

    def stop(*_: object) -> None:
        nonlocal is_stopping
        is_stopping = True
        control.cancel()

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        if is_stopping and not _ctrl_c.of_command():
            signal.raise_signal(signal.SIGTERM)


def _say_that_it_stops() -> None:
    with contextlib.suppress(OSError):
        os.write(2, IMPATIENT.encode())


def simulate(
    configs: list[dict[str, Any]],
    *,
    jobs: int = 0,
    progress: Progress | None = None,
    policies: dict[int, dict[str, tuple[str, object]]] | None = None,
    control: Control | None = None,
    on_result: OnResult | None = None,
    keep: Checkpoint | None = None,
    leave_out: bool = False,
    or_none: bool = False,
    instead: tuple[Path, bool] | None = None,
    places: Mapping[str, str] | None = None,
) -> Simulated:
    """Run configurations and return the engine's results, with the memory used.

    ``on_result`` gets each result that is complete, in the order of completion. If it raises an
    exception, the rest stops, and the exception is raised here. ``keep`` names the files of
    checkpoints; it needs a single configuration. With ``leave_out``, an impossible configuration
    does not prevent the others. If all are impossible, that is an error, except with ``or_none``.
    ``instead`` is a file that is read in place of the trace of all configurations, and a flag: true
    if the file is a volume that the trace was split into, false if it is a copy of the trace.
    Errors name each option as ``places`` says. SIGTERM stops the runs as Ctrl-C does.
    """
    control = control or Control()
    poll = None if progress is None else (lambda: progress(control))
    tell = None if on_result is None else (lambda index, text: on_result(index, json.loads(text)))
    with interruptible(control) as ours, terminable(control):
        if not policies:
            contained: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
        else:
            contained = _faults.contained(interrupts=lambda: ours and not control.cancelled)
        with contained:
            text = _core.simulate(
                json.dumps(configs),
                jobs,
                control,
                poll=poll,
                policies=policies or None,
                on_result=tell,
                keep=None if keep is None else keep.as_engine(),
                leave_out=leave_out,
                or_none=or_none,
                instead=instead,
                places=None if places is None else dict(places),
            )
    simulated = Simulated(**json.loads(text))
    memory = peak_memory_bytes()
    for entry in simulated.left_out:
        entry["name"] = _naming.name(configs[entry["index"]], configs)
    for result in simulated.results:
        result["peak_memory_bytes"] = memory
    return simulated


def peak_memory_bytes() -> int | None:
    """The largest resident memory of this process so far, in bytes; ``None`` if unknown."""
    try:
        import resource
    except ImportError:  # Windows has no such module.
        return None
    with contextlib.suppress(OSError, StopIteration):
        # getrusage also counts the memory of the parent before this program began.
        with open("/proc/self/status", encoding="ascii", errors="replace") as lines:
            line = next(line for line in lines if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else largest * 1024
