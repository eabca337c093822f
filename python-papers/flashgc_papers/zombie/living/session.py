"""One run of a workload on a copy of an image, with the drive's known zombies and writes."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from flashgc import DriveError
from flashgc.device import mounts, programs
from flashgc.device.hints.page_cache import PageCache
from flashgc.device.hints.postgres import Hints
from flashgc.device.live import image, stand
from flashgc.device.live.image import FILLER, Image, fill, made
from flashgc.device.live.plan import Plan
from flashgc.device.pace import Pace
from flashgc.device.postgres import tpcc
from flashgc.device.postgres.cluster import Cluster
from flashgc.device.scratch import scratch
from flashgc_papers.engine import device_configuration, trace_join

#: Seconds between samples of known pages, for the database and for the micro-benchmark.
EVERY, OFTEN = 2.0, 0.25

#: The names of the database's folder in the file system, and of the folder of its log. The log is
#: beside the image if it is not on the drive.
DATABASE, LOG = "database", "pg_wal"


def image_of(plan: Plan, workload: str, folder: Path, pace: Pace) -> Image:
    """The image of ``tpcc``, ``micro-H`` or ``raw-H``, which is made if it does not exist."""
    return made(plan, workload, folder, pace, load_database if workload == "tpcc" else None)


def load_database(plan: Plan, mount: stand.Mounted, work: Path, image: Image, pace: Pace) -> None:
    """Loads a database, runs it for a while, and fills the rest of the file system."""
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
        # The tables grow while the history runs, and most at its beginning.
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
    """Runs a session of a workload of the plan, and returns its outcome for JSON.

    The trace of the image's history and of the session is kept in the file ``keep``, if given.
    """
    with scratch("live") as work:
        file = work / "drive.flash"
        stand.copied(image.drive(collector), file)
        load = _load_of(plan, workload, work, image, repetition, pace)
        traces, clock = [image.trace], None
        opened = stand.attached if plan.raw else stand.mounted
        if plan.clock is not None:
            traces.append(work / "before.flashgc.zst")
            with opened(file, work / "mount", traces[-1]) as mount:
                load.before(mount)
            past = work / "past.flashgc.zst"
            trace_join(past, traces)
            past.chmod(0o644)
            clock = plan.clock, past
        traces.append(work / "session.flashgc.zst")
        with opened(file, work / "mount", traces[-1], clock=clock) as mount:
            outcome = load.measured(mount)
        outcome["totals"] = stand.closed(file)
        whole = keep or work / "whole.flashgc.zst"
        trace_join(whole, traces)
        outcome["replayed"] = replayed(whole, file)
        if isinstance(load, _Database):
            # The check reads whole tables, so it runs without the clock.
            with opened(file, work / "mount", work / "after.flashgc.zst") as mount:
                load.check(mount)
    if outcome["replayed"] != outcome["totals"]:
        raise DriveError(
            f"the replay of {workload} on {collector} counts {outcome['replayed']}, the drive "
            f"{outcome['totals']}: this is a fault of flashgc, please report it"
        )
    return {"workload": workload, "collector": collector, "repetition": repetition, **outcome}


def replayed(trace: Path, file: Path) -> dict[str, int]:
    """Return the counts of a counting drive that is configured like ``file`` and gets a trace."""
    from flashgc.device.options_of import options_of
    from flashgc.simulation import run as simulated

    described = json.loads(device_configuration(file))
    result = simulated(str(trace), **options_of(described))
    return {
        "host_pages_written": result.host_pages,
        "copied_pages": result.copied_pages,
        "erases": result.erases,
    }


def _measured(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The growth of the drive's counts between two states, and the write amplification of it."""
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
    names = (
        "host_pages", "copied_pages", "erases", "answers", "late", "hinted_pages", "told_pages",
        "overtaken_pages",
    )  # fmt: skip
    grown = {name: after[name] - before[name] for name in names}
    return {
        **grown,
        "write_amplification": _amplification(grown["host_pages"], grown["copied_pages"]),
        "late_share": grown["late"] / grown["answers"] if grown["answers"] else None,
        "failed": after["failed"],
    }


class _Load(Protocol):
    """A workload on the drive; a part before the measurement runs without the clock."""

    def before(self, mount: stand.Mounted) -> None:
        """Gives the drive the past that it has when its clock starts."""

    def measured(self, mount: stand.Mounted) -> dict[str, Any]:
        """Runs the measured part, and returns its outcome."""


def _load_of(
    plan: Plan, workload: str, work: Path, image: Image, repetition: int, pace: Pace
) -> _Load:
    if workload != "tpcc":
        return _Micro(plan, work, float(workload.partition("-")[2]), repetition, pace)
    if not plan.log_on_drive:
        mounts.run("cp", "-a", str(image.folder / LOG), str(work / LOG))
    return _Database(plan, work, repetition, pace)


