"""Streams for the writes to files, assigned by file name while a command runs."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Self

from flashgc._core import ConfigError, DriveError
from flashgc.device.control import Client
from flashgc.device.files.names import Names

#: The number that stands for no stream.
NONE = 255

#: The option that assigns streams to files.
OPTION = "--streams-by-file"

#: The most placement handles of a drive.
MOST_HANDLES = 64


@dataclass(frozen=True)
class Patterns:
    """Patterns of file names, each with the stream of the files that it matches."""

    each: tuple[tuple[str, int], ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """The patterns in ``text``, in their order.

        >>> Patterns.parse("pg_wal/*=1,base/*=2").each
        (('pg_wal/*', 1), ('base/*', 2))

        Raises :class:`flashgc.ConfigError` for anything else.
        """
        each = []
        for part in text.split(","):
            pattern, _, stream = part.strip().rpartition("=")
            if not pattern or not stream.isdecimal() or not int(stream) < MOST_HANDLES:
                raise ConfigError(
                    f"{OPTION}: found '{part.strip()}', expected PATTERN=STREAM with a stream from "
                    f"0 to {MOST_HANDLES - 1}; hint: '{OPTION} pg_wal/*=1,base/*=2'"
                )
            each.append((pattern, int(stream)))
        return cls(tuple(each))

    def of(self, path: str) -> int:
        """The stream of the file at ``path`` in the working directory, by the first match.

        >>> patterns = Patterns.parse("*.log=1,base/*=2")
        >>> patterns.of("base/16384/2619"), patterns.of("db/000012.log"), patterns.of("LOCK")
        (2, 1, 255)
        """
        for pattern, stream in self.each:
            if fnmatchcase(path, pattern):
                return stream
        return NONE

    @property
    def placement(self) -> str:
        """The placement that has a handle for each stream."""
        return f"fdp:handles={1 + max(stream for _, stream in self.each)}"

    def check(self, placement: str) -> None:
        """Check that a drive with this placement accepts the streams.

        Raises :class:`flashgc.ConfigError` if it does not.
        """
        hint = f"--placement {self.placement}"
        name, _, given = placement.partition(":")
        if name != "fdp":
            raise ConfigError(
                f"{OPTION}: the placement of the drive is {placement}, which has no handles; "
                f"hint: {hint}, or leave --placement out"
            )
        words = dict(word.split("=") for word in given.split(",") if word)
        # The configuration in a drive's file has all parameters; a plan may omit the number of
        # handles.
        handles, most = words.get("handles"), max(stream for _, stream in self.each)
        if handles is not None and most >= int(handles):
            raise ConfigError(
                f"{OPTION}: stream {most} has no handle on a drive with {handles}; hint: {hint}"
            )


@dataclass(frozen=True)
class Stream:
    """A stream, and the pages written and copied for it while a command ran."""

    #: The number; ``None`` for writes without a stream: other files, journal and metadata.
    stream: int | None
    patterns: list[str]
    written_pages: int
    copied_pages: int

    @property
    def amplification(self) -> float | None:
        """Pages programmed for each page written; ``None`` if none was written."""
        return 1 + self.copied_pages / self.written_pages if self.written_pages else None


@dataclass(frozen=True)
class Streams:
    """The streams of a run."""

    streams: list[Stream]
    #: The number of files with a stream, of files whose stream was set too late for some write, and
    #: of lost events.
    files: int
    late_files: int
    lost_events: int


def streams_between(patterns: Patterns, before: dict[str, Any], after: dict[str, Any]) -> Streams:
    """The counts of streams between two states of a drive."""
    counts = [{stream["stream"]: stream for stream in stat["streams"]} for stat in (before, after)]
    rows = []
    for number in [*sorted({stream for _, stream in patterns.each}), None]:

        def grown(name: str, number: int | None = number) -> int:
            first, last = (int(streams.get(number, {}).get(name, 0)) for streams in counts)
            return last - first

        of = [pattern for pattern, stream in patterns.each if stream == number]
        rows.append(Stream(number, of, grown("host_pages"), grown("copied_pages")))
    files = after["files"]
    return Streams(rows, files["files"], files["late"], files["lost_events"])


class Naming:
    """Tells the server of a drive the streams of files in ``mount`` as they are created."""

    def __init__(self, mount: Path, device: str, file: Path, folder: str, given: Patterns) -> None:
        """``folder`` is the working directory in ``mount``; patterns match names in it.

        Raises :class:`flashgc.DriveError` if the kernel or the drive's server refuses.
        """
        self._device, self._folder, self._given = Path(device), f"{folder}/", given
        self._client = Client(file)
        try:
            # The mount's folder existed before names were followed, so it is reported here.
            self._client.files(self._device, [(mount.stat().st_ino, 0, NONE)])
            self._names = Names(mount, self._told)
        except BaseException:
            self._client.close()
            raise

    def __enter__(self) -> Self:
        self._names.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._names.__exit__()
        self._client.close()

    def _told(self, files: Sequence[tuple[int, int]]) -> None:
        rows = []
        for inode, life in files:
            path = self._names.path(inode, life)
            # A folder has no path here, and no stream.
            stream = self._given.of(path.removeprefix(self._folder)) if path else NONE
            rows.append((inode, life, stream))
        # The server counts the files whose stream it was not told.
        with contextlib.suppress(DriveError):
            self._client.files(self._device, rows)
