"""Hints from real software: the processes that send hints, the database and the drive are killed.

A drive that uses hints is below PostgreSQL with a load like TPC-C. One process follows the
database's log, another one follows the page cache, and sometimes a third one sends false hints.
After each kill, every acknowledged commit must be there, the conditions of TPC-C must hold, and
``pg_amcheck`` and the checksums must find no damage. A follower that was not killed keeps running.
"""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flashgc import _isolated
from flashgc._core import DriveError
from flashgc.device import processes
from flashgc.device._closing import Worker
from flashgc.device.campaign import postgres
from flashgc.device.campaign.report import BrokenPromiseError, Level
from flashgc.device.campaign.standing import Standing
from flashgc.device.control import PAGE, Client
from flashgc.device.hints.page_cache import check_tracepoints
from flashgc.device.hints.stream import load as psycopg
from flashgc.device.pace import Pace
from flashgc.device.postgres import tpcc
from flashgc.device.postgres.cluster import Cluster
from flashgc.device.postgres.tpcc.running import mix
from flashgc.device.scratch import note

#: The words of the command ``flashgc``, run as a user would run it.
COMMAND = tuple(_isolated.command("flashgc.command:main"))

#: Seconds between two reports of a follower, and the most seconds that its start or its end may
#: take.
EVERY, PATIENCE = 0.25, 60.0


class Follower:
    """A process of ``flashgc hints``, which is started again after each kill.

    It must not end by itself while its host runs, and must not fail with a traceback.
    """

    def __init__(self, folder: Path, *arguments: object) -> None:
        """``arguments`` are those of ``flashgc hints``. The process is not started yet."""
        self.name = str(arguments[0])
        words = (*map(str, arguments), "--json", "--every", str(EVERY))
        self._folder, self._command = folder, (*COMMAND, "hints", *words)
        self._out, self._errors = folder / f"{self.name}.out", folder / f"{self.name}.errors"
        self._process: subprocess.Popen[bytes] | None = None
        self._before = 0

    @property
    def pid(self) -> int:
        """The number of the process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the process, and wait for its first report."""
        self._before = self.hinted
        with open(self._out, "wb") as out, open(self._errors, "wb") as errors:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                cwd="/",
                # Ctrl-C at a terminal is for the campaign, which then ends the follower.
                start_new_session=True,
            )
        note(self._folder, self._process.pid)
        until = time.monotonic() + PATIENCE
        while self._last() is None:
            self.check()
            if time.monotonic() > until:
                raise BrokenPromiseError(f"{self.name}: no word after {PATIENCE:.0f} s")
            time.sleep(0.02)

    @property
    def hinted(self) -> int:
        """Pages hinted so far, by this process and by those before it."""
        last = self._last() or {}
        # Followers of different kinds have different names for the number of pages sent.
        sent = last.get("sent", {}).get("pages") or last.get("drive", {}).get("pages_hinted")
        return self._before + (sent or 0)

    def _last(self) -> dict[str, Any] | None:
        """Return the last report of the follower; an incomplete line does not count."""
        with contextlib.suppress(OSError):
            lines = self._out.read_text().split("\n")[:-1]
            if lines:
                answer: dict[str, Any] = json.loads(lines[-1])
                return answer
        return None

    def check(self) -> None:
        """Raise an error if the process has ended or has printed a traceback."""
        assert self._process is not None
        code = self._process.poll()
        if code is not None:
            raise BrokenPromiseError(f"{self.name} ended with code {code}: {self._said()}")
        self._judge()

    def end(self) -> None:
        """Ask the process to end, and wait."""
        assert self._process is not None
        self._process.terminate()
        self.ends()

    def ends(self) -> None:
        """Wait until the process ends; an exit code other than 0 is an error."""
        assert self._process is not None
        try:
            code = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise BrokenPromiseError(
                f"{self.name} has not ended after {PATIENCE:.0f} s: {self._said()}"
            ) from None
        if code:
            raise BrokenPromiseError(f"{self.name} ended with code {code}: {self._said()}")
        self._judge()

    def kill(self) -> None:
        """Kill the process if it runs."""
        if self._process is not None:
            processes.end([self.pid])
            self._process.wait()

    def _judge(self) -> None:
        if "Traceback" in self._errors.read_text(errors="replace"):
            raise BrokenPromiseError(f"{self.name} has failed: {self._said()}")

    def _said(self) -> str:
        return " ".join(self._errors.read_text(errors="replace").split())[-400:]


