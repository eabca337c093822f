"""The bytes that a command hands to its file system to write, or why they cannot be known."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from flashgc import _core
from flashgc._core import ConfigError, DriveError

#: The share of the bytes of calls up to which those that were stored into mapped files are left
#: out: a database stores some words of its locks and of the index of its log so.
NEGLIGIBLE = 0.001

#: Seconds in which events are read again.
LOOK = 0.02

#: Seconds after which every event is in its ring.
SETTLED = 0.002


@dataclass(frozen=True)
class Written:
    """The bytes that were handed to the file system, by the kernel's events of that file system.

    All processes count, daemons, asynchronous I/O and the kernel's workers among them. Metadata of
    the file system do not.
    """

    #: Bytes of all calls, if no more than a thousandth was stored into mapped files besides; else
    #: ``None``, as where the calls cannot be known.
    bytes: int | None
    #: The least and the most that it can have been; ``None`` where there is no such bound.
    least: int | None
    most: int | None
    #: The reason why they are unknown; ``None`` where they are known.
    unknown: str | None
    #: Bytes by way of the page cache, and around it. ``None`` where the kernel does not tell.
    cached_bytes: int | None
    direct_bytes: int | None
    #: Folios of the page cache that stores into mapped files made dirty, each time anew, and their
    #: bytes at most: those of the file as far as calls had written it, else 2 MiB each.
    stores: int | None
    stored_most: int | None
    #: Bytes of the write calls of the command's processes, pipes and terminals among them. Those
    #: of asynchronous I/O are not.
    calls_bytes: int
    #: Bytes of the folios that its processes made dirty, each folio whole.
    dirtied_bytes: int


class Writes:
    """Counts what is written to the file system on ``device`` while it is open."""

    def __init__(self, device: str, filesystem: str) -> None:
        self._follower: _core.WriteFollower | None = None
        self._why = f"{filesystem} does not tell what is written to it"
        if filesystem in ("ext4", "xfs"):
            try:
                self._follower = _core.WriteFollower(Path(device), filesystem)
            except (ConfigError, DriveError) as error:
                self._why = str(error).partition("; hint: ")[0]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Self:
        if self._follower is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._follower is not None:
            self._thread.join()

    def close(self) -> None:
        """Gives the rings back."""
        if self._follower is not None:
            self._follower.close()

    def _follow(self) -> None:
        assert self._follower is not None
        with contextlib.suppress(DriveError):
            while not self._over.is_set():
                self._follower.poll(LOOK)
            # Events of the last moment have settled by the second one.
            self._follower.poll(SETTLED)
            self._follower.poll(SETTLED)

    def so_far(self) -> int | None:
        """The bytes written so far; ``None`` where they cannot be known."""
        return self.written(0, 0).bytes

    def written(self, calls_bytes: int, dirtied_bytes: int) -> Written:
        """The bytes written, beside the counts of the command's processes."""
        counts = None if self._follower is None else self._follower.counts()
        if counts is None:
            return Written(
                bytes=None,
                least=None,
                most=None,
                unknown=self._why,
                cached_bytes=None,
                direct_bytes=None,
                stores=None,
                stored_most=None,
                calls_bytes=calls_bytes,
                dirtied_bytes=dirtied_bytes,
            )
        cached, direct = counts["cached_bytes"], counts["direct_bytes"]
        stores, lost, stored = counts["stores"], counts["lost"], counts["stored_most"]
        unknown = None
        assert cached is not None
        assert stored is not None
        by_calls = cached + (direct or 0)
        if lost:
            unknown = f"the kernel lost {lost} events"
        elif stored > NEGLIGIBLE * by_calls:
            unknown = f"stores into mapped files made {stores} folios dirty"
        elif direct is None:
            unknown = "this kernel does not tell what is written around the page cache"
        return Written(
            bytes=None if unknown else by_calls,
            least=by_calls,
            most=None if lost or direct is None else by_calls + stored,
            unknown=unknown,
            cached_bytes=cached,
            direct_bytes=direct,
            stores=stores,
            stored_most=stored,
            calls_bytes=calls_bytes,
            dirtied_bytes=dirtied_bytes,
        )
