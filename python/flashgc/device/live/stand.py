"""A drive that is up and records its requests, and its counts."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashgc import Device, DriveError
from flashgc.device import making, mounts, programs, realtime, serving, up
from flashgc.device._closing import descriptor
from flashgc.device.control import Client
from flashgc.device.live.plan import COLLECTORS, MIB, Clock, Plan
from flashgc.device.serving import Fronts

#: The counts that a replay must reproduce exactly.
EXACT = ("host_pages_written", "copied_pages", "erases")


#: The name of the micro-benchmark's file in a file system.
MICRO = "micro"

#: The kernel's settings for each device, for example how much of the page cache may be dirty.
BDI = Path("/sys/class/bdi")


def create(plan: Plan, workload: str, collector: str, file: Path) -> None:
    """Make a fresh drive."""
    Device.create(
        file,
        capacity=f"{plan.capacity // MIB}MiB",
        spare=plan.spare,
        pages_per_block=plan.block(workload),
        **COLLECTORS[collector],
    ).close()


def copied(file: Path, copy: Path) -> None:
    """Copy a closed drive; holes in the file stay holes."""
    mounts.run("cp", "--sparse=always", "--reflink=auto", str(file), str(copy))


@dataclass(frozen=True)
class Mounted:
    """A drive with its file system, or as a block device without one."""

    file: Path
    #: The folder of the file system; without a file system, the device.
    folder: Path
    device: str
    disk: Path

    @property
    def is_raw(self) -> bool:
        """True if there is no file system."""
        return str(self.folder) == self.device

    @property
    def micro(self) -> Path:
        """The file that the micro-benchmark reads and writes; without a file system, the device."""
        return self.folder if self.is_raw else self.folder / MICRO

    @property
    def micro_size(self) -> int:
        """Bytes of :attr:`micro`."""
        return (self.disk if self.is_raw else self.micro).stat().st_size

    def stat(self) -> dict[str, Any]:
        """Return the state of the drive now."""
        with Client(self.file) as client:
            return client.stat()

    def sync(self) -> None:
        """Write back all dirty pages."""
        if self.is_raw:
            mounts.run("sync", self.device)
        else:
            mounts.run("sync", "--file-system", str(self.folder))

    def freeze(self) -> None:
        """Discard unused space, write back the rest, and allow no more writes."""
        if not self.is_raw:
            mounts.run("fstrim", str(self.folder))
        self.sync()
        if not self.is_raw:
            mounts.run("mount", "-o", "remount,ro", str(self.folder))

    def overwrite(self, piece: int) -> None:
        """Overwrite the whole device in order."""
        mounts.run(
            "dd", "if=/dev/urandom", f"of={self.device}", f"bs={piece}", f"count={self.micro_size}",
            "iflag=fullblock,count_bytes", "conv=notrunc", "status=none",
        )  # fmt: skip
        self.sync()


@contextlib.contextmanager
def mounted(
    file: Path,
    folder: Path,
    trace: Path,
    filesystem: str = "ext4",
    clock: tuple[Clock, Path] | None = None,
) -> Iterator[Mounted]:
    """The drive in ``file`` with its file system in ``folder``; requests are recorded in ``trace``.

    With a ``clock`` and the recording of its past, it answers when a timed drive would.
    """
    words = Fronts(record=trace, clock=_clocked(file, clock)).words()
    done = up.up(file, folder, filesystem=filesystem, serve=words)
    try:
        yield Mounted(file, folder, done.device, done.disk)
    finally:
        up.down(file, force=True)


@contextlib.contextmanager
def attached(
    file: Path, folder: Path, trace: Path, clock: tuple[Clock, Path] | None = None
) -> Iterator[Mounted]:
    """The drive in ``file`` as a block device without a file system, served by this process.

    Its bytes are a file in ``folder``. The device stays open to the end. If the last program closed
    it, the kernel would write back and drop the pages that it has cached.
    """
    folder.mkdir(exist_ok=True)
    with serving.opened(file, Fronts(fuse=folder, record=trace, clock=_clocked(file, clock))):
        disk = folder / "disk"
        device = mounts.attach(disk)
        try:
            with descriptor(os.open(device, os.O_RDONLY)):
                yield Mounted(file, Path(device), device, disk)
        finally:
            mounts.detach(device, disk)


def _clocked(file: Path, clock: tuple[Clock, Path] | None) -> realtime.Clock | None:
    if clock is None:
        return None
    read = making.configuration(file)
    is_hinted = read["policies"]["victim"].startswith("z-")
    return realtime.clock(read, **clock[0].options(is_hinted=is_hinted, past=clock[1]))


def closed(file: Path) -> dict[str, int]:
    """The counts :data:`EXACT` of a drive that is not up, since the drive was made."""
    with Device.open(file) as drive:
        counters = drive.stat()["counters"]
    return {name: int(counters[name]) for name in EXACT}


def raw(mount: Mounted, copy: Path) -> None:
    """Copy the bytes of the drive as a host sees them."""
    subprocess.run(
        programs.words(
            ("dd", f"if={mount.disk}", f"of={copy}", "bs=1M", "conv=sparse", "status=none")
        ),
        check=True,
    )


def room(path: Path) -> int:
    """The free bytes of a file system."""
    return shutil.disk_usage(path).free


@contextlib.contextmanager
def limited(device: str, most: int) -> Iterator[None]:
    """Limit the dirty bytes of this device in the page cache, and of no other device.

    The kernel's global limits would also block the drive's server, for which the device waits. That
    would be a deadlock.
    """
    number = os.stat(device).st_rdev
    home = BDI / f"{os.major(number)}:{os.minor(number)}"
    (home / "max_bytes").write_text(str(most))
    (home / "strict_limit").write_text("1")
    try:
        yield
    finally:
        (home / "strict_limit").write_text("0")
        (home / "max_ratio").write_text("100")


def find_fio() -> None:
    """Check that fio is installed; raise :class:`DriveError` if it is not."""
    if programs.find("fio") is None:
        raise DriveError("fio is not installed; hint: apt-get install fio")


@contextlib.contextmanager
def following(follow: Callable[[Callable[[], bool]], Iterator[Any]]) -> Iterator[list[Any]]:
    """Follow a host on another thread; the samples are in the list after the ``with``."""
    ended = threading.Event()
    samples: list[Any] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            samples.extend(follow(ended.is_set))
        except Exception as error:  # It is raised below, on the thread that waits.
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        ended.set()
        thread.join()
    if failed:
        raise failed[0]