class Lies(Worker):
    """A follower that knows nothing: it hints any pages at any moment."""

    def __init__(self, file: Path, draw: random.Random) -> None:
        """Lies to the drive in ``file``."""
        super().__init__()
        self._file, self._draw = file, random.Random(draw.random())
        #: The number of pages in false hints and cancels, and of hints that the drive refused.
        self.pages = self.refused = 0

    def _work(self) -> None:
        while not self._over.wait(0.05):
            with contextlib.suppress(DriveError), Client(self._file) as client:
                pages = client.stat()["capacity_bytes"] // PAGE
                while not self._over.wait(0.01):
                    self._lie(client, pages)

    def _lie(self, client: Client, pages: int) -> None:
        draw, now = self._draw, client.moment()
        # One page, some pages, or almost all.
        longest = draw.choice((1, 64, pages))
        ranges = []
        for _ in range(draw.randint(1, 64)):
            first = draw.randrange(pages)
            count = draw.randint(1, min(longest, pages - first))
            ranges.append((first * PAGE, count * PAGE))
            self.pages += count
        if draw.random() < 0.5:
            client.cancel(ranges)
            return
        moment = draw.choice((None, 0, draw.randint(0, now), now, now + draw.randint(1, 10**6)))
        try:
            client.hint(ranges, moment)
        except DriveError:
            self.refused += 1
            raise


#: Seconds between two kills, on average.
ROUND = 10.0

#: The possible victims of a round's kill.
KINDS = ("follower", "database", "drive", "everything")

#: In one of ``LYING`` rounds, false hints are sent.
LYING = 3

#: Seconds after which each follower must have sent a hint. A start may take one of these seconds.
SOON = 4.0

#: Small tables, whose pages are dirty most of the time.
SIZE = tpcc.Size(warehouses=1, items=5_000, customers=300)

CLIENTS = 4

#: The tables are recreated after ``ORDERS`` new orders, so that the drive does not fill up.
ORDERS = 10_000

#: Options of the server. Its log is small, so that the drive can be small.
OPTIONS = {**postgres.OPTIONS, "max_wal_size": "48MB"}


def lacks() -> str | None:
    """Return what this machine lacks to follow a database and the page cache, or ``None``."""
    try:
        psycopg()
        check_tracepoints()
    except DriveError as error:
        return str(error)
    return None


def run(level: Level, pace: Pace, folder: Path, seed: int, seconds: float) -> None:
    """Run the load for ``seconds``, and kill a random part about every ten seconds."""
    standing = Standing(folder, "192MiB", scheme="zgc-gd")
    with postgres.clustered(standing, folder, OPTIONS) as cluster:
        cluster.start()
        device = ("--device", standing.file)
        followers = [
            Follower(folder, "postgres", "--dsn", cluster.database.dsn, *device),
            Follower(folder, "page-cache", "--mount", standing.mount, *device),
        ]
        with contextlib.ExitStack() as ends:
            for follower in followers:
                ends.callback(follower.kill)
            _Stand(level, standing, cluster, followers, random.Random(seed)).run(pace, seconds)
            for follower in followers:
                follower.end()


