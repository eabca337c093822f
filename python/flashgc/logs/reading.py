"""Readings of a drive: logs of one time, from files, folders and tables."""

from __future__ import annotations

import codecs
import itertools
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flashgc._core import ConfigError
from flashgc.foreign import one_line
from flashgc.logs import formats, pages, printed, table
from flashgc.logs.counts import Count
from flashgc.logs.log import PAIRS, Erases, Log
from flashgc.logs.text import objects, refuse
from flashgc.logs.times import seconds, shown

#: The maximum number of bytes of a file.
LONGEST = 64 << 20
#: Logs of different kinds that are at most this many seconds apart are one reading.
TOGETHER = 60
#: Times of files that are less than this many seconds apart are no two times: files that are copied
#: together have such times.
_APART = 1.0
#: Endings of files that are read in a folder.
ENDINGS = (".json", ".jsonl", ".csv", ".bin", ".log", ".txt", ".gz")

#: Sources of a time: the log, the user, the file's last change.
IN_LOG, GIVEN, OF_FILE = "log", "given", "file"


@dataclass(frozen=True)
class Timed:
    """A log with its time, and how the time is known."""

    log: Log
    time: float
    known: str


@dataclass(frozen=True)
class Reading:
    """The logs of one time."""

    logs: tuple[Timed, ...]

    @property
    def time(self) -> float:
        """The time of its first log."""
        return self.logs[0].time

    @property
    def apart(self) -> float:
        """Seconds from its first log to its last."""
        return self.logs[-1].time - self.logs[0].time

    @property
    def place(self) -> str:
        """The place of its first log."""
        return self.logs[0].log.place

    def host(self, source: str) -> Count | None:
        """The host's writes by one source."""
        return next((t.log.host[source] for t in self.logs if source in t.log.host), None)

    def media(self, source: str) -> Count | None:
        """The flash's writes by one source."""
        return next((t.log.media[source] for t in self.logs if source in t.log.media), None)

    @property
    def erases(self) -> Erases | None:
        """Erases of blocks."""
        return next((t.log.erases for t in self.logs if t.log.erases is not None), None)

    def fact(self, name: str) -> int | None:
        """A number of :class:`flashgc.logs.log.Log` by its name."""
        values = (getattr(timed.log, name) for timed in self.logs)
        return next((value for value in values if value is not None), None)


@dataclass(frozen=True)
class Readings:
    """The readings of a drive, in the order of their times."""

    each: tuple[Reading, ...]
    #: All logs, also those that identify the drive and count nothing.
    logs: tuple[Log, ...]

    def without_silent(self) -> Readings:
        """The readings without counts that are 0 throughout while their partners are not.

        A drive returns 0 for what it does not count.
        """
        silent: set[str] = set()
        for media, hosts in PAIRS.items():
            counted = any((c := reading.media(media)) and c.number for reading in self.each)
            for host in hosts:
                written = any((c := reading.host(host)) and c.number for reading in self.each)
                if counted != written:
                    silent.add(f"host {host}" if counted else f"media {media}")

        def heard(counts: Mapping[str, Count], side: str) -> dict[str, Count]:
            return {
                source: count
                for source, count in counts.items()
                if count.number or f"{side} {source}" not in silent
            }

        def of(timed: Timed) -> Timed:
            host, media = heard(timed.log.host, "host"), heard(timed.log.media, "media")
            return replace(timed, log=replace(timed.log, host=host, media=media))

        each = tuple(Reading(tuple(map(of, reading.logs))) for reading in self.each)
        return Readings(each, self.logs)

    def fact(self, name: str) -> Any:
        """A field of the logs that stays the same, from the last log that has it."""
        values = [getattr(log, name) for log in self.logs]
        return next((value for value in reversed(values) if value is not None), None)


def readings(arguments: Sequence[str | Path]) -> Readings:
    """The readings of files, folders and tables.

    An argument may have a time behind it: ``FILE=2026-11-30T12:00``.
    """
    return together([timed for argument in arguments for timed in logs_in(str(argument))])


