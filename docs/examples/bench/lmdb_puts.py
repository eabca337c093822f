"""LMDB under single puts: each one is a transaction that is on the drive when it returns.

``load`` makes a table of rows in ``test.lmdb`` of the working directory, ``run`` changes it.
"""

from __future__ import annotations

import argparse
import random

import lmdb

#: Rows of the table, bytes of a row, and bytes of the map.
ROWS, TEXT, MAP = 100_000, 200, 128 << 20


def opened(*, writemap: bool) -> lmdb.Environment:
    """Open the environment; every commit is synchronous."""
    return lmdb.open("test.lmdb", subdir=False, map_size=MAP, writemap=writemap)


def load() -> None:
    """Make the table."""
    base = opened(writemap=False)
    with base.begin(write=True) as transaction:
        for key in range(ROWS):
            transaction.put(b"%08d" % key, random.Random(key).randbytes(TEXT))
    base.close()


def run(transactions: int, seed: int, *, writemap: bool) -> None:
    """Put rows that are drawn at random, a transaction each."""
    drawn = random.Random(seed)
    base = opened(writemap=writemap)
    for _ in range(transactions):
        with base.begin(write=True) as transaction:
            transaction.put(b"%08d" % drawn.randrange(ROWS), drawn.randbytes(TEXT))
    base.close()
    print(f"committed {transactions}")


def main() -> None:
    """Do what the first argument says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("load", "run"))
    parser.add_argument("--writemap", choices=("no", "yes"), default="no")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--transactions", type=int, default=2000)
    given = parser.parse_args()
    if given.what == "load":
        load()
    else:
        run(given.transactions, given.seed, writemap=given.writemap == "yes")


if __name__ == "__main__":
    main()
