"""PostgreSQL as a real host: temporary clusters, and a load for them or for any database.

:mod:`~flashgc.device.postgres.clients` reaches a database, :mod:`~flashgc.device.postgres.cluster`
makes one in a scratch folder, and :mod:`~flashgc.device.postgres.tpcc` is a TPC-C-like load. No
stored drive is needed.
"""

from __future__ import annotations

from flashgc._core import FlashgcError


class PostgresError(FlashgcError):
    """PostgreSQL is not installed, or one of its programs has failed."""
