"""Hints from PostgreSQL: its log says which blocks are dirty in the server's memory.

The server sends its log as it does to a standby: streaming replication, without a slot, so a
follower that is gone holds up nothing. The engine decodes it and finds the pages of the drive, and
the drive is told.
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

#: Major versions whose log is understood.
VERSIONS = range(13, 19)

#: Bytes of a block and of a page of the log, unless somebody built PostgreSQL in another way.
BLOCK = 8192

#: Seconds in which what is dirty is gathered before the drive is told.
GATHER = 0.01

#: A record is sent when it is flushed. A hint counts from this many seconds before it was sent.
MARGIN = 0.005

#: If this many seconds pass between two looks at the drive, the follower was held up. Pages that
#: became dirty meanwhile would count from the earlier look: too late if they were written since.
HELD_UP = 0.1

#: Seconds between two attempts to reach a server that is gone.
PAUSE = 0.5

#: Dirty blocks, as the server's own extension knows them.
DIRTY = (
    "SELECT reltablespace::int8, reldatabase::int8, relfilenode::int8, relforknumber::int8, "
    "relblocknumber FROM pg_buffercache WHERE isdirty"
)


@dataclass(frozen=True)
class Sample:
    """The knowledge at one moment. Pages are those of the drive, of 4096 bytes."""

    #: Seconds since the beginning.
    seconds: float
    #: Bytes of the log that the server has written and the follower has not.
    lag_bytes: int
    #: Pages of the drive whose block is dirty in the server's memory, by `pg_buffercache`; ``None``
    #: where the extension is missing.
    dirty: int | None
    #: The dirty pages on which the drive has hints.
    known: int | None
    #: Zombies of the drive.
    zombies: int

    @property
    def share(self) -> float | None:
        """The share of dirty pages that the drive knows."""
        return self.known / self.dirty if self.dirty and self.known is not None else None


@dataclass(frozen=True)
class Server:
    """The facts about a server that a follower needs."""

    version: int
    folder: Path
    #: The name of its folder in every tablespace.
    catalog: str
    #: True if `pg_buffercache` is there.
    has_truth: bool


def ask(dsn: str) -> Server:
    """Asks the server at ``dsn``; refuses one whose log cannot be followed."""
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
    """The error of a server that cannot be followed, in one line."""
    return error if isinstance(error, DriveError) else DriveError(f"the server: {_line(error)}")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _single_value(connection: Any, query: str) -> str:
    return str(connection.execute(query).fetchone()[0])


class Hints:
    """Follows the server at ``dsn`` and tells the drive in ``file``; see the module's text.

    It goes on when the server or the drive come back. What is wrong at the beginning is an error.
    """

    def __init__(self, dsn: str, file: Path) -> None:
        """Connects to both, or raises :class:`flashgc.DriveError`."""
        self._dsn = dsn
        try:
            self._server = ask(dsn)
        except load().Error as error:
            raise refused(error) from None
        self._file = file
        self._device = self._find()
        self.link = Link(file)
        self._follower = self._new_follower()
        #: The counts of followers before this one.
        self._counted: dict[str, int] = {}
        self._begin = time.monotonic()
        self._cpu = time.process_time()
        #: The number of times that the log had to be begun anew, and the reason of the last one.
        self.restarts = 0
        self.trouble: str | None = None
        self._lag = 0
        self._has_begun, self._is_away = False, False

    def _find(self) -> int:
        """The device on which the drive is, as ``st_dev`` of the server's files has it."""
        device = place.device_of(self._file)
        place.check_filesystem(device)
        place.check_on(self._server.folder, device, self._file)
        return place.number_of(device)

    def _new_follower(self) -> _core.PostgresFollower:
        return _core.PostgresFollower(self._server.folder, self._server.catalog, self._device, 0)

    @property
    def has_truth(self) -> bool:
        """True if the server can say which of its blocks are dirty."""
        return self._server.has_truth

    def follow(
        self,
        stopped: Callable[[], bool],
        every: float = 10.0,
        away: Callable[[str], None] = lambda trouble: None,
    ) -> Iterator[Sample]:
        """Follows until ``stopped()``; samples are this many seconds apart (0: none), and one last.

        ``away`` is called with what is wrong when the server or the file system goes away, once
        until it is back.
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
        """As long as the server is there."""
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
                    # What was sent meanwhile is read: nothing of it cancels what is told now.
                    self.link.look()
                    self._recall(connection)
                    looked, behind = time.monotonic(), None
                if every and time.monotonic() >= due:
                    yield self._sample(connection)
                    due = time.monotonic() + every
            yield self._sample(connection)

    def _start(self, connection: Any, stream: Stream) -> None:
        """Begins at the end of the log, with the blocks that are dirty by then."""
        device = self._find()
        if device != self._device:
            # A drive that comes back may be another device of Linux.
            self._counted = self._counts()
            self._device = device
            self._follower = self._new_follower()
        self.link.look()
        # So every piece of the log is sent later than that by the margin at the least.
        time.sleep(MARGIN)
        self._follower.restart(stream.start())
        self._recall(connection)
        self._has_begun, self._is_away = True, False

    def _recall(self, connection: Any) -> None:
        """Tells the drive what is dirty already, just after the drive was asked for its moment.

        The log has passed it, the drive forgot it, or the follower was held up.
        """
        known = time.time()
        if self._server.has_truth:
            self._follower.dirty(connection.execute(DIRTY).fetchall())
        self.link.send(*self._follower.changes(), known)

    def _turn(self, stream: Stream) -> float | None:
        """Takes what the server sends for a moment, and tells the drive.

        Returns the time at which the last of it was sent; ``None`` where the server said nothing.
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
        """Return the counts so far: of the log, and of the drive."""
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
    """All runs in order, as few as can be."""
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
