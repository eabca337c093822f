"""The effects of a command on the flash: its counts, phases and findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    #: Seconds from the begin of the command to the begin of the phase, and the phase's length.
    began: float
    seconds: float
    #: Bytes handed to the file system, ``None`` if they are unknown; and a lower and an upper bound
    #: of these bytes, ``None`` if there is no such bound.
    written_bytes: int | None
    written_least: int | None
    written_most: int | None
    host_bytes: int
    flash_bytes: int
    #: Bytes programmed beside parity, divided by ``host_bytes``; ``None`` if nothing reached the
    #: drive.
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
    """The effects of a command on a drive; bytes, counts and latencies are those of the command."""

    #: The command, and its exit code; a command ended by signal N has -N.
    command: list[str]
    exit_code: int
    seconds: float
    #: The file system, and the configuration of the drive.
    filesystem: str
    drive: dict[str, Any]
    #: The bytes handed to the file system.
    written: Written
    #: Bytes that reached the drive, and bytes programmed into flash, those of parity included.
    host_bytes: int
    flash_bytes: int
    #: Bytes programmed beside parity, divided by ``host_bytes``; ``None`` if nothing reached the
    #: drive.
    write_amplification: float | None
    #: Write amplification in the last fifth of the host's writes; ``None`` if the host wrote too
    #: little.
    tail_amplification: float | None
    #: ``host_bytes`` / the bytes written; ``None`` if those are unknown, or 0.
    filesystem_overhead: float | None
    read_bytes: int
    #: The bytes that discards named, and how many of these bytes had data.
    trimmed_bytes: int
    trimmed_data_bytes: int
    copied_pages: int
    collections: int
    erases: int
    flushes: int
    #: Latencies of the drive in microseconds, by kind of request.
    latency_us: dict[str, dict[str, float]]
    samples: list[Sample]
    #: The phases that the command marked; empty if it marked none.
    phases: list[Phase]
    #: Processes that still ran when the command had ended, and whether they were then ended.
    left: list[Left]
    left_ended: bool
    #: The state of the drive when it was unmounted, with the names of the SMART and OCP logs.
    stat: dict[str, Any]
    #: True if write amplification was steady while the command wrote. The tests are those of
    #: simulated drives.
    steady: bool
    steadiness: Steadiness
    #: The claims about the figures, each with its evidence.
    findings: list[Finding]
    #: For a drive with a clock: how late its answers were, and its measurements. ``None`` for
    #: others.
    realtime: dict[str, Any] | None = None
    #: The counts by the owners of pages; ``None`` if nobody asked for them.
    by_file: ByFile | None = None
    #: The counts by stream; ``None`` if files had no streams.
    streams: Streams | None = None

    def to_dict(self) -> dict[str, Any]:
        """The effects as plain Python values."""
        return asdict(self)


def growth(before: Mapping[str, int], after: Mapping[str, int], page: int) -> dict[str, Any]:
    """The figures of a period, from the drive's counters before and after it."""

    def grown(name: str) -> int:
        return int(after[name]) - int(before[name])

    host_bytes = grown("host_bytes_written")
    data = (grown("host_pages_written") + grown("copied_pages")) * page
    # Servers of earlier versions do not send the parity.
    parity = grown("parity_pages_written") * page if "parity_pages_written" in after else 0
    return {
        "host_bytes": host_bytes,
        "flash_bytes": data + parity,
        "write_amplification": data / host_bytes if host_bytes else None,
        "read_bytes": grown("host_bytes_read"),
        **{name: grown(name) for name in ("copied_pages", "collections", "erases", "flushes")},
    }


def phases_of(after: dict[str, Any], written: Sequence[Counts | None], page: int) -> list[Phase]:
    """The phases in the state ``after`` the command; ``written`` has the counts at their ends."""
    raw = after["phases"]
    ends = [stat["began_seconds"] for stat in raw[1:]] + [after["uptime_seconds"]]
    counters = [stat["counters"] for stat in raw] + [after["counters"]]
    phases: list[Phase] = []
    until = None
    lost = 0 if written[-1] is None else written[-1].lost
    for at, stat in enumerate(raw):
        so_far = written[at]
        handed = None if so_far is None else so_far.since(until, lost)
        phases.append(
            Phase(
                name=stat["name"],
                began=stat["began_seconds"] - raw[0]["began_seconds"],
                seconds=ends[at] - stat["began_seconds"],
                written_bytes=None if handed is None else handed.bytes,
                written_least=None if handed is None else handed.least,
                written_most=None if handed is None else handed.most,
                latency_us=stat["latency_us"],
                **growth(counters[at], counters[at + 1], page),
            )
        )
        until = so_far
    return phases
