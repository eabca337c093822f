"""Samples of the drive's counts at equal intervals while a command runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

from flashgc._core import DriveError
from flashgc.device._closing import Worker
from flashgc.device.control import PAGE, Client

#: Seconds between two samples at first.
LOOK = 0.02
#: The most samples of a run. At this number, every second sample is dropped.
SAMPLES = 512

#: The number of parts of a run that are compared; each has about as many host writes.
PARTS = 20


@dataclass(frozen=True)
class Sample:
    """The counts of the drive at one moment, since the command began."""

    seconds: float
    host_bytes: int
    #: Pages programmed for the host.
    host_pages: int
    copied_pages: int
    erases: int
    free_blocks: int

    @property
    def programmed(self) -> int:
        """All pages programmed."""
        return self.host_pages + self.copied_pages


def cuts(samples: Sequence[Sample], parts: int = PARTS) -> list[Sample]:
    """The first sample, and the ends of at most ``parts`` parts with about equal host writes.

    Each part ends at the first sample with its share of the host's writes.
    """
    changes, before = [samples[0]], samples[0]
    whole = samples[-1].host_pages
    for sample in samples[1:]:
        host = sample.host_pages - before.host_pages
        if host and sample.host_pages * parts >= whole * (before.host_pages * parts // whole + 1):
            changes.append(sample)
            before = sample
    return changes


def parts_of(samples: Sequence[Sample], parts: int = PARTS) -> list[tuple[int, int]]:
    """Pages programmed for the host, and all pages programmed, in each part of :func:`cuts`.

    >>> looks = [Sample(at, 40960 * at, 10 * at, 5 * at, 0, 9) for at in range(0, 9, 2)]
    >>> parts_of(looks)
    [(20, 30), (20, 30), (20, 30), (20, 30)]
    """
    ends = cuts(samples, parts)
    return [
        (last.host_pages - first.host_pages, last.programmed - first.programmed)
        for first, last in pairwise(ends)
    ]


def tail_of(samples: Sequence[Sample]) -> float | None:
    """Write amplification in the last fifth of the host's writes; ``None`` with too few samples.

    >>> tail_of([Sample(at, 5120 * at, 10 * at, 5 * at, 0, 9) for at in range(0, 21)])
    12.0
    """
    ends = cuts(samples)
    parts = len(ends) - 1
    if parts < PARTS // 2:
        return None
    first, last = ends[-1 - (parts // 5 or 1)], ends[-1]
    host = last.host_bytes - first.host_bytes
    return (last.programmed - first.programmed) * PAGE / host if host else None


class Watch(Worker):
    """Looks at the drive while the command runs.

    ``beside`` is called before each sample, and ``failed`` if the drive did not answer.
    """

    def __init__(
        self,
        client: Client,
        before: dict[str, Any],
        beside: Callable[[], None] = lambda: None,
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__()
        self._client, self._before, self._beside = client, before, beside
        self._failed = failed
        self.samples: list[Sample] = []

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        self._sample()
        return super().__enter__()

    def close(self) -> None:
        """Takes the last sample."""
        self._sample()

    def _work(self) -> None:
        pause = LOOK
        while not self._over.wait(pause):
            self._beside()
            try:
                self._sample()
            except (DriveError, OSError):
                self._failed()
            if len(self.samples) >= SAMPLES:
                self.samples = self.samples[::2]
                pause *= 2

    def _sample(self) -> None:
        stat = self._client.stat()
        counters, before = stat["counters"], self._before["counters"]
        self.samples.append(
            Sample(
                seconds=time.monotonic() - self._began,
                host_bytes=counters["host_bytes_written"] - before["host_bytes_written"],
                host_pages=counters["host_pages_written"] - before["host_pages_written"],
                copied_pages=counters["copied_pages"] - before["copied_pages"],
                erases=counters["erases"] - before["erases"],
                free_blocks=stat["free_blocks"],
            )
        )
