"""Keys in LMDB, each acknowledged behind its commit. For flashgc device cut-test.

`cut_lmdb.py sync 500` commits 500 keys as LMDB does by default, `nometasync` and `nosync` with its
options of these names; `cut_lmdb.py check` looks for them after a cut.
"""

import os
import sys

import lmdb

OPTIONS = {"sync": {}, "nometasync": {"metasync": False}, "nosync": {"sync": False}}


def opened(**options):
    """Open the database in this folder, or make it."""
    return lmdb.open("keys.lmdb", map_size=16 << 20, subdir=False, **options)


def work(way, keys):
    """Put keys, one in a transaction."""
    base = opened(**OPTIONS[way])
    with open(os.environ["FLASHGC_ACK"], "w", buffering=1) as acknowledge:
        for number in range(1, keys + 1):
            with base.begin(write=True) as change:
                change.put(b"%012d" % number, b"x" * 400)
            print("acknowledged", number, file=acknowledge)


def broken(code, what):
    """End with 1 where commits are lost, with 2 where the database is damaged."""
    print(what)
    sys.exit(code)


def check():
    """Look for the acknowledged keys."""
    last = int((os.environ["FLASHGC_LAST"] or "acknowledged 0").split()[1])
    try:
        with opened().begin() as look:
            keys = [int(key) for key, value in look.cursor() if value == b"x" * 400]
            entries = look.stat()["entries"]
    except lmdb.Error as error:
        broken(2, f"damaged: {error}")
    if keys != list(range(1, entries + 1)):
        broken(2, f"damaged: {len(keys)} keys of {entries}")
    if len(keys) < last:
        broken(1, f"acknowledged {last}, found {len(keys)}")


if __name__ == "__main__":
    check() if sys.argv[1] == "check" else work(sys.argv[1], int(sys.argv[2]))
