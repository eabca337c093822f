"""SQLite under single-row upserts: each one is a transaction that is on the drive when it returns.

``load`` makes a table in ``test.db`` of the working directory, ``run`` changes it. The pages of the
database are set when it is made. The log is copied into it whenever it has grown by so many bytes:
SQLite counts pages, so the same number of pages would be another amount of data with another size.
"""

from __future__ import annotations

import argparse
import random
import sqlite3

#: Rows of the table, and bytes of a row's text.
ROWS, TEXT = 100_000, 200

UPSERT = (
    "insert into kept values (?, ?, 1) "
    "on conflict (key) do update set text = excluded.text, times = times + 1"
)


def load(page_size: int) -> None:
    """Make the table."""
    base = sqlite3.connect("test.db", isolation_level=None)
    base.execute(f"pragma page_size = {page_size}")
    base.execute("pragma journal_mode = wal")
    base.execute("create table kept (key integer primary key, text blob, times integer)")
    base.execute("begin")
    rows = ((key, random.Random(key).randbytes(TEXT)) for key in range(ROWS))
    base.executemany("insert into kept values (?, ?, 0)", rows)
    base.execute("commit")
    base.execute("pragma wal_checkpoint(truncate)")
    base.close()


def run(autocheckpoint: int, seed: int, transactions: int) -> None:
    """Upsert rows that are drawn at random, a transaction each."""
    drawn = random.Random(seed)
    base = sqlite3.connect("test.db", isolation_level=None)
    (page_size,) = base.execute("pragma page_size").fetchone()
    base.execute("pragma synchronous = full")
    base.execute(f"pragma wal_autocheckpoint = {autocheckpoint // page_size}")
    for _ in range(transactions):
        base.execute(UPSERT, (drawn.randrange(ROWS), drawn.randbytes(TEXT)))
    base.close()
    print(f"committed {transactions}")


def size(text: str) -> int:
    """Bytes of a text such as ``400KiB``."""
    number, unit = text[:-3], text[-3:]
    return int(number) * {"KiB": 1 << 10, "MiB": 1 << 20}[unit]


def main() -> None:
    """Do what the first argument says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("load", "run"))
    parser.add_argument("--page-size", type=int, default=4096)
    parser.add_argument("--autocheckpoint", type=size, default="4MiB")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--transactions", type=int, default=8000)
    given = parser.parse_args()
    if given.what == "load":
        load(given.page_size)
    else:
        run(given.autocheckpoint, given.seed, given.transactions)


if __name__ == "__main__":
    main()