@dataclass(frozen=True)
class _Database:
    plan: Plan
    work: Path
    repetition: int
    pace: Pace

    def before(self, mount: stand.Mounted) -> None:
        with self._started(mount, "before") as cluster:
            with self._followed(mount, cluster):
                self._load(cluster, 1_000_000 + self.repetition, self.plan.past_transactions)
            cluster.stop()

    def measured(self, mount: stand.Mounted) -> dict[str, Any]:
        plan = self.plan
        with (
            self._started(mount, "session") as cluster,
            self._followed(mount, cluster) as (hints, samples),
        ):
            self._load(
                cluster, 1 + 2 * self.repetition, plan.warmup_transactions, plan.warmup_seconds
            )
            before, begin = mount.stat(), hints.counts()["seconds"]
            result = self._load(cluster, 2 + 2 * self.repetition, plan.transactions, plan.seconds)
            measured = _measured(before, mount.stat())
            counts = hints.counts()
        # The server has ended without a checkpoint, which would write back all of its buffers.
        shares = [
            sample.share
            for sample in samples
            if sample.share is not None and sample.seconds >= begin
        ]
        return {
            **measured,
            "transactions": result.transactions,
            "transactions_per_second": result.tps,
            "mean_ms": {kind.name: kind.mean_ms for kind in result.kinds},
            "known_share": sum(shares) / len(shares) if shares else None,
            "samples": [
                [sample.seconds, sample.dirty, sample.known, sample.zombies] for sample in samples
            ],
            "follower": counts,
        }

    def check(self, mount: stand.Mounted) -> None:
        """Checks the database, which recovers first; an error says what is inconsistent."""
        with self._started(mount, "after") as cluster:
            faults = tpcc.check(cluster)
        broken = [sample.what for sample in faults if not sample.holds]
        if broken:
            raise DriveError(f"the database is inconsistent: {'; '.join(broken)}")

    def _load(
        self, cluster: Cluster, seed: int, transactions: int, seconds: int = 0
    ) -> tpcc.Result:
        return tpcc.run(
            cluster,
            seconds,
            self.plan.clients,
            seed,
            self.pace,
            transactions=None if seconds else transactions,
            is_checked=False,
        )

    @contextlib.contextmanager
    def _started(self, mount: stand.Mounted, name: str) -> Iterator[Cluster]:
        """The running server, which is killed at the end of the block."""
        work = self.work / name
        work.mkdir(mode=0o755)
        with Cluster(work, mount.folder / DATABASE / "data", self.plan.server) as cluster:
            if not self.plan.log_on_drive:
                put_log(cluster, self.work / LOG)
            cluster.start()
            yield cluster

    @contextlib.contextmanager
    def _followed(
        self, mount: stand.Mounted, cluster: Cluster
    ) -> Iterator[tuple[Hints, list[Any]]]:
        """The follower of the server, and its samples. The follower must end before the server."""
        hints = Hints(cluster.database.dsn, mount.file)
        with (
            stand.limited(mount.device, self.plan.database_dirty),
            stand.following(lambda stopped: hints.follow(stopped, EVERY)) as samples,
        ):
            yield hints, samples


@dataclass(frozen=True)
class _Micro:
    plan: Plan
    work: Path
    h: float
    repetition: int
    pace: Pace

    def before(self, mount: stand.Mounted) -> None:
        self._run(mount, "before", self.plan.past_written, seed=1000 + self.repetition)

    def measured(self, mount: stand.Mounted) -> dict[str, Any]:
        return self._run(mount, "session", self.plan.written, seed=1 + self.repetition)

    def _run(self, mount: stand.Mounted, name: str, written: float, *, seed: int) -> dict[str, Any]:
        plan, path, work = self.plan, mount.micro, self.work / name
        work.mkdir()
        size = mount.micro_size
        job = image.write_job(
            work, path, size, self.h, int(size * written), plan.reads_per_write, seed=seed
        )
        self.pace.begin(f"micro-benchmark, h = {self.h:g}", "sessions", 1)
        with (
            PageCache(mount.folder, mount.file) as hints,
            stand.limited(mount.device, plan.dirty),
            stand.following(lambda stopped: hints.follow(stopped, OFTEN)) as samples,
        ):
            before, begin = mount.stat(), time.monotonic()
            subprocess.run(
                programs.words(("fio", str(job))), cwd=work, check=True, capture_output=True
            )
            seconds = time.monotonic() - begin
            measured = _measured(before, mount.stat())
        last = samples[-1]
        return {
            **measured,
            "seconds": seconds,
            "samples": [[sample.seconds, sample.dirty, None, sample.zombies] for sample in samples],
            "known_share": _known(samples),
            "follower": {
                "cpu_seconds": last.cpu_seconds, "events": last.events, "lost": last.lost,
            },
        }  # fmt: skip


def _known(samples: Sequence[Any]) -> float | None:
    """Zombies as a share of dirty pages, limited to 1, since the drive's count may be newer."""
    dirty = sum(sample.dirty for sample in samples)
    return sum(min(sample.zombies, sample.dirty) for sample in samples) / dirty if dirty else None
