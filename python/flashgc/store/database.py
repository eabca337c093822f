"""The SQLite database of a file of results: opens and checks it, and explains its errors."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from flashgc._core import ConfigError
from flashgc.store import schema
from flashgc.store.schema import COUNTED, FORM, FROM_3, OBJECTS, TABLES


def in_wal(connection: sqlite3.Connection, patience: float) -> None:
    """Set WAL mode, so that readers and a writer work at once; wait up to ``patience`` seconds.

    SQLite does not wait by itself if two processes change the mode. After a kill, no stored result
    is lost. After a loss of power, the last results may be lost, but no others.
    """
    until = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() > until:
                raise
            time.sleep(0.01)
    connection.execute("PRAGMA synchronous = NORMAL")


#: The application id in SQLite's header that marks our files: "fgcr".
_APPLICATION = 0x66676372
#: Errors caused by the named file, and not by the disk.
_OURS = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
#: The errors of SQLite. If a file is damaged, their messages may contain names that are no valid
#: text.
ERRORS = (sqlite3.Error, UnicodeDecodeError)
#: Seconds to wait for another process that writes.
_PATIENCE = 60
#: Bytes per page of the file; for results with their documents, this size wastes the least space.
_PAGE = 8192

#: The maximum number of bytes of an uncompressed document. JSON in memory takes up to 25 times the
#: bytes of its text.
CEILING = 16 << 20

#: Hints for errors of SQLite.
HINTS = {
    sqlite3.SQLITE_FULL: "free some space and go on, what is complete is kept",
    sqlite3.SQLITE_IOERR: "free some space, SQLite needs a little for reading as well",
    sqlite3.SQLITE_TOOBIG: f"a row has {CEILING} bytes at most; give another file",
    sqlite3.SQLITE_CORRUPT: "restore a copy of it, or give another file",
    sqlite3.SQLITE_ERROR: "restore a copy of it, or give another file",
}


def opened(path: Path, option: str, *, make: bool) -> sqlite3.Connection:
    """Open the database at ``path``, or make it; upgrade a file of the previous format.

    Raises :class:`flashgc.ConfigError`, which names ``option``, if the file is no file of results,
    and an error of :data:`ERRORS`.
    """
    if path.is_dir():
        raise ConfigError(f"{option}: {path} is a folder; hint: give a file in it")
    if not path.parent.is_dir():
        raise ConfigError(f"{option}: {path}: there is no such folder; hint: make it first")
    if not make and not os.access(path.parent, os.W_OK):
        # Nobody can write there, so there is no other process to wait for.
        left = path.with_name(f"{path.name}-wal")
        if left.exists() and left.stat().st_size:
            raise ConfigError(
                f"{option}: {path} was not closed, and its folder may not be written; hint: "
                f"copy it and {left.name} to another folder"
            )
        uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None)
        connection.text_factory = _text
        connection.execute("SELECT count(*) FROM results")
        _check_form(connection, f"{option}: {path}")
        return connection
    connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
    connection.text_factory = _text
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA page_size = {_PAGE}")  # This affects only a new file.
    # Readers and a writer do not wait for each other.
    in_wal(connection, _PATIENCE)
    with transaction(connection):
        if _is_empty(connection):
            for statement in TABLES.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORM}")
        elif _form(connection) == (_APPLICATION, 3):
            _check_objects(connection, OBJECTS - {("table", "state")}, f"{option}: {path}")
            _raise_form(connection)
        _check_form(connection, f"{option}: {path}")
    return connection


def _check_form(connection: sqlite3.Connection, where: str) -> None:
    """Refuse another program's file, another format, and objects that are not ours."""
    application, form = _form(connection)
    if application != _APPLICATION:
        raise ConfigError(f"{where} is a database of another program; hint: give another file")
    if form != FORM:
        raise ConfigError(
            f"{where} has form {form}, and this version reads form {FORM}; hint: give another file"
        )
    _check_objects(connection, OBJECTS, where)


def _text(value: bytes) -> str:
    """Return a text of the file; invalid bytes are escaped, and so the row counts as damaged."""
    return value.decode(errors="surrogateescape")


def _is_empty(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,))


