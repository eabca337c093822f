"""The follower of Linux's page cache knows the kernel's dirty pages, and hints them."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.conftest import COMMAND, environment
from tests.device.conftest import has_mounts, needs
from tests.hints.page_flags import PAGE, dirty_in_file, dirty_pages, pages_of

from flashgc import ConfigError, Device, DriveError, _core
from flashgc.device import mounts
from flashgc.device import up as upping
from flashgc.device.control import Client
from flashgc.device.hints import page_cache
from flashgc.device.hints.link import Link

EVENTS = Path("/sys/kernel/tracing/events")

pytestmark = [
    pytest.mark.skipif(
        not has_mounts(), reason="the page cache is followed by root, on loop devices"
    ),
    pytest.mark.skipif(
        not (EVENTS / "block/block_dirty_buffer").exists(),
        reason="tracefs is not mounted, or the kernel has no tracepoints",
    ),
    pytest.mark.xdist_group(__name__),
]

#: Seconds of a poll: longer than an event takes to reach its ring buffer.
SOON = 0.005
#: Random operations on a file; repeated names are drawn more often.
STEPS = ("overwrite", "overwrite", "map", "map", "append", "direct", "truncate", "sync")
#: The number of pages of the file that is overwritten.
PAGES = 1024


@dataclass
class Place:
    """A file system on a loop device, with its follower."""

    mount: Path
    disk: Path
    device: str
    filesystem: str
    follower: _core.PageCacheFollower

    def file(self, name: str = "data", pages: int = PAGES) -> Path:
        """Creates a file whose pages are on the device, and not in memory."""
        path = self.mount / name
        path.write_bytes(random.Random(pages).randbytes(pages * PAGE))
        forget(path)
        self.sync()
        return path

    def sync(self) -> None:
        """Syncs this file system, and no other."""
        fd = os.open(self.mount, os.O_RDONLY)
        assert ctypes.CDLL(None).syncfs(fd) == 0
        os.close(fd)

    def on_device(self, pages: list[int]) -> dict[int, bytes]:
        """The bytes of pages, as the device has them."""
        with open(self.disk, "rb") as disk:
            return {page: os.pread(disk.fileno(), PAGE, page * PAGE) for page in pages}

    def known(self) -> set[int]:
        """The pages that the follower takes for dirty."""
        self.follower.poll(SOON)
        return pages_in(self.follower.dirty())

    def agrees(self, path: Path) -> None:
        """Asserts that the follower and the kernel agree on the file's dirty pages."""
        data = pages_of(path)
        eventually(lambda: (self.known() & data, dirty_pages(path)))


def eventually(both: Callable[[], tuple[object, object]]) -> None:
    """Asserts that two values become equal within a minute: the kernel may write at any time."""
    until = time.monotonic() + 60
    while True:
        found, expected = both()
        if found == expected or time.monotonic() > until:
            assert found == expected
            return


def pages_in(ranges: list[tuple[int, int]]) -> set[int]:
    return {page for first, count in ranges for page in range(first, first + count)}


def forget(path: Path) -> None:
    """Syncs a file and drops its pages from memory, so that later reads load single pages."""
    fd = os.open(path, os.O_RDWR)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    os.close(fd)


