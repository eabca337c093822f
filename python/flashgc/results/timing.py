"""Results that only a drive with a clock has: response times, and the activity of the drive."""

from __future__ import annotations

from collections.abc import Mapping

from flashgc import results
from flashgc._documents import Json, read
from flashgc._summaries import Shown, Shows
from flashgc.results.parts import clock
from flashgc.units import format_count, format_time


class Suspension(clock.Suspension):
    """The rule of suspension, and the erases and programs that reached its limit."""

    @property
    def rule(self) -> str:
        """The rule in a line."""
        sides = (("an erase", self.least_erase_us), ("a program", self.least_program_us))
        labels = [
            name + (f" with {format_time(least)} or more left" if least else "")
            for can, (name, least) in zip((self.erases, self.programs), sides, strict=True)
            if can
        ]
        lost = f" and loses {format_time(self.resume_us)}" if self.resume_us else ""
        takes = f"each time takes {format_time(self.suspend_us)}{lost}"
        times = "once" if self.most == 1 else f"{self.most} times"
        if self.longest_us is not None:
            times += f" and for {format_time(self.longest_us)}"
        if self.counts_requests:
            times += ", requests that come meanwhile counted"
        return f"{' or '.join(labels)}, at most {times}; {takes}"


class OverTime(clock.OverTime):
    """Time series of the measured part of the first run, one entry a slice."""

    def of(self, kind: str) -> results.Traffic:
        """The values of the kind called ``kind``: ``read``, ``write``; else :class:`KeyError`."""
        return {"read": self.read, "write": self.write}[kind]


class Latencies(clock.Latencies):
    """Response times by kind of request; ``None`` for a kind without requests."""

    def of(self, kind: str) -> results.Latency | None:
        """The values of the kind called ``kind``: ``all``, ``read``, ``write``, ``trim``.

        Raises :class:`KeyError` for any other.
        """
        return {"all": self.all, "read": self.read, "write": self.write, "trim": self.trim}[kind]


class TimeShares(clock.TimeShares):
    """The parts of response times of reads and of writes; ``None`` for a kind without requests."""

    def of(self, kind: str) -> results.TimeShare | None:
        """The values of the kind called ``kind``: ``read``, ``write``; else :class:`KeyError`."""
        return {"read": self.read, "write": self.write}[kind]


class Timing(Shows, clock.Timing):
    """Response times of a drive with a clock, of the measured parts of all runs together."""

    @classmethod
    def from_dict(cls, raw: Mapping[str, Json]) -> Timing | None:
        """The timing in a result's document; ``None`` if the drive had no clock."""
        return read(cls, raw) if "latency_us" in raw else None

    @property
    def headline(self) -> str:
        """The mean response time with half its 95% interval, in one line."""
        whole = self.latency_us.all
        if whole is None:
            return "nothing was measured"
        half = self.mean_us_ci95
        mean = format_time(whole.mean) + ("" if half is None else f" ±{format_time(half)}")
        return f"response time {mean}, 99.9% within {format_time(whole.p99_9)}"

    def rows(self) -> list[tuple[str, str]]:
        """The response times by kind of request, as names and values."""
        return [
            (
                f"{kind}s",
                f"{format_count(latency.requests)}, mean {format_time(latency.mean)}, "
                f"99% {format_time(latency.p99)}, 99.9% {format_time(latency.p99_9)}, "
                f"max {format_time(latency.max)}",
            )
            for kind in ("read", "write", "trim")
            if (latency := self.latency_us.of(kind)) is not None
        ]

    def _shown(self) -> Shown:
        return Shown(self.headline, self.rows())