def _form(connection: sqlite3.Connection) -> tuple[int, int]:
    """The application id and the format number of a file."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    return application, connection.execute("PRAGMA user_version").fetchone()[0]


def _check_objects(
    connection: sqlite3.Connection, expected: set[tuple[str, str]], where: str
) -> None:
    """Refuse views, triggers and tables that are not ours, since they could run foreign SQL."""
    connection.execute("PRAGMA trusted_schema = OFF")
    schema = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    kinds = {(kind, name) for kind, name, _ in schema}
    odd = sorted(kinds - expected) or [
        (kind, name)
        for kind, name, text in schema
        if text is not None
        and (not text.startswith("CREATE TABLE ") or "GENERATED" in text or " AS (" in text)
    ]
    if odd or expected - kinds:
        kind, name = odd[0] if odd else min(expected - kinds)
        problem = f"the {kind} {name!r}, which is none of ours" if odd else f"no {kind} {name!r}"
        raise ConfigError(f"{where} has {problem}; hint: give another file")


def _raise_form(connection: sqlite3.Connection) -> None:
    """Upgrade a file of format 3 by the checksums of format 4, computed from its current rows."""
    for statement in FROM_3:
        connection.execute(statement)
    names = (*schema.SUMMED, "id")
    rows = connection.execute(
        f"SELECT {', '.join(names)}, config, asked, result FROM results JOIN documents USING (id)"
    ).fetchall()
    for *values, config, question, result in rows:
        row = dict(zip(names, values, strict=True))
        row["document"] = schema.of_documents(row["key"], [config, question, result])
        connection.execute(
            "UPDATE results SET document = ?, sum = ? WHERE id = ?",
            (row["document"], schema.of_row(row), row["id"]),
        )
    connection.execute(
        "UPDATE state SET results = ?, total = ?", connection.execute(COUNTED).fetchone()
    )
    connection.execute(f"PRAGMA user_version = {FORM}")


def damaged(connection: sqlite3.Connection, where: str) -> dict[int, str]:
    """Check the file and all rows; return the key that each damaged row shows, by the row's number.

    The file is checked as it is at one moment, so other processes may write meanwhile.

    Raises :class:`flashgc.ConfigError` for a file from which rows are missing, and an error of
    :data:`ERRORS`.
    """
    with one_moment(connection):
        return _damaged(connection, where)


@contextlib.contextmanager
def one_moment(connection: sqlite3.Connection) -> Iterator[None]:
    """Let all queries of the ``with`` block see the file as its first query does."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


def _damaged(connection: sqlite3.Connection, where: str) -> dict[int, str]:
    [(problem,), *_] = connection.execute("PRAGMA integrity_check(1)").fetchall()
    names = (*schema.SUMMED, "sum", "id")
    rows = {}
    for values in connection.execute(f"SELECT {', '.join(names)} FROM results"):
        row = dict(zip(names, values, strict=True))
        if schema.of_row(row) != row["sum"]:
            rows[row["id"]] = str(row["key"])
    states = connection.execute("SELECT results, total FROM state").fetchall()
    counted = connection.execute(COUNTED).fetchone()
    if problem == "ok" and states != [counted]:
        problem = f"it has {counted[0]} results, and others were kept in it"
    if problem != "ok":
        hint = HINTS[sqlite3.SQLITE_CORRUPT]
        problem = " ".join(str(problem).split())
        raise ConfigError(f"{where} is damaged: {problem}; hint: {hint}")
    return rows


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Make all changes of the ``with`` block, or none. Wait for other writers only at its begin."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def is_of_the_file(error: Exception) -> bool:
    """Return ``True`` if the error is in the named file, and not in the disk."""
    return getattr(error, "sqlite_errorcode", None) in _OURS


def is_interrupted(error: Exception) -> bool:
    """Return ``True`` if a query was interrupted."""
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT


def refused(error: sqlite3.Error | UnicodeDecodeError, path: Path) -> OSError:
    """Return an error of the file at ``path`` as an :class:`OSError`, with a hint."""
    if is_interrupted(error):
        return OSError(errno.ETIMEDOUT, "a query did not end; hint: give another file", str(path))
    # The upper bits give the variant of an error.
    usual = sqlite3.SQLITE_CORRUPT if isinstance(error, UnicodeDecodeError) else 0
    kind = getattr(error, "sqlite_errorcode", usual) & 0xFF
    code = errno.ENOSPC if kind == sqlite3.SQLITE_FULL else errno.EIO
    text = os.strerror(code) if code == errno.ENOSPC else plain(error)
    hint = f"; hint: {HINTS[kind]}" if kind in HINTS else ""
    return OSError(code, text + hint, str(path))


def plain(error: sqlite3.Error | UnicodeDecodeError) -> str:
    """Return the message of SQLite in plain words.

    >>> plain(sqlite3.DatabaseError("file is not a database"))
    'is not a file of results'
    """
    text = str(error) if isinstance(error, sqlite3.Error) else "its schema is damaged"
    if "not a database" in text:
        return "is not a file of results"
    return "may not be written" if "readonly" in text or "unable to open" in text else text
