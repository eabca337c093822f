"""PostgreSQL on a drive that answers in real time: what collections do to its transactions.

    PYTHONPATH=python .venv/bin/python scripts/bench/realtime_postgres.py [--seconds 20]
        [--victims greedy,d-choices] [--preemptions none,pgc,suspend] [--slower 1x]

For each victim policy a drive is filled once without a clock: ext4, a cluster with the tables of
pgbench, and a file that leaves little room. Then for each preemption a copy of it is served with
``--realtime``: MLC flash on four channels, whose data were written anew twice at random. Four
clients of pgbench work on it, with a cache that is much smaller than the tables. A line has the
transactions a second, their mean, p99 and p99.9, what the drive did, and how far behind it was.
Needs root, FUSE, loop devices and PostgreSQL.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path
from typing import Any

import flashgc
from flashgc.device import making, realtime
from flashgc.device import up as upping
from flashgc.device.control import Client
from flashgc.device.postgres.cluster import Cluster
from flashgc.device.scratch import scratch
from flashgc.units import format_share

CAPACITY, SPARE, SCALE = "400MiB", "10%", 10
#: Bytes of the file system that are left for the log and for growth.
ROOM = 48 << 20
SERVER = {
    "shared_buffers": "16MB",
    "max_wal_size": "40MB",
    "min_wal_size": "32MB",
    "checkpoint_timeout": "30s",
    "autovacuum": "off",
}
DRIVE = {"device": "mlc", "channels": "4"}
SUSPEND = "20us"


def arguments() -> argparse.Namespace:
    """What was typed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--victims", default="greedy,d-choices")
    parser.add_argument("--preemptions", default="none,pgc,suspend")
    parser.add_argument("--slower", default="1x")
    return parser.parse_args()


def filled(folder: Path, victim: str) -> Path:
    """A drive with a cluster on it and little room."""
    file, mount = folder / f"{victim}.flash", folder / "mount"
    flashgc.Device.create(
        file, capacity=CAPACITY, pages_per_block=64, spare=SPARE, victim=victim
    ).close()
    upping.up(file, mount)
    try:
        work = folder / "making"
        work.mkdir()
        work.chmod(0o755)
        with Cluster(work, mount / "cluster", {**SERVER, "fsync": "off"}) as cluster:
            cluster.start()
            cluster.run("pgbench", *cluster.address, "-i", "-q", "-s", SCALE)
            cluster.stop()
        shutil.rmtree(work)
        room = shutil.disk_usage(mount).free - ROOM
        with open(mount / "ballast", "wb") as ballast:
            for _ in range(room >> 20):
                ballast.write(b"\1" * (1 << 20))
    finally:
        upping.down(file, force=True)
    return file


def measured(folder: Path, full: Path, preemption: str, given: argparse.Namespace) -> str:
    """One line: pgbench on a copy of the drive."""
    file, mount, work = folder / "drive.flash", folder / "mount", folder / "work"
    subprocess.run(["cp", "--sparse=always", str(full), str(file)], check=True)
    gc = {"preemption": preemption, **({"suspend": SUSPEND} if preemption == "suspend" else {})}
    clock = realtime.clock(
        making.configuration(file), {"drive": DRIVE, "gc": gc}, slower=given.slower, aged="2x"
    )
    upping.up(file, mount, serve=upping.with_clock(clock))
    work.mkdir()
    work.chmod(0o777)
    try:
        with Cluster(work, mount / "cluster", SERVER) as cluster:
            cluster.start()
            before = _realtime(file)
            cluster.run(
                "pgbench", *cluster.address, "-c", 4, "-T", given.seconds, "-n", "-l",
                "--log-prefix", work / "log",
            )  # fmt: skip
            after = _realtime(file)
            cluster.stop()
    finally:
        upping.down(file, force=True)
    times = sorted(int(line.split()[2]) / 1e3 for log in work.glob("log*") for line in log.open())
    shutil.rmtree(work)
    file.unlink()
    grown = {name: after[name] - before[name] for name in ("collections", "answers", "late")}
    share = grown["late"] / max(grown["answers"], 1)
    at = [times[min(int(len(times) * part), len(times) - 1)] for part in (0.99, 0.999)]
    return (
        f"{len(times) / given.seconds:7.1f} tps  mean {sum(times) / len(times):7.1f} ms  "
        f"p99 {at[0]:7.1f} ms  p99.9 {at[1]:7.1f} ms  {grown['answers']:6} requests  "
        f"{grown['collections']:4} collections  late {format_share(share)} "
        f"{'valid' if share <= 0.001 else 'INVALID'}"
    )


def _realtime(file: Path) -> dict[str, Any]:
    with Client(file) as client:
        found: dict[str, Any] = client.stat()["realtime"]
    return found


def main() -> None:
    """Prints a line for each victim policy and preemption."""
    given = arguments()
    with scratch("realtime") as folder:
        for victim in given.victims.split(","):
            full = filled(folder, victim)
            for preemption in given.preemptions.split(","):
                line = measured(folder, full, preemption, given)
                print(f"{victim:10} {preemption:8} {line}", flush=True)
            full.unlink()


if __name__ == "__main__":
    main()
