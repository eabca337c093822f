"""Phases of a run: the command writes their names into a pipe, a line each."""

from __future__ import annotations

import contextlib
import os
import re
import select
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self

from flashgc._core import DriveError
from flashgc.device._closing import Worker, descriptor
from flashgc.device.scratch import PIPE

#: Log lines that begin a phase, and the phase's name, for PostgreSQL 13 to 18 with English
#: messages.
_PHASES = (
    (re.compile(r"LOG:\s+(checkpoint|restartpoint) starting: (.+)"), r"\1: \2"),
    (re.compile(r"LOG:\s+(checkpoint|restartpoint) complete"), r"after \1"),
    (
        re.compile(r'LOG:\s+automatic (?:aggressive )?(vacuum|analyze) of table "([^"]+)"'),
        r"after \1 of \2",
    ),
)

#: Bytes of the log that one read takes.
_PIECE = 1 << 16


def phase(line: str) -> str | None:
    """The name of the phase that a line of the log begins; ``None`` for other lines.

    The server writes its line about a vacuum at the end of the vacuum.

    >>> phase("2026-11-27 07:00:00.000 UTC [77] LOG:  checkpoint starting: immediate force wait")
    'checkpoint: immediate force wait'
    >>> phase('UTC [78] LOG:  automatic vacuum of table "bench.public.accounts": index scans: 0')
    'after vacuum of bench.public.accounts'
    >>> phase("UTC [79] LOG:  database system is ready to accept connections")
    """
    for pattern, name in _PHASES:
        match = pattern.search(line)
        if match:
            return match.expand(name).strip()
    return None


class ServerLog(Worker):
    """Follows the log of a server at ``path``, and calls ``begin`` with the name of each phase.

    Lines that the file has before the run begins are skipped. A log that is replaced or truncated
    is read from its beginning.
    """

    def __init__(self, path: Path, begin: Callable[[str], None]) -> None:
        super().__init__()
        self._path = path
        self._begin = begin
        self._file: int | None = None
        self._rest = b""
        #: True once the log was found.
        self.was_found = False

    def __enter__(self) -> Self:
        self._open(os.SEEK_END)
        return super().__enter__()

    def _work(self) -> None:
        while not self._over.wait(LOOK):
            self._look()
        self._look()

    def _look(self) -> None:
        """Read the new lines of the log."""
        with contextlib.suppress(OSError):
            if self._file is None or self._is_another():
                self.close()
                self._open(os.SEEK_SET)
            while self._file is not None:
                piece = os.read(self._file, _PIECE)
                *lines, self._rest = (self._rest + piece).split(b"\n")
                self._rest = self._rest[-_PIECE:]
                for line in lines:
                    name = phase(line.decode("utf-8", errors="replace"))
                    if name is not None:
                        self._begin(name)
                if len(piece) < _PIECE:
                    return

    def _is_another(self) -> bool:
        """True if the path now leads to another file, or the file was truncated."""
        assert self._file is not None
        try:
            now = os.stat(self._path)
        except OSError:
            return False
        before = os.fstat(self._file)
        is_same = (now.st_dev, now.st_ino) == (before.st_dev, before.st_ino)
        return not is_same or now.st_size < os.lseek(self._file, 0, os.SEEK_CUR)

    def _open(self, whence: int) -> None:
        """Open the log without a change of its access time, which would count as a write."""
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        for more in (os.O_NOATIME, 0):  # Only the file's owner and root may use O_NOATIME.
            try:
                file = os.open(self._path, flags | more)
            except OSError:
                continue
            if not stat.S_ISREG(os.fstat(file).st_mode):
                os.close(file)
                return
            os.lseek(file, 0, whence)
            self._file, self._rest, self.was_found = file, b"", True
            return

    def close(self) -> None:
        """Closes the log."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


#: The name of the phase in which a command begins.
FIRST = "start"

#: The most bytes of a phase's name.
LONGEST = 200

#: Seconds between two checks whether the command has ended.
LOOK = 0.1


def name_of(line: bytes) -> str:
    """The name of a phase in a line of the pipe; empty if the line has none.

    >>> name_of(b" load  done ")
    'load done'
    """
    text = line.decode("utf-8", errors="replace")
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return words.encode()[:LONGEST].decode(errors="ignore")


class Marks(Worker):
    """Reads the names of phases from a pipe at ``path``, and calls ``mark`` with each."""

    def __init__(self, path: Path, owner: tuple[int, int], mark: Callable[[str], None]) -> None:
        super().__init__()
        os.mkfifo(path, 0o600)
        os.chown(path, *owner)
        # The pipe is open for writing too, so that it never ends and no writer waits for a reader.
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._mark = mark
        self._lock = threading.Lock()
        #: The drive's message if it refused a mark.
        self.refused: str | None = None

    def close(self) -> None:
        """Closes the pipe."""
        os.close(self._pipe)

    def _work(self) -> None:
        rest = b""
        while True:
            # Names that were written before the end are read before the loop ends.
            is_over = self._over.is_set()
            ready, _, _ = select.select([self._pipe], [], [], 0 if is_over else LOOK)
            if not ready:
                if is_over:
                    return
                continue
            *lines, rest = (rest + os.read(self._pipe, 1 << 16)).split(b"\n")
            rest = rest[-4 * LONGEST :]
            for line in lines:
                self.take(name_of(line))

    def take(self, name: str) -> None:
        """Mark the begin of a phase; one thread at a time."""
        with self._lock:
            if name:
                try:
                    self._mark(name)
                except (DriveError, OSError) as error:
                    self.refused = str(error)


def mark(path: str, name: str) -> None:
    """Writes a name into the pipe at ``path``.

    Raises :class:`flashgc.DriveError` if no process reads the pipe.
    """
    try:
        pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise DriveError(
            f"{PIPE}={path}: {error.strerror}; hint: flashgc device exec sets it"
        ) from None
    with descriptor(pipe):
        os.write(pipe, f"{name_of(name.encode())}\n".encode())
