"""SQLite and LMDB on a drive whose server is killed while they commit.

Every committed transaction must be there, all transactions whole or not at all, and the database
intact.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flashgc import _isolated
from flashgc.device.campaign.report import BrokenPromiseError, Level
from flashgc.device.campaign.standing import Standing
from flashgc.device.pace import Pace
from flashgc.device.scratch import note

#: Rows per transaction. Every ``DELETES``-th transaction deletes an older one.
ROWS, DELETES = 5, 7

#: The longest time before a server is killed, in seconds.
LONGEST = 3.0


def row(number: int, index: int) -> bytes:
    """The value of a row: 32 bytes to 4 KiB, different for each row."""
    digest = hashlib.sha256(f"{number} {index}".encode()).digest()
    return digest * (1 + (number * 7 + index) % 128)


def deleted(number: int) -> int | None:
    """The transaction whose rows transaction ``number`` deletes; ``None`` for most."""
    return number // 2 if number % DELETES == 0 and (number // 2) % DELETES else None


class Sqlite:
    """SQLite with one of its journal modes."""

    def __init__(self, path: Path, journal: str) -> None:
        """Open the database; create it if it does not exist."""
        self._database = sqlite3.connect(f"{path}.sqlite", isolation_level=None)
        self._database.execute(f"PRAGMA journal_mode={journal}")
        self._database.execute("PRAGMA synchronous=EXTRA")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS rows (number INT, at INT, value BLOB, "
            "PRIMARY KEY (number, at))"
        )

    def commit(self, number: int) -> None:
        """Commit one transaction."""
        run = self._database.execute
        run("BEGIN")
        for index in range(ROWS):
            run("INSERT INTO rows VALUES (?, ?, ?)", (number, index, row(number, index)))
        old = deleted(number)
        if old is not None:
            run("DELETE FROM rows WHERE number = ?", (old,))
        run("COMMIT")

    def rows(self) -> Iterator[tuple[int, int, bytes]]:
        """All rows, after a check that the database is intact."""
        [(verdict,)] = self._database.execute("PRAGMA integrity_check(1)").fetchall()
        if verdict != "ok":
            raise BrokenPromiseError(f"SQLite's integrity check says: {verdict}")
        yield from self._database.execute("SELECT number, at, value FROM rows")

    def close(self) -> None:
        """Close the database."""
        self._database.close()


class Lmdb:
    """LMDB, which syncs every commit."""

    def __init__(self, path: Path) -> None:
        """Open the database; create it if it does not exist."""
        lmdb: Any = importlib.import_module("lmdb")
        self._database = lmdb.open(f"{path}.lmdb", map_size=64 << 20, subdir=False)

    def commit(self, number: int) -> None:
        """Commit one transaction."""
        with self._database.begin(write=True) as change:
            for index in range(ROWS):
                change.put(_key(number, index), row(number, index))
            old = deleted(number)
            for index in range(ROWS if old is not None else 0):
                change.delete(_key(old or 0, index))

    def rows(self) -> Iterator[tuple[int, int, bytes]]:
        """All rows; their number must agree with the database's own count."""
        seen = 0
        with self._database.begin() as look:
            for key, value in look.cursor():
                seen += 1
                number, _, index = key.decode().partition(" ")
                yield int(number), int(index), bytes(value)
            entries = look.stat()["entries"]
        if seen != entries:
            raise BrokenPromiseError(f"LMDB has {seen} keys, expected {entries} by its own count")

    def close(self) -> None:
        """Close the database."""
        self._database.close()


def _key(number: int, index: int) -> bytes:
    return f"{number:012d} {index}".encode()


def opened(kind: str, path: Path) -> Sqlite | Lmdb:
    """The database of this kind: ``lmdb``, ``sqlite-wal`` or ``sqlite-delete``."""
    return Lmdb(path) if kind == "lmdb" else Sqlite(path, kind.partition("-")[2])


def kinds() -> list[str]:
    """The kinds of database that this machine has."""
    has_lmdb = importlib.util.find_spec("lmdb") is not None
    return ["sqlite-wal", "sqlite-delete", *(["lmdb"] if has_lmdb else [])]


def run(level: Level, pace: Pace, folder: Path, seed: int, seconds: float) -> None:
    """Kill the server below each kind of database again and again, for ``seconds`` seconds each."""
    draw = random.Random(seed)
    for kind in kinds():
        standing = Standing(folder, "64MiB")
        try:
            pace.begin(f"killing the drive below {kind}", "seconds", int(seconds))
            _kills(level, pace, folder, standing, kind, draw, seconds)
        finally:
            standing.down()
        standing.file.unlink()
    if "lmdb" not in kinds():
        level.counts["lmdb"] = "not installed"


def _kills(
    level: Level,
    pace: Pace,
    folder: Path,
    standing: Standing,
    kind: str,
    draw: random.Random,
    seconds: float,
) -> None:
    committed = 0
    until = time.monotonic() + seconds
    while not pace.is_over:
        path = standing.mount / "database"
        writer = subprocess.Popen(
            _isolated.command(f"{__name__}:main", kind, path, committed + 1),
            cwd="/",
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        note(folder, writer.pid)
        assert writer.stdout is not None
        first = writer.stdout.readline()  # The first line shows that the writer has begun.
        lines: list[str] = []
        reader = threading.Thread(target=lines.extend, args=(writer.stdout,), daemon=True)
        reader.start()
        time.sleep(draw.random() * min(LONGEST, seconds))
        standing.kill([writer.pid])
        reader.join()
        writer.wait()
        numbers = [int(line) for line in (first, *lines) if line.endswith("\n")]
        committed = max(numbers, default=committed)
        standing.up()
        level.add(f"kills_below_{kind}")
        level.counts[f"commits_of_{kind}"] = committed
        committed = _compare(kind, path, committed, level)
        pace.at(int(seconds - max(until - time.monotonic(), 0)))
        if time.monotonic() >= until:
            return


def _compare(kind: str, path: Path, committed: int, level: Level) -> int:
    """Compare the database with the committed transactions; return the last transaction in it."""
    groups: dict[int, set[int]] = {}
    database = opened(kind, path)
    try:
        for number, index, value in database.rows():
            if value != row(number, index):
                raise BrokenPromiseError(f"{kind}: row {index} of transaction {number} is damaged")
            groups.setdefault(number, set()).add(index)
    except sqlite3.DatabaseError as error:
        raise BrokenPromiseError(f"{kind}: {error}") from None
    finally:
        database.close()
    last = max(groups, default=0)
    gone = {deleted(number) for number in range(1, last + 1)}
    level.add("rows_compared", sum(map(len, groups.values())))
    if last < committed:
        raise BrokenPromiseError(
            f"{kind}: the last transaction is {last}, committed was {committed}"
        )
    for number in range(1, last + 1):
        expected = set() if number in gone else set(range(ROWS))
        if groups.get(number, set()) != expected:
            raise BrokenPromiseError(
                f"{kind}: transaction {number} has rows {sorted(groups.get(number, set()))}, "
                f"expected {sorted(expected)}"
            )
    return last


def main() -> None:
    """Commit transactions from a given number on; print each number once it is durable."""
    kind, path, first = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    database = opened(kind, Path(path))
    with contextlib.suppress(sqlite3.Error, OSError):
        for number in range(int(first), 1 << 40):
            database.commit(number)
            os.write(1, f"{number}\n".encode())
