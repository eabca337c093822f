"""A server's log as a stream: PostgreSQL's replication protocol over libpq."""

from __future__ import annotations

import select
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from flashgc._core import DriveError

#: Bytes of a page of the log.
PAGE = 8192

#: Seconds between two reports to the server, which closes a connection after a minute of silence.
WORD = 1.0

#: The year 2000, from which PostgreSQL counts, in seconds since the Unix epoch.
EPOCH = 946_684_800


def load() -> ModuleType:
    """The package ``psycopg``; raises :class:`flashgc.DriveError` if it is missing."""
    try:
        import psycopg
    except ImportError:
        raise DriveError(
            "following PostgreSQL needs the package psycopg; hint: pip install 'psycopg[binary]'"
        ) from None
    return psycopg


@dataclass(frozen=True)
class Message:
    """A piece of the log."""

    #: Its position, in bytes since the log began.
    at: int
    log: bytes
    #: The time at which the server sent it, in seconds since the epoch.
    sent: float
    #: Bytes of the log that the server had after this piece.
    lag: int


class Stream:
    """A replication connection. Errors are psycopg's, or :class:`flashgc.DriveError`."""

    def __init__(self, dsn: str) -> None:
        """Connects."""
        from psycopg import OperationalError, conninfo, pq

        self._pq = pq
        text = conninfo.make_conninfo(dsn, replication="true", application_name="flashgc")
        self._connection = pq.PGconn.connect(text.encode())
        if self._connection.status != pq.ConnStatus.OK:
            message = " ".join(self._connection.get_error_message().split())
            self._connection.finish()
            raise OperationalError(message)
        self._received = 0
        self._told = 0.0

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.finish()

    def start(self) -> int:
        """Begin at the end of the log; return the position of the first byte that will be sent."""
        system = self._execute("IDENTIFY_SYSTEM", self._pq.ExecStatus.TUPLES_OK)
        high, low = (int(half, 16) for half in (system.get_value(0, 2) or b"0/0").split(b"/"))
        at = ((high << 32) + low) // PAGE * PAGE
        self._execute(
            f"START_REPLICATION PHYSICAL {at >> 32:X}/{at & 0xFFFFFFFF:X}",
            self._pq.ExecStatus.COPY_BOTH,
        )
        self._received = at
        return at

    def _execute(self, command: str, expected: int) -> Any:
        result = self._connection.exec_(command.encode())
        if result.status != expected:
            raise DriveError(f"the server refuses {command}: {self._said()}")
        return result

    def take(self, seconds: float) -> Iterator[Message]:
        """Yield the messages that have arrived; if there are none, wait up to ``seconds``."""
        ready, _, _ = select.select([self._connection.socket], [], [], seconds)
        if ready:
            self._connection.consume_input()
        while True:
            length, data = self._connection.get_copy_data(1)
            if length == 0:
                break
            if length < 0:
                raise DriveError(f"the server has ended the log: {self._said()}")
            message = self._read(bytes(data))
            if message is not None:
                yield message
        if time.monotonic() - self._told >= WORD:
            self._tell()

    def _read(self, data: bytes) -> Message | None:
        if data[:1] == b"w":
            at, end, sent = struct.unpack_from("!QQq", data, 1)
            log = data[25:]
            self._received = at + len(log)
            return Message(at, log, sent / 1e6 + EPOCH, max(0, end - self._received))
        if data[:1] == b"k" and data[-1]:
            self._tell()
        return None

    def _tell(self) -> None:
        """Report the last byte received to the server; no byte counts as flushed or applied."""
        now = int((time.time() - EPOCH) * 1e6)
        self._connection.put_copy_data(struct.pack("!cQQQqB", b"r", self._received, 0, 0, now, 0))
        self._connection.flush()
        self._told = time.monotonic()

    def _said(self) -> str:
        return " ".join(self._connection.get_error_message().split()) or "it said nothing"
