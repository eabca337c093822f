"""PostgreSQL on a drive: database and drive are killed together, and recover.

No acknowledged commit may be gone, the balances of pgbench must agree, ``pg_amcheck`` and the check
sums must find nothing.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flashgc._core import DriveError
from flashgc.device.campaign.cuts import check
from flashgc.device.campaign.report import BrokenPromiseError, Level, Pace
from flashgc.device.campaign.scratch import note
from flashgc.device.campaign.standing import Standing

USER = "postgres"

#: Programs that the level runs.
PROGRAMS = ("initdb", "pg_ctl", "psql", "pgbench", "pg_amcheck", "pg_checksums")

#: Seconds between two kills, on average.
ROUND = 30.0

#: Clients that count their commits, beside those of pgbench.
COUNTING = 2

#: Of the server. Checkpoints come often, and every commit is synced.
OPTIONS = (
    "-c fsync=on -c synchronous_commit=on -c full_page_writes=on -c shared_buffers=32MB "
    "-c max_wal_size=64MB -c min_wal_size=32MB -c checkpoint_timeout=30s"
)

#: Sums that are equal in every state that a transaction of pgbench leaves.
BALANCES = (
    "SELECT count(DISTINCT total) FROM (SELECT sum(abalance) AS total FROM pgbench_accounts UNION "
    "ALL SELECT sum(bbalance) FROM pgbench_branches UNION ALL SELECT sum(tbalance) FROM "
    "pgbench_tellers UNION ALL SELECT coalesce(sum(delta), 0) FROM pgbench_history) AS sums"
)


def programs() -> Path:
    """The folder of PostgreSQL's programs. :class:`DriveError` says what is missing."""
    hint = "hint: apt-get install postgresql"
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda one: len(one.parts))
    found = [one for one in folders if all((one / name).exists() for name in PROGRAMS)]
    if not found:
        raise DriveError(f"the level postgres needs PostgreSQL, which is not installed; {hint}")
    if shutil.which("runuser") is None:
        raise DriveError("the level postgres needs runuser; hint: apt-get install util-linux")
    try:
        import pwd

        pwd.getpwnam(USER)
    except KeyError:
        raise DriveError(f"the level postgres needs the user {USER}; {hint}") from None
    return found[-1]


class Cluster:
    """A cluster of its own, on a drive."""

    def __init__(self, folder: Path, mount: Path) -> None:
        """Makes it in ``mount``; its socket is in ``folder``."""
        self._folder, self._bin = folder, programs()
        self._data, self._socket = mount / "cluster", folder / "socket"
        for path in (self._data, self._socket):
            path.mkdir()
            path.chmod(0o700)
            shutil.chown(path, USER, USER)
        self._log = self._socket / "log"
        self.run("initdb", "-D", self._data, "-U", USER, "--auth=trust", "--data-checksums")

    def command(self, program: str, *arguments: object) -> list[str]:
        """A program of PostgreSQL, as its user."""
        words = (self._bin / program, *arguments)
        return ["runuser", "-u", USER, "--", *(str(word) for word in words)]

    def run(self, program: str, *arguments: object) -> str:
        """Runs a program; :class:`BrokenPromiseError` says what it said."""
        done = subprocess.run(
            self.command(program, *arguments),
            cwd=self._folder,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            said = " ".join((done.stdout + done.stderr).split())
            raise BrokenPromiseError(f"{program} ended with code {done.returncode}: {said[-400:]}")
        return done.stdout.strip()

    @property
    def address(self) -> tuple[str, ...]:
        """The options that lead to the server."""
        return ("-h", str(self._socket), "-U", USER)

    def start(self) -> None:
        """Starts the server, which recovers after a crash."""
        options = f"-k {self._socket} -h '' {OPTIONS}"
        begin = ("-D", self._data, "-w", "-t", "300", "-s", "-l", self._log)
        # What it leaves running must not hold our pipes.
        done = subprocess.run(
            self.command("pg_ctl", *begin, "-o", options, "start"),
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            said = " ".join(self._log.read_text(errors="replace").split())
            raise BrokenPromiseError(f"PostgreSQL does not start: {said[-400:]}")
        note(self._folder, self._master())

    def stop(self) -> None:
        """Stops the server; its check sums must match."""
        self.run("pg_ctl", "-D", self._data, "-w", "-m", "fast", "stop")
        self.run("pg_checksums", "--check", "-D", self._data)

    def _master(self) -> int:
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def processes(self) -> list[int]:
        """The server and its children."""
        master = self._master()
        found = [master]
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                words = stat.read_text().rpartition(")")[2].split()
                if int(words[1]) == master:
                    found.append(int(stat.parent.name))
        return found

    def ask(self, query: str) -> str:
        """The answer to a query."""
        return self.run("psql", *self.address, "-X", "-A", "-t", "-q", "-c", query)

    @contextlib.contextmanager
    def load(self, acknowledged: list[int]) -> Iterator[None]:
        """pgbench, and clients that count what was acknowledged to them; ended at the end."""
        bench = subprocess.Popen(
            self.command("pgbench", *self.address, "-n", "-c", "4", "-j", "1", "-T", "100000"),
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )
        clients = [
            subprocess.Popen(
                self.command("psql", *self.address, "-X", "-A", "-t", "-q"),
                cwd=self._folder,
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
            note(self._folder, process.pid)
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
    """Inserts one row after the other, each when the one before was acknowledged."""
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
    """Runs pgbench for so many seconds, with a kill of everything about every half minute."""
    draw = random.Random(seed)
    standing = Standing(folder, "768MiB")
    try:
        scale = 1 if seconds < ROUND else 5
        cluster = Cluster(folder, standing.mount)
        cluster.start()
        cluster.run("pgbench", *cluster.address, "-i", "-q", "-s", scale)
        cluster.ask("CREATE TABLE acknowledged (client INT, n INT, PRIMARY KEY (client, n))")
        cluster.ask("CREATE EXTENSION amcheck")
        acknowledged = [0] * COUNTING
        kills = max(1, round(seconds / ROUND))
        pace.begin("killing PostgreSQL and its drive", "seconds", int(seconds))
        for _ in range(kills):
            with cluster.load(acknowledged):
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
        cluster.stop()
    finally:
        _end(folder, standing)
    check(standing.file)


def _compare(level: Level, cluster: Cluster, acknowledged: list[int]) -> None:
    """After a recovery: nothing acknowledged is lost, and the database is intact."""
    for client, count in enumerate(acknowledged):
        told = cluster.ask(f"SELECT count(*), max(n) FROM acknowledged WHERE client = {client}")
        rows, last = (int(word or 0) for word in told.split("|"))
        if rows < count or rows != last:
            raise BrokenPromiseError(
                f"client {client} was acknowledged {count} commits, found {rows} rows up to {last}"
            )
        acknowledged[client] = last
    level.counts["acknowledged_commits_found"] = sum(acknowledged)
    if cluster.ask(BALANCES) != "1":
        raise BrokenPromiseError("the balances of pgbench's tables differ")
    level.counts["pgbench_transactions"] = int(cluster.ask("SELECT count(*) FROM pgbench_history"))
    cluster.run("pg_amcheck", *cluster.address, "-d", USER, "--heapallindexed", "--jobs", "1")
    level.add("amchecks")


def _end(folder: Path, standing: Standing) -> None:
    """Ends what runs on the drive, and closes it."""
    with contextlib.suppress(OSError, ValueError):
        master = int((standing.mount / "cluster" / "postmaster.pid").read_text().split()[0])
        os.kill(master, 3)  # Quit at once, children too.
    standing.down()
