"""Opening a file of results while another process does."""

from __future__ import annotations

import sqlite3
import time


def in_wal(connection: sqlite3.Connection, patience: float) -> None:
    """Lets readers and a writer work at once; waits up to ``patience`` seconds for the file.

    SQLite does not wait by itself where two change the mode. A kill loses nothing that was said to
    be kept; a loss of power may lose the last results, and nothing else.
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
