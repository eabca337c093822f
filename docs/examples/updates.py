"""A table of accounts in SQLite, and random payments, 100 in a transaction."""

import random
import sqlite3

ACCOUNTS = 200_000

base = sqlite3.connect("accounts.db")
base.execute("PRAGMA journal_mode = WAL")
base.execute("CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER, filler TEXT)")
for first in range(0, ACCOUNTS, 10_000):
    rows = ((number, "x" * 400) for number in range(first, first + 10_000))
    base.executemany("INSERT INTO accounts VALUES (?, 0, ?)", rows)
    base.commit()
draw = random.Random(1)
for _ in range(500):
    for _ in range(100):
        payment = (draw.randrange(ACCOUNTS),)
        base.execute("UPDATE accounts SET balance = balance + 1 WHERE id = ?", payment)
    base.commit()
