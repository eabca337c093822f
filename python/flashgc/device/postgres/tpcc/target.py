"""The database that is loaded, run on and checked: a temporary cluster or any other."""

from __future__ import annotations

import random
from dataclasses import dataclass
from importlib.resources import files

from flashgc._core import Control
from flashgc.device.pace import Pace
from flashgc.device.postgres import PostgresError
from flashgc.device.postgres.clients import Database
from flashgc.device.postgres.cluster import Cluster
from flashgc.device.postgres.tpcc.size import DISTRICTS, Size, constants_of_load

#: Mean number of lines of an order (clause 4.3.3.1).
LINES = 10


def load(
    target: Target,
    size: Size | None = None,
    seed: int = 1,
    pace: Pace | None = None,
    *,
    replace: bool = False,
) -> None:
    """Make the schema ``tpcc`` with its tables and functions, and fill it.

    The same seed and size make the same rows with the same version of PostgreSQL. ``replace``
    removes an existing schema. ``pace`` shows the progress in rows. If it is over, the load stops
    with :class:`PostgresError`; the rows made so far remain, and count as incomplete.
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
    # Otherwise the first transactions would do work left over from the load.
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


#: The first four conditions, which the standard requires every system to demonstrate.
CONDITIONS = {
    1: "w_ytd of a warehouse is the sum of its districts' d_ytd",
    2: "d_next_o_id - 1 of a district is its largest o_id, and its largest no_o_id",
    3: "the no_o_id of a district have no gap",
    4: "a district has as many order lines as the o_ol_cnt of its orders say",
}


@dataclass(frozen=True)
class Condition:
    """A consistency condition, and how many warehouses (1) or districts (2 to 4) violate it."""

    number: int
    what: str
    violations: int

    @property
    def holds(self) -> bool:
        """True if nothing violates it."""
        return self.violations == 0


def check(target: Target) -> list[Condition]:
    """The conditions 1 to 4 of clause 3.3.2, each counted by a query over whole tables."""
    where = database(target)
    made(where)
    rows = [line.split("|") for line in where.ask(sql("conditions.sql")).splitlines()]
    return [Condition(int(number), CONDITIONS[int(number)], int(count)) for number, count in rows]


#: A started cluster, a database, or libpq's connection string.
Target = Cluster | Database | str


def database(target: Target) -> Database:
    """The database of a target."""
    if isinstance(target, Cluster):
        return target.database
    return Database(target) if isinstance(target, str) else target


def sql(name: str) -> str:
    """The text of an SQL file of this package."""
    return files("flashgc.device.postgres.tpcc").joinpath("sql", name).read_text(encoding="utf-8")


def made(where: Database) -> tuple[Size, int]:
    """The size and the seed of the tables; :class:`PostgresError` if they do not exist."""
    if where.ask("SELECT to_regclass('tpcc.made') IS NOT NULL") != "t":
        raise PostgresError("this database has no TPC-C tables; hint: load them first")
    fields = where.ask("SELECT warehouses, items, customers, seed FROM tpcc.made").split("|")
    if len(fields) != 4:
        raise PostgresError(
            "the TPC-C tables are incomplete: their load was stopped; hint: load them again, "
            "replacing what is there"
        )
    warehouses, items, customers, seed = map(int, fields)
    return Size(warehouses, items, customers), seed


def silent() -> Pace:
    """A pace that shows nothing and never stops."""
    return Pace(lambda *_: None, Control())
