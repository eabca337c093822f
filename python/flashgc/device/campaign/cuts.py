"""File systems on drives that lose power after a flush.

The commands that a file system gives a drive are logged. Afterwards a fresh drive executes them
again up to a flush, and loses power during the commands after the flush. The file system on this
drive is then mounted and checked, and its files are compared with the written data.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flashgc import Device, _core
from flashgc._core import DriveError
from flashgc.device import mounts, programs
from flashgc.device._closing import descriptor
from flashgc.device.campaign.report import BrokenPromiseError, Level
from flashgc.device.cutting.log import Log
from flashgc.device.logged import served
from flashgc.device.pace import Pace

#: The number of names that the workload uses, and the most bytes of a file.
NAMES, LARGEST = 40, 48 << 10

#: Bytes of a page, and of the file written past the page cache (``O_DIRECT``) and never synced.
PAGE, NOISE = 4096, 1 << 20


@dataclass(frozen=True)
class Change:
    """A change of one file: where it begins and ends in the log, and the contents before and after.

    Positions are in bytes of the log. Contents of ``None`` mean that the file does not exist.
    """

    begin: int
    end: int
    kind: str
    before: bytes | None
    after: bytes | None

    def may_be(self, data: bytes | None) -> bool:
        """True if the name may have this content while the change is under way."""
        if data in (self.before, self.after):
            return True
        if data is None or self.before is None or self.after is None:
            return False
        if self.kind == "append":
            return data.startswith(self.before)
        if self.kind == "truncate":
            return data.startswith(self.after)
        return self.kind == "overwrite" and len(data) == len(self.before)


class Workload:
    """Changes files in a folder, and remembers what it did."""

    def __init__(self, folder: Path, position: Callable[[], int], draw: random.Random) -> None:
        """``position`` returns the current length of the log, in bytes."""
        self._folder, self._position, self._draw = folder, position, draw
        self._contents: dict[str, bytes] = {}
        self.history: dict[str, list[Change]] = {}

    def step(self) -> None:
        """Make one random change. Before it, write data that is never synced."""
        draw = self._draw
        self._disturb()
        name = f"file{draw.randrange(NAMES)}"
        if name not in self._contents:
            self._replace(name)
            return
        change = draw.choice(
            (self._replace, self._append, self._truncate, self._overwrite, self._rename, self._gone)
        )
        change(name)

    def _disturb(self) -> None:
        """Write data that reaches the drive at once and is never synced."""
        draw = self._draw
        flags = os.O_CREAT | os.O_WRONLY | os.O_DIRECT
        with descriptor(os.open(self._folder / "noise", flags)) as noise:
            for _ in range(draw.randrange(6)):
                size = draw.randrange(1, 9) * PAGE
                with mmap.mmap(-1, size) as data:
                    data.write(draw.randbytes(size))
                    os.pwrite(noise, data, draw.randrange(NOISE // PAGE) * PAGE)

    def _note(self, begin: int, kind: str, name: str, after: bytes | None) -> None:
        before = self._contents.get(name)
        if after is None:
            self._contents.pop(name, None)
        else:
            self._contents[name] = after
        change = Change(begin, self._position(), kind, before, after)
        self.history.setdefault(name, []).append(change)

    def _sync_folder(self) -> None:
        with descriptor(os.open(self._folder, os.O_RDONLY)) as folder:
            os.fsync(folder)

    def _random(self) -> bytes:
        return self._draw.randbytes(self._draw.randrange(1, LARGEST))

    def _replace(self, name: str) -> None:
        """Replace a file by a new one. After a cut, one of the two must be there, complete."""
        begin, data = self._position(), self._random()
        partial = self._folder / "partial"
        with open(partial, "wb") as file:
            file.write(data)
            _sync(file.fileno(), file.flush)
        partial.rename(self._folder / name)
        self._sync_folder()
        self._note(begin, "replace", name, data)

    def _append(self, name: str) -> None:
        begin, data = self._position(), self._random()
        with open(self._folder / name, "ab") as file:
            file.write(data)
            _sync(file.fileno(), file.flush)
        self._note(begin, "append", name, self._contents[name] + data)

    def _truncate(self, name: str) -> None:
        begin, before = self._position(), self._contents[name]
        size = self._draw.randrange(len(before) + 1)
        with open(self._folder / name, "r+b") as file:
            file.truncate(size)
            _sync(file.fileno(), file.flush)
        self._note(begin, "truncate", name, before[:size])

    def _overwrite(self, name: str) -> None:
        begin, before = self._position(), self._contents[name]
        if not before:
            return
        at = self._draw.randrange(len(before))
        data = self._draw.randbytes(min(len(before) - at, 9000))
        with open(self._folder / name, "r+b") as file:
            file.seek(at)
            file.write(data)
            _sync(file.fileno(), file.flush)
        self._note(begin, "overwrite", name, before[:at] + data + before[at + len(data) :])

    def _rename(self, name: str) -> None:
        begin, other = self._position(), f"file{self._draw.randrange(NAMES)}"
        if other == name:
            return
        data = self._contents[name]
        (self._folder / name).rename(self._folder / other)
        self._sync_folder()
        self._note(begin, "replace", other, data)
        self._note(begin, "gone", name, None)

    def _gone(self, name: str) -> None:
        begin = self._position()
        (self._folder / name).unlink()
        self._sync_folder()
        self._note(begin, "gone", name, None)


def _sync(descriptor: int, flush: Callable[[], None]) -> None:
    flush()
    os.fsync(descriptor)


def judge(folder: Path, history: dict[str, list[Change]], cut: int, ahead: int) -> int:
    """Compare the files in ``folder`` with what they must hold, and return their number.

    Changes that ended before byte ``cut`` of the log are durable. Changes that began before
    ``ahead`` may be there.
    """
    looked = 0
    for name, changes in history.items():
        durable = [change for change in changes if change.end <= cut]
        under_way = [change for change in changes if change.end > cut and change.begin < ahead]
        expected = durable[-1].after if durable else None
        try:
            data: bytes | None = (folder / name).read_bytes()
        except FileNotFoundError:
            data = None
        except OSError as error:
            raise BrokenPromiseError(f"{name} cannot be read: {error.strerror}") from None
        looked += data is not None
        if data != expected and not any(change.may_be(data) for change in under_way):
            raise BrokenPromiseError(
                f"{name} is {_told(data)}, expected what was synced: {_told(expected)}"
                + (
                    f" (being changed: {[change.kind for change in under_way]})"
                    if under_way
                    else ""
                )
            )
    return looked


def _told(content: bytes | None) -> str:
    return "missing" if content is None else f"{len(content)} bytes, {content[:8].hex()}..."


#: The physical size of the drive for each file system. mkfs.xfs refuses less than 300 MB.
CAPACITIES = {"ext4": "32MiB", "xfs": "400MiB", "btrfs": "256MiB"}

#: The check program of each file system. It changes nothing. The mount before it has replayed the
#: journal.
CHECKERS: dict[str, tuple[str, ...]] = {
    "ext4": ("e2fsck", "-fn"),
    "xfs": ("xfs_repair", "-n", "-f"),
    "btrfs": ("btrfs", "check", "--readonly", "--force"),
}

#: The folder of the workload's files.
WORK = "work"


def create(file: Path, filesystem: str) -> None:
    """Make an empty drive just large enough for the file system, so that it soon collects."""
    Device.create(
        file,
        capacity=CAPACITIES[filesystem],
        pages_per_block=64,
        victim="greedy",
        journal="512KiB",
        durability="power",
    ).close()


def record(
    folder: Path, filesystem: str, steps: int, pace: Pace, draw: random.Random
) -> tuple[Path, dict[str, list[Change]], int]:
    """Run the workload on a drive whose commands are logged.

    Returns the log's file, the changes of each file, and the byte of the log where changes begin.
    """
    file, log = folder / f"{filesystem}.flash", folder / f"{filesystem}.log"
    fuse, mount = folder / "fuse", folder / "mount"
    fuse.mkdir(exist_ok=True)
    mount.mkdir(exist_ok=True)
    create(file, filesystem)

    def position() -> int:
        return log.stat().st_size

    pace.begin(f"writing files on {filesystem}", "changes", steps)
    with (
        served(folder, file, fuse, log) as disk,
        mounts.mounted_on(disk, mount, filesystem, fresh=True),
    ):
        work = mount / WORK
        work.mkdir()
        mounts.run("sync", "--file-system", str(mount))
        begin = position()
        workload = Workload(work, position, draw)
        for _ in range(steps):
            if pace.is_over:
                break
            workload.step()
            pace.step()
    file.unlink()
    return log, workload.history, begin


def run(
    level: Level, pace: Pace, folder: Path, seed: int, cuts: int, filesystems: list[str]
) -> None:
    """Test ``cuts`` cuts of each file system; raise :class:`BrokenPromiseError` at a loss."""
    for filesystem in filesystems:
        for number in range(-(-cuts // ROUND)):
            if pace.is_over:
                return
            count = min(ROUND, cuts - number * ROUND)
            _round(level, pace, folder, (seed + number, count), filesystem)


#: The most cuts of one log. A log for more cuts would fill the disk.
ROUND = 250


def _round(level: Level, pace: Pace, folder: Path, drawn: tuple[int, int], filesystem: str) -> None:
    seed, cuts = drawn
    draw = random.Random(f"{seed} {filesystem}")
    log, history, begin = record(folder, filesystem, max(cuts, 12), pace, draw)
    with Log(log) as read:
        ends = [*read.flushes(), log.stat().st_size]
    places = [index for index in range(len(ends) - 1) if ends[index] >= begin]
    chosen = sorted(draw.sample(places, min(cuts, len(places))))
    base, copy = folder / "base.flash", folder / "cut.flash"
    create(base, filesystem)
    replay = _core.DeviceReplay(log, base)
    pace.begin(f"cutting {filesystem} off", "cuts", len(chosen))
    for index in chosen:
        if pace.is_over:
            break
        replay.advance(ends[index])
        # Ctrl-C at a terminal is for the campaign, not for its child processes.
        words = programs.words(("cp", "--sparse=always", str(base), str(copy)))
        copied = subprocess.run(words, check=False, start_new_session=True)
        if copied.returncode == -signal.SIGINT and pace.is_over:
            break  # Ctrl-C came before the copy was in its own session.
        copied.check_returncode()
        try:
            kept, dropped, lost = replay.cut(copy, draw.randrange(1 << 60))
            _look(folder, copy, filesystem, history, (ends[index], ends[index + 1]), level)
        except (BrokenPromiseError, DriveError) as error:
            where = f"{filesystem}, cut behind flush {index} (byte {ends[index]} of its log)"
            raise BrokenPromiseError(f"{where}: {error}") from None
        finally:
            copy.unlink(missing_ok=True)
        level.add(f"cuts_of_{filesystem}")
        level.add("commands_done_behind_a_flush", kept)
        level.add("commands_dropped", dropped)
        level.add("file_writes_lost_or_torn", lost)
        pace.step()
    del replay
    for file in (base, log):
        file.unlink()


def _look(
    folder: Path,
    file: Path,
    filesystem: str,
    history: dict[str, list[Change]],
    cut: tuple[int, int],
    level: Level,
) -> None:
    """Mount the drive in ``file``, compare its files, and check the file system and the drive."""
    fuse, mount = folder / "fuse", folder / "mount"
    with served(folder, file, fuse) as disk:
        with mounts.mounted_on(disk, mount, filesystem, fresh=False):
            level.add("files_compared", judge(mount / WORK, history, *cut))
        checked = subprocess.run(
            programs.words((*CHECKERS[filesystem], str(disk))),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if checked.returncode:
            text = " ".join((checked.stdout + checked.stderr).split())
            raise BrokenPromiseError(f"{CHECKERS[filesystem][0]} says: {text[-400:]}")
    check(file)


def check(file: Path) -> None:
    """Check that the two maps of a closed drive agree, and that every page can be read."""
    report = json.loads(_core.device_check(file, False))
    if report["damaged"] or report["disagree"]:
        raise BrokenPromiseError(
            f"pages {report['damaged'][:8]} are damaged, {report['disagree'][:8]} lie elsewhere by "
            "the out-of-band records"
        )
