"""Acknowledgements of a command: the lines that it writes, each with its place in the drive's log.

A line is noted with the length of the log after the line was read. The log only grows, and has a
command of the drive before that is answered. So the note may be late, and is never early: a line
noted at a byte was written before the drive did any command behind that byte. A note that is late
makes the check weaker, since cuts between the line and its note are not told it. A note that were
early would make a false alarm.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from flashgc.device.processes import put_first


@dataclass(frozen=True, slots=True)
class Note:
    """A line of the command, and the length of the log when it was read."""

    position: int
    line: str


class Listener:
    """Reads the lines that are written to a FIFO, until it is left.

    The FIFO is open here for writing too: nobody waits to open it, and it has no end.
    """

    def __init__(self, fifo: Path, position: Callable[[], int]) -> None:
        """Makes the FIFO; any user may write to it who knows its path."""
        self._position = position
        self.notes: list[Note] = []
        self._rest = b""
        os.mkfifo(fifo, 0o600)
        fifo.chmod(0o622)
        self._file = os.open(fifo, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._wakes, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.write(self._wake, b"x")
        self._thread.join()
        while self._take():  # What was written before the command ended.
            pass
        for descriptor in (self._file, self._wakes, self._wake):
            os.close(descriptor)

    def _listen(self) -> None:
        # On a busy machine the command would do much before this thread gets its turn.
        put_first(os.getpid(), [threading.get_native_id()])
        while True:
            ready, _, _ = select.select([self._file, self._wakes], [], [])
            if self._wakes in ready:
                return
            self._take()

    def _take(self) -> bool:
        """Reads what is there, and notes its whole lines; true if there was anything."""
        try:
            read = os.read(self._file, 1 << 16)
        except BlockingIOError:
            return False
        position = self._position()
        *lines, self._rest = (self._rest + read).split(b"\n")
        # A variable of the environment has no zero bytes.
        texts = (line.replace(b"\0", b"?").decode(errors="surrogateescape") for line in lines)
        self.notes += [Note(position, text) for text in texts]
        return True


def before(notes: list[Note], position: int) -> list[str]:
    """Return the lines that were noted at byte ``position`` of the log or before it."""
    return [note.line for note in notes if note.position <= position]
