"""PostgreSQL on a drive: database and drive are killed together, and must recover.

Every acknowledged commit must be there, the balances of pgbench must agree, and ``pg_amcheck`` and
the checksums must find no damage.
"""

from __future__ import annotations

import contextlib
import random
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flashgc.device.campaign.cuts import check
from flashgc.device.campaign.report import BrokenPromiseError, Level
from flashgc.device.campaign.standing import Standing
from flashgc.device.pace import Pace
from flashgc.device.postgres import PostgresError
from flashgc.device.postgres.cluster import USER, Cluster
from flashgc.device.scratch import note

#: Programs that the level needs beside those of every cluster.
PROGRAMS = ("pg_amcheck", "pg_checksums")

#: Seconds between two kills, on average.
ROUND = 30.0

#: Number of clients that count their commits, beside those of pgbench.
COUNTING = 2

#: Options of the server. Checkpoints come often, and every commit is synced.
OPTIONS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "shared_buffers": "32MB",
    "max_wal_size": "64MB",
    "min_wal_size": "32MB",
    "checkpoint_timeout": "30s",
}

#: A query for sums that are equal after every whole transaction of pgbench.
BALANCES = (
    "SELECT count(DISTINCT total) FROM (SELECT sum(abalance) AS total FROM pgbench_accounts UNION "
    "ALL SELECT sum(bbalance) FROM pgbench_branches UNION ALL SELECT sum(tbalance) FROM "
    "pgbench_tellers UNION ALL SELECT coalesce(sum(delta), 0) FROM pgbench_history) AS sums"
)


@contextlib.contextmanager
def loaded(cluster: Cluster, command: list[str], acknowledged: list[int]) -> Iterator[None]:
    """Run a load with clients that count their acknowledged commits; all end with the ``with``."""
    bench = subprocess.Popen(
        command,
        cwd=cluster.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    clients = [
        subprocess.Popen(
            cluster.command("psql", *cluster.address, "-X", "-A", "-t", "-q"),
            cwd=cluster.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for _ in acknowledged
    ]
    counting = [
        threading.Thread(target=_count, args=(client, number, acknowledged), daemon=True)
        for number, client in enumerate(clients)
    ]
    processes: list[subprocess.Popen[Any]] = [bench, *clients]
    for process in processes:
        note(cluster.folder, process.pid)
    for thread in counting:
        thread.start()
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.wait()
        for thread in counting:
            thread.join()


def _count(client: subprocess.Popen[str], number: int, acknowledged: list[int]) -> None:
    """Insert rows one after the other, each once the row before was acknowledged."""
    assert client.stdin is not None
    assert client.stdout is not None
    with contextlib.suppress(OSError, ValueError):
        while True:
            value = acknowledged[number] + 1
            client.stdin.write(
                f"INSERT INTO acknowledged VALUES ({number}, {value}) RETURNING n;\n"
            )
            client.stdin.flush()
            if client.stdout.readline() != f"{value}\n":
                return
            acknowledged[number] = value


def run(level: Level, pace: Pace, folder: Path, seed: int, seconds: float) -> None:
    """Run pgbench for ``seconds``; kill database and drive about every half minute."""
    standing = Standing(folder, "768MiB")
    with clustered(standing, folder, OPTIONS) as cluster:
        _kills(level, pace, standing, cluster, random.Random(seed), seconds)


@contextlib.contextmanager
def clustered(standing: Standing, folder: Path, options: Mapping[str, str]) -> Iterator[Cluster]:
    """A cluster on a drive; at the end, the checksums of the cluster and the drive are checked."""
    try:
        with Cluster(folder, standing.mount / "cluster", options) as cluster:
            yield cluster
            cluster.stop()
            cluster.run("pg_checksums", "--check", "-D", cluster.data)
    except PostgresError as error:
        raise BrokenPromiseError(str(error)) from None
    finally:
        standing.down()
    check(standing.file)


def _kills(
    level: Level,
    pace: Pace,
    standing: Standing,
    cluster: Cluster,
    draw: random.Random,
    seconds: float,
) -> None:
    cluster.start()
    scale = 1 if seconds < ROUND else 5
    cluster.run("pgbench", *cluster.address, "-i", "-q", "-s", scale)
    acknowledged = prepared(cluster)
    bench = ("-n", "-c", "4", "-j", "1", "-T", "100000")
    command = cluster.command("pgbench", *cluster.address, *bench)
    kills = max(1, round(seconds / ROUND))
    pace.begin("killing PostgreSQL and its drive", "seconds", int(seconds))
    for _ in range(kills):
        with loaded(cluster, command, acknowledged):
            goes_on = pace.wait(seconds / kills * draw.uniform(0.6, 1.4))
            processes = cluster.processes()
            draw.shuffle(processes)
            standing.kill(processes)
        standing.up()
        cluster.start()
        level.add("kills")
        _compare(level, cluster, acknowledged)
        if not goes_on:
            break


def _compare(level: Level, cluster: Cluster, acknowledged: list[int]) -> None:
    """After recovery: check that every acknowledged commit is there and the database is intact."""
    find(level, cluster, acknowledged)
    if cluster.ask(BALANCES) != "1":
        raise BrokenPromiseError("the balances of pgbench's tables differ")
    level.counts["pgbench_transactions"] = int(cluster.ask("SELECT count(*) FROM pgbench_history"))
    amcheck(level, cluster)


def prepared(cluster: Cluster) -> list[int]:
    """Make the tables that the checks need; return a 0 for each client that counts its commits."""
    cluster.ask("CREATE TABLE acknowledged (client INT, n INT, PRIMARY KEY (client, n))")
    cluster.ask("CREATE EXTENSION amcheck")
    return [0] * COUNTING


def find(level: Level, cluster: Cluster, acknowledged: list[int]) -> None:
    """Check that every acknowledged commit is there; later commits found count as acknowledged."""
    for client, count in enumerate(acknowledged):
        answer = cluster.ask(f"SELECT count(*), max(n) FROM acknowledged WHERE client = {client}")
        rows, last = (int(word or 0) for word in answer.split("|"))
        if rows < count or rows != last:
            raise BrokenPromiseError(
                f"client {client} was acknowledged {count} commits, found {rows} rows up to {last}"
            )
        acknowledged[client] = last
    level.counts["acknowledged_commits_found"] = sum(acknowledged)


def amcheck(level: Level, cluster: Cluster) -> None:
    """Checks every table and index."""
    cluster.run("pg_amcheck", *cluster.address, "-d", USER, "--heapallindexed", "--jobs", "1")
    level.add("amchecks")
