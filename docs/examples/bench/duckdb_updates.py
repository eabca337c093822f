"""DuckDB under small updates: each one is a transaction that is in the log on the drive when it returns.

``load`` makes a table of rows in ``test.duckdb`` of the working directory, ``run`` changes it.
"""

from __future__ import annotations

import argparse
import random

import duckdb

#: Rows of the table, and bytes of a row's text.
ROWS, TEXT = 100_000, 200


def opened(checkpoint: str) -> duckdb.DuckDBPyConnection:
    """Open the database. A log that has grown to ``checkpoint`` is written into the table."""
    base = duckdb.connect("test.duckdb")
    base.execute(f"SET checkpoint_threshold = '{checkpoint}'")
    return base


def load() -> None:
    """Make the table."""
    base = opened("16MiB")
    base.execute(
        "CREATE TABLE held AS SELECT range AS key, "
        f"left(repeat(md5(range::text), 7), {TEXT}) AS text FROM range({ROWS})"
    )
    base.close()


def run(transactions: int, seed: int, checkpoint: str) -> None:
    """Change rows that are drawn at random, a transaction each."""
    drawn = random.Random(seed)
    base = opened(checkpoint)
    for _ in range(transactions):
        text = drawn.randbytes(TEXT // 2).hex()
        base.execute("UPDATE held SET text = ? WHERE key = ?", [text, drawn.randrange(ROWS)])
    base.close()
    print(f"committed {transactions}")


def main() -> None:
    """Do what the first argument says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("load", "run"))
    parser.add_argument("--checkpoint", default="16MiB")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--transactions", type=int, default=2000)
    given = parser.parse_args()
    if given.what == "load":
        load()
    else:
        run(given.transactions, given.seed, given.checkpoint)


if __name__ == "__main__":
    main()
