"""The drive as it is seen while a command runs: samples at equal intervals."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flashgc._core import DriveError
from flashgc.device.control import Client

#: Seconds between two samples at first.
LOOK = 0.02
#: Most samples of a run: when there are so many, every second one goes.
SAMPLES = 512

#: Parts of a run that are compared with each other, of about as many host writes each.
PARTS = 20


@dataclass(frozen=True)
class Sample:
    """The drive at one moment: seconds since the command began, and counts since then."""

    seconds: float
    host_pages: int
    copied_pages: int
    erases: int
    free_blocks: int


def parts_of(samples: Sequence[Sample], parts: int = PARTS) -> list[tuple[int, int]]:
    """The pages that the host wrote and those programmed, in as many ``parts`` or fewer.

    Each ends at the first sample with its share of the host's writes.

    >>> looks = [Sample(at, 10 * at, 5 * at, 0, 9) for at in range(0, 9, 2)]
    >>> parts_of(looks)
    [(20, 30), (20, 30), (20, 30), (20, 30)]
    """
    made, before = [], samples[0]
    whole = samples[-1].host_pages
    for sample in samples[1:]:
        host = sample.host_pages - before.host_pages
        if host and sample.host_pages * parts >= whole * (before.host_pages * parts // whole + 1):
            made.append((host, host + sample.copied_pages - before.copied_pages))
            before = sample
    return made


def tail_of(samples: Sequence[Sample]) -> float | None:
    """Write amplification in the last fifth of the host's writes; ``None`` without a part of them.

    >>> tail_of([Sample(at, 10 * at, 5 * at, 0, 9) for at in range(0, 21)])
    1.5
    """
    parts = parts_of(samples)
    if len(parts) < PARTS // 2:
        return None
    last = parts[-(len(parts) // 5 or 1) :]
    return sum(programmed for _, programmed in last) / sum(host for host, _ in last)


class Watch:
    """Looks at the drive while the command runs; ``beside`` is called at each look."""

    def __init__(
        self,
        client: Client,
        before: dict[str, Any],
        beside: Callable[[], None] = lambda: None,
    ) -> None:
        self._client, self._before, self._beside = client, before, beside
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.samples: list[Sample] = []

    def __enter__(self) -> None:
        self._began = time.monotonic()
        self._sample()
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._sample()

    def _look(self) -> None:
        pause = LOOK
        while not self._over.wait(pause):
            self._beside()
            with contextlib.suppress(DriveError, OSError):
                self._sample()
            if len(self.samples) >= SAMPLES:
                self.samples = self.samples[::2]
                pause *= 2

    def _sample(self) -> None:
        stat = self._client.stat()
        counters, before = stat["counters"], self._before["counters"]
        self.samples.append(
            Sample(
                seconds=time.monotonic() - self._began,
                host_pages=counters["host_pages_written"] - before["host_pages_written"],
                copied_pages=counters["copied_pages"] - before["copied_pages"],
                erases=counters["erases"] - before["erases"],
                free_blocks=stat["free_blocks"],
            )
        )
