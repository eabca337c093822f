"""Hints from PostgreSQL: its log says which blocks are dirty in the server's memory.

The server sends its log as it does to a standby: by streaming replication without a slot, so that a
follower that has ended does not make the server keep its log. The Rust engine decodes the log and
finds the pages on the drive, and the drive gets hints.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashgc import _core
from flashgc._core import DriveError
from flashgc.device.hints import place
from flashgc.device.hints.link import Link
from flashgc.device.hints.stream import Stream, load

#: Major versions whose log can be decoded.
VERSIONS = range(13, 19)

#: Bytes of a block and of a page of the log; other builds of PostgreSQL are not supported.
BLOCK = 8192

#: Seconds in which dirty blocks are collected before the drive is told.
GATHER = 0.01

#: The server sends a record once it has flushed the record. A hint applies from ``MARGIN`` seconds
#: before the record was sent.
MARGIN = 0.005

#: If more seconds than these pass between two requests for the drive's moment, the follower was
#: delayed. Hints on pages that became dirty in this time would have the earlier moment, and so
#: would not apply to pages written since.
HELD_UP = 0.1

#: Seconds between two attempts to reach a server that does not answer.
PAUSE = 0.5

#: A query for the dirty blocks, by the server's own extension.
DIRTY = (
    "SELECT reltablespace::int8, reldatabase::int8, relfilenode::int8, relforknumber::int8, "
    "relblocknumber FROM pg_buffercache WHERE isdirty"
)


@dataclass(frozen=True)
class Sample:
    """A sample of the counts. Pages are those of the drive, of 4096 bytes."""

    #: Seconds since the follower began.
    seconds: float
    #: Bytes of the log that the server has written but the follower has not read.
    lag_bytes: int
    #: Pages of the drive whose block is dirty in the server's memory, by `pg_buffercache`; ``None``
    #: without that extension.
    dirty: int | None
    #: The number of dirty pages that are hinted on the drive.
    known: int | None
    #: The number of zombies on the drive.
    zombies: int

    @property
    def share(self) -> float | None:
        """The share of dirty pages that are hinted on the drive."""
        return self.known / self.dirty if self.dirty and self.known is not None else None


@dataclass(frozen=True)
class Server:
    """The facts about a server that a follower needs."""

    version: int
    folder: Path
    #: The name of the server's folder in every tablespace.
    catalog: str
    #: True if the server has `pg_buffercache`.
    has_truth: bool


def ask(dsn: str) -> Server:
    """Ask the server at ``dsn`` for its facts; refuse a server whose log cannot be followed."""
    with load().connect(dsn, autocommit=True, application_name="flashgc") as connection:
        version = connection.info.server_version // 10000
        if version not in VERSIONS:
            raise DriveError(
                f"the server is PostgreSQL {version}, expected {VERSIONS[0]} to {VERSIONS[-1]}"
            )
        level = _single_value(connection, "SHOW wal_level")
        if level not in ("replica", "logical"):
            raise DriveError(
                f"the server's wal_level is {level}, expected replica; "
                "hint: ALTER SYSTEM SET wal_level = replica, and restart"
            )
        for setting in ("block_size", "wal_block_size"):
            size = _single_value(connection, f"SHOW {setting}")
            if int(size) != BLOCK:
                raise DriveError(f"the server's {setting} is {size}, expected {BLOCK}")
        folder = _single_value(connection, "SHOW data_directory")
        catalog = _single_value(connection, "SELECT catalog_version_no FROM pg_control_system()")
        truth = _single_value(
            connection, "SELECT count(*) FROM pg_extension WHERE extname = 'pg_buffercache'"
        )
        return Server(version, Path(folder), f"PG_{version}_{catalog}", truth != "0")


def refused(error: Exception) -> DriveError:
    """An error in one line, for a server that cannot be followed."""
    return error if isinstance(error, DriveError) else DriveError(f"the server: {_line(error)}")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _single_value(connection: Any, query: str) -> str:
    return str(connection.execute(query).fetchone()[0])


class Hints:
    """Follows the server at ``dsn`` and tells the drive in ``file``; see the module's text.

    It continues when the server or the drive come back. A problem at the beginning is an error.
    """

    def __init__(self, dsn: str, file: Path) -> None:
        """Connect to both, or raise :class:`flashgc.DriveError`."""
        self._dsn = dsn
        try:
            self._server = ask(dsn)
        except load().Error as error:
            raise refused(error) from None
        self._file = file
        self._device = self._find()
        self.link = Link(file)
        self._follower = self._new_follower()
        #: The sums of the counts of earlier followers.
        self._counted: dict[str, int] = {}
        self._begin = time.monotonic()
        self._cpu = time.process_time()
        #: The number of restarts at the end of the log, and the reason for the last.
        self.restarts = 0
        self.trouble: str | None = None
        self._lag = 0
        self._has_begun, self._is_away = False, False

    def _find(self) -> int:
        """The device of the drive, as the ``st_dev`` of the server's files."""
        device = place.device_of(self._file)
        place.check_filesystem(device)
        place.check_on(self._server.folder, device, self._file)
        return place.number_of(device)

    def _new_follower(self) -> _core.PostgresFollower:
        return _core.PostgresFollower(self._server.folder, self._server.catalog, self._device, 0)

    @property
    def has_truth(self) -> bool:
        """True if the server can tell which of its blocks are dirty."""
        return self._server.has_truth

    def follow(
        self,
        stopped: Callable[[], bool],
        every: float = 10.0,
        away: Callable[[str], None] = lambda trouble: None,
    ) -> Iterator[Sample]:
        """Follow until ``stopped()``; yield a sample after each ``every`` seconds, and a last one.

        With ``every`` 0 there is only the last sample. When the server or the file system goes
        away, ``away`` is called with the reason, and not again until both are back.
        """
        with self.link:
            while not stopped():
                try:
                    yield from self._session(stopped, every)
                except (load().Error, DriveError) as error:
                    if not self._has_begun:
                        raise refused(error) from None
                    self.trouble = _line(error)
                    if not self._is_away:
                        away(self.trouble)
                    self._is_away = True
                    _wait(PAUSE, stopped)
                    self.restarts += 1

    def _session(self, stopped: Callable[[], bool], every: float) -> Iterator[Sample]:
        """Follow as long as the connection to the server lasts."""
        psycopg = load()
        with (
            psycopg.connect(self._dsn, autocommit=True, application_name="flashgc") as connection,
            Stream(self._dsn) as stream,
        ):
            self._start(connection, stream)
            looked = time.monotonic()
            due, behind = looked + every, None
            while not stopped():
                before, looked = looked, time.monotonic()
                if looked - before > HELD_UP:
                    behind = time.time()
                if self.link.look():
                    self._recall(connection)
                    looked = time.monotonic()
                last = self._turn(stream)
                if behind and (last is None or last > behind):
                    # The log sent meanwhile is read by now, so that none of it cancels these hints.
                    self.link.look()
                    self._recall(connection)
                    looked, behind = time.monotonic(), None
                if every and time.monotonic() >= due:
                    yield self._sample(connection)
                    due = time.monotonic() + every
            yield self._sample(connection)

    def _start(self, connection: Any, stream: Stream) -> None:
        """Begin at the end of the log, with the blocks that are dirty by then."""
        device = self._find()
        if device != self._device:
            # A drive that comes back may have another block device.
            self._counted = self._counts()
            self._device = device
            self._follower = self._new_follower()
        self.link.look()
        # After this pause, the server sends every piece of the log at least ``MARGIN`` seconds
        # after the drive's moment.
        time.sleep(MARGIN)
        self._follower.restart(stream.start())
        self._recall(connection)
        self._has_begun, self._is_away = True, False

    def _recall(self, connection: Any) -> None:
        """Tell the drive all dirty blocks, just after a request for the drive's moment.

        This is needed when the log no longer shows them, the drive has forgotten them, or the
        follower was delayed.
        """
        known = time.time()
        if self._server.has_truth:
            self._follower.dirty(connection.execute(DIRTY).fetchall())
        self.link.send(*self._follower.changes(), known)

    def _turn(self, stream: Stream) -> float | None:
        """Read what the server sends for a short time, and tell the drive.

        Returns the time at which the last message was sent; ``None`` if there was none.
        """
        sent = last = None
        until = time.monotonic() + GATHER
        while True:
            for message in stream.take(max(0.0, until - time.monotonic())):
                last = message.sent
                sent = last if sent is None else min(sent, last)
                self._lag = message.lag
                self._follower.feed(message.at, message.log)
            if time.monotonic() >= until:
                break
        dirtied, cancelled = self._follower.changes()
        self.link.send(dirtied, cancelled, None if sent is None else sent - MARGIN)
        return last

    def _sample(self, connection: Any) -> Sample:
        dirty = known = None
        if self._server.has_truth:
            blocks = self._follower.knows(connection.execute(DIRTY).fetchall())
            counted = self.link.hinted(_merged(runs for runs, _ in blocks))
            if counted is not None:
                dirty, known = counted
        seconds = time.monotonic() - self._begin
        return Sample(seconds, self._lag, dirty, known, self.link.zombies())

    def counts(self) -> dict[str, Any]:
        """Return the counts so far: those of the log, and those of the drive."""
        sent = self.link.sent
        return {
            "seconds": time.monotonic() - self._begin,
            "cpu_seconds": time.process_time() - self._cpu,
            **self._counts(),
            "restarts": self.restarts,
            "drive": {
                "commands": sent.commands,
                "bytes": sent.bytes,
                "seconds": sent.seconds,
                "pages_hinted": sent.pages,
                "pages_late": sent.late,
                "pages_cancelled": sent.cancelled,
                "pages_lost": sent.lost,
                "reconnections": sent.reconnections,
                "uses_hints": self.link.heeds_hints,
            },
        }

    def _counts(self) -> dict[str, int]:
        counts: dict[str, int] = json.loads(self._follower.counts())
        known = counts["pages_known"]
        total = {name: count + self._counted.get(name, 0) for name, count in counts.items()}
        return {**total, "pages_known": known}


def _merged(blocks: Iterator[list[tuple[int, int]]]) -> list[tuple[int, int]]:
    """All runs in order, merged where they touch."""
    merged: list[tuple[int, int]] = []
    for first, count in sorted(run for runs in blocks for run in runs):
        if merged and merged[-1][0] + merged[-1][1] >= first:
            begin, have = merged[-1]
            merged[-1] = (begin, max(have, first + count - begin))
        else:
            merged.append((first, count))
    return merged


def _wait(seconds: float, stopped: Callable[[], bool]) -> None:
    until = time.monotonic() + seconds
    while not stopped() and time.monotonic() < until:
        time.sleep(0.05)
