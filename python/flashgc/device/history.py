"""The history of a drive: two samples of its state make an interval, many intervals a history."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Any

from flashgc.device._closing import Worker
from flashgc.device.source import Source

#: Operations with latencies, as :meth:`Source.stat` names them.
OPERATIONS = ("read", "write", "flush", "trim")


@dataclass(frozen=True)
class Interval:
    """The work of a drive between samples. ``None`` stands for an unknown value, such as 0 / 0."""

    seconds: float | None = None
    #: Bytes of the hosts' write commands, without copies.
    host_written_bytes_per_second: float | None = None
    host_read_bytes_per_second: float | None = None
    #: Bytes of pages programmed, for the host and by collections.
    flash_written_bytes_per_second: float | None = None
    write_amplification: float | None = None
    writes_per_second: float | None = None
    reads_per_second: float | None = None
    erases_per_second: float | None = None
    trimmed_pages_per_second: float | None = None
    #: Means over the commands of the interval, in microseconds.
    read_us: float | None = None
    write_us: float | None = None
    flush_us: float | None = None
    trim_us: float | None = None

    @classmethod
    def between(cls, before: dict[str, Any] | None, after: dict[str, Any]) -> Interval:
        """Return the interval between two results of :meth:`Source.stat`.

        All fields are ``None`` unless both results are of the same drive since it was last opened.
        Otherwise counts may have gone back in between, as after a crash.
        """
        if before is None or before["uuid"] != after["uuid"]:
            return cls()
        seconds = after["uptime_seconds"] - before["uptime_seconds"]
        if seconds <= 0:
            return cls()

        def more(section: str, key: str) -> int:
            difference: int = after[section][key] - before[section][key]
            return difference

        host = more("counters", "host_bytes_written")
        flash = more("ocp", "physical_media_units_written")
        pages = more("counters", "host_pages_written") + more("counters", "copied_pages")
        data = pages * after["page_bytes"]
        return cls(
            seconds,
            host / seconds,
            more("counters", "host_bytes_read") / seconds,
            flash / seconds,
            data / host if host > 0 else None,
            more("smart", "host_write_commands") / seconds,
            more("smart", "host_read_commands") / seconds,
            more("counters", "erases") / seconds,
            more("counters", "trimmed_pages") / seconds,
            *(_mean(before["latency_us"][of], after["latency_us"][of]) for of in OPERATIONS),
        )


def _mean(before: dict[str, float], after: dict[str, float]) -> float | None:
    """The mean of the values added between two states of a running mean."""
    count = after["count"] - before["count"]
    if count <= 0:
        return None
    # Both means are rounded, so their difference may be below zero.
    total = after["mean"] * after["count"] - before["mean"] * before["count"]
    return max(total / count, 0.0)


class Sampler(Worker):
    """Samples a drive every ``period`` seconds, on a thread; keeps the last ``keep`` samples.

    If the drive does not answer, the next sample is tried at the next period.
    """

    def __init__(self, source: Source, *, period: float = 1.0, keep: int = 900) -> None:
        super().__init__("flashgc sampler")
        self.period = period
        self._source = source
        self._kept: deque[dict[str, Any]] = deque(maxlen=keep)
        self._before: dict[str, Any] | None = None
        self._number = 0
        self._lock = threading.Lock()

    def after(self, number: int) -> list[dict[str, Any]]:
        """The samples with larger numbers, oldest first. The first sample has number 1.

        A sample has the fields of an :class:`Interval`, the time ``at`` in seconds of Unix time,
        and the state at the end of the interval.
        """
        with self._lock:
            return [sample for sample in self._kept if sample["number"] > number]

    def look(self) -> None:
        """Take one sample, unless the drive does not answer."""
        try:
            stat = self._source.stat()
        except Exception:  # Those who ask for the drive's state themselves get the error.
            self._before = None
            return
        interval = Interval.between(self._before, stat)
        self._before = stat
        with self._lock:
            self._number += 1
            self._kept.append(
                {
                    "number": self._number,
                    "at": round(time.time(), 3),
                    **{
                        name: None if value is None else float(f"{value:.6g}")
                        for name, value in dataclasses.asdict(interval).items()
                    },
                    "write_amplification_since_made": stat["write_amplification"],
                    "free_blocks": stat["free_blocks"],
                    "mapped_pages": stat["mapped_pages"],
                    "zombie_pages": stat["zombie_pages"],
                }
            )

    def _work(self) -> None:
        due = time.monotonic()
        while True:
            self.look()
            # After a slow sample, missed samples are not made up for.
            due = max(due + self.period, time.monotonic())
            if self._over.wait(due - time.monotonic()):
                return
