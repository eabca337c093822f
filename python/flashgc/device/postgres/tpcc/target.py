"""The database to load, run on and check: a cluster of ours or any other, and the SQL for it."""

from __future__ import annotations

from importlib.resources import files

from flashgc._core import Control
from flashgc.device.pace import Pace
from flashgc.device.postgres import PostgresError
from flashgc.device.postgres.clients import Database
from flashgc.device.postgres.cluster import Cluster
from flashgc.device.postgres.tpcc.size import Size

#: A cluster that was started, a database, or libpq's connection string of one.
Target = Cluster | Database | str


def database(target: Target) -> Database:
    """The database that is meant."""
    if isinstance(target, Cluster):
        return target.database
    return Database(target) if isinstance(target, str) else target


def sql(name: str) -> str:
    """A file of statements of this package."""
    return files("flashgc.device.postgres.tpcc").joinpath("sql", name).read_text(encoding="utf-8")


def made(where: Database) -> tuple[Size, int]:
    """The size and the seed of the tables; :class:`PostgresError` if they are not there."""
    if where.ask("SELECT to_regclass('tpcc.made') IS NOT NULL") != "t":
        raise PostgresError("this database has no TPC-C tables; hint: load them first")
    found = where.ask("SELECT warehouses, items, customers, seed FROM tpcc.made").split("|")
    if len(found) != 4:
        raise PostgresError(
            "the TPC-C tables are incomplete: their load was stopped; hint: load them again, "
            "replacing what is there"
        )
    warehouses, items, customers, seed = map(int, found)
    return Size(warehouses, items, customers), seed


def silent() -> Pace:
    """A pace that nobody sees or stops."""
    return Pace(lambda *_: None, Control())
