"""The activity of a drive with a clock: throughput, use of its parts, over time."""

from __future__ import annotations

from dataclasses import dataclass, field

from flashgc.units import format_time


@dataclass(frozen=True)
class Throughput:
    """The work done a second."""

    #: Requests completed a second.
    requests_per_second: float
    #: Bytes read a second.
    read_bytes_per_second: float
    #: Bytes written a second.
    write_bytes_per_second: float


@dataclass(frozen=True)
class Utilisation:
    """Shares of the time in which something was in use."""

    #: A bus, mean over the channels.
    bus: float
    #: A die, mean over the dies: it reads, programs or erases, or transfers or waits for the bus.
    die: float
    #: A die by a collection, mean over the dies.
    collection: float
    #: Each channel's bus.
    channels: tuple[float, ...]
    #: Each die.
    dies: tuple[float, ...]


@dataclass(frozen=True)
class Suspension:
    """The rule of suspension, and the erases and programs that reached its limit."""

    #: ``True`` if erases can be suspended.
    erases: bool
    #: ``True`` if programs can be suspended.
    programs: bool
    #: The most times that one operation is suspended.
    most: int
    #: The least time left of an erase that is suspended, in microseconds.
    least_erase_us: float
    #: The least time left of a program that is suspended, in microseconds.
    least_program_us: float
    #: Time until a suspended operation has let go of its die, in microseconds.
    suspend_us: float
    #: Time that a suspended operation loses when it goes on, in microseconds.
    resume_us: float
    #: Erases suspended the most times, for whose end an operation waited.
    spent_erases: int
    #: Programs suspended the most times, for whose end an operation waited.
    spent_programs: int
    #: The longest wait for the end of one of them, in microseconds.
    longest_wait_us: float

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
        return f"{' or '.join(labels)}, at most {times}; {takes}"


@dataclass(frozen=True)
class Traffic:
    """Reads or writes over time, an entry a slice."""

    #: Requests completed a second.
    requests_per_second: tuple[float, ...] = field(repr=False)
    #: Bytes a second.
    bytes_per_second: tuple[float, ...] = field(repr=False)
    #: Mean response time in microseconds; ``None`` where nothing was completed.
    mean_us: tuple[float | None, ...] = field(repr=False)
    #: Longest response time in microseconds; ``None`` where nothing was completed.
    max_us: tuple[float | None, ...] = field(repr=False)


@dataclass(frozen=True)
class OverTime:
    """Time series of the measured part of the first run, one entry a slice."""

    #: Length of a slice in seconds; the last one may be shorter.
    resolution_seconds: float
    #: Reads.
    read: Traffic
    #: Writes.
    write: Traffic
    #: Share of the time that a bus transferred, mean over the channels.
    bus: tuple[float, ...] = field(repr=False)
    #: Share of the time that a die was busy, mean over the dies.
    die: tuple[float, ...] = field(repr=False)
    #: Share of the time that a collection was under way, mean over what collects on its own.
    collecting: tuple[float, ...] = field(repr=False)

    def of(self, kind: str) -> Traffic:
        """The values of the kind called ``kind``: ``read``, ``write``; else :class:`KeyError`."""
        return {"read": self.read, "write": self.write}[kind]


@dataclass(frozen=True)
class Overload:
    """Requests that came faster than the drive could serve them.

    A run is stopped if a million of them wait. One that ends is overloaded if more than
    a thousand requests, and more than a tenth of all, were not yet served when the last one
    arrived.
    """

    #: Requests that arrived a second.
    offered_per_second: float
    #: Requests that were served a second while others waited: what the drive can sustain.
    sustainable_per_second: float
    #: Requests not yet served when the run was stopped, or when its last request arrived.
    outstanding: int
    #: The run was stopped before its end.
    is_cut_short: bool = False
