"""One run of a workload on a copy of an image, with what the drive knew and what it wrote."""

from __future__ import annotations

import functools
import json
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flashgc import _core
from flashgc._core import DriveError
from flashgc.device import mounts, programs
from flashgc.device.hints.page_cache import PageCache
from flashgc.device.hints.postgres import Hints
from flashgc.device.scratch import scratch
from flashgc_papers.live import micro, stand
from flashgc_papers.live.image import FILLER, MICRO, Image, fill, made
from flashgc_papers.live.plan import Plan
from flashgc_papers.pace import Pace
from flashgc_papers.postgres import tpcc
from flashgc_papers.postgres.cluster import Cluster

#: Seconds between two samples of what is known, of the database and of the micro-benchmark.
EVERY, OFTEN = 2.0, 0.25

#: The folder of the database in the file system, and that of a cluster's log: it is beside the
#: image if it is not on the drive.
DATABASE, LOG = "database", "pg_wal"


def image_of(plan: Plan, workload: str, folder: Path, pace: Pace) -> Image:
    """The image of ``tpcc`` or ``micro-H``; made where it is not there yet."""
    return made(plan, workload, folder, pace, load_database if workload == "tpcc" else None)


def load_database(plan: Plan, mount: stand.Mounted, work: Path, image: Image, pace: Pace) -> None:
    """A loaded database that has run for a while, and a filler that leaves only so much room."""
    home = mount.folder / DATABASE
    home.mkdir()
    home.chmod(0o755)
    with Cluster(work, home / "data", plan.server) as cluster:
        if not plan.log_on_drive:
            mounts.run("mv", str(cluster.data / LOG), str(work / LOG))
            put_log(cluster, work / LOG)
        cluster.start()
        cluster.ask("CREATE EXTENSION pg_buffercache")
        tpcc.load(cluster, plan.size, 1, pace)
        cluster.ask("CHECKPOINT")
        # The tables grow in the history, and most at its beginning.
        fill(mount, 2 * plan.free)
        with stand.limited(mount.device, plan.database_dirty):
            tpcc.run(
                cluster, clients=plan.clients, pace=pace, transactions=plan.history_transactions
            )
        cluster.stop()
        fill(mount, plan.free, f"{FILLER}-2")
        if not plan.log_on_drive:
            mounts.run("cp", "-a", str(work / LOG), str(image.folder / LOG))


def put_log(cluster: Cluster, log: Path) -> None:
    """Lets a cluster that does not run write its log into the folder ``log``."""
    link = cluster.data / LOG
    link.unlink(missing_ok=True)
    link.symlink_to(log)


def run(
    plan: Plan,
    workload: str,
    collector: str,
    repetition: int,
    image: Image,
    pace: Pace,
    keep: Path | None = None,
) -> dict[str, Any]:
    """Runs a session: ``tpcc``, or ``micro-H`` with a number for H. What came of it, for JSON.

    ``keep`` is the name under which the trace is kept that has the history and the session.
    """
    with scratch("live") as work:
        file, trace = work / "drive.flash", work / "session.flashgc.zst"
        stand.copied(image.drive(collector), file)
        with stand.mounted(file, work / "mount", trace, clock=plan.clock) as mount:
            if workload == "tpcc":
                told = _database(plan, mount, work, image, repetition, pace)
            else:
                h = float(workload.partition("-")[2])
                told = _micro(plan, mount, work, h, repetition, pace)
        told["totals"] = stand.closed(file)
        whole = keep or work / "whole.flashgc.zst"
        _core.trace_join(whole, [image.trace, trace])
        told["replayed"] = replayed(whole, file)
    if told["replayed"] != told["totals"]:
        raise DriveError(
            f"the replay of {workload} on {collector} counts {told['replayed']}, the drive "
            f"{told['totals']}: this is a fault of flashgc, please report it"
        )
    return {"workload": workload, "collector": collector, "repetition": repetition, **told}


