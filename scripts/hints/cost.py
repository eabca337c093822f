"""What following a living server costs: ``python scripts/hints/cost.py``, as root.

A TPC-C-like load runs on PostgreSQL on ext4 on a drive with the policies zgc-gd. It takes turns: no
follower, ``flashgc hints postgres``, ``flashgc hints page-cache``. Of each follower are shown
transactions a second as a ratio to those without one in the same round (median, lowest, highest),
its processor time, and bytes that it reads and sends. The drive has room, so hints spare it next to
nothing: what is measured is their cost.

Behind the rounds the lag is measured, under the same load: from the answer to a COMMIT, or from the
end of a ``write``, until the drive says that the page is hinted.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import signal
import statistics
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flashgc import Device
from flashgc.device import up
from flashgc.device.control import PAGE, Client
from flashgc.device.hints.stream import load as psycopg
from flashgc.device.postgres import tpcc
from flashgc.device.postgres.cluster import Cluster
from flashgc.device.scratch import note, scratch

SETTINGS = {"shared_buffers": "64MB", "max_wal_size": "256MB", "checkpoint_timeout": "30s"}

COMMAND = "from flashgc.command import main; main()"

FOLLOWERS = ("postgres", "page-cache")

#: Pages of which each is dirtied once to measure the lag, and seconds between two of them.
PROBES, PAUSE = 100, 0.05

#: Seconds that a follower gets to begin, that a hint gets to come, and between two looks for it.
BEGIN, PATIENCE, LOOK = 1.5, 2.0, 0.0005

#: FIBMAP of <linux/fs.h>: where a block of a file lies.
FIBMAP = 1

#: A row to a block, with room for its new version.
PROBE = f"""
CREATE TABLE probe (id INT, wide TEXT) WITH (fillfactor = 50, autovacuum_enabled = off);
ALTER TABLE probe ALTER wide SET STORAGE PLAIN;
INSERT INTO probe SELECT i, repeat('x', 3000) FROM generate_series(0, {PROBES - 1}) AS i;
VACUUM probe;
CHECKPOINT;
"""

#: Makes a page dirty; the page of the drive.
Probe = tuple[Callable[[], object], int]


class Stand:
    """A drive, a file system on it, and a cluster in that."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder, self.clients = folder, options.clients
        self.file, self.mount = folder / "drive.flash", folder / "mount"
        Device.create(self.file, capacity=options.capacity, gc_preset="zgc-gd").close()
        note(folder, up.up(self.file, self.mount).server)
        parent = self.mount / "postgres"
        parent.mkdir()
        parent.chmod(0o755)
        self.cluster = Cluster(folder, parent / "data", SETTINGS)
        self.cluster.start()
        self.cluster.ask("CREATE EXTENSION pg_buffercache")
        tpcc.load(self.cluster.database, tpcc.Size(warehouses=options.warehouses))

    def tps(self, seconds: float, seed: int) -> float:
        """Transactions a second of the load, which begins behind a checkpoint."""
        self.cluster.ask("CHECKPOINT")
        return tpcc.run(self.cluster.database, seconds, self.clients, seed).tps

    @contextmanager
    def follower(self, kind: str) -> Iterator[dict[str, Any]]:
        """A follower; what it counted is there behind the context."""
        counts: dict[str, Any] = {}
        words = [sys.executable, "-c", COMMAND, "hints", kind, "--device", str(self.file)]
        words += ["--every", "0", "--json"]
        if kind == "postgres":
            words += ["--dsn", self.cluster.database.dsn]
        else:
            words += ["--mount", str(self.mount)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            note(self.folder, process.pid)
            try:
                time.sleep(BEGIN)
                yield counts
            finally:
                process.send_signal(signal.SIGTERM)
                out, _ = process.communicate(timeout=60)
        if not out:
            raise SystemExit(f"error: flashgc hints {kind} ended with {process.returncode}")
        counts.update(json.loads(out.splitlines()[-1]))

    def commits(self) -> Iterator[Probe]:
        """Updates of rows, each on a block of its own."""
        self.cluster.ask(PROBE)
        path = self.cluster.data / self.cluster.ask("SELECT pg_relation_filepath('probe')")
        with psycopg().connect(self.cluster.database.dsn, autocommit=True) as connection:
            for row in range(PROBES):
                where = f"WHERE ctid = '({row},1)'"
                update = f"UPDATE probe SET wide = repeat('y', 3000) {where}"
                yield lambda update=update: connection.execute(update), place(path, 2 * row)
        self.cluster.ask("DROP TABLE probe")

    def writes(self) -> Iterator[Probe]:
        """Writes of pages of a file."""
        path = self.mount / "probe"
        with open(path, "w+b", buffering=0) as file:
            file.write(os.urandom(PROBES * PAGE))
            os.fsync(file.fileno())
            for page in range(PROBES):
                at = page * PAGE
                yield lambda at=at: os.pwrite(file.fileno(), bytes(PAGE), at), place(path, page)
        path.unlink()

    def lags(self, kind: str) -> tuple[list[float], int]:
        """Milliseconds from each probe to its hint, and how many hints did not come."""
        seconds = PROBES * PAUSE + 5
        load = threading.Thread(target=self.tps, args=(seconds, 99))
        lags, missed = [], 0
        with self.follower(kind), Client(self.file) as client:
            load.start()
            time.sleep(2)
            for act, page in self.commits() if kind == "postgres" else self.writes():
                act()
                begin = time.perf_counter()
                while client.hinted([(page * PAGE, PAGE)])[1] == 0:
                    if time.perf_counter() - begin > PATIENCE:
                        missed += 1
                        break
                    time.sleep(LOOK)
                else:
                    lags.append(1000 * (time.perf_counter() - begin))
                time.sleep(PAUSE)
            load.join()
        return lags, missed


def place(path: Path, page: int) -> int:
    """The page of the drive on which a page of a file lies."""
    with open(path, "rb") as file:
        return int(struct.unpack("i", fcntl.ioctl(file, FIBMAP, struct.pack("i", page)))[0])


def costs(counts: dict[str, Any]) -> dict[str, float]:
    """What a follower cost, a second."""
    sent = counts.get("drive") or counts["sent"]
    pages = sent["pages_hinted"] if "pages_hinted" in sent else sent["pages"]
    figures = {
        "core": counts["cpu_seconds"],
        "read": counts["log_bytes"] if "log_bytes" in counts else counts["bytes"],
        "sent": sent["bytes"],
        "pages": pages,
        "commands": sent["commands"],
    }
    return {name: figure / counts["seconds"] for name, figure in figures.items()}


def main() -> None:
    """Measures, and prints a line for each follower."""
    parser = argparse.ArgumentParser(description="What following a living server costs.")
    parser.add_argument("--seconds", type=float, default=20, help="of a run [20]")
    parser.add_argument("--rounds", type=int, default=3, help="of all runs [3]")
    parser.add_argument("--warehouses", type=int, default=1)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--capacity", default="2GiB", help="of the drive [2GiB]")
    options = parser.parse_args()
    ratios: dict[str, list[float]] = {kind: [] for kind in FOLLOWERS}
    spent: dict[str, list[dict[str, float]]] = {kind: [] for kind in FOLLOWERS}
    lags = {}
    with scratch("cost") as folder:
        stand = Stand(folder, options)
        try:
            stand.tps(options.seconds, 0)  # warms up
            for seed in range(1, options.rounds + 1):
                rates = {}
                # None of them is always the first of its round.
                kinds = ("none", *FOLLOWERS)
                for kind in kinds[seed % 3 :] + kinds[: seed % 3]:
                    if kind == "none":
                        rates[kind] = stand.tps(options.seconds, seed)
                        continue
                    with stand.follower(kind) as counts:
                        rates[kind] = stand.tps(options.seconds, seed)
                    spent[kind].append(costs(counts))
                for kind in FOLLOWERS:
                    ratios[kind].append(rates[kind] / rates["none"])
                told = ", ".join(f"{kind} {rate:.0f}" for kind, rate in rates.items())
                print(f"round {seed}, transactions/s: {told}", flush=True)
            for kind in FOLLOWERS:
                lags[kind] = stand.lags(kind)
        finally:
            stand.cluster.end()
    print("| follower | ratio | of a core | read, KB/s | sent, KB/s | pages/s | commands/s |")
    print("|---|---|---|---|---|---|---|")
    for kind in FOLLOWERS:
        each = {
            name: statistics.median(one[name] for one in spent[kind]) for name in spent[kind][0]
        }
        low, middle, high = min(ratios[kind]), statistics.median(ratios[kind]), max(ratios[kind])
        print(
            f"| {kind} | {middle:.3f} ({low:.3f} to {high:.3f}) | {100 * each['core']:.1f}% "
            f"| {each['read'] / 1e3:.0f} | {each['sent'] / 1e3:.1f} | {each['pages']:.0f} "
            f"| {each['commands']:.0f} |"
        )
    print()
    print("| follower | lag in ms: median | 90% | longest | hints that did not come |")
    print("|---|---|---|---|---|")
    for kind, (found, missed) in lags.items():
        ordered = sorted(found)
        nine = ordered[len(ordered) * 9 // 10]
        print(
            f"| {kind} | {statistics.median(found):.1f} | {nine:.1f} | {ordered[-1]:.1f} "
            f"| {missed} of {PROBES} |"
        )


if __name__ == "__main__":
    main()
