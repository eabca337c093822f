"""The bytes that a command hands to its file system to write, or why they cannot be known."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from flashgc import _core
from flashgc._core import ConfigError, DriveError
from flashgc.device._closing import Worker
from flashgc.units import format_size

#: If bytes stored into mapped files are at most this share of the bytes of write calls, they are
#: ignored: a database stores some words of its locks and of its log's index this way.
NEGLIGIBLE = 0.001

#: The counts that every kernel gives, as sums.
_SUMS = ("cached_bytes", "stores", "stored_most")
#: The fields of :class:`Written` that are unknown if the kernel gives no counts.
_OF_KERNEL = ("bytes", "least", "most", "direct_bytes", *_SUMS)

#: Seconds between two reads of events.
LOOK = 0.02

#: Seconds after which every event is in its ring buffer.
SETTLED = 0.002


@dataclass(frozen=True)
class Written:
    """The bytes handed to a file system, from the kernel's events of that file system.

    All processes count, including daemons, asynchronous I/O and the kernel's workers. Metadata of
    the file system do not count.
    """

    #: Bytes of all calls; ``None`` if they are unknown, or if more than a thousandth was also
    #: stored into mapped files.
    bytes: int | None
    #: The least and the most bytes that were written; ``None`` if there is no such bound.
    least: int | None
    most: int | None
    #: The reason why the bytes are unknown; ``None`` if they are known.
    unknown: str | None
    #: Bytes written through the page cache, and around it; ``None`` if the kernel does not tell.
    cached_bytes: int | None
    direct_bytes: int | None
    #: The number of times that a store into a mapped file made a folio of the page cache dirty, and
    #: an upper bound of the bytes in these folios: for each, the known length of its file, and at
    #: most 2 MiB.
    stores: int | None
    stored_most: int | None
    #: Bytes of the write calls of the command's processes, including those to pipes and terminals,
    #: without asynchronous I/O.
    calls_bytes: int
    #: Bytes of the folios that the command's processes made dirty; each folio counts as a whole.
    dirtied_bytes: int


@dataclass(frozen=True)
class Counts:
    """The kernel's counts of bytes written to a file system, as in :class:`Written`."""

    cached_bytes: int
    direct_bytes: int | None
    stores: int
    stored_most: int
    #: The number of events that the kernel lost.
    lost: int

    @classmethod
    def of(cls, counts: Mapping[str, int | None]) -> Self:
        """The counts of a :class:`flashgc._core.WriteFollower`."""
        sums = {name: counts[name] or 0 for name in _SUMS}
        return cls(direct_bytes=counts["direct_bytes"], lost=counts["lost"] or 0, **sums)

    def since(self, before: Counts | None, lost: int) -> Counts:
        """The counts since ``before``, in a run of which the kernel has lost ``lost`` events.

        The kernel reports a lost event late. So if a run has one, the bytes of none of its parts
        are known.
        """
        grown = {name: getattr(self, name) - getattr(before, name, 0) for name in _SUMS}
        direct = self.direct_bytes
        if direct is not None and before is not None:
            direct -= before.direct_bytes or 0
        return Counts(direct_bytes=direct, lost=lost, **grown)

    @property
    def least(self) -> int:
        """The bytes of calls: the least that was written."""
        return self.cached_bytes + (self.direct_bytes or 0)

    @property
    def most(self) -> int | None:
        """The most bytes that were written; ``None`` without a bound."""
        return None if self.lost or self.direct_bytes is None else self.least + self.stored_most

    @property
    def unknown(self) -> str | None:
        """The reason why the bytes are unknown; ``None`` if they are known."""
        if self.lost:
            return f"the kernel lost {self.lost} events"
        if self.stored_most > NEGLIGIBLE * self.least:
            return f"stores into mapped files made {self.stores} folios dirty"
        if self.direct_bytes is None:
            return "this kernel does not tell what is written around the page cache"
        return None

    @property
    def bytes(self) -> int | None:
        """The bytes of calls, if nothing else counts; else ``None``."""
        return None if self.unknown else self.least


class Writes(Worker):
    """Counts the bytes written to the file system on ``device`` while the object is open."""

    def __init__(self, device: str, filesystem: str) -> None:
        super().__init__()
        self._follower: _core.WriteFollower | None = None
        self._why = f"{filesystem} does not tell what is written to it"
        if filesystem in ("ext4", "xfs"):
            try:
                self._follower = _core.WriteFollower(Path(device), filesystem)
            except (ConfigError, DriveError) as error:
                self._why = str(error).partition("; hint: ")[0]

    def __exit__(self, *_: object) -> None:
        self.stop()  # The counts are read until `close`.

    def close(self) -> None:
        """Free the ring buffers."""
        if self._follower is not None:
            self._follower.close()

    def _work(self) -> None:
        if self._follower is None:
            return
        with contextlib.suppress(DriveError):
            # A poll that waits would hold the follower, and a mark would wait for it.
            while not self._over.wait(LOOK):
                self._follower.poll(0)
            # Two polls, since events of the last moment are in their ring only at the second poll.
            self._follower.poll(SETTLED)
            self._follower.poll(SETTLED)

    def so_far(self) -> Counts | None:
        """The kernel's counts so far; ``None`` if it gives none."""
        if self._follower is None:
            return None
        with contextlib.suppress(DriveError):
            self._follower.poll(0)
        return Counts.of(self._follower.counts())

    def written(self, calls_bytes: int, dirtied_bytes: int) -> Written:
        """The bytes written, with the counts of the command's processes."""
        counts = self.so_far()
        return Written(
            unknown=self._why if counts is None else counts.unknown,
            calls_bytes=calls_bytes,
            dirtied_bytes=dirtied_bytes,
            **{name: getattr(counts, name, None) for name in _OF_KERNEL},
        )


def in_words(exact: int | None, least: int | None, most: int | None) -> str:
    """Bytes as text: exact, as a range between both bounds, or unknown.

    >>> in_words(4096, 4096, 8192), in_words(None, 4096, 8192), in_words(None, 4096, None)
    ('4 KiB', '4 KiB to 8 KiB', 'unknown')
    """
    if exact is not None:
        return format_size(exact)
    if least is None or most is None:
        return "unknown"
    return f"{format_size(least)} to {format_size(most)}"
