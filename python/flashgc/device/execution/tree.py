"""The processes of a command: all its descendants, including those that it left behind."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from flashgc.device.processes import began, send

#: ``PR_SET_CHILD_SUBREAPER``: orphans become children of this process.
_SUBREAPER = 36

#: Seconds that processes get to end after SIGTERM, seconds after which the wait for them ends, and
#: seconds between two checks.
PATIENCE, LONGEST, PAUSE = 10.0, 30.0, 0.02


#: Seconds between two checks for orphans that have ended.
LOOK = 2.0


@dataclass(frozen=True)
class Left:
    """A process that still ran when the command had ended."""

    pid: int
    name: str


class Tree:
    """The descendants of this process that begin while the object is open, and their written bytes.

    Orphans become children of this process, so all stay its descendants, whatever sessions they
    begin.
    """

    def __init__(self) -> None:
        #: Bytes of write calls, and bytes of folios made dirty, of the processes that have ended.
        self.calls_bytes = self.dirtied_bytes = 0
        self._known: set[int] = set()
        #: The command itself, whose starter waits for it.
        self._first = 0
        self._looked = time.monotonic()

    def __enter__(self) -> Self:
        self._known = set(_children().get(os.getpid(), ()))
        _set_subreaper(1)
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        _set_subreaper(0)

    def passes_over(self, pid: int) -> None:
        """Note a child that does not belong to the command."""
        self._known.add(pid)

    def begins(self, pid: int) -> None:
        """Note the command itself, whose starter waits for it."""
        self._first = pid

    def ended(self, pid: int) -> None:
        """Count the bytes of a child that has ended but has not been waited for."""
        calls, dirtied = _written(pid)
        self.calls_bytes += calls
        self.dirtied_bytes += dirtied

    def adopt(self) -> None:
        """Wait for orphans that have ended, and count what they wrote."""
        for pid in _children().get(os.getpid(), ()):
            if pid in self._known or pid == self._first:
                continue
            with contextlib.suppress(ChildProcessError):
                flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
                if os.waitid(os.P_PID, pid, flags) is not None:
                    self.ended(pid)
                    os.waitpid(pid, os.WNOHANG)

    def look(self) -> None:
        """Call :meth:`adopt`, but at most once in :data:`LOOK` seconds.

        :meth:`adopt` reads the state of every process, which takes processor time from the command.
        """
        if time.monotonic() > self._looked + LOOK:
            self.adopt()
            self._looked = time.monotonic()

    def left(self) -> list[Left]:
        """The processes that still run, parents before their children."""
        self.adopt()
        children, processes = _children(), []
        waiting = [pid for pid in children.get(os.getpid(), ()) if pid not in self._known]
        while waiting:
            pid = waiting.pop(0)
            if began(pid):
                processes.append(Left(pid, _name(pid)))
            waiting += children.get(pid, ())
        return processes

    def end(self) -> None:
        """End the processes that still run, by SIGTERM, and later by SIGKILL."""
        since = time.monotonic()
        pids: set[int] = set()
        while (left := self.left()) and time.monotonic() < since + LONGEST:
            which = signal.SIGTERM if time.monotonic() < since + PATIENCE else signal.SIGKILL
            for process in left:
                if process.pid not in pids or which is signal.SIGKILL:
                    send(process.pid, began(process.pid), which)
                    pids.add(process.pid)
            time.sleep(PAUSE)


def _set_subreaper(to: int) -> None:
    ctypes.CDLL(None).prctl(_SUBREAPER, to, 0, 0, 0)


def _children() -> dict[int, list[int]]:
    """The children of every process, including those that have ended but were not waited for."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            words = stat.read_text(errors="replace").rpartition(")")[2].split()
            children.setdefault(int(words[1]), []).append(int(stat.parent.name))
    return children


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return "?"


def _written(pid: int) -> tuple[int, int]:
    """Bytes of write calls of a process and of children it waited for, and bytes made dirty."""
    try:
        lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    except OSError:
        return 0, 0
    counts = dict(line.split(": ") for line in lines)
    return int(counts.get("wchar", 0)), int(counts.get("write_bytes", 0))
