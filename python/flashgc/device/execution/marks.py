"""Phases of a run: the command writes their names into a pipe, a line each."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self

from flashgc._core import DriveError
from flashgc.device.scratch import PIPE

#: The name of the phase in which a command begins.
FIRST = "start"

#: Bytes of a name at most.
LONGEST = 200

#: Seconds between two looks at whether the command is over.
LOOK = 0.1


def named(line: bytes) -> str:
    """The name of a phase in a line of the pipe; empty where it has none.

    >>> named(b" load  done ")
    'load done'
    """
    text = line.decode("utf-8", errors="replace")
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return words.encode()[:LONGEST].decode(errors="ignore")


class Marks:
    """Reads the names of phases from a pipe at ``path``, and calls ``mark`` with each."""

    def __init__(self, path: Path, owner: tuple[int, int], mark: Callable[[str], None]) -> None:
        os.mkfifo(path, 0o600)
        os.chown(path, *owner)
        # Open for writing too: the pipe never ends, and nobody who writes has to wait for a reader.
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._mark = mark
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        #: The words of a drive that refused a mark.
        self.refused: str | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        os.close(self._pipe)

    def _read(self) -> None:
        rest = b""
        while True:
            # What was written before the end is read before it.
            is_over = self._over.is_set()
            ready, _, _ = select.select([self._pipe], [], [], 0 if is_over else LOOK)
            if not ready:
                if is_over:
                    return
                continue
            *lines, rest = (rest + os.read(self._pipe, 1 << 16)).split(b"\n")
            rest = rest[-4 * LONGEST :]
            for line in lines:
                self.take(named(line))

    def take(self, name: str) -> None:
        """Marks the begin of a phase, in the order in which threads ask for it."""
        with self._lock:
            if name:
                try:
                    self._mark(name)
                except (DriveError, OSError) as error:
                    self.refused = str(error)


def mark(path: str, name: str) -> None:
    """Writes a name into the pipe at ``path``.

    Raises :class:`flashgc.DriveError` where nobody reads it.
    """
    try:
        pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise DriveError(
            f"{PIPE}={path}: {error.strerror}; hint: flashgc device exec sets it"
        ) from None
    try:
        os.write(pipe, f"{named(name.encode())}\n".encode())
    finally:
        os.close(pipe)
