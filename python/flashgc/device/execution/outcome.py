"""The effects of a command on the flash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from flashgc.device.execution.samples import Sample
from flashgc.device.execution.tree import Left
from flashgc.device.execution.written import Counts, Written
from flashgc.device.files.outcome import ByFile
from flashgc.device.files.streams import Streams
from flashgc.results import Finding, Steadiness


@dataclass(frozen=True)
class Phase:
    """A part of a run, from one mark to the next, with its counts."""

    name: str
    #: Seconds since the command began, and how long it was.
    began: float
    seconds: float
    #: Bytes handed to the file system; ``None`` where they cannot be known. The least and the most
    #: that it can have been; ``None`` where there is no such bound.
    written_bytes: int | None
    written_least: int | None
    written_most: int | None
    host_bytes: int
    flash_bytes: int
    #: ``flash_bytes`` by ``host_bytes``; ``None`` where nothing reached the drive.
    write_amplification: float | None
    read_bytes: int
    copied_pages: int
    collections: int
    erases: int
    flushes: int
    #: Latencies of the drive in microseconds, by kind of request.
    latency_us: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Executed:
    """The effects of a command on a drive. Bytes, counts and latencies are the command's."""

    #: The command, and its exit code; minus the number of the signal that ended it.
    command: list[str]
    exit_code: int
    seconds: float
    #: The file system, and what the drive was made of.
    filesystem: str
    drive: dict[str, Any]
    #: The bytes handed to the file system.
    written: Written
    #: Bytes that reached the drive, and bytes programmed into flash.
    host_bytes: int
    flash_bytes: int
    #: ``flash_bytes`` by ``host_bytes``; ``None`` where nothing reached the drive.
    write_amplification: float | None
    #: Write amplification in the last fifth of the host's writes; ``None`` if it wrote too little.
    tail_amplification: float | None
    #: ``host_bytes`` by the bytes written; ``None`` where those are unknown, or none.
    filesystem_overhead: float | None
    read_bytes: int
    #: Bytes that discards named, and those of them that had data.
    trimmed_bytes: int
    trimmed_data_bytes: int
    copied_pages: int
    collections: int
    erases: int
    flushes: int
    #: Latencies of the drive in microseconds, by kind of request.
    latency_us: dict[str, dict[str, float]]
    samples: list[Sample]
    #: The phases that the command marked; empty where it marked none.
    phases: list[Phase]
    #: Processes that were still there when the command had ended, and whether they were ended.
    left: list[Left]
    left_ended: bool
    #: The state of the drive when it was unmounted, with the names of the standards.
    stat: dict[str, Any]
    #: True if write amplification was steady while the command wrote, by the tests of simulated
    #: drives.
    steady: bool
    steadiness: Steadiness
    #: The claims about the figures, each with its evidence.
    findings: list[Finding]
    #: The lateness of a drive with a clock, and its measurements; ``None`` of another.
    realtime: dict[str, Any] | None = None
    #: The counts by the owners of pages, if that was asked for.
    by_file: ByFile | None = None
    #: The counts by the streams that files had, if they had some.
    streams: Streams | None = None

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain Python values."""
        return asdict(self)


def phases_of(after: dict[str, Any], written: Sequence[Counts | None], page: int) -> list[Phase]:
    """The phases in the state ``after`` the command; ``written`` are the counts when each ended."""
    raw = after["phases"]
    ends = [stat["began_seconds"] for stat in raw[1:]] + [after["uptime_seconds"]]
    counters = [stat["counters"] for stat in raw] + [after["counters"]]
    phases: list[Phase] = []
    until = None
    lost = 0 if written[-1] is None else written[-1].lost
    for at, stat in enumerate(raw):

        def grown(name: str, at: int = at) -> int:
            return int(counters[at + 1][name]) - int(counters[at][name])

        host, copied = grown("host_pages_written"), grown("copied_pages")
        host_bytes, so_far = grown("host_bytes_written"), written[at]
        handed = None if so_far is None else so_far.since(until, lost)
        phases.append(
            Phase(
                name=stat["name"],
                began=stat["began_seconds"] - raw[0]["began_seconds"],
                seconds=ends[at] - stat["began_seconds"],
                written_bytes=None if handed is None else handed.bytes,
                written_least=None if handed is None else handed.least,
                written_most=None if handed is None else handed.most,
                host_bytes=host_bytes,
                flash_bytes=(host + copied) * page,
                write_amplification=(host + copied) * page / host_bytes if host_bytes else None,
                read_bytes=grown("host_bytes_read"),
                copied_pages=copied,
                collections=grown("collections"),
                erases=grown("erases"),
                flushes=grown("flushes"),
                latency_us=stat["latency_us"],
            )
        )
        until = so_far
    return phases