each_file_system = pytest.mark.parametrize(
    "place",
    [
        pytest.param(("ext4", 4096), id="ext4"),
        pytest.param(("ext4", 1024), id="ext4-1k"),
        pytest.param(("xfs", 4096), id="xfs", marks=needs("mkfs.xfs")),
    ],
    indirect=True,
)
on_ext4 = pytest.mark.parametrize("place", [pytest.param(("ext4", 4096), id="ext4")], indirect=True)
on_xfs = pytest.mark.parametrize(
    "place", [pytest.param(("xfs", 4096), id="xfs", marks=needs("mkfs.xfs"))], indirect=True
)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A file system of the wanted kind on a plain loop device, followed."""
    filesystem, block = request.param
    image, mount = tmp_path / "cache-disk", tmp_path / "cache-mount"
    mount.mkdir()
    image.touch()
    # mkfs.xfs needs at least 300 MB.
    os.truncate(image, (64 if filesystem == "ext4" else 320) << 20)
    sector = "512" if block < PAGE else "4096"
    device = mounts.run("losetup", "--find", "--show", "--sector-size", sector, str(image))
    try:
        size = ("-b", str(block)) if block < PAGE else ()
        mounts.run(*mounts.MAKERS[filesystem], *size, device)
        mounts.run("mount", "-o", "discard", device, str(mount))
        follower = _core.PageCacheFollower(Path(device), filesystem)
        yield Place(mount, image, device, filesystem, follower)
        follower.close()
    finally:
        mounts.unmount(mount, force=True)
        mounts.detach(device, image)


def overwrite(path: Path, pages: list[int], byte: bytes = b"n") -> None:
    with open(path, "r+b", buffering=0) as file:
        for page in pages:
            os.pwrite(file.fileno(), byte * PAGE, page * PAGE)


def write_mapped(path: Path, pages: list[int]) -> None:
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory.madvise(mmap.MADV_RANDOM)
        for page in pages:
            memory[page * PAGE + 100] = page & 0xFF


def write_direct(path: Path, pages: list[int]) -> None:
    fd = os.open(path, os.O_RDWR | os.O_DIRECT)
    aligned = mmap.mmap(-1, PAGE)
    aligned.write(b"d" * PAGE)
    for page in pages:
        os.pwritev(fd, [aligned], page * PAGE)
    os.close(fd)


def sync_file(path: Path) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())


@each_file_system
@pytest.mark.parametrize("seed", [1, 2])
def test_the_dirty_pages_are_those_of_the_kernel(place: Place, seed: int) -> None:
    """After each random operation, follower and kernel name the same pages of the device."""
    random_ = random.Random(seed)
    path = place.file()
    place.agrees(path)
    seen = 0
    for _ in range(40):
        size = path.stat().st_size // PAGE
        pages = random_.sample(range(size), random_.randrange(1, 30))
        step = random_.choice(STEPS)
        match step:
            case "overwrite":
                overwrite(path, pages)
            case "map":
                write_mapped(path, pages)
            case "append":
                with open(path, "ab") as file:
                    file.write(random_.randbytes(PAGE * 5))
            case "direct":
                write_direct(path, pages)
            case "truncate":
                # Mostly within a block, whose rest becomes zero. Blocks smaller than a page are
                # cut at whole pages, because the kernel's flags are per page.
                cut = random_.randrange(20 * PAGE)
                if os.statvfs(path).f_bsize < PAGE:
                    cut -= cut % PAGE
                os.truncate(path, size * PAGE - cut)
            case "sync":
                forget(path)
        place.agrees(path)
        seen += len(dirty_in_file(path))
    assert seen > 500
    counts = place.follower.counts()
    assert counts["lost"] == 0
    assert counts["without_address"] > 0, "appends have no place"


@each_file_system
def test_after_a_sync_nothing_is_dirty(place: Place) -> None:
    """No data and, on ext4, no metadata stay dirty."""
    path = place.file()
    for number in range(20):
        (place.mount / f"small{number}").write_bytes(b"s" * 5000)
    overwrite(path, list(range(0, 200, 3)))
    assert len(place.known()) >= 67
    place.sync()
    eventually(lambda: (place.known(), set()))
    counts = place.follower.counts()
    assert counts["dirty"] == 0
    assert counts["ended"] >= 67


@each_file_system
def test_what_is_known_is_what_a_sync_changes_on_the_device(place: Place) -> None:
    """The test holds even if many pages share a folio, which has a single dirty flag."""
    path = place.file()
    with open(path, "r+b", buffering=0) as file:
        os.pwrite(file.fileno(), b"l" * (1 << 20), 100 * PAGE)
    place.agrees(path)
    sync_file(path)
    data = sorted(pages_of(path))
    before = place.on_device(data)
    overwrite(path, [110, 130, 131], b"x")
    known = place.known() & set(data)
    sync_file(path)
    after = place.on_device(data)
    assert known == {page for page in data if before[page] != after[page]}
    assert len(known) in (3, 5), "a page of a file with blocks of 1 KiB may lie on two"


@each_file_system
def test_what_is_freed_is_cancelled(place: Place) -> None:
    path = place.file()
    overwrite(path, [1, 2, 600, 601, 900])
    dirty = dirty_pages(path)
    assert place.known() >= dirty
    os.truncate(path, 500 * PAGE)
    kept = dirty_pages(path)
    assert kept < dirty
    cancelled: set[int] = set()

    def freed() -> tuple[object, object]:
        cancelled.update(pages_in(place.follower.poll(SOON)[1]))
        return cancelled & dirty, dirty - kept

    eventually(freed)
    cancelled.clear()
    path.unlink()
    dirty, kept = kept, set()
    eventually(freed)
    assert not place.known() & dirty
    assert place.follower.counts()["cancelled"] >= 5


@each_file_system
def test_what_is_dirty_again_within_a_poll_is_reported_by_the_next(place: Place) -> None:
    """The drive would ignore an older hint, because the page was written since."""
    path = place.file()
    place.known()
    overwrite(path, [7])
    sync_file(path)
    overwrite(path, [7])
    dirty = dirty_pages(path)
    first, _ = place.follower.poll(SOON)
    assert not pages_in(first) & dirty
    assert dirty <= pages_in(place.follower.dirty())
    second, _ = place.follower.poll(SOON)
    assert pages_in(second) & dirty == dirty
    overwrite(path, [7])
    third, _ = place.follower.poll(SOON)
    assert not pages_in(third) & dirty, "nothing new: it is dirty already"


@each_file_system
def test_unwritten_extents_are_followed(place: Place) -> None:
    """Unwritten extents have a place, where the drive may hold old data."""
    path = place.mount / "preallocated"
    with open(path, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 100 * PAGE)
    sync_file(path)
    overwrite(path, [3, 50])
    assert len(dirty_in_file(path)) == 2
    place.agrees(path)


@on_xfs
def test_copies_of_shared_extents_are_not_hinted_where_the_old_data_are(place: Place) -> None:
    path = place.file()
    shared = place.mount / "shared"
    subprocess.run(("cp", "--reflink=always", str(path), str(shared)), check=True)
    before = pages_of(path)
    place.known()
    overwrite(path, [10, 11])
    assert not place.known() & before
    place.sync()
    assert place.known() == set()
    assert pages_of(path) != before, "it was copied"
    overwrite(path, [10])
    place.agrees(path)


@on_ext4
def test_lost_events_are_counted_and_forgotten(place: Place) -> None:
    """If the ring buffer overflows, the set of dirty pages is cleared, so none stays for ever."""
    path = place.file()
    follower = _core.PageCacheFollower(Path(place.device), "ext4", 4096)
    for _ in range(4):
        overwrite(path, list(range(PAGES)))
        sync_file(path)
        follower.poll(SOON)
    place.sync()
    overwrite(path, [5])
    lost = follower.counts()["lost"]
    assert lost > 1000
    follower.poll(SOON)
    place.sync()
    follower.poll(SOON)
    known = pages_in(follower.dirty())
    assert not known & pages_of(path)

    def after_a_write() -> tuple[object, object]:
        place.sync()
        overwrite(path, [6])
        follower.poll(SOON)
        dirty = dirty_pages(path)
        return (pages_in(follower.dirty()) & pages_of(path), bool(dirty)), (dirty, True)

    # The writes of other programs may overflow the ring buffer once more.
    eventually(after_a_write)
    assert place.follower.counts()["lost"] == 0, "another follower is not disturbed"


@on_ext4
def test_what_cannot_be_followed_is_refused_in_a_line(place: Place, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"found proc, expected ext4 or xfs; hint: .*\w$"):
        page_cache.mounted(Path("/proc"))
    with pytest.raises(ConfigError, match="found btrfs, expected ext4 or xfs"):
        _core.PageCacheFollower(Path(place.device), "btrfs")
    with pytest.raises(DriveError, match="found another superblock, expected one of Xfs"):
        _core.PageCacheFollower(Path(place.device), "xfs")
    with pytest.raises(DriveError, match="found no block device"):
        _core.PageCacheFollower(place.mount, "ext4")
    file = tmp_path / "drive.flash"
    with Device.create(file, capacity="64MiB") as drive:
        drive.serve_control()
        with pytest.raises(ConfigError, match="cache-disk, expected the drive in"):
            page_cache.PageCache(place.mount, file)


def test_a_link_says_that_the_drive_was_served_anew(tmp_path: Path) -> None:
    file = tmp_path / "drive.flash"
    with Device.create(file, capacity="64MiB", pages_per_block=64, scheme="zgc-gd") as drive:
        drive.write(0, bytes(8 * PAGE))
        drive.serve_control()
        link = Link(file)
        assert not link.look()
    assert not link.look()
    assert not link.is_up
    link.send([(0, 1)], [])
    assert (link.sent.lost, link.sent.pages) == (1, 0)
    with Device.open(file) as drive:
        drive.serve_control()
        eventually(lambda: (link.look(), True))
        assert (link.is_up, link.sent.reconnections) == (True, 1)
        drive.write(PAGE, bytes(PAGE))
        link.send([(0, 4)], [(6, 1)])
        assert (link.sent.pages, link.sent.late, link.sent.cancelled) == (4, 1, 1)
        assert drive.stat()["zombie_pages"] == 3
        # This hint is older than the connection to the drive, so it is lost.
        link.send([(4, 2)], [], known=time.time() - 3600)
        assert link.sent.lost == 3
        link.close()


def test_a_link_goes_on_when_the_clock_is_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "drive.flash"
    with Device.create(file, capacity="64MiB", pages_per_block=64, scheme="zgc-gd") as drive:
        drive.write(0, bytes(8 * PAGE))
        drive.serve_control()
        with Link(file) as link:
            link.look()
            then = time.time() - 3600
            monkeypatch.setattr(time, "time", lambda: then)
            link.look()
            link.send([(0, 2)], [], known=then)
            assert (link.sent.pages, link.sent.lost) == (2, 0)


@pytest.mark.parametrize("filesystem", ["ext4", pytest.param("xfs", marks=needs("mkfs.xfs"))])
def test_hints_reach_the_drive(filesystem: str, tmp_path: Path) -> None:
    """The drive's zombies are the kernel's dirty pages, and all of them are overwritten."""
    file, mount = tmp_path / "drive.flash", tmp_path / "cache-mount"
    capacity = "128MiB" if filesystem == "ext4" else "400MiB"
    Device.create(file, capacity=capacity, pages_per_block=64, scheme="zgc-gd").close()
    upping.up(file, mount, filesystem=filesystem)
    follower = None
    try:
        path = mount / "data"
        path.write_bytes(bytes(PAGES * PAGE))
        forget(path)
        subprocess.run(("sync", "-f", str(mount)), check=True)
        follower = subprocess.Popen(
            (*COMMAND, "hints", "page-cache", "--mount", str(mount), "--device", str(file),
             "--every", "0.1", "--json"),
            env=environment(), stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert follower.stdout is not None
        assert json.loads(follower.stdout.readline())["lost"] == 0
        overwrite(path, list(range(0, PAGES, 4)))
        with Client(file) as client:

            def zombies(are_right: Callable[[int], bool]) -> None:
                eventually(lambda: (are_right(client.stat()["zombie_pages"]), True))

            # Besides the data, a few pages of metadata may be dirty.
            zombies(lambda known: 256 <= known < 300)
            sync_file(path)
            zombies(lambda known: known < 40)
            overwrite(path, list(range(0, PAGES, 8)))
            zombies(lambda known: known >= 128)
            path.unlink()
            subprocess.run(("sync", "-f", str(mount)), check=True)
            zombies(lambda known: known == 0)
            assert client.stat()["counters"]["hinted_pages"] >= 256 + 128
        follower.terminate()
        said, _ = follower.communicate(timeout=60)
        assert follower.returncode == 0
        last = json.loads(said.splitlines()[-1])
        assert last["sent"]["pages"] == last["hinted"] >= 256 + 128
    finally:
        if follower is not None:
            follower.kill()
            follower.wait()
        upping.down(file, force=True)


def test_a_device_without_a_file_system_is_followed(tmp_path: Path) -> None:
    """Section 4.3.1 of Lee et al.: programs write to the file of the block device."""
    file, front = tmp_path / "drive.flash", tmp_path / "front"
    Device.create(file, capacity="64MiB", pages_per_block=64, scheme="zgc-gd").close()
    front.mkdir()
    server = subprocess.Popen(
        (*COMMAND, "device", "serve", str(file), "--fuse", str(front)),
        env=environment(), stdout=subprocess.DEVNULL,
    )  # fmt: skip
    device = None
    try:
        disk = front / "disk"
        eventually(lambda: (disk.exists(), True))
        device = Path(mounts.attach(str(disk)))
        with open(device, "r+b", buffering=0) as opened:
            os.pwrite(opened.fileno(), bytes(PAGES * PAGE), 0)
            os.fsync(opened.fileno())
            with page_cache.PageCache(device, file) as hints, Client(file) as client:
                following = hints.follow(lambda: False, every=0.02)
                for page in range(0, PAGES, 4):
                    os.pwrite(opened.fileno(), b"x" * PAGE, page * PAGE)
                known = PAGES // 4
                eventually(lambda: (next(following).zombies, known))
                assert next(following).dirty == known
                os.fsync(opened.fileno())
                eventually(lambda: (next(following).dirty, 0))
                assert client.stat()["zombie_pages"] == 0
                assert client.stat()["counters"]["overwritten_zombies"] == known
        mounts.detach(str(device), disk)
        device = None
        with pytest.raises(ConfigError, match="expected the drive in"):
            page_cache.PageCache(Path("/dev/loop7"), file)
    finally:
        if device is not None:
            mounts.detach(str(device), front / "disk")
        server.terminate()
        server.wait(20)


def test_following_ends_with_the_mount(tmp_path: Path) -> None:
    file, mount = tmp_path / "drive.flash", tmp_path / "cache-mount"
    Device.create(file, capacity="64MiB", pages_per_block=64, victim="greedy").close()
    upping.up(file, mount)
    reports: list[page_cache.Followed] = []
    try:
        hints = page_cache.PageCache(mount, file)
        following = hints.follow(lambda: False, every=0.05)
        reports.append(next(following))
    finally:
        upping.down(file, force=True)
    reports.extend(following)
    hints.close()
    assert 1 <= len(reports) <= 2