def replayed(trace: Path, file: Path) -> dict[str, int]:
    """Return the counts of the counting drive with the configuration of ``file`` on a trace."""
    from flashgc.device.replaying import options_of
    from flashgc.simulation import run as simulated

    described = json.loads(_core.device_configuration(file))
    result = simulated(str(trace), **options_of(described))
    return {
        "host_pages_written": result.host_pages,
        "copied_pages": result.copied_pages,
        "erases": result.erases,
    }


def _measured(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The drive's counts of the time between two states, and its write amplification."""
    grown = {
        name: after["counters"][name] - before["counters"][name] for name in before["counters"]
    }
    host, copied = grown["host_pages_written"], grown["copied_pages"]
    return {
        "write_amplification": _amplification(host, copied),
        "counters": grown,
        "copied_zombies_share": grown["copied_zombies"] / copied if copied else None,
        "clock": _by_clock(before.get("realtime"), after.get("realtime")),
    }


def _amplification(host: int, copied: int) -> float | None:
    return (host + copied) / host if host else None


def _by_clock(before: dict[str, Any] | None, after: dict[str, Any] | None) -> dict[str, Any] | None:
    """Counts and amplification of the drive with a clock, and its late answers."""
    if before is None or after is None:
        return None
    names = ("host_pages", "copied_pages", "erases", "answers", "late", "told_pages")
    grown = {name: after[name] - before[name] for name in names}
    return {
        **grown,
        "write_amplification": _amplification(grown["host_pages"], grown["copied_pages"]),
        "late_share": grown["late"] / grown["answers"] if grown["answers"] else None,
        "failed": after["failed"],
    }


def _database(
    plan: Plan, mount: stand.Mounted, work: Path, image: Image, repetition: int, pace: Pace
) -> dict[str, Any]:
    home = mount.folder / DATABASE / "data"
    with Cluster(work, home, plan.server) as cluster:
        if not plan.log_on_drive:
            mounts.run("cp", "-a", str(image.folder / LOG), str(work / LOG))
            put_log(cluster, work / LOG)
        cluster.start()
        hints = Hints(cluster.database.dsn, mount.file)
        with (
            stand.limited(mount.device, plan.database_dirty),
            stand.following(lambda stopped: hints.follow(stopped, EVERY)) as samples,
        ):
            load = functools.partial(tpcc.run, cluster, clients=plan.clients, pace=pace)
            load(seed=1 + 2 * repetition, transactions=plan.warmup_transactions)
            before, begin = mount.stat(), hints.counts()["seconds"]
            result = load(seed=2 + 2 * repetition, transactions=plan.transactions)
            measured = _measured(before, mount.stat())
            counts = hints.counts()
        cluster.stop()
    if not result.is_consistent:
        broken = [one.what for one in result.conditions if not one.holds]
        raise DriveError(f"the database is inconsistent: {'; '.join(broken)}")
    shares = [one.share for one in samples if one.share is not None and one.seconds >= begin]
    return {
        **measured,
        "transactions": result.transactions,
        "transactions_per_second": result.tps,
        "mean_ms": {kind.name: kind.mean_ms for kind in result.kinds},
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
        stand.limited(mount.device, plan.dirty),
        stand.following(lambda stopped: hints.follow(stopped, OFTEN)) as samples,
    ):
        before, begin = mount.stat(), time.monotonic()
        subprocess.run(programs.words(("fio", str(job))), cwd=work, check=True, capture_output=True)
        seconds = time.monotonic() - begin
        measured = _measured(before, mount.stat())
    last = samples[-1]
    return {
        **measured,
        "seconds": seconds,
        "samples": [[one.seconds, one.dirty, None, one.zombies] for one in samples],
        "known_share": _known(samples),
        "follower": {"cpu_seconds": last.cpu_seconds, "events": last.events, "lost": last.lost},
    }


def _known(samples: Sequence[Any]) -> float | None:
    """Zombies of the drive as a share of what was dirty. The drive may have heard of more since."""
    dirty = sum(one.dirty for one in samples)
    return sum(min(one.zombies, one.dirty) for one in samples) / dirty if dirty else None
