"""What the tests on PostgreSQL share: whether it is there, and a cluster of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flashgc.device.scratch import scratch
from flashgc.postgres.clients import PostgresError
from flashgc.postgres.cluster import Cluster, programs

#: Quick rather than safe: nothing here is lost when the machine is.
QUICK = {"fsync": "off", "shared_buffers": "32MB", "max_connections": 20}


def lacks() -> str | None:
    """Why there is no cluster here."""
    try:
        programs()
    except PostgresError as error:
        return str(error)
    return None


def on_postgres(module: str) -> list[pytest.MarkDecorator]:
    """The marks of a module whose tests need PostgreSQL: its tests share what they make."""
    missing = lacks()
    return [
        pytest.mark.skipif(missing is not None, reason=missing or ""),
        pytest.mark.xdist_group(module),
    ]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with scratch("test-postgres") as folder, Cluster(folder, options=QUICK) as made:
        made.start()
        yield made
