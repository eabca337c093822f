"""Hints from Linux's page cache: the pages that a mounted file system has dirty in memory."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from flashgc import _core
from flashgc._core import ConfigError, DriveError
from flashgc.device import mounts, up
from flashgc.device._closing import Closing
from flashgc.device.hints.link import Link, Sent
from flashgc.device.hints.place import IN_PLACE

#: The tracepoint that reports dirty pages of ext4.
DIRTIED = "block/block_dirty_buffer"

#: Seconds between two reads of the pages that became dirty.
INTERVAL = 0.02


@dataclass(frozen=True)
class Followed:
    """The counts since the follower began."""

    #: Seconds since the follower began.
    seconds: float
    #: Seconds of processor time used.
    cpu_seconds: float
    #: The number of kernel events read, the number lost, and the bytes read.
    events: int
    lost: int
    bytes: int
    #: The number of events about blocks whose address is chosen only when they are written.
    without_address: int
    #: Pages of 4 KiB: dirty now; hinted so far; hints that ended by a write or a discard; hints
    #: that were cancelled.
    dirty: int
    hinted: int
    ended: int
    cancelled: int
    #: The number of zombies on the drive.
    zombies: int
    #: The hints that were sent to the drive.
    sent: Sent


@dataclass(frozen=True)
class Mounted:
    """A file system and its block device; ``raw`` is a device without a file system."""

    filesystem: str
    device: Path
    number: int


class PageCache(Closing):
    """Tells the drive in ``file`` which pages the file system at ``mount`` will write.

    ``mount`` may also be the block device of the drive, if it has no file system.

    Every ``interval`` seconds the drive is told which pages became dirty, and which dirty pages
    will not be written. A hint names the drive's moment before that interval, so that it does not
    apply to pages written since. A drive whose server was restarted is told all dirty pages. Needs
    root.
    """

    def __init__(
        self,
        mount: Path,
        file: Path,
        *,
        interval: float = INTERVAL,
        ring_bytes: int | None = None,
    ) -> None:
        """Connects to the drive and to the kernel.

        Raises :class:`flashgc.ConfigError` or :class:`flashgc.DriveError` if that is not possible.
        """
        self._mount, self._interval = mount, interval
        self._place = mounted(mount)
        self.link = Link(file)
        _check(mount, self._place, file, self.link.serving())
        self._follower = _core.PageCacheFollower(
            self._place.device, self._place.filesystem, ring_bytes
        )
        self._begin, self._cpu = time.monotonic(), time.process_time()

    def close(self) -> None:
        """Ends both connections."""
        self._follower.close()
        self.link.close()

    def follow(self, stopped: Callable[[], bool], every: float = 10.0) -> Iterator[Followed]:
        """Follow until ``stopped()``, or until the file system is unmounted.

        Yields the counts every ``every`` seconds (0: never) and at the end.
        """
        due = time.monotonic() + every
        while not stopped() and _is_mounted(self._mount, self._place):
            is_new = self.link.look()
            dirtied, cancelled = self._follower.poll(self._interval)
            # A page that was freed and is dirty again is only in `dirtied`.
            self.link.send(self._follower.dirty() if is_new else dirtied, cancelled)
            if every and time.monotonic() >= due:
                yield self.counts()
                due = time.monotonic() + every
        yield self.counts()

    def counts(self) -> Followed:
        """Return the counts so far."""
        return Followed(
            seconds=time.monotonic() - self._begin,
            cpu_seconds=time.process_time() - self._cpu,
            zombies=self.link.zombies(),
            sent=replace(self.link.sent),
            **self._follower.counts(),
        )


def check_tracepoints() -> None:
    """Check that the kernel reports dirty pages of ext4; raise :class:`DriveError` if not."""
    if not _core.has_tracepoint(DIRTIED):
        raise DriveError(
            f"the kernel has no tracepoint {DIRTIED}; hint: a kernel with CONFIG_FTRACE"
        )


def mounted(mount: Path) -> Mounted:
    """The file system that contains ``mount``, and its device.

    Raises :class:`flashgc.ConfigError` if its overwrites cannot be predicted.
    """
    try:
        node = os.stat(mount)
    except OSError as error:
        raise ConfigError(
            f"{mount}: {error.strerror}; hint: name a folder of the file system on the drive"
        ) from None
    path = mount.resolve()
    if stat.S_ISBLK(node.st_mode):
        return _raw(path, node.st_rdev)
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        rows = [_mount_of(line) for line in lines]
    # If several file systems are mounted at one place, the last one counts.
    inside = [entry for entry in rows if path.is_relative_to(entry[0])]
    point, number, filesystem, options = max(
        reversed(inside), key=lambda entry: len(entry[0].parts)
    )
    if filesystem not in IN_PLACE:
        raise ConfigError(
            f"{mount}: found {filesystem}, expected {' or '.join(IN_PLACE)}; hint: a file system "
            "that copies on write (btrfs, zfs) overwrites elsewhere, so it has nothing to hint"
        )
    if "nodelalloc" in options:
        raise ConfigError(
            f"{mount}: found nodelalloc, with which writes through mmap are not seen; "
            f"hint: mount {point} without it"
        )
    device = Path("/dev") / Path(f"/sys/dev/block/{number}").resolve().name
    major, minor = number.split(":")
    return Mounted(filesystem, device, os.makedev(int(major), int(minor)))


def _raw(device: Path, number: int) -> Mounted:
    """The block device itself, which must not be mounted."""
    name = f"{os.major(number)}:{os.minor(number)}"
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        points = [point for point, on, *_ in map(_mount_of, lines) if on == name]
    if points:
        raise ConfigError(f"{device} is mounted; hint: --mount {points[0]}")
    return Mounted("raw", device, number)


def _mount_of(line: str) -> tuple[Path, str, str, list[str]]:
    """A line of mountinfo: the mount point, the device, the file system, and its options."""
    before, after = line.split(" - ", 1)
    fields, (filesystem, _source, options) = before.split(), after.split()
    point = fields[4].encode().decode("unicode_escape").encode("latin-1")
    return Path(os.fsdecode(point)), fields[2], filesystem, options.split(",")


def _check(mount: Path, place: Mounted, file: Path, serving: Iterable[str]) -> None:
    """Raises :class:`flashgc.ConfigError` if the file system is not on the drive."""
    disk, done = mounts.backing(str(place.device)), up.read(file)
    is_up = done is not None and done.device == str(place.device) and {*done.serving} <= {*serving}
    if not is_up and f"fuse {disk}" not in serving:
        raise ConfigError(
            f"{mount} is on {disk or place.device}, expected the drive in {file}; "
            f"hint: flashgc device up {file} --mount DIR"
        )


def _is_mounted(mount: Path, place: Mounted) -> bool:
    try:
        status = os.stat(mount)
    except OSError:
        return False
    if place.filesystem == "raw":
        return status.st_rdev == place.number and mounts.backing(str(place.device)) is not None
    return status.st_dev == place.number
