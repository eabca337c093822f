"""The connection to the drive that gets hints. It is made again when it breaks."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from flashgc._core import DriveError
from flashgc.device._closing import Closing
from flashgc.device.control import PAGE, Client

T = TypeVar("T")

#: The number of moments of the drive that are kept: the last ones.
KEPT = 4096

#: Seconds between two attempts to reach a drive that does not answer.
PAUSE = 0.25

#: Runs of pages: first page and number.
Runs = Sequence[tuple[int, int]]


@dataclass
class Sent:
    """The hints that were sent to the drive."""

    #: The number of commands, and the bytes of commands and answers.
    commands: int = 0
    bytes: int = 0
    #: The number of pages hinted, and how many of them the host had already written.
    pages: int = 0
    late: int = 0
    #: The number of pages whose hints were cancelled.
    cancelled: int = 0
    #: The number of pages not sent, because the drive did not answer or had just come back.
    lost: int = 0
    #: The number of times that the drive came back.
    reconnections: int = 0
    #: Seconds waited for the drive's answers.
    seconds: float = 0.0


class Link(Closing):
    """A connection to the drive in ``file`` that is made again when it breaks.

    A hint applies from a moment of the drive on. :meth:`look` asks for the current moment.
    :meth:`send` takes the last moment before the host knew of the change. So a late hint does not
    apply to pages written in the meantime.
    """

    def __init__(self, file: Path) -> None:
        """Connect; raise :class:`flashgc.DriveError` if nobody serves the drive."""
        self._file = file
        self._client: Client | None = Client(file)
        self._times: deque[float] = deque(maxlen=KEPT)
        self._moments: deque[int] = deque(maxlen=KEPT)
        self._tried = 0.0
        self.sent = Sent()
        #: True if the drive's policies use hints.
        self.heeds_hints = self._client.heeds_hints()

    def close(self) -> None:
        """Ends the connection."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    @property
    def is_up(self) -> bool:
        """True if the drive answers."""
        return self._client is not None

    def serving(self) -> list[str]:
        """Descriptions of the drive's front ends; empty if the drive does not answer."""
        stat = self._ask(lambda client: client.stat())
        serving: list[str] = (stat or {}).get("serving", [])
        return serving

    def look(self) -> bool:
        """Ask for the drive's current moment.

        Returns true if the drive has come back since the last call, and so has forgotten all hints.
        """
        came_back = self._client is None and self._reconnect()
        if self._client is None:
            return False
        now = time.time()
        if self._times and now < self._times[-1]:
            # The clock was set back: earlier moments have times in the future.
            self._times.clear()
            self._moments.clear()
        moment = self._ask(lambda client: client.moment())
        if moment is not None:
            self._times.append(now)
            self._moments.append(moment)
        return came_back and self.is_up

    def send(self, dirtied: Runs, cancelled: Runs, known: float | None = None) -> None:
        """Tell the drive which pages became dirty, and which are no longer dirty.

        ``known`` is the time when the host knew this, in seconds since the epoch; ``None`` is now.
        """
        if cancelled:
            self._send_cancelled(cancelled)
        if not dirtied:
            return
        pages = sum(count for _, count in dirtied)
        before = len(self._times) if known is None else bisect_right(self._times, known)
        if before == 0 or self._client is None:
            self.sent.lost += pages
            return
        moment = self._moments[before - 1]
        late = self._ask(lambda client: client.hint(_bytes(dirtied), moment))
        if late is None:
            self.sent.lost += pages
            return
        self._count(len(dirtied))
        self.sent.pages += pages
        self.sent.late += late

    def _send_cancelled(self, cancelled: Runs) -> None:
        def cancel(client: Client) -> bool:
            client.cancel(_bytes(cancelled))
            return True

        if self._ask(cancel):
            self._count(len(cancelled))
            self.sent.cancelled += sum(count for _, count in cancelled)

    def hinted(self, runs: Runs) -> tuple[int, int] | None:
        """Return the number of these pages with data on the drive, and the number with a hint."""
        return self._ask(lambda client: client.hinted(_bytes(runs)))

    def zombies(self) -> int:
        """The number of zombies on the drive; 0 if it does not answer, or does not count them."""
        stat = self._ask(lambda client: client.stat())
        return (stat or {}).get("zombie_pages") or 0

    def _count(self, runs: int) -> None:
        self.sent.commands += 1
        self.sent.bytes += 16 * runs + 32

    def _ask(self, ask: Callable[[Client], T]) -> T | None:
        """Ask the drive; ``None`` if it does not answer, or refuses."""
        if self._client is None:
            return None
        begin = time.perf_counter()
        try:
            return ask(self._client)
        except DriveError:
            # The server has ended. Or it crashed, and the drive that came back has not yet reached
            # the moment of the hint.
            self.close()
            return None
        finally:
            self.sent.seconds += time.perf_counter() - begin

    def _reconnect(self) -> bool:
        now = time.monotonic()
        if now - self._tried < PAUSE:
            return False
        self._tried = now
        try:
            self._client = Client(self._file)
        except DriveError:
            return False
        self._times.clear()
        self._moments.clear()
        self.sent.reconnections += 1
        return True


def _bytes(runs: Runs) -> list[tuple[int, int]]:
    return [(first * PAGE, count * PAGE) for first, count in runs]
