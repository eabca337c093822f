"""One file of results: an SQLite database, which several processes may write at once.

A result is written whole or not at all, whatever stops the process or fills the disk. The table
``results`` has what is asked for often, one short row each; the documents lie beside it in
``documents``. A query goes through all rows of ``results``, which takes less than a second of a
million, and reads no document: an index would make each result slower to keep, and few queries
faster.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shlex
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashgc import _core
from flashgc._core import ConfigError
from flashgc.store.identity import Contents, engine_digest
from flashgc.store.query import COLUMNS, Condition
from flashgc.store.schema import FORM, TABLES
from flashgc.store.waiting import in_wal

#: The mark of our files in SQLite's head: "fgcr".
_APPLICATION = 0x66676372
#: The errors of the file that was named, rather than of the disk.
_OURS = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
#: The hint where a file has no results.
EMPTY = (
    "hint: flashgc sweep grid.toml makes some; a file in use is copied by flashgc results export"
)
#: Seconds to wait for another process that writes.
_PATIENCE = 60
#: Seconds to wait for others when the file is closed.
_PATIENCE_AT_END = 1
#: Pages of the file that are copied at a time.
_STEP = 4096
#: Bytes a page of the file: results with their documents fill these best.
_PAGE = 8192

#: Bytes of a document at most, inflated. JSON in memory takes up to 25 times its text.
CEILING = 16 << 20

#: The outcomes of a simulation: a ``result``; it ``failed``, and may be tried again; or it
#: ``cannot`` be, for a reason that stays.
STATUSES = ("result", "failed", "cannot")


@dataclass(frozen=True)
class Kept:
    """The outcome of one simulation."""

    status: str
    #: The configuration, as the engine took it.
    config: Mapping[str, Any]
    #: The engine's result; ``None`` without one.
    result: Mapping[str, Any] | None
    #: Why there is none; empty with one.
    reason: str = ""
    #: Its duration, on one core or several.
    seconds: float = 0.0
    #: The values that a person gave, by path (``drive.spare``), as typed; ``None`` where nobody
    #: typed it.
    asked: Mapping[str, Any] | None = None
    #: Its place in the work that it was for: tables and pictures have the order of the grid.
    place: int = 0


class Store:
    """A file of results. One thread uses one :class:`Store`."""

    def __init__(self, path: Path, option: str = "--results", *, make: bool = True) -> None:
        """Opens the file, or makes it. Without ``make``, it must be there.

        Raises :class:`flashgc.ConfigError`, naming ``option``, where it is no file of results, and
        :class:`OSError` where the disk is at fault.
        """
        self.path = path
        if not make and not path.exists():
            raise ConfigError(f"{option}: {path}: no such file; hint: flashgc sweep makes one")
        try:
            self._connection = self._opened(option, make=make)
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) in _OURS:
                hint = "hint: give another file"
                raise ConfigError(f"{option}: {path}: {_plain(error)}; {hint}") from None
            raise self._refused(error) from None
        self._has_written = False
        # A document that is packed is smaller than its ceiling.
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, CEILING)
        self._place = path.absolute()
        self._file = _file_at(self._place)

    def _opened(self, option: str, *, make: bool) -> sqlite3.Connection:
        path = self.path
        if path.is_dir():
            raise ConfigError(f"{option}: {path} is a folder; hint: give a file in it")
        if not path.parent.is_dir():
            raise ConfigError(f"{option}: {path}: there is no such folder; hint: make it first")
        if not make and not os.access(path.parent, os.W_OK):
            # Nobody writes there, so there is nothing to wait for.
            left = path.with_name(f"{path.name}-wal")
            if left.exists() and left.stat().st_size:
                raise ConfigError(
                    f"{option}: {path} was not closed, and its folder may not be written; hint: "
                    f"copy it and {left.name} to another folder"
                )
            uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
            connection = sqlite3.connect(uri, uri=True, isolation_level=None)
            connection.execute("SELECT count(*) FROM results")
            return connection
        connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA page_size = {_PAGE}")  # Of a file that is new.
        # Readers and a writer do not wait for each other.
        in_wal(connection, _PATIENCE)
        with _transaction(connection):
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            form = connection.execute("PRAGMA user_version").fetchone()[0]
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if tables == 0:
                for statement in TABLES.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {FORM}")
            elif application != _APPLICATION:
                raise ConfigError(
                    f"{option}: {path} is a database of another program; hint: give another file"
                )
            elif form != FORM:
                raise ConfigError(
                    f"{option}: {path} has form {form}, and this version reads form {FORM}; "
                    "hint: give another file"
                )
        return connection

    def close(self) -> None:
        """Closes the file; what was written is in the file itself, unless others still write it.

        So a copy of the file alone is whole.
        """
        if self._has_written:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute(f"PRAGMA busy_timeout = {1000 * _PATIENCE_AT_END}")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()

    def back_up(self, part: Path, look: Callable[[float, int], None]) -> None:
        """Copies the file as it is now to ``part``; ``look`` sees the share and pages that are."""

        def step(_: int, left: int, pages: int) -> None:
            look(1.0 - left / max(pages, 1), pages - left)

        try:
            with contextlib.closing(sqlite3.connect(part)) as target:
                # A transaction that reads keeps the pages as they are, whoever writes.
                self._connection.execute("BEGIN")
                self._connection.execute("SELECT count(*) FROM files").fetchone()
                self._connection.backup(target, pages=_STEP, progress=step)
        except sqlite3.Error as error:
            raise self._refused(error) from None
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def contents(self) -> Contents:
        """Digests of files, with those that were read in earlier work."""
        rows = self._read("SELECT name, bytes, changed, digest FROM files")
        return Contents({(name, size, changed): digest for name, size, changed, digest in rows})

    def remember(self, contents: Contents) -> None:
        """Keeps the digests of files that were read; raises :class:`OSError`."""
        rows = [(*stamp, digest) for stamp, digest in contents.new.items()]
        with self._writing():
            self._connection.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", rows)
        contents.new.clear()

    def load(self, key: str) -> Kept | None:
        """Return the outcome of the simulation with this key; ``None`` without a whole one."""
        rows = self._read(
            f"SELECT {_WHOLE} FROM results JOIN documents USING (id) WHERE key = ?", (key,)
        )
        return self._kept(key, rows[0]) if rows else None

    def each(self, wanted: Sequence[Condition] = ()) -> Iterator[tuple[str, str, Kept]]:
        """Key, work and all of each result for which the conditions hold, the newest last.

        Raises :class:`OSError`.
        """
        where, values = _where(wanted)
        try:
            rows = self._connection.execute(
                f"SELECT key, work, {_WHOLE} FROM results JOIN documents USING (id){where} "
                "ORDER BY id",
                values,
            )
            for key, work, *row in rows:
                kept = self._kept(key, row)
                if kept is not None:
                    yield key, work, kept
        except sqlite3.Error as error:
            raise self._refused(error) from None

    def statuses(self, keys: Sequence[str]) -> dict[str, str]:
        """The status of each simulation that something is known of."""
        found: dict[str, str] = {}
        for begin in range(0, len(keys), 500):
            some = keys[begin : begin + 500]
            marks = ", ".join("?" * len(some))
            found.update(
                self._read(f"SELECT key, status FROM results WHERE key IN ({marks})", some)
            )
        return found

    def speeds(
        self,
        work_of: Callable[[Mapping[str, Any]], float],
        kind_of: Callable[[Mapping[str, Any]], str],
    ) -> dict[str, float]:
        """Work a second of a core, by kind, of the last 100 results.

        ``work_of`` tells how much work a configuration is, ``kind_of`` which others are as fast.
        """
        rows = self._read(
            "SELECT key, seconds, config FROM results JOIN documents USING (id) "
            "WHERE status = 'result' AND seconds > 0 ORDER BY id DESC LIMIT 100"
        )
        sums: dict[str, list[float]] = {}
        for key, seconds, packed in rows:
            config = self._unpacked(key, packed)
            entry = sums.setdefault(kind_of(config), [0.0, 0.0])
            entry[0] += work_of(config)
            entry[1] += seconds
        return {kind: work / seconds for kind, (work, seconds) in sums.items()}

    def put(self, key: str, kept: Kept, work: str) -> None:
        """Keeps what came of a simulation, in the place of what was known; raises :class:`OSError`.

        ``work`` is the command that it was for.
        """
        if _file_at(self._place) != self._file:
            raise OSError(
                errno.ENOENT,
                "was deleted or replaced while results were written to it; hint: give the same "
                "command again",
                str(self.path),
            )
        result, config = kept.result or {}, kept.config
        described = result.get("config", config)
        row = {
            "key": key,
            "status": kept.status,
            "made": time.time(),
            "seconds": kept.seconds,
            "version": _core.version(),
            "engine": engine_digest(),
            "work": work,
            "workload": described.get("workload"),
            "victim": described.get("victim"),
            "placement": described.get("placement", "none"),
            "frontier": described.get("frontier"),
            "mapping": described.get("mapping", "page"),
            "drive": "counting" if config.get("timed") is None else "timed",
            "spare": described.get("spare"),
            "blocks": described.get("blocks"),
            "seed": described.get("seed"),
            "write_amplification": result.get("write_amplification"),
            "half": result.get("write_amplification_ci95"),
            "digest": result.get("digest"),
            "reason": kept.reason or None,
            "place": kept.place,
        }
        names, marks = ", ".join(row), ", ".join(f":{name}" for name in row)
        asked = None if kept.asked is None else self._packed(kept.asked)
        document = None if kept.result is None else self._packed(kept.result)
        with self._writing():
            self._connection.execute("DELETE FROM results WHERE key = ?", (key,))
            made = self._connection.execute(
                f"INSERT INTO results ({names}) VALUES ({marks})", row
            ).lastrowid
            self._connection.execute(
                "INSERT INTO documents VALUES (?, ?, ?, ?)",
                (made, self._packed(config), asked, document),
            )

    def rows(self, wanted: Sequence[Condition] = ()) -> list[dict[str, Any]]:
        """The columns of all results for which the conditions hold, the newest last."""
        where, values = _where(wanted)
        names = list(COLUMNS)
        found = self._read(f"SELECT {', '.join(names)} FROM results{where} ORDER BY id", values)
        return [dict(zip(names, row, strict=True)) for row in found]

    def count(self) -> int:
        """The number of results, errors among them."""
        return int(self._read("SELECT count(*) FROM results")[0][0])

    def whole(self, beginning: str) -> str:
        """The key that begins so; raises :class:`flashgc.ConfigError` if it is not just one."""
        keys = [
            key
            for (key,) in self._read(
                "SELECT key FROM results WHERE substr(key, 1, ?) = ? LIMIT 2",
                (len(beginning), beginning),
            )
        ]
        if len(keys) != 1:
            told = "several results begin" if keys else "no result begins"
            hint = f"flashgc results list {shlex.quote(str(self.path))} --out keys.csv"
            raise ConfigError(f"KEY: {told} with '{beginning}'; hint: {hint}")
        return str(keys[0])

    def merge(self, other: Store) -> int:
        """Takes over what ``other`` has and this file has not, or only as an error; how many."""
        names = ", ".join(name for name in COLUMNS)
        with self._attached(other):
            before = self._connection.total_changes
            with self._writing():
                self._connection.execute(
                    "DELETE FROM results WHERE status != 'result' AND key IN "
                    "(SELECT key FROM other.results WHERE status = 'result')"
                )
                deleted = self._connection.total_changes - before
                self._connection.execute(
                    f"INSERT OR IGNORE INTO results ({names}) SELECT {names} FROM other.results"
                )
                copied = self._connection.total_changes - before - deleted
                self._connection.execute(
                    "INSERT OR IGNORE INTO documents SELECT mine.id, theirs.config, "
                    "theirs.asked, theirs.result "
                    "FROM results AS mine JOIN other.results AS found USING (key) "
                    "JOIN other.documents AS theirs ON theirs.id = found.id"
                )
        return copied

    @contextlib.contextmanager
    def _attached(self, other: Store) -> Iterator[None]:
        self._read("ATTACH DATABASE ? AS other", (str(other.path),))
        try:
            yield
        finally:
            self._read("DETACH DATABASE other")

    def prune(self, wanted: Sequence[Condition], *, other_versions: bool = False) -> int:
        """Deletes the results for which the conditions hold, and gives their space back; how many.

        With ``other_versions``, those of other builds of the engine only.
        """
        conditions = [*wanted]
        if other_versions:
            conditions.append(("engine", "!=", engine_digest()))
        where, values = _where(conditions)
        with self._writing():
            deleted = self._connection.execute(f"DELETE FROM results{where}", values).rowcount
        with contextlib.suppress(OSError):  # On a full disk there is no room to give space back.
            self._read("VACUUM")
        return deleted

    def _read(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._refused(error) from None

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Results that are put within are kept together, or none of them; raises :class:`OSError`.

        It is faster for many, and others who write wait for its end.
        """
        with self._writing():
            yield

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        if self._connection.in_transaction:
            yield
            return
        self._has_written = True
        try:
            with _transaction(self._connection):
                yield
        except sqlite3.Error as error:
            raise self._refused(error) from None

    def _kept(self, key: str, row: Sequence[Any]) -> Kept | None:
        """Return the outcome in a row; ``None`` if the row is damaged: it is made again."""
        status, config, result, reason, seconds, asked, place = row
        try:
            return Kept(
                status,
                self._unpacked(key, config),
                None if result is None else self._unpacked(key, result),
                reason or "",
                seconds,
                None if asked is None else self._unpacked(key, asked),
                place,
            )
        except (zlib.error, ValueError, TypeError):
            return None

    def _packed(self, value: Mapping[str, Any]) -> bytes:
        text = json.dumps(value, separators=(",", ":")).encode()
        if len(text) > CEILING:
            raise OSError(
                errno.EFBIG,
                f"found a document of {len(text)} bytes, expected at most {CEILING}; hint: ask for "
                "fewer samples",
                str(self.path),
            )
        return zlib.compress(text, 1)

    def _unpacked(self, key: str, blob: bytes) -> dict[str, Any]:
        inflating = zlib.decompressobj()
        text = inflating.decompress(blob, CEILING)
        if inflating.unconsumed_tail and inflating.decompress(inflating.unconsumed_tail, 1):
            raise ConfigError(
                f"{self.path}: a document of result {key[:12]} has more than {CEILING} bytes, "
                f"expected at most that; hint: {self._without(key)}"
            )
        if not inflating.eof:
            raise zlib.error("a document is cut off")
        document: dict[str, Any] = json.loads(text)
        return document

    def _without(self, key: str) -> str:
        """The command that deletes a result."""
        if not key.isalnum():
            return "give another file"
        return f"flashgc results prune {shlex.quote(str(self.path))} --where key={key}"

    def _refused(self, error: sqlite3.Error) -> OSError:
        # The upper bits tell apart kinds of one error.
        kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
        code = errno.ENOSPC if kind == sqlite3.SQLITE_FULL else errno.EIO
        text = os.strerror(code) if code == errno.ENOSPC else _plain(error)
        hint = f"; hint: {_HINTS[kind]}" if kind in _HINTS else ""
        return OSError(code, text + hint, str(self.path))


