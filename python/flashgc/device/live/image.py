"""The state in which sessions begin: made once, and given to every collector with its history."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from flashgc import _core
from flashgc._core import DriveError
from flashgc.device import mounts, programs
from flashgc.device.live import micro, stand
from flashgc.device.live.plan import Plan
from flashgc.device.live.stand import limited
from flashgc.device.pace import Pace
from flashgc.device.scratch import scratch

#: The name of the file that fills the rest of a file system.
FILLER = "filler"

#: Bytes of a write that fills.
PIECE = 1 << 20


class Image:
    """An image in a folder: the trace of its history, and a drive for each collector."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.trace = folder / "history.flashgc.zst"

    def drive(self, collector: str) -> Path:
        """The drive's file."""
        return self.folder / f"{collector}.flash"

    def is_complete(self, plan: Plan) -> bool:
        """True if all of it is there."""
        return all(self.drive(name).exists() for name in plan.collectors)


#: Puts data on a drive and ages them, in a folder to work in.
Load = Callable[[Plan, stand.Mounted, Path, Image, Pace], None]


def made(plan: Plan, workload: str, folder: Path, pace: Pace, load: Load | None = None) -> Image:
    """The image of a workload; made if it is not there yet.

    Where nobody else loads it is ``micro-H``, or ``raw-H`` on a device without a file system.
    """
    image = Image(folder)
    if image.is_complete(plan):
        return image
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with scratch("live") as work:
        file, data = work / "drive.flash", work / "data"
        stand.create(plan, workload, "greedy", file)
        opened = stand.attached if plan.raw else stand.mounted
        with opened(file, work / "mount", image.trace) as mount:
            if not plan.raw:
                # What ext4 keeps for root would be spare space of the drive.
                mounts.run("tune2fs", "-m", "0", mount.device)
            if load is None:
                _micro(plan, mount, work, float(workload.partition("-")[2]), pace)
            else:
                load(plan, mount, work, image, pace)
            mount.freeze()
            stand.raw(mount, data)
        pace.begin("giving every collector the same history", "drives", len(plan.collectors))
        for collector in plan.collectors:
            partial = work / f"{collector}.flash"
            stand.create(plan, workload, collector, partial)
            _core.device_repeat(partial, image.trace, data)
            shutil.move(partial, image.drive(collector))
            pace.step()
    return image


def _micro(plan: Plan, mount: stand.Mounted, work: Path, h: float, pace: Pace) -> None:
    """A file that takes all room but a little, written in order and then, as planned, at random.

    Without a file system, it is the device.
    """
    if mount.is_raw:
        mount.overwrite(PIECE)
    else:
        fill(mount, 8 << 20, stand.MICRO)
    path, size = mount.micro, mount.micro_size
    if plan.overwritten:
        pace.begin("overwriting at random", "jobs", 1)
        written = int(size * plan.overwritten)
        job = micro.write_job(work, path, size, h, written, plan.reads_per_write, seed=0)
        with limited(mount.device, plan.dirty):
            subprocess.run(
                programs.words(("fio", str(job))), cwd=work, check=True, capture_output=True
            )
        pace.step()
    mount.sync()


def fill(mount: stand.Mounted, free: int, name: str = FILLER) -> None:
    """Fills the file system with a file until this many bytes are free."""
    mount.sync()
    left = stand.room(mount.folder) - free
    if left < PIECE:
        raise DriveError(
            f"the data leave {stand.room(mount.folder) >> 20} MiB of the drive free, expected "
            f"{(free + PIECE) >> 20} or more; hint: a larger drive, or fewer warehouses"
        )
    with open(mount.folder / name, "wb") as file, open("/dev/urandom", "rb") as noise:
        for _ in range(left // PIECE):
            file.write(noise.read(PIECE))
    mount.sync()
