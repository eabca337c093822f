"""One file of results: an SQLite database, which several processes may write at once.

A result is written whole or not at all, even if the process is stopped or the disk is full. The
table ``results`` has one short row for each result, with the values that queries ask for; the
documents are in the table ``documents``. A query reads all rows of ``results`` but no document,
which takes less than a second for a million rows. An index would slow down each write, and speed up
few queries.

Bits on a disk may change, and people exchange files. So rows and documents have checksums
(:mod:`flashgc.store.schema`) that include the key of their result. A damaged result is never shown
as a figure: its outcome is ``failed``, with a reason, and it runs again when failed simulations do.
A file that has lost rows, or has objects that are not ours, is refused.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import shlex
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashgc import _core, _files
from flashgc._core import ConfigError
from flashgc.store import database, schema
from flashgc.store.database import CEILING
from flashgc.store.identity import Contents, engine_digest
from flashgc.store.query import COLUMNS, Condition, clause
from flashgc.store.schema import COUNTED


def export(store: Store, copy: Path, look: Callable[[float, int], None] = lambda *_: None) -> None:
    """Copy a file of results in its current state; ``look`` gets the share and the pages copied.

    Raises :class:`flashgc.ConfigError` if a file ``copy`` exists, and :class:`OSError`.
    """
    if os.path.lexists(copy):
        raise _exists(copy)
    _files.check(str(copy), "COPY", "copy.results")
    # The temporary name keeps others from using an incomplete copy.
    part = copy.with_name(f".{secrets.token_hex(8)}.part")
    try:
        store.back_up(part, look)
        _name(part, copy)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(copy)) from None
    finally:
        part.unlink(missing_ok=True)


def _name(part: Path, copy: Path) -> None:
    """Rename ``part`` to ``copy``, but do not replace a file that was made there meanwhile."""
    try:
        os.link(part, copy)
    except FileExistsError:
        raise _exists(copy) from None
    except OSError:  # A file system without hard links.
        if os.path.lexists(copy):
            raise _exists(copy) from None
        part.rename(copy)


def _exists(copy: Path) -> ConfigError:
    return ConfigError(f"COPY: {copy} exists; hint: give another name, or delete it")


#: The hint for a file without results.
EMPTY = (
    "hint: flashgc sweep grid.toml makes some; a file in use is copied by flashgc results export"
)
#: The longest time of a query, and of the check of a whole file, in seconds.
_LONGEST, _LONGEST_CHECK = 60, 600
#: Steps of SQLite between two checks of the time limit and of signals.
_STEPS = 200_000
#: Seconds to wait for other processes when the file is closed.
_PATIENCE_AT_END = 1
#: Pages of the file that one step copies.
_STEP = 4096

#: The outcomes of a simulation: ``result``; ``failed``, which may be tried again; ``cannot``, which
#: would fail again.
STATUSES = ("result", "failed", "cannot")


@dataclass(frozen=True)
class Kept:
    """The outcome of one simulation."""

    status: str
    #: The configuration, as passed to the engine.
    config: Mapping[str, Any]
    #: The engine's result; ``None`` without one.
    result: Mapping[str, Any] | None
    #: The reason why there is no result; empty if there is one.
    reason: str = ""
    #: The duration of the simulation in seconds, on one core or several.
    seconds: float = 0.0
    #: The values of options that the user gave, by path (``drive.spare``), as typed; ``None`` if
    #: unknown.
    asked: Mapping[str, Any] | None = None
    #: Its position in the grid, which is the order of tables and pictures.
    place: int = 0


class Store:
    """An open file of results. A :class:`Store` is for one thread."""

    def __init__(
        self, path: Path, option: str = "--results", *, make: bool = True, whole: bool = True
    ) -> None:
        """Open the file. Without ``make``, it must exist; with ``make``, a missing file is made.

        With ``whole``, the whole file is checked now, except for documents, which are checked when
        they are read. Without ``whole``, a row is checked only when it is read.

        Raises :class:`flashgc.ConfigError`, which names ``option``, if it is no file of results,
        and :class:`OSError` for errors of the disk.
        """
        self.path = path
        if not make and not path.exists():
            raise ConfigError(f"{option}: {path}: no such file; hint: flashgc sweep makes one")
        try:
            self._connection = database.opened(path, option, make=make)
        except database.ERRORS as error:
            if database.is_of_the_file(error):
                hint = "hint: give another file"
                raise ConfigError(f"{option}: {path}: {database.plain(error)}; {hint}") from None
            raise self._refused(error) from None
        self._has_written = False
        #: For each damaged row, by its number: the key that it shows.
        self.damaged: dict[int, str] = {}
        self._until = 0.0
        self._connection.set_progress_handler(self._is_late, _STEPS)
        # The limit on uncompressed documents is more than enough for a compressed document.
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, CEILING)
        self._place = path.absolute()
        self._file = _file_at(self._place)
        if whole:
            self._until = time.monotonic() + _LONGEST_CHECK
            try:
                self.damaged = database.damaged(self._connection, f"{option}: {path}")
            except database.ERRORS as error:
                raise self._refused(error) from None

    def _is_late(self) -> bool:
        """True if the time limit of a query is over: SQLite then interrupts it.

        Python runs signal handlers before it calls this.
        """
        return time.monotonic() > self._until

    def close(self) -> None:
        """Close the file, which then has all that was written, unless other processes still write.

        So a copy of the file alone is complete.
        """
        if self._has_written:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute(f"PRAGMA busy_timeout = {1000 * _PATIENCE_AT_END}")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()

    def back_up(self, part: Path, look: Callable[[float, int], None]) -> None:
        """Copy the file as it is now to ``part``; ``look`` gets share and pages copied."""

        def step(_: int, left: int, pages: int) -> None:
            look(1.0 - left / max(pages, 1), pages - left)

        try:
            with (
                contextlib.closing(sqlite3.connect(part)) as target,
                database.one_moment(self._connection),
            ):
                self._connection.execute("SELECT count(*) FROM files").fetchone()
                self._connection.backup(target, pages=_STEP, progress=step)
        except database.ERRORS as error:
            raise self._refused(error) from None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def contents(self) -> Contents:
        """The digests of files, including those from earlier commands."""
        rows = self._read("SELECT name, bytes, changed, digest FROM files")
        known = {}
        for *stamp, noted in rows:
            name, size, changed = stamp
            digest, _, checked = str(noted).partition(" ")
            if checked == schema.of_documents(digest, [repr(stamp).encode()]):
                known[name, size, changed] = digest
        return Contents(known)

    def remember(self, contents: Contents) -> None:
        """Store the digests of files that were read; raises :class:`OSError`."""
        rows = [
            (*stamp, f"{digest} {schema.of_documents(digest, [repr([*stamp]).encode()])}")
            for stamp, digest in contents.new.items()
        ]
        with self._writing():
            self._connection.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", rows)
        contents.new.clear()

    def load(self, key: str) -> Kept | None:
        """Return the outcome of the simulation with this key; ``None`` if the file has none."""
        rows = self._read(f"{_SELECT} WHERE key = ?", (key,))
        return self._kept(rows[0]) if rows else None

    def each(self, wanted: Sequence[Condition] = ()) -> Iterator[tuple[str, str, Kept]]:
        """Yield key, work and outcome of each result that meets the conditions, the newest last.

        Raises :class:`OSError`.
        """
        where, values = self._where(wanted)
        try:
            rows = self._connection.execute(f"{_SELECT}{where} ORDER BY id", values)
            self._until = time.monotonic() + _LONGEST
            for row in rows:
                yield row[_KEY], row[_WORK], self._kept(row)
                self._until = time.monotonic() + _LONGEST
        except database.ERRORS as error:
            raise self._refused(error) from None

    def statuses(self, keys: Sequence[str]) -> dict[str, str]:
        """The status of each simulation of ``keys`` that the file has, by key."""
        texts: dict[str, str] = {}
        for begin in range(0, len(keys), 500):
            some = keys[begin : begin + 500]
            marks = ", ".join("?" * len(some))
            rows = self._read(f"{_SELECT} WHERE key IN ({marks})", some)
            for row in rows:
                texts[row[_KEY]] = "failed" if self._is_damaged(row) else row[_STATUS]
        return texts

    def speeds(
        self,
        work_of: Callable[[Mapping[str, Any]], float],
        kind_of: Callable[[Mapping[str, Any]], str],
    ) -> dict[str, float]:
        """The amount of work per second of a core, by kind, from the last 100 results.

        ``work_of`` returns the amount of work of a configuration, ``kind_of`` its group of similar
        speed.
        """
        rows = self._read(
            f"{_SELECT} WHERE status = 'result' AND seconds > 0 ORDER BY id DESC LIMIT 100"
        )
        entries: dict[str, list[float]] = {}
        for kept in map(self._kept, rows):
            if kept.status == "result":
                entry = entries.setdefault(kind_of(kept.config), [0.0, 0.0])
                entry[0] += work_of(kept.config)
                entry[1] += kept.seconds
        return {kind: work / seconds for kind, (work, seconds) in entries.items()}

    def put(self, key: str, kept: Kept, work: str) -> None:
        """Store the outcome of a simulation, in place of an earlier one; raises :class:`OSError`.

        ``work`` is the command that ran it.
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
        documents = [
            None if document is None else self._packed(document)
            for document in (config, kept.asked, kept.result)
        ]
        row["document"] = schema.of_documents(key, documents)
        row["sum"] = schema.of_row(row)
        names, marks = ", ".join(row), ", ".join(f":{name}" for name in row)
        with self._writing():
            before = self._connection.execute(
                "SELECT sum & 4294967295 FROM results WHERE key = ?", (key,)
            ).fetchall()
            self._connection.execute("DELETE FROM results WHERE key = ?", (key,))
            row_id = self._connection.execute(
                f"INSERT INTO results ({names}) VALUES ({marks})", row
            ).lastrowid
            self._connection.execute(
                "INSERT INTO documents VALUES (?, ?, ?, ?)", (row_id, *documents)
            )
            more = (row["sum"] & 0xFFFFFFFF) - sum(low for (low,) in before)
            self._connection.execute(
                "UPDATE state SET results = results + ?, total = total + ?",
                (1 - len(before), more),
            )

    def rows(self, wanted: Sequence[Condition] = ()) -> list[dict[str, Any]]:
        """The columns of all results that meet the conditions, the newest last."""
        where, values = self._where(wanted)
        names = list(COLUMNS)
        rows = self._read(f"SELECT id, {', '.join(names)} FROM results{where} ORDER BY id", values)
        return [
            dict(zip(names, row, strict=True))
            if number not in self.damaged
            else {**dict.fromkeys(names), "key": row[0], "status": "failed", "reason": _DAMAGED}
            for number, *row in rows
        ]

    def count(self) -> int:
        """The number of results, failed ones included."""
        return int(self._read("SELECT count(*) FROM results")[0][0])

    def whole(self, beginning: str) -> str:
        """The full key for its beginning; :class:`flashgc.ConfigError` unless just one fits."""
        keys = [
            key
            for (key,) in self._read(
                "SELECT key FROM results WHERE substr(key, 1, ?) = ? LIMIT 2",
                (len(beginning), beginning),
            )
        ]
        if len(keys) != 1:
            text = "several results begin" if keys else "no result begins"
            hint = f"flashgc results list {shlex.quote(str(self.path))} --out keys.csv"
            raise ConfigError(f"KEY: {text} with '{beginning}'; hint: {hint}")
        return str(keys[0])

    def merge(self, other: Store) -> int:
        """Copy outcomes from ``other`` that are missing or failed here; return how many."""
        names = ", ".join((*schema.SUMMED, "sum"))
        for number in [number for number, row in other._whole_rows() if self._is_damaged(row)]:
            other.damaged.setdefault(number, "")
        left_out = ", ".join(map(str, other.damaged))
        whole = f"id NOT IN ({left_out})"
        with self._attached(other):
            before = self._connection.total_changes
            with self._writing():
                self._connection.execute(
                    "DELETE FROM results WHERE status != 'result' AND key IN "
                    f"(SELECT key FROM other.results WHERE status = 'result' AND {whole})"
                )
                deleted = self._connection.total_changes - before
                self._connection.execute(
                    f"INSERT OR IGNORE INTO results ({names}) "
                    f"SELECT {names} FROM other.results WHERE {whole}"
                )
                copied = self._connection.total_changes - before - deleted
                self._connection.execute(
                    "INSERT OR IGNORE INTO documents SELECT mine.id, theirs.config, "
                    "theirs.asked, theirs.result "
                    "FROM results AS mine JOIN other.results AS found USING (key) "
                    "JOIN other.documents AS theirs ON theirs.id = found.id"
                )
                self._count()
        return copied

    def _whole_rows(self) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """All rows with their documents, by number."""
        rows = self._connection.execute(_SELECT.replace("SELECT", "SELECT id,", 1))
        for number, *row in rows:
            yield number, tuple(row)

    def _count(self) -> None:
        """Update the number of rows and the sum of their checksums, after the rows were checked."""
        counted = self._connection.execute(COUNTED).fetchone()
        self._connection.execute("UPDATE state SET results = ?, total = ?", counted)

    @contextlib.contextmanager
    def _attached(self, other: Store) -> Iterator[None]:
        self._read("ATTACH DATABASE ? AS other", (str(other.path),))
        try:
            yield
        finally:
            self._read("DETACH DATABASE other")

    def prune(self, wanted: Sequence[Condition], *, other_versions: bool = False) -> int:
        """Delete the results that meet the conditions, and free their space; return how many.

        With ``other_versions``, delete only those of other builds of the engine.
        """
        conditions = [*wanted]
        if other_versions:
            conditions.append(("engine", "!=", engine_digest()))
        where, values = clause(conditions)
        with self._writing():
            deleted = self._connection.execute(f"DELETE FROM results{where}", values).rowcount
            self._count()
        with contextlib.suppress(OSError):  # Freeing space needs some, and fails on a full disk.
            self._read("VACUUM")
        return deleted

    def _where(self, wanted: Sequence[Condition]) -> tuple[str, list[Any]]:
        """The WHERE clause of a query; it always includes damaged rows."""
        where, values = clause(wanted)
        if where and self.damaged:
            where += f" OR id IN ({', '.join(map(str, self.damaged))})"
        return where, values

    def _read(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        self._until = time.monotonic() + _LONGEST
        try:
            return self._connection.execute(query, values).fetchall()
        except database.ERRORS as error:
            raise self._refused(error) from None

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Store results put in this ``with`` all together, or none; raises :class:`OSError`.

        This is faster for many results, and makes other writers wait.
        """
        with self._writing():
            yield

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        if self._connection.in_transaction:
            yield
            return
        self._has_written = True
        self._until = time.monotonic() + _LONGEST_CHECK
        try:
            with database.transaction(self._connection):
                yield
        except database.ERRORS as error:
            raise self._refused(error) from None

    def _is_damaged(self, row: Sequence[Any]) -> bool:
        """Return ``True`` if a row or a document differs from what was stored under its key."""
        *values, ids, config, question, result = row
        known = dict(zip(schema.SUMMED, values, strict=True))
        documents = [config, question, result]
        return (
            not all(document is None or isinstance(document, bytes) for document in documents)
            or schema.of_row(known) != ids
            or schema.of_documents(str(known["key"]), documents) != known["document"]
        )

    def _kept(self, row: Sequence[Any]) -> Kept:
        """Return the outcome in a row; ``failed`` for a damaged row."""
        key = row[_KEY]
        if self._is_damaged(row):
            return Kept("failed", {}, None, _DAMAGED)
        known = dict(zip(schema.SUMMED, row, strict=False))
        *_, config, question, result = row
        return Kept(
            known["status"],
            self._unpacked(key, config),
            None if result is None else self._unpacked(key, result),
            known["reason"] or "",
            known["seconds"],
            None if question is None else self._unpacked(key, question),
            known["place"],
        )

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
        """The command that deletes a result, for a hint."""
        if not key.isalnum():
            return "give another file"
        return f"flashgc results prune {shlex.quote(str(self.path))} --where key={key}"

    def _refused(self, error: sqlite3.Error | UnicodeDecodeError) -> OSError:
        if database.is_interrupted(error) and time.monotonic() <= self._until:
            raise KeyboardInterrupt  # A signal handler interrupted it.
        return database.refused(error, self.path)


#: The columns of a row with its documents, and the indices of some of them.
_WHOLE = ", ".join((*schema.SUMMED, "sum", "config", "asked", "result"))
_SELECT = f"SELECT {_WHOLE} FROM results LEFT JOIN documents USING (id)"
_KEY, _STATUS, _WORK = (schema.SUMMED.index(name) for name in ("key", "status", "work"))

#: The reason of a damaged result.
_DAMAGED = "it is damaged in the file of results, or stands under the key of another; hint: --retry"


def _file_at(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file that has this name now; ``None`` if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
