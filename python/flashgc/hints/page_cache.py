"""Linux's page cache hints a drive: the pages that a mounted file system has dirty in memory."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from flashgc import _core
from flashgc._core import ConfigError, DriveError
from flashgc.device.control import PAGE, Client

#: Seconds between two looks at what became dirty, and between two reports.
INTERVAL, EVERY = 0.02, 1.0

Ranges = list[tuple[int, int]]


@dataclass(frozen=True)
class Followed:
    """What was counted since a mount is followed."""

    #: Seconds since then.
    seconds: float
    #: Events of the kernel that were read, those that it could not keep, and bytes that were read.
    events: int
    lost: int
    bytes: int
    #: Events of blocks that get their place only when they are written.
    without_address: int
    #: Pages of 4 KiB: dirty now, hinted, ended by writes or discards, and cancelled.
    dirty: int
    hinted: int
    ended: int
    cancelled: int
    #: Hinted pages that the drive had been given to write since, so that the hint did nothing.
    late: int
    #: Connections to the drive that were made: more than one if it was served anew.
    connections: int


@dataclass(frozen=True)
class Mounted:
    """A file system and the device that it is on."""

    filesystem: str
    device: Path
    number: int


def follow(
    mount: Path,
    file: Path,
    *,
    interval: float = INTERVAL,
    every: float = EVERY,
    ring_bytes: int | None = None,
    stop: threading.Event | None = None,
) -> Iterator[Followed]:
    """Hints the drive in ``file`` what the file system at ``mount`` on it will write.

    Every ``interval`` seconds the drive hears what became dirty, and which of it will not be
    written. A hint names the drive's moment before that interval: pages that it was given since are
    left out. A drive that is served anew hears all that is dirty.

    Yields the counts every ``every`` seconds and at the end. The end comes with Ctrl-C or the
    signal to terminate, or with ``stop`` if that is given, or when the file system is unmounted.
    Needs root.
    """
    place = mounted(mount)
    with contextlib.ExitStack() as stack:
        link = Link(file)
        stack.callback(link.close)
        _check(mount, place, file, link.serving())
        follower = _core.PageCacheFollower(place.device, place.filesystem, ring_bytes)
        stack.callback(follower.close)
        told = stop if stop is not None else stack.enter_context(_signals())
        begin = reported = time.monotonic()

        def counted() -> Followed:
            counts = follower.counts()
            seconds = time.monotonic() - begin
            return Followed(seconds, late=link.late, connections=link.connections, **counts)

        while not told.is_set() and _is_mounted(mount, place):
            while not told.is_set() and time.monotonic() < reported + every:
                moment = link.moment()
                dirtied, cancelled = follower.poll(interval)
                if link.is_behind:
                    dirtied = follower.dirty()
                link.tell(moment, dirtied, cancelled)
            reported = time.monotonic()
            yield counted()


class Link:
    """A connection to a drive, made again when the drive is served anew."""

    def __init__(self, file: Path) -> None:
        """Connects; raises :class:`flashgc.DriveError` if nobody serves the drive."""
        self._file = file
        self._client: Client | None = Client(file)
        #: Whether the drive may not have heard of all that is dirty.
        self.is_behind = False
        self.connections = 1
        self.late = 0

    def serving(self) -> list[str]:
        """The drive's front ends, in words."""
        assert self._client is not None
        serving: list[str] = self._client.stat()["serving"]
        return serving

    def moment(self) -> int | None:
        """The drive's moment; ``None`` while nobody serves it."""
        try:
            if self._client is None:
                self._client = Client(self._file)
                self.connections += 1
            return self._client.moment()
        except DriveError:
            self._lose()
            return None

    def tell(self, moment: int | None, dirtied: Ranges, cancelled: Ranges) -> None:
        """Passes ranges of pages on: those dirty since ``moment``, and those that are cancelled."""
        if self._client is None or moment is None:
            return
        try:
            # What was freed and is dirty again is in `dirtied` alone.
            if cancelled:
                self._client.cancel(_bytes(cancelled))
            if dirtied:
                self.late += self._client.hint(_bytes(dirtied), moment)
            self.is_behind = False
        except DriveError:
            self._lose()

    def _lose(self) -> None:
        self.is_behind = True
        self.close()

    def close(self) -> None:
        """Ends the connection."""
        client, self._client = self._client, None
        if client is not None:
            client.close()


def mounted(mount: Path) -> Mounted:
    """The file system that ``mount`` is in, and its device.

    Raises :class:`flashgc.ConfigError` if its overwrites cannot be told.
    """
    path = mount.resolve()
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        found = [_parsed(line) for line in lines]
    # Of mounts one over another the last one counts.
    inside = [entry for entry in found if path.is_relative_to(entry[0])]
    point, number, filesystem, options = max(
        reversed(inside), key=lambda entry: len(entry[0].parts)
    )
    if filesystem not in ("ext4", "xfs"):
        raise ConfigError(
            f"{mount}: found {filesystem}, expected ext4 or xfs; hint: a file system that copies "
            "on write (btrfs, zfs) overwrites elsewhere, so it has nothing to hint"
        )
    if "nodelalloc" in options:
        raise ConfigError(
            f"{mount}: found nodelalloc, with which writes through mmap are not seen; "
            f"hint: mount {point} without it"
        )
    device = Path("/dev") / Path(f"/sys/dev/block/{number}").resolve().name
    major, minor = number.split(":")
    return Mounted(filesystem, device, os.makedev(int(major), int(minor)))


def _parsed(line: str) -> tuple[Path, str, str, list[str]]:
    """A line of mountinfo: where, which device, which file system, and its own options."""
    before, after = line.split(" - ", 1)
    fields, (filesystem, _source, options) = before.split(), after.split()
    point = fields[4].encode().decode("unicode_escape").encode("latin-1")
    return Path(os.fsdecode(point)), fields[2], filesystem, options.split(",")


def _check(mount: Path, place: Mounted, file: Path, serving: Iterable[str]) -> None:
    """Raises :class:`flashgc.ConfigError` if the file system is not on the drive."""
    backing = Path("/sys/block") / place.device.name / "loop/backing_file"
    try:
        disk = backing.read_text().strip()
    except OSError:
        disk = None
    if disk is None or f"fuse {disk}" not in serving:
        raise ConfigError(
            f"{mount} is on {disk or place.device}, expected the drive in {file}; "
            f"hint: flashgc device up {file} --mount DIR"
        )


def _is_mounted(mount: Path, place: Mounted) -> bool:
    try:
        return os.stat(mount).st_dev == place.number
    except OSError:
        return False


def _bytes(pages: Ranges) -> Ranges:
    return [(first * PAGE, count * PAGE) for first, count in pages]


@contextlib.contextmanager
def _signals() -> Iterator[threading.Event]:
    """Set by Ctrl-C and the signal to terminate, as long as this lasts."""
    told = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: told.set()) for number in numbers}
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