def together(logs: Iterable[Timed]) -> Readings:
    """Logs as readings. A reading has one log of a kind; its logs are close to each other."""
    ordered = sorted(logs, key=lambda timed: timed.time)
    groups: list[list[Timed]] = []
    for timed in ordered:
        if not timed.log.host and not timed.log.media and timed.log.used is None:
            continue
        group = groups[-1] if groups else []
        kinds = {other.log.kind for other in group}
        if not group or timed.log.kind in kinds or timed.time - group[0].time > TOGETHER:
            groups.append([timed])
        else:
            group.append(timed)
    if not groups:
        raise ConfigError(
            "LOG: found no count of writes; hint: give a log of nvme smart-log or smartctl --json"
        )
    for before, after in itertools.pairwise(groups):
        _check_times(before[-1], after[0])
    each = tuple(Reading(tuple(group)) for group in groups)
    return Readings(each, tuple(timed.log for timed in ordered))


def _check_times(before: Timed, after: Timed) -> None:
    guessed = OF_FILE in (before.known, after.known)
    if after.time - before.time >= (_APART if guessed else 1e-9):
        return
    first, second = before.log.place, after.log.place
    refuse(
        second,
        f"has the time of {first}, {shown(after.time)}, expected a later one"
        + (": both are the times of the files, which copies may change" if guessed else ""),
        "give the time behind the name: FILE=2026-11-30T12:00",
    )


def logs_in(argument: str) -> Iterator[Timed]:
    """The logs of a file or a folder, perhaps with a time behind the name."""
    path, at = argument, None
    if not os.path.exists(path) and "=" in argument:
        path, _, text = argument.rpartition("=")
        at = seconds(text, f"LOG {one_line(path)}")
    if os.path.isdir(path):
        files = sorted(str(each) for each in Path(path).iterdir() if each.suffix in ENDINGS)
        if not files:
            refuse(one_line(path), "found no log in this folder",
                   f"names end with {', '.join(ENDINGS)}")  # fmt: skip
    else:
        files = [path]
    for file in files:
        content = _content(file)
        for log in _read(file, content):
            if log.time is not None and at is None:
                yield Timed(log, log.time, IN_LOG)
            elif at is not None:
                yield Timed(log, at, GIVEN)
            else:
                yield Timed(log, os.stat(file).st_mtime, OF_FILE)


def logs_of_text(name: str, text: str) -> Iterator[Timed]:
    """The logs of a document that has its own time, such as those of a drive."""
    for log in _documents(name, text):
        assert log.time is not None
        yield Timed(log, log.time, IN_LOG)


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            content = file.read(LONGEST + 1)
    except OSError as error:
        refuse(one_line(path), error.strerror or "cannot be read",
               "give a log, a folder with logs or a drive such as /dev/nvme0")  # fmt: skip
    if content.startswith(b"\x1f\x8b"):
        content = _unpacked(path, content)
    if not content.strip():
        refuse(one_line(path), "the file is empty", "print the log again")
    if len(content) > LONGEST:
        refuse(one_line(path), "above 64 MiB, too long for a log", "is it a trace?")
    return content


def _unpacked(path: str, content: bytes) -> bytes:
    """The content of a file that gzip has packed, up to the length that is refused."""
    unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        unpacked = unpacking.decompress(content, LONGEST + 1)
    except zlib.error:
        unpacked = b""
    if not unpacked or (not unpacking.eof and len(unpacked) <= LONGEST):
        refuse(one_line(path), "a file of gzip that is damaged or cut off", "copy the file again")
    return unpacked


def _text(content: bytes) -> str | None:
    """The text of a file, also in the two-byte letters of Windows; ``None`` for raw bytes."""
    try:
        if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return content.decode("utf-16")
        return None if b"\0" in content else content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _read(path: str, content: bytes) -> Iterator[Log]:
    text = _text(content)
    if text is None:
        yield pages.log_of(path, content)
    elif table.is_table(text):
        yield from table.logs_of(path, text)
    else:
        yield from _documents(path, text)


def _documents(path: str, text: str) -> Iterator[Log]:
    if printed.is_printed(text):
        for part in printed.logs_in(path, text):
            if isinstance(part, bytes):
                yield pages.log_of(path, part)
            else:
                yield from formats.logs_of(part)
        return
    for source in objects(path, text):
        kept = formats.kept(source)
        if kept is None:
            yield from formats.logs_of(source)
            continue
        time, inner = kept
        for part in inner:
            yield from (replace(log, time=time) for log in formats.logs_of(part))
