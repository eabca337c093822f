"""One run of a workload on a copy of an image, with what the drive knew and what it wrote."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from flashgc import _core
from flashgc._core import DriveError
from flashgc.device import mounts
from flashgc.device.scratch import scratch
from flashgc.followers import micro
from flashgc.followers.live import stand
from flashgc.followers.live.image import DATABASE, LOG, MICRO, Image, put_log
from flashgc.followers.live.plan import Plan
from flashgc.followers.page_cache import PageCache
from flashgc.followers.postgres import Hints
from flashgc.pace import Pace
from flashgc.postgres import tpcc
from flashgc.postgres.cluster import Cluster

#: Seconds between two samples of what is known.
EVERY = 2.0

#: What the kernel lets one change for each device: how much of the page cache it may make dirty.
BDI = Path("/sys/class/bdi")


def find_fio() -> None:
    """Whether fio is there; :class:`DriveError` where it is not."""
    if shutil.which("fio") is None:
        raise DriveError("fio is not installed; hint: apt-get install fio")


@contextlib.contextmanager
def following(follow: Callable[[Callable[[], bool]], Iterator[Any]]) -> Iterator[list[Any]]:
    """Follows a host on a thread of its own; the samples, once that is left."""
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


def run(
    plan: Plan, workload: str, collector: str, repetition: int, image: Image, pace: Pace
) -> dict[str, Any]:
    """Runs a session: ``tpcc``, or ``micro-H`` with a number for H. What came of it, for JSON."""
    with scratch("live") as work:
        file, trace = work / "drive.flash", work / "session.flashgc.zst"
        stand.copied(image.drive(collector), file)
        with stand.mounted(file, work / "mount", trace) as mount:
            if workload == "tpcc":
                told = _database(plan, mount, work, image, repetition, pace)
            else:
                h = float(workload.partition("-")[2])
                told = _micro(plan, mount, work, h, repetition, pace)
        told["totals"] = stand.closed(file)
        told["replayed"] = _replayed(image, trace, file, work)
    if told["replayed"] != told["totals"]:
        raise DriveError(
            f"the replay of {workload} on {collector} counts {told['replayed']}, the drive "
            f"{told['totals']}: this is a fault of flashgc, please report it"
        )
    return {"workload": workload, "collector": collector, "repetition": repetition, **told}


def _replayed(image: Image, trace: Path, file: Path, work: Path) -> dict[str, int]:
    """What the counting drive makes of all that the drive was asked since it was made."""
    from flashgc import Device
    from flashgc.device.replaying import options_of
    from flashgc.simulation import run as simulated

    whole = work / "whole.flashgc.zst"
    _core.trace_join(whole, [image.trace, trace])
    with Device.open(file) as drive:
        made = drive.stat()
    described = json.loads(_core.device_configuration(file))
    options = options_of({**described, "logical_pages": made["capacity_bytes"] // 4096})
    result = simulated(str(whole), **options)
    return {
        "host_pages_written": result.host_pages,
        "copied_pages": result.copied_pages,
        "erases": result.erases,
    }


def _measured(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The drive's counts of the time between, and its write amplification."""
    grown = {name: after[name] - before[name] for name in before}
    host, copied = grown["host_pages_written"], grown["copied_pages"]
    return {
        "write_amplification": (host + copied) / host if host else None,
        "counters": grown,
        "copied_zombies_share": grown["copied_zombies"] / copied if copied else None,
    }


def _database(
    plan: Plan, mount: stand.Mounted, work: Path, image: Image, repetition: int, pace: Pace
) -> dict[str, Any]:
    home = mount.folder / DATABASE / "data"
    with Cluster(work, home, plan.server) as cluster:
        if not plan.log_on_drive:
            mounts.run("cp", "-a", str(image.log), str(work / LOG))
            put_log(cluster, work / LOG)
        cluster.start()
        hints = Hints(cluster.database.dsn, mount.file)
        with following(lambda stopped: hints.follow(stopped, EVERY)) as samples:
            before = mount.counters()
            result = tpcc.run(cluster, plan.seconds, plan.clients, 1 + repetition, pace)
            measured = _measured(before, mount.counters())
            counts = hints.counts()
        cluster.stop()
    if not result.is_consistent:
        broken = [one.what for one in result.conditions if not one.holds]
        raise DriveError(f"the database is inconsistent: {'; '.join(broken)}")
    shares = [one.share for one in samples if one.share is not None]
    return {
        **measured,
        "transactions": result.transactions,
        "transactions_per_second": result.tps,
        "known_share": sum(shares) / len(shares) if shares else None,
        "samples": [[one.seconds, one.dirty, one.known, one.zombies] for one in samples],
        "follower": counts,
    }


def _micro(
    plan: Plan, mount: stand.Mounted, work: Path, h: float, repetition: int, pace: Pace
) -> dict[str, Any]:
    path = mount.folder / MICRO
    size = path.stat().st_size
    job = micro.write_job(
        work, path, size, h, int(size * plan.written), plan.reads_per_write, seed=1 + repetition
    )
    pace.begin(f"micro-benchmark, h = {h:g}", "sessions", 1)
    with (
        PageCache(mount.folder, mount.file) as hints,
        limited(mount.device, plan.dirty),
        following(lambda stopped: hints.follow(stopped, EVERY)) as samples,
    ):
        before, begin = mount.counters(), time.monotonic()
        subprocess.run(("fio", str(job)), cwd=work, check=True, capture_output=True)
        seconds = time.monotonic() - begin
        measured = _measured(before, mount.counters())
    last = samples[-1]
    return {
        **measured,
        "seconds": seconds,
        "samples": [[one.seconds, one.dirty, None, one.zombies] for one in samples],
        "known_share": 1 - last.lost / max(last.events, 1),
        "follower": {"cpu_seconds": last.cpu_seconds, "events": last.events, "lost": last.lost},
    }


@contextlib.contextmanager
def limited(device: str, most: int) -> Iterator[None]:
    """Lets so many bytes of the page cache be dirty for this device, and for no other.

    The kernel's limits for all would hold up the server of the drive as well, for which the device
    waits: nothing would go on.
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
