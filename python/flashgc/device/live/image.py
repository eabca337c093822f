"""The state in which sessions begin: made once, and given to every collector with its history."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np

from flashgc import _core
from flashgc._core import ConfigError, DriveError
from flashgc.device import mounts, programs
from flashgc.device.live import stand
from flashgc.device.live.plan import Plan
from flashgc.device.live.stand import limited
from flashgc.device.pace import Pace
from flashgc.device.scratch import scratch

#: The number of threads in the paper, and the bytes of a request, which is aligned to its size.
THREADS, BLOCK = 16, 16 << 10

#: The name of the file of the fio job.
JOB = "micro.fio"

#: The most characters of a file's name in a log of fio.
LONGEST = 255


def write_job(
    folder: Path,
    file: Path,
    size: int,
    h: float,
    write_bytes: int,
    reads_per_write: float,
    *,
    threads: int = THREADS,
    block: int = BLOCK,
    seed: int = 1,
) -> Path:
    """Write a fio job and the request log of each thread into ``folder``; return the job's file.

    ``file`` is a file or a device with ``size`` bytes of data, of which only whole blocks are used.
    ``h`` is in percent. All threads together write ``write_bytes`` bytes, in whole blocks, and make
    ``reads_per_write`` times as many reads. They do not sync, so at the end dirty pages stay in the
    page cache. The same seed makes the same requests.
    """
    name = str(file.absolute())
    _check(name, size, h, write_bytes, reads_per_write, threads, block)
    blocks = size // block
    writes = write_bytes // block
    reads = round(writes * reads_per_write)
    lines = [
        "[global]",
        "ioengine=psync",
        "thread=1",
        "direct=0",
        # fio neither drops cached pages nor tells the kernel what it will read.
        "invalidate=0",
        "fadvise_hint=0",
        "group_reporting=1",
    ]
    for thread in range(threads):
        log = folder.absolute() / f"thread-{thread:02}.log"
        draw = np.random.default_rng([seed, thread])
        counts = [(total + thread) // threads for total in (writes, reads)]
        log.write_text(_log(name, *_requests(draw, blocks, h, *counts), block), encoding="utf-8")
        lines += [f"[thread-{thread:02}]", f"read_iolog={_escaped(log)}"]
    path = folder / JOB
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _requests(
    draw: np.random.Generator, blocks: int, h: float, writes: int, reads: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each request of a thread if it is a write, and its block."""
    hot = round(blocks * h / 100)
    is_hot = draw.random(writes) < 1 - h / 100
    written = np.where(is_hot, draw.integers(0, hot, writes), draw.integers(hot, blocks, writes))
    is_write = draw.permutation(np.arange(writes + reads) < writes)
    places = np.empty(writes + reads, dtype=np.int64)
    places[is_write] = written
    places[~is_write] = draw.integers(0, blocks, reads)
    return is_write, places


def _log(name: str, is_write: np.ndarray, places: np.ndarray, block: int) -> str:
    """The requests in fio's log format, version 2; each follows the one before without a pause."""
    requests = (
        f"{name} {'write' if writes else 'read'} {place * block} {block}"
        for writes, place in zip(is_write.tolist(), places.tolist(), strict=True)
    )
    begin = ("fio version 2 iolog", f"{name} add", f"{name} open")
    return "\n".join((*begin, *requests, f"{name} close")) + "\n"


def _escaped(log: Path) -> str:
    """The name of a log in a job, with colons escaped, because fio separates names by them."""
    return str(log).replace("\\", "\\\\").replace(":", "\\:")


def _check(
    name: str,
    size: int,
    h: float,
    write_bytes: int,
    reads_per_write: float,
    threads: int,
    block: int,
) -> None:
    is_name = len(name) <= LONGEST and not any(letter.isspace() for letter in name)
    for what, value, is_right, expected in (
        ("h", h, 0.1 <= h <= 99.9, "0.1 to 99.9 percent"),
        ("reads per write", reads_per_write, 0 <= reads_per_write < 1e6, "0 or more"),
        ("threads", threads, threads >= 1, "1 or more"),
        ("a block", block, block >= 512 and block % 512 == 0, "a multiple of 512 bytes"),
        ("the size", size, size >= 1000 * block, f"1000 blocks of {block} bytes or more"),
        ("bytes to write", write_bytes, write_bytes >= threads * block, "a block a thread or more"),
        ("the file", repr(name), is_name, f"{LONGEST} letters or less, without white space"),
    ):
        if not is_right:
            raise ConfigError(
                f"the micro-benchmark: {what}: found {value}, expected {expected}; "
                "hint: the paper writes 5.12 GB with h=10 by 16 threads in blocks of 16384 bytes"
            )


#: The name of the file that fills the rest of a file system.
FILLER = "filler"

#: Bytes of a write of the filler.
PIECE = 1 << 20


class Image:
    """An image in a folder: the trace of its history, and a drive for each collector."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.trace = folder / "history.flashgc.zst"

    def drive(self, collector: str) -> Path:
        """The file of the drive for a collector."""
        return self.folder / f"{collector}.flash"

    def is_complete(self, plan: Plan) -> bool:
        """True if the drive of every collector exists."""
        return all(self.drive(name).exists() for name in plan.collectors)


#: Writes data to a drive and ages it; the path is a folder for temporary files.
Load = Callable[[Plan, stand.Mounted, Path, Image, Pace], None]


def made(plan: Plan, workload: str, folder: Path, pace: Pace, load: Load | None = None) -> Image:
    """The image of a workload; it is made if it does not exist.

    Without ``load``, the workload is ``micro-H``, or ``raw-H`` on a device without a file system.
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
                # Blocks that ext4 reserves for root would act as spare space of the drive.
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
    """Write a file that fills almost the whole drive, first in order, then at random as planned.

    Without a file system, the file is the device.
    """
    if mount.is_raw:
        mount.overwrite(PIECE)
    else:
        fill(mount, 8 << 20, stand.MICRO)
    path, size = mount.micro, mount.micro_size
    if plan.overwritten:
        pace.begin("overwriting at random", "jobs", 1)
        written = int(size * plan.overwritten)
        job = write_job(work, path, size, h, written, plan.reads_per_write, seed=0)
        with limited(mount.device, plan.dirty):
            subprocess.run(
                programs.words(("fio", str(job))), cwd=work, check=True, capture_output=True
            )
        pace.step()
    mount.sync()


def fill(mount: stand.Mounted, free: int, name: str = FILLER) -> None:
    """Fill the file system with a file until only ``free`` bytes are free."""
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
