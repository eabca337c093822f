"""Processes that are not children of this one: who belongs to them, and their end."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

#: Seconds that processes get to end.
PATIENCE = 30.0


def family(pid: int) -> list[int]:
    """A process and its children."""
    found = [pid]
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            words = stat.read_text().rpartition(")")[2].split()
            if int(words[1]) == pid:
                found.append(int(stat.parent.name))
    return found


def end(pids: Sequence[int], which: signal.Signals = signal.SIGKILL) -> None:
    """Sends processes a signal, in their order, and waits until they are gone.

    :class:`TimeoutError` says which have not ended.
    """
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, which)
    until = time.monotonic() + PATIENCE
    # A process that nobody has asked for is still one for PostgreSQL.
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        if time.monotonic() > until:
            raise TimeoutError(
                f"the processes {list(pids)} have not ended {PATIENCE:.0f} s after {which.name}"
            )
        for pid in pids:  # A child of ours stays until it is asked for.
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.01)
