"""Talking to a drive that another process serves, through its socket in the state folder."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from flashgc import _core
from flashgc._core import DriveError
from flashgc.device import state
from flashgc.device.faults import Faulty
from flashgc.device.source import Blocks

#: The parts of a state that have parts themselves.
PARTS = ("counters", "latency_us", "ocp", "smart")

#: Bytes of a page.
PAGE = 4096


def socket_of(file: Path) -> Path:
    """The socket of the process that serves the drive in ``file``, or will serve it."""
    places = state.sockets(file)
    if not places:
        raise DriveError(f"no drive is served at {file} (not found); hint: flashgc device serve")
    return next((place for place in places if place.exists()), places[0])


class Client(Faulty):
    """A connection to the process that serves a drive.

    Ranges are in bytes; hints and discards name whole pages of 4096. Raises
    :class:`flashgc.DriveError` where nobody serves the drive, or the drive refuses.
    """

    def __init__(self, file: Path) -> None:
        """Connects to the server of the drive in ``file``."""
        self._client = _core.DeviceClient(socket_of(file))
        self._file = file

    def stat(self) -> dict[str, Any]:
        """The state and the counts; see :meth:`flashgc.Device.stat`."""
        with self.answers():
            stat: dict[str, Any] = json.loads(self._client.stat())
            for key in PARTS:
                stat[key].keys()
            return stat

    @contextlib.contextmanager
    def answers(self) -> Iterator[None]:
        """Raises :class:`flashgc.DriveError` where the server's answer makes no sense.

        Another user's server, or one of another version, may answer anything.
        """
        try:
            yield
        except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError):
            raise DriveError(
                f"the server of {self._file} answered what is no state of a drive; hint: stop it "
                "and serve the drive with this version of flashgc"
            ) from None

    def blocks(self) -> Blocks:
        """All blocks."""
        return Blocks.from_columns(*self._client.blocks())

    def _faulty(self) -> _core.DeviceClient:
        return self._client

    def moment(self) -> int:
        """Pages that the host has written: the moment for hints that are given later."""
        return self._client.moment()

    def heeds_hints(self) -> bool:
        """True if the drive's policies use hints. Without them a hint is only recorded."""
        return self.stat()["zombie_pages"] is not None

    def hint(self, ranges: Iterable[tuple[int, int]], moment: int | None = None) -> int:
        """Tells the drive that the host will write these ``(offset, size)`` soon.

        Returns how many of the pages were written since ``moment``: the hint does nothing there.
        """
        return self._client.hint(_pages(ranges), moment)

    def cancel(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Takes hints back."""
        self._client.cancel(_pages(ranges))

    def hinted(self, ranges: Iterable[tuple[int, int]]) -> tuple[int, int]:
        """Return the number of pages of these ranges with data, and of those that are hinted."""
        return self._client.hinted(_pages(ranges))

    def files(self, device: Path, files: Sequence[tuple[int, int, int]]) -> None:
        """Tells which streams files on the block device ``device`` have.

        Each is its inode, how many files had the inode before, and the stream; 255 is none.
        """
        self._client.files(device, list(files))

    def trim(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Discards whole pages."""
        self._client.trim(_pages(ranges))

    def flush(self) -> None:
        """Makes durable what was completed before."""
        self._client.flush()

    def record(self, path: Path | None) -> str:
        """Begins a recording, or ends one; what the server says of it."""
        return self._client.record(path)

    def mark(self, name: str) -> str:
        """Ends the phase that goes on and begins one with this name; what the server says of it."""
        return self._client.mark(name)

    def stop(self) -> None:
        """Asks the server to end."""
        self._client.stop()

    def close(self) -> None:
        """Ends the connection."""
        self._client.close()


def _pages(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pages that the ranges touch: first page and how many."""
    pages = []
    for offset, size in ranges:
        first, end = offset // PAGE, -(-(offset + size) // PAGE)
        pages.append((first, end - first))
    return pages
