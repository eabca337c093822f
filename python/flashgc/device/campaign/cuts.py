"""File systems on drives that are cut off at a flush.

The commands that a file system gives a drive are logged. Afterwards a fresh drive does them again
up to a flush, and loses power among those behind it. What is on it is mounted, compared, checked.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
from pathlib import Path

from flashgc import Device, _core
from flashgc._core import DriveError
from flashgc.device import mounts, programs
from flashgc.device.campaign import files
from flashgc.device.campaign.report import BrokenPromiseError, Level
from flashgc.device.cutting.log import Log
from flashgc.device.logged import served
from flashgc.device.pace import Pace

#: Physical sizes that hold the least of each file system. mkfs.xfs makes none below 300 MB.
CAPACITIES = {"ext4": "32MiB", "xfs": "400MiB", "btrfs": "256MiB"}

#: The checker of each file system, which changes nothing, once its own journal has been replayed.
CHECKERS: dict[str, tuple[str, ...]] = {
    "ext4": ("e2fsck", "-fn"),
    "xfs": ("xfs_repair", "-n", "-f"),
    "btrfs": ("btrfs", "check", "--readonly", "--force"),
}

#: The folder in which the workload's files are.
WORK = "work"


def create(file: Path, filesystem: str) -> None:
    """An empty drive on which the file system has room, and collections are needed soon."""
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
) -> tuple[Path, dict[str, list[files.Change]], int]:
    """Runs the workload on a drive whose commands are logged.

    Returns the log, what was done to the files, and the byte of the log at which that began.
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
        workload = files.Workload(work, position, draw)
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
    """``cuts`` cuts of each file system; :class:`BrokenPromiseError` says what was not there."""
    for filesystem in filesystems:
        for number in range(-(-cuts // ROUND)):
            if pace.is_over:
                return
            count = min(ROUND, cuts - number * ROUND)
            _round(level, pace, folder, (seed + number, count), filesystem)


#: Cuts of one log: a longer one would fill the disk.
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
        # Ctrl-C at a terminal is for the campaign, not for what it runs.
        words = programs.words(("cp", "--sparse=always", str(base), str(copy)))
        copied = subprocess.run(words, check=False, start_new_session=True)
        if copied.returncode == -signal.SIGINT and pace.is_over:
            break  # It came before the copy had a session of its own.
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
    history: dict[str, list[files.Change]],
    cut: tuple[int, int],
    level: Level,
) -> None:
    """Mounts the drive in ``file``, compares its files, and checks file system and drive."""
    fuse, mount = folder / "fuse", folder / "mount"
    with served(folder, file, fuse) as disk:
        with mounts.mounted_on(disk, mount, filesystem, fresh=False):
            level.add("files_compared", files.judge(mount / WORK, history, *cut))
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
