"""Fills the tables, a warehouse after the other."""

from __future__ import annotations

import random

from flashgc.device.pace import Pace
from flashgc.device.postgres import PostgresError
from flashgc.device.postgres.clients import Database
from flashgc.device.postgres.tpcc.size import DISTRICTS, Size, constants_of_load
from flashgc.device.postgres.tpcc.target import Target, database, silent, sql

#: Lines of an order, on average (clause 4.3.3.1).
LINES = 10


def load(
    target: Target,
    size: Size | None = None,
    seed: int = 1,
    pace: Pace | None = None,
    *,
    replace: bool = False,
) -> None:
    """Makes the schema ``tpcc`` with its tables and functions, and fills it.

    The same seed and size make the same rows with the same version of PostgreSQL. ``replace``
    removes a schema that is there. ``pace`` shows the rows and, if it is over, stops the load with
    :class:`PostgresError`; what it has made stays, and counts as incomplete.
    """
    size, pace, where = size or Size(), pace or silent(), database(target)
    if replace:
        where.ask("SET client_min_messages = warning; DROP SCHEMA IF EXISTS tpcc CASCADE")
    elif where.ask("SELECT to_regnamespace('tpcc') IS NOT NULL") == "t":
        raise PostgresError(
            "this database has a schema tpcc already; hint: replace=True or --replace removes it"
        )
    for name in ("schema.sql", "draws.sql", "transactions.sql"):
        where.ask(sql(name))
    _fill(where, size, seed, pace)
    keys = [line for line in sql("keys.sql").splitlines() if not line.startswith("--")]
    pace.begin("making TPC-C's keys", "keys", len(keys) + 1)
    for key in keys:
        where.ask(key)
        _step(pace, 1)
    # The first transactions should not find the work of a load left to do.
    tables = ", ".join(f"tpcc.{table}" for table in (*size.rows(), "order_line"))
    where.ask(f"VACUUM (ANALYZE) {tables}")
    where.ask(
        f"INSERT INTO tpcc.made VALUES ({size.warehouses}, {size.items}, {size.customers}, {seed})"
    )
    pace.step()


def _fill(where: Database, size: Size, seed: int, pace: Pace) -> None:
    orders = DISTRICTS * size.customers
    waiting = DISTRICTS * (size.customers * 3 // 10)
    stages = {
        "stock.sql": 1 + DISTRICTS + size.items,
        "customers.sql": 2 * orders,
        "orders.sql": orders + waiting + LINES * orders,
    }
    pace.begin("loading TPC-C", "rows", size.items + size.warehouses * sum(stages.values()))
    c_last = constants_of_load(seed).c_last

    def fill(stage: str, warehouse: int, rows: int) -> None:
        where.ask(
            sql(stage),
            seed=random.Random(f"{seed} {warehouse} {stage}").uniform(-1, 1),
            w=warehouse,
            items=size.items,
            customers=size.customers,
            c_last=c_last,
        )
        _step(pace, rows)

    fill("items.sql", 0, size.items)
    for warehouse in range(1, size.warehouses + 1):
        for stage, rows in stages.items():
            fill(stage, warehouse, rows)


def _step(pace: Pace, done: int) -> None:
    pace.step(done)
    if pace.is_over:
        raise PostgresError(
            "the load of TPC-C was stopped; hint: load again, replacing what is there"
        )
