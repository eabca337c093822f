"""The drive that hints are sent to. It may go, and come again."""

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

#: Moments of the drive that are kept, the last ones.
KEPT = 4096

#: Seconds between two attempts to reach a drive that is gone.
PAUSE = 0.25

#: Pages: runs of first and count.
Runs = Sequence[tuple[int, int]]


@dataclass
class Sent:
    """The hints that were sent to the drive."""

    #: Commands, and bytes of them and their answers.
    commands: int = 0
    bytes: int = 0
    #: Pages hinted, and those among them that the host had written in the meantime.
    pages: int = 0
    late: int = 0
    #: Pages of which the word was taken back.
    cancelled: int = 0
    #: Pages that were not told: the drive was away, or had just come back.
    lost: int = 0
    #: The number of times that the drive came back.
    reconnections: int = 0
    #: Seconds waited for the drive's answers.
    seconds: float = 0.0


class Link(Closing):
    """A connection to the drive in ``file`` that is made again when it breaks.

    A hint holds from a moment of the drive. :meth:`look` asks for the moment now, and :meth:`send`
    takes the last one that was asked for before the host knew. So a hint that comes late says
    nothing of pages that were written in the meantime.
    """

    def __init__(self, file: Path) -> None:
        """Connects; :class:`flashgc.DriveError` where nobody serves the drive."""
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
        """The drive's front ends, in words; none where it is away."""
        stat = self._ask(lambda client: client.stat())
        serving: list[str] = (stat or {}).get("serving", [])
        return serving

    def look(self) -> bool:
        """Asks for the drive's moment now.

        True where the drive has come back since the last call: it has forgotten what it was told.
        """
        came_back = self._client is None and self._reconnect()
        if self._client is None:
            return False
        now = time.time()
        if self._times and now < self._times[-1]:
            # The clock was set back: what was asked for before has a time to come.
            self._times.clear()
            self._moments.clear()
        moment = self._ask(lambda client: client.moment())
        if moment is not None:
            self._times.append(now)
            self._moments.append(moment)
        return came_back and self.is_up

    def send(self, dirtied: Runs, cancelled: Runs, known: float | None = None) -> None:
        """Tells the drive which pages became dirty, and of which that does not hold any more.

        The host knew it at the time ``known``, in seconds since the epoch; ``None`` is now.
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
        """Return the number of these pages with data on the drive, and of those that are hinted."""
        return self._ask(lambda client: client.hinted(_bytes(runs)))

    def zombies(self) -> int:
        """Pages that the drive holds for zombies; 0 where it is away or keeps none."""
        stat = self._ask(lambda client: client.stat())
        return (stat or {}).get("zombie_pages") or 0

    def _count(self, runs: int) -> None:
        self.sent.commands += 1
        self.sent.bytes += 16 * runs + 32

    def _ask(self, ask: Callable[[Client], T]) -> T | None:
        """Asks the drive, if it is there; ``None`` where it is not, or refuses."""
        if self._client is None:
            return None
        begin = time.perf_counter()
        try:
            return ask(self._client)
        except DriveError:
            # It went, or it crashed and is behind the moment that it told.
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
