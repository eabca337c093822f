"""Rows in SQLite, each acknowledged behind its commit. For flashgc device cut-test.

`cut_sqlite.py WAL FULL 500` inserts 500 rows with this journal and this `synchronous`;
`cut_sqlite.py check` looks for them after a cut.
"""

import os
import sqlite3
import sys


def work(journal, synchronous, rows):
    """Insert rows, one in a transaction."""
    base = sqlite3.connect("rows.db", isolation_level=None)
    base.execute(f"PRAGMA journal_mode = {journal}")
    base.execute(f"PRAGMA synchronous = {synchronous}")
    base.execute("CREATE TABLE rows (n INTEGER PRIMARY KEY, filler TEXT)")
    with open(os.environ["FLASHGC_ACK"], "w", buffering=1) as acknowledge:
        for number in range(1, rows + 1):
            base.execute("INSERT INTO rows VALUES (?, ?)", (number, "x" * 400))
            print("acknowledged", number, file=acknowledge)


def broken(code, what):
    """End with 1 where commits are lost, with 2 where the database is damaged."""
    print(what)
    sys.exit(code)


def check():
    """Look for the acknowledged rows in a database that must be whole."""
    last = int((os.environ["FLASHGC_LAST"] or "acknowledged 0").split()[1])
    base = sqlite3.connect("rows.db", isolation_level=None)
    try:
        [(said,)] = base.execute("PRAGMA integrity_check(1)")
        if said != "ok":
            broken(2, f"damaged: {said}")
        [(tables,)] = base.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'rows'")
        found, most = (0, 0)
        if tables:
            [(found, most)] = base.execute("SELECT count(*), coalesce(max(n), 0) FROM rows")
    except sqlite3.DatabaseError as error:
        broken(2, f"damaged: {error}")
    if found != most:
        broken(2, f"{found} rows up to {most}: one in the middle is gone")
    if found < last:
        broken(1, f"acknowledged {last}, found {found}")


if __name__ == "__main__":
    check() if sys.argv[1] == "check" else work(*sys.argv[1:3], int(sys.argv[3]))
