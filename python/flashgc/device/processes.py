"""Processes that are not children of this one: how to find and end them.

A process is identified by its number and by its start time from the kernel, because numbers are
reused.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Sequence
from pathlib import Path

#: The most seconds in which processes must end.
PATIENCE = 30.0


def began(pid: int) -> str:
    """Return the start time of a process, as the kernel gives it; empty if it does not run."""
    state, *fields = _stat(pid)
    return "" if state in "ZX" else fields[18]


def is_stopped(pid: int) -> bool:
    """True if a signal or a debugger has stopped the process."""
    return _stat(pid)[0] in "Tt"


def _stat(pid: int) -> list[str]:
    """The state of a process as a letter, and the fields after it; X if it does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return ["X"]


def is_ending(pid: int) -> bool:
    """True for a process that was killed but has not ended, for example in a wait for a mount."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    words = [line.split() for line in lines]
    pending = [int(word[1], 16) for word in words if word[0] in ("SigPnd:", "ShdPnd:")]
    return any(signals & 1 << signal.SIGKILL - 1 for signals in pending)


def send(pid: int, since: str, which: signal.Signals, users: Sequence[int] | None = None) -> bool:
    """Send a signal to the process that began at ``since``; return whether it still runs.

    The signal never goes to another process that has the number by now, because the process is held
    by a descriptor before its start is read. ``users`` are the users as whom it may run; by default
    any.
    """
    try:
        held = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not since or began(pid) != since:
            return False
        # The real user; a server that root has started is root's until it becomes another user.
        if users is not None and _user(pid) not in users:
            return False
        if select.select([held], [], [], 0)[0]:  # The process has ended since it was held.
            return False
        signal.pidfd_send_signal(held, which)
    except ProcessLookupError:
        return False
    finally:
        os.close(held)
    return True


def put_first(pid: int, threads: Sequence[int]) -> None:
    """Give threads of a process priority over all ordinary threads, where that is permitted.

    Numbers that are no thread of the process are ignored.
    """
    for thread in threads:
        if os.path.exists(f"/proc/{pid}/task/{thread}"):
            with contextlib.suppress(PermissionError, ProcessLookupError):
                os.sched_setscheduler(thread, os.SCHED_RR, os.sched_param(1))


def _user(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return -1
    return next(int(line.split()[1]) for line in lines if line.startswith("Uid:"))


def family(pid: int) -> list[int]:
    """A process and its children."""
    pids = [pid]
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            words = stat.read_text().rpartition(")")[2].split()
            if int(words[1]) == pid:
                pids.append(int(stat.parent.name))
    return pids


def with_variable(text: str) -> list[int]:
    """The processes that have ``text`` (``NAME=VALUE``) in their environment."""
    pids, wanted = [], os.fsencode(text)
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if wanted in environ.read_bytes().split(b"\0"):
                pids.append(int(environ.parent.name))
    return pids


def end(pids: Sequence[int], which: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to processes, in the given order, and wait until they have ended.

    Raises :class:`TimeoutError`, which names those that have not ended.
    """
    since = {pid: began(pid) for pid in pids}
    for pid in pids:
        send(pid, since[pid], which)
    until = time.monotonic() + PATIENCE
    # For PostgreSQL, a zombie process that nobody has waited for still exists.
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        if time.monotonic() > until:
            raise TimeoutError(
                f"the processes {list(pids)} have not ended {PATIENCE:.0f} s after {which.name}"
            )
        for pid in pids:  # A child of this process remains until it is waited for.
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.01)