#: Hints for errors of SQLite.
_HINTS = {
    sqlite3.SQLITE_FULL: "free some space and go on, what is complete is kept",
    sqlite3.SQLITE_IOERR: "free some space, SQLite needs a little for reading as well",
    sqlite3.SQLITE_TOOBIG: f"a row has {CEILING} bytes at most; give another file",
    sqlite3.SQLITE_CORRUPT: "restore a copy of it, or give another file",
}

#: The columns of a :class:`Kept`.
_WHOLE = "status, config, result, reason, seconds, asked, place"


def _where(wanted: Sequence[Condition]) -> tuple[str, list[Any]]:
    """The clause of a query, and its values; a bare name stands for any parameters."""
    parts, values = [], []
    for column, compared, value in wanted:
        if isinstance(value, str) and compared in ("=", "!="):
            negated = "NOT " if compared == "!=" else ""
            parts.append(f"{negated}({column} = ? OR substr({column}, 1, ?) = ?)")
            values += [value, len(value) + 1, f"{value}:"]
        else:
            parts.append(f"{column} {compared} ?")
            values.append(value)
    return (f" WHERE {' AND '.join(parts)}" if parts else ""), values


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing. It waits for other writers before it begins, never in the middle."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _file_at(path: Path) -> tuple[int, int] | None:
    """Device and number of the file that has this name now; ``None`` where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _plain(error: sqlite3.Error) -> str:
    """Return the message of SQLite in words for people.

    >>> _plain(sqlite3.DatabaseError("file is not a database"))
    'is not a file of results'
    """
    text = str(error)
    if "not a database" in text:
        return "is not a file of results"
    return "may not be written" if "readonly" in text or "unable to open" in text else text
