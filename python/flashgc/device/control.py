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

#: The keys of a state whose values are objects.
PARTS = ("counters", "latency_us", "ocp", "smart")

#: Bytes of a page.
PAGE = 4096


def socket_of(file: Path) -> Path:
    """The socket of the process that serves, or will serve, the drive in ``file``."""
    places = state.sockets(file)
    if not places:
        raise DriveError(f"no drive is served at {file} (not found); hint: flashgc device serve")
    return next((place for place in places if place.exists()), places[0])


class Client(Faulty):
    """A connection to the process that serves a drive.

    Ranges are in bytes; hints and discards name whole pages of 4096 bytes. Raises
    :class:`flashgc.DriveError` if nobody serves the drive, or the drive refuses.
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
        """Raise :class:`flashgc.DriveError` if the server's answer cannot be understood.

        A server of another user or of another version may answer anything.
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
        """The number of pages that the host has written, for later calls of :meth:`hint`."""
        return self._client.moment()

    def heeds_hints(self) -> bool:
        """True if the drive's policies use hints. Without them a hint is only recorded."""
        return self.stat()["zombie_pages"] is not None

    def hint(self, ranges: Iterable[tuple[int, int]], moment: int | None = None) -> int:
        """Tell the drive that the host will soon overwrite these ranges, each ``(offset, size)``.

        Returns the number of these pages that the host has written since ``moment``. The hint does
        nothing for them.
        """
        return self._client.hint(_pages(ranges), moment)

    def cancel(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Cancel hints."""
        self._client.cancel(_pages(ranges))

    def hinted(self, ranges: Iterable[tuple[int, int]]) -> tuple[int, int]:
        """Return two numbers of pages in these ranges: those with data, and those with a hint."""
        return self._client.hinted(_pages(ranges))

    def files(self, device: Path, files: Sequence[tuple[int, int, int]]) -> None:
        """Tell the drive the streams of files on the block device ``device``.

        Each entry is an inode, the number of earlier files with that inode, and the stream; 255
        means no stream.
        """
        self._client.files(device, list(files))

    def trim(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Discard whole pages."""
        self._client.trim(_pages(ranges))

    def flush(self) -> None:
        """Make all completed writes durable."""
        self._client.flush()

    def record(self, path: Path | None) -> str:
        """Begin or end a recording; return the server's message."""
        return self._client.record(path)

    def mark(self, name: str) -> str:
        """End the current phase and begin one with this name; return the server's message."""
        return self._client.mark(name)

    def stop(self) -> None:
        """Asks the server to end."""
        self._client.stop()

    def close(self) -> None:
        """Ends the connection."""
        self._client.close()


def _pages(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pages that the ranges touch, as pairs of first page and number."""
    pages = []
    for offset, size in ranges:
        first, end = offset // PAGE, -(-(offset + size) // PAGE)
        pages.append((first, end - first))
    return pages