class _Stand:
    """The processes of this level: drive, database, followers."""

    def __init__(
        self,
        level: Level,
        standing: Standing,
        cluster: Cluster,
        followers: list[Follower],
        draw: random.Random,
    ) -> None:
        self._level, self._standing, self._cluster = level, standing, cluster
        self._log, self._cache = self._followers = followers
        self._draw = draw
        #: Transactions counted so far in tables that have been recreated since.
        self._counted: dict[str, int] = {}

    def run(self, pace: Pace, seconds: float) -> None:
        """Run the load, and kill again and again."""
        cluster, draw = self._cluster, self._draw
        tpcc.load(cluster, SIZE)
        cluster.ask("CREATE EXTENSION pg_buffercache")
        acknowledged = postgres.prepared(cluster)
        for follower in self._followers:
            follower.start()
        kills = max(1, round(seconds / ROUND))
        pace.begin("killing PostgreSQL, its drive and its followers", "seconds", int(seconds))
        for number in range(kills):
            kind = draw.choice(KINDS)
            with (
                mix(SIZE, 1, number) as words,
                postgres.loaded(
                    cluster,
                    cluster.database.command("pgbench", *words, "-c", CLIENTS, "-T", 100_000),
                    acknowledged,
                ),
                self._lying(number),
            ):
                goes_on = self._follow(pace, seconds / kills * draw.uniform(0.5, 1.5))
                self._kill(kind)
            self._recover(kind)
            self._level.add(f"kills_of_{kind}")
            self._compare(acknowledged)
            if not goes_on:
                break

    def _follow(self, pace: Pace, seconds: float) -> bool:
        """Let the followers work for some seconds; return false if the campaign is to end."""
        before = [follower.hinted for follower in self._followers]
        goes_on = pace.wait(seconds)
        for follower, hinted in zip(self._followers, before, strict=True):
            follower.check()
            if goes_on and seconds > SOON and follower.hinted == hinted:
                raise BrokenPromiseError(f"{follower.name} has hinted nothing in {seconds:.1f} s")
        return goes_on

    @contextlib.contextmanager
    def _lying(self, number: int) -> Iterator[None]:
        """In every ``LYING``-th round, beginning with the first, send false hints."""
        if number % LYING:
            yield
            return
        lies = Lies(self._standing.file, self._draw)
        with lies:
            yield
        self._level.add("rounds_with_lies")
        self._level.add("pages_of_lies", lies.pages)
        self._level.add("lies_refused", lies.refused)

    def _kill(self, kind: str) -> None:
        draw, database = self._draw, self._cluster.processes()
        if kind == "follower":
            for follower in draw.sample(self._followers, draw.randint(1, 2)):
                follower.kill()
                follower.start()
        elif kind == "database":
            self._cluster.kill()
        elif kind == "drive":
            # The database continues for a moment, in which its writes fail.
            processes.end([self._standing.server])
            time.sleep(draw.random())
            self._standing.kill({*database, *processes.family(database[0])})
        else:
            everything = [*database, *(follower.pid for follower in self._followers)]
            draw.shuffle(everything)
            self._standing.kill(everything)

    def _recover(self, kind: str) -> None:
        """Start the killed processes again. The follower of the page cache ends with its mount."""
        if kind == "drive":
            self._cache.ends()
        if kind in ("drive", "everything"):
            self._standing.up()
        if kind != "follower":
            self._cluster.start()
        if kind == "everything":
            self._log.start()
        if kind in ("drive", "everything"):
            self._cache.start()

    def _compare(self, acknowledged: list[int]) -> None:
        level, cluster = self._level, self._cluster
        postgres.find(level, cluster, acknowledged)
        for condition in tpcc.check(cluster):
            if not condition.holds:
                raise BrokenPromiseError(
                    f"TPC-C's condition {condition.number} ({condition.what}) is violated "
                    f"{condition.violations} times"
                )
            level.add("conditions_checked")
        postgres.amcheck(level, cluster)
        self._count_transactions()
        for follower in self._followers:
            level.counts[f"pages_hinted_by_{follower.name}"] = follower.hinted
        with Client(self._standing.file) as client:
            counters = client.stat()["counters"]
        for name in ("collections", "copied_pages", "copied_zombies"):
            level.counts[name] = counters[name]

    def _count_transactions(self) -> None:
        """Count transactions by the rows that they left; after many, recreate the tables."""
        level, cluster = self._level, self._cluster
        contents = {
            "new_orders_found": "SELECT sum(d_next_o_id - 1) FROM tpcc.district",
            "payments_found": "SELECT count(*) FROM tpcc.history",
        }
        now = {
            name: int(cluster.ask(query)) - SIZE.rows()["orders"]
            for name, query in contents.items()
        }
        for name, count in now.items():
            level.counts[name] = self._counted.get(name, 0) + count
        if now["new_orders_found"] > ORDERS:
            self._counted = {name: level.counts[name] for name in contents}
            tpcc.load(cluster, SIZE, replace=True)
            level.add("loads")
