"""The log of a drive: all commands that it was given, in the order in which it executed them.

An entry has a head of 24 bytes (kind, first page, number of pages). The data of a write follow.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from flashgc import _core

#: Kinds of entries.
WRITE, TRIM, FLUSH = 1, 2, 3

#: Bytes of a page.
PAGE = 4096

HEAD = struct.Struct("<QQQ")


@dataclass(frozen=True, slots=True)
class Entry:
    """A command in the log: its begin and end there, in bytes, and the pages that it names."""

    begin: int
    end: int
    kind: int
    page: int
    count: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a command that a cut loses as a whole: a page of a write, or a discard."""

    #: The index of its entry in the log.
    entry: int
    page: int
    count: int
    #: The byte of the log at which its data begin; ``None`` for a discard.
    data: int | None

    @property
    def words(self) -> str:
        """The piece in words."""
        if self.data is None:
            return f"discard of {self.count} pages from {self.page} on"
        return f"page {self.page}"


class Log:
    """A log, open for reading."""

    def __init__(self, path: Path) -> None:
        """Read the heads of all entries; raise :class:`flashgc.DriveError` if it is no log."""
        self.path = path
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.entries = [Entry(*numbers) for numbers in _core.device_log(path)]
        self._ends = [entry.end for entry in self.entries]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def flushes(self) -> list[int]:
        """Return the positions in the log, in bytes, at which its flushes end."""
        return [entry.end for entry in self.entries if entry.kind == FLUSH]

    def until(self, position: int) -> int:
        """Return the number of entries that end at byte ``position`` or before it."""
        return bisect_right(self._ends, position)

    def flushed(self, count: int) -> int:
        """Return the number of entries up to the last flush among the first ``count``."""
        while count and self.entries[count - 1].kind != FLUSH:
            count -= 1
        return count

    def pieces(self, first: int, last: int) -> list[Piece]:
        """Return the pieces of the entries from ``first`` on, without ``last``."""
        pieces = []
        for index in range(first, last):
            entry = self.entries[index]
            if entry.kind == TRIM:
                pieces.append(Piece(index, entry.page, entry.count, None))
            elif entry.kind == WRITE:
                data = entry.begin + HEAD.size
                pieces += [
                    Piece(index, entry.page + page, 1, data + page * PAGE)
                    for page in range(entry.count)
                ]
        return pieces

    def write(self, pieces: list[Piece], path: Path) -> int:
        """Write a log of these pieces with a flush at the end; return its length in bytes.

        Without the flush the drive itself might lose some of the pieces.
        """
        with open(path, "wb") as file:
            for piece in pieces:
                if piece.data is None:
                    file.write(HEAD.pack(TRIM, piece.page, piece.count))
                else:
                    file.write(HEAD.pack(WRITE, piece.page, 1))
                    file.write(os.pread(self._file, PAGE, piece.data))
            file.write(HEAD.pack(FLUSH, 0, 0))
            return file.tell()
