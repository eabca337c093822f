"""One file of results: an SQLite database, which several processes may write at once.

A result is written whole or not at all, whatever stops the process or fills the disk. The table
``results`` has what is asked for often, one short row each; the documents lie beside it in
``documents``. A query goes through all rows of ``results``, which takes less than a second of a
million, and reads no document: an index would make each result slower to keep, and few queries
faster.

Bits of a disk change, and people exchange files. So rows and documents have check sums
(:mod:`flashgc.store.schema`), bound to the key of their result. A damaged one is no figure: its
outcome is ``failed``, with a reason that names it, and it is run again where errors are. A file
that has lost rows, or has objects that are not ours, is refused.
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
    """Copies a file of results as it is now; ``look`` sees the share and the pages that are copied.

    Raises :class:`flashgc.ConfigError` where there is a file ``copy``, and :class:`OSError`.
    """
    if os.path.lexists(copy):
        raise _exists(copy)
    _files.check(str(copy), "COPY", "copy.results")
    # Nobody takes the file for a copy before it is whole.
    part = copy.with_name(f".{secrets.token_hex(8)}.part")
    try:
        store.back_up(part, look)
        _name(part, copy)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(copy)) from None
    finally:
        part.unlink(missing_ok=True)


def _name(part: Path, copy: Path) -> None:
    """Gives ``part`` the name ``copy``; replaces nothing that came there meanwhile."""
    try:
        os.link(part, copy)
    except FileExistsError:
        raise _exists(copy) from None
    except OSError:  # A file system without links.
        if os.path.lexists(copy):
            raise _exists(copy) from None
        part.rename(copy)


def _exists(copy: Path) -> ConfigError:
    return ConfigError(f"COPY: {copy} exists; hint: give another name, or delete it")


#: The hint where a file has no results.
EMPTY = (
    "hint: flashgc sweep grid.toml makes some; a file in use is copied by flashgc results export"
)
#: The longest time of a query, and of the check of a whole file, in seconds.
_LONGEST, _LONGEST_CHECK = 60, 600
#: Steps of SQLite between two looks at the time, and at a signal that came.
_STEPS = 200_000
#: Seconds to wait for others when the file is closed.
_PATIENCE_AT_END = 1
#: Pages of the file that are copied at a time.
_STEP = 4096

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
    #: The reason why there is none; empty with one.
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

    def __init__(
        self, path: Path, option: str = "--results", *, make: bool = True, whole: bool = True
    ) -> None:
        """Opens the file, or makes it. Without ``make``, it must be there.

        With ``whole`` all of it is checked but the documents, which are checked when they are read.
        Without, only the rows that are asked for are checked.

        Raises :class:`flashgc.ConfigError`, naming ``option``, where it is no file of results, and
        :class:`OSError` where the disk is at fault.
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
        #: The rows that are damaged, by their number: the key that each shows.
        self.damaged: dict[int, str] = {}
        self._until = 0.0
        self._connection.set_progress_handler(self._is_late, _STEPS)
        # A document that is packed is smaller than its ceiling.
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
        """Tells SQLite to break a query off; a signal's handler runs before this does."""
        return time.monotonic() > self._until

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
        except database.ERRORS as error:
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
        known = {}
        for *stamp, noted in rows:
            name, size, changed = stamp
            digest, _, checked = str(noted).partition(" ")
            if checked == schema.of_documents(digest, [repr(stamp).encode()]):
                known[name, size, changed] = digest
        return Contents(known)

    def remember(self, contents: Contents) -> None:
        """Keeps the digests of files that were read; raises :class:`OSError`."""
        rows = [
            (*stamp, f"{digest} {schema.of_documents(digest, [repr([*stamp]).encode()])}")
            for stamp, digest in contents.new.items()
        ]
        with self._writing():
            self._connection.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", rows)
        contents.new.clear()

    def load(self, key: str) -> Kept | None:
        """Return the outcome of the simulation with this key; ``None`` without a whole one."""
        rows = self._read(
            f"SELECT {_WHOLE} FROM results LEFT JOIN documents USING (id) WHERE key = ?", (key,)
        )
        return self._kept(rows[0]) if rows else None

    def each(self, wanted: Sequence[Condition] = ()) -> Iterator[tuple[str, str, Kept]]:
        """Key, work and all of each result for which the conditions hold, the newest last.

        Raises :class:`OSError`.
        """
        where, values = self._where(wanted)
        try:
            rows = self._connection.execute(
                f"SELECT {_WHOLE} FROM results LEFT JOIN documents USING (id){where} ORDER BY id",
                values,
            )
            self._until = time.monotonic() + _LONGEST
            for row in rows:
                yield row[_KEY], row[_WORK], self._kept(row)
                self._until = time.monotonic() + _LONGEST
        except database.ERRORS as error:
            raise self._refused(error) from None

    def statuses(self, keys: Sequence[str]) -> dict[str, str]:
        """The status of each simulation that something is known of."""
        texts: dict[str, str] = {}
        for begin in range(0, len(keys), 500):
            some = keys[begin : begin + 500]
            marks = ", ".join("?" * len(some))
            rows = self._read(
                f"SELECT {_WHOLE} FROM results LEFT JOIN documents USING (id) "
                f"WHERE key IN ({marks})",
                some,
            )
            for row in rows:
                texts[row[_KEY]] = "failed" if self._is_damaged(row) else row[_STATUS]
        return texts

    def speeds(
        self,
        work_of: Callable[[Mapping[str, Any]], float],
        kind_of: Callable[[Mapping[str, Any]], str],
    ) -> dict[str, float]:
        """Work a second of a core, by kind, of the last 100 results.

        ``work_of`` tells how much work a configuration is, ``kind_of`` which others are as fast.
        """
        rows = self._read(
            f"SELECT {_WHOLE} FROM results LEFT JOIN documents USING (id) "
            "WHERE status = 'result' AND seconds > 0 ORDER BY id DESC LIMIT 100"
        )
        entries: dict[str, list[float]] = {}
        for kept in map(self._kept, rows):
            if kept.status == "result":
                entry = entries.setdefault(kind_of(kept.config), [0.0, 0.0])
                entry[0] += work_of(kept.config)
                entry[1] += kept.seconds
        return {kind: work / seconds for kind, (work, seconds) in entries.items()}

    def put(self, key: str, kept: Kept, work: str) -> None:
        """Keeps the result of a simulation and replaces an earlier one; raises :class:`OSError`.

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
        """The columns of all results for which the conditions hold, the newest last."""
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
            text = "several results begin" if keys else "no result begins"
            hint = f"flashgc results list {shlex.quote(str(self.path))} --out keys.csv"
            raise ConfigError(f"KEY: {text} with '{beginning}'; hint: {hint}")
        return str(keys[0])

    def merge(self, other: Store) -> int:
        """Takes over what ``other`` has and this file has not, or only as an error; how many."""
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
        rows = self._connection.execute(
            f"SELECT id, {_WHOLE} FROM results LEFT JOIN documents USING (id)"
        )
        for number, *row in rows:
            yield number, tuple(row)

    def _count(self) -> None:
        """Counts the rows anew, after they were checked."""
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
        """Deletes the results for which the conditions hold, and gives their space back; how many.

        With ``other_versions``, those of other builds of the engine only.
        """
        conditions = [*wanted]
        if other_versions:
            conditions.append(("engine", "!=", engine_digest()))
        where, values = clause(conditions)
        with self._writing():
            deleted = self._connection.execute(f"DELETE FROM results{where}", values).rowcount
            self._count()
        with contextlib.suppress(OSError):  # On a full disk there is no room to give space back.
            self._read("VACUUM")
        return deleted

    def _where(self, wanted: Sequence[Condition]) -> tuple[str, list[Any]]:
        """The clause of a query; damaged rows are always among what it finds."""
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
        self._until = time.monotonic() + _LONGEST_CHECK
        try:
            with database.transaction(self._connection):
                yield
        except database.ERRORS as error:
            raise self._refused(error) from None

    def _is_damaged(self, row: Sequence[Any]) -> bool:
        """Return ``True`` if a row, or one of its documents, is not what was kept under its key."""
        *values, ids, config, question, result = row
        known = dict(zip(schema.SUMMED, values, strict=True))
        documents = [config, question, result]
        return (
            not all(document is None or isinstance(document, bytes) for document in documents)
            or schema.of_row(known) != ids
            or schema.of_documents(str(known["key"]), documents) != known["document"]
        )

    def _kept(self, row: Sequence[Any]) -> Kept:
        """Return the outcome in a row: that of a damaged one is ``failed``."""
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
        """The command that deletes a result."""
        if not key.isalnum():
            return "give another file"
        return f"flashgc results prune {shlex.quote(str(self.path))} --where key={key}"

    def _refused(self, error: sqlite3.Error | UnicodeDecodeError) -> OSError:
        if database.is_interrupted(error) and time.monotonic() <= self._until:
            raise KeyboardInterrupt  # The handler of a signal broke it off.
        return database.refused(error, self.path)


#: The columns of a row with its documents, and the places of some.
_WHOLE = ", ".join((*schema.SUMMED, "sum", "config", "asked", "result"))
_KEY, _STATUS, _WORK = (schema.SUMMED.index(name) for name in ("key", "status", "work"))

#: The reason why a damaged result is none.
_DAMAGED = "it is damaged in the file of results, or stands under the key of another; hint: --retry"


def _file_at(path: Path) -> tuple[int, int] | None:
    """Device and number of the file that has this name now; ``None`` where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
