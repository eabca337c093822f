"""Helpers of the tests on PostgreSQL: whether it is installed, and their cluster."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from flashgc.device.postgres import PostgresError
from flashgc.device.postgres.clients import Database
from flashgc.device.postgres.cluster import Cluster, programs
from flashgc.device.scratch import scratch

#: Settings for speed: the data need not survive a crash of the machine.
QUICK = {"fsync": "off", "shared_buffers": "32MB", "max_connections": 20}


def lacks() -> str | None:
    """The reason why no cluster can run here, or ``None``."""
    try:
        programs()
    except PostgresError as error:
        return str(error)
    return None


def needs_postgres() -> list[pytest.MarkDecorator]:
    """The marks of a module whose tests need PostgreSQL: they share one cluster."""
    missing = lacks()
    return [
        pytest.mark.skipif(missing is not None, reason=missing or ""),
        pytest.mark.xdist_group("postgres"),
    ]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A cluster of all these tests: each module has databases of its own."""
    with scratch("test-postgres") as folder, Cluster(folder, options=QUICK) as made:
        made.start()
        yield made


def database(cluster: Cluster, name: str, template: str = "template1") -> Database:
    """A new database, a copy of another one."""
    cluster.ask(f"CREATE DATABASE {name} TEMPLATE {template}")
    return Database(cluster.database.dsn.replace("dbname=postgres", f"dbname={name}"))


def is_binomial(found: int, of: int, share: float) -> bool:
    """Whether a count is within five standard deviations of its mean."""
    return abs(found - of * share) <= 5 * math.sqrt(of * share * (1 - share))
