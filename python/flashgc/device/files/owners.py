"""The owners of a drive's pages over time: files by pattern, the journal, the file system."""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from flashgc import _core
from flashgc._core import DriveError
from flashgc.device import mounts, programs
from flashgc.device._closing import Worker
from flashgc.device.files.grouping import EACH, Groups, gathered
from flashgc.device.files.names import Names

#: Owners that are no files: data from before the command, the journal, all other metadata of the
#: file system, and data written after the command.
BEFORE, JOURNAL, METADATA, AFTER = "before the command", "journal", "metadata", "unmounting"

#: Owners for files without a known name, and for files beyond the limit :data:`MOST`.
UNNAMED, OTHERS = "files without a name", "other files"

#: The most owners that are told apart.
MOST = 240

#: Seconds between two reads of events, and seconds after which every event is in its ring buffer.
LOOK, SETTLED = 0.02, 0.002

#: A change of owner: time in nanoseconds of the monotonic clock, first page, number of pages,
#: owner.
Change = tuple[int, int, int, str]


@dataclass(frozen=True)
class Owner:
    """A class of files, or a part of the file system, in one run.

    Pages written and copied are those of the command alone: over all owners they add up to the
    command's counts.
    """

    name: str
    written_pages: int
    copied_pages: int
    #: Pages written before the command (but after the drive's past), or after the command.
    outside_pages: int
    #: Pages discarded that had data of this owner.
    trimmed_pages: int
    #: Pages that hold data of this owner at the end of the command.
    live_pages: int
    #: The mean life of its pages that were overwritten or discarded, in pages that the host wrote
    #: meanwhile; ``None`` if there were none.
    mean_life: float | None

    @property
    def amplification(self) -> float | None:
        """Pages programmed for each page written; ``None`` if the command wrote none."""
        if not self.written_pages:
            return None
        return 1 + self.copied_pages / self.written_pages


class Owners(Worker):
    """Follows who owns the pages of the file system at ``mount`` while a command runs."""

    def __init__(self, mount: Path, device: str, filesystem: str, groups: Groups = EACH) -> None:
        """Raises :class:`flashgc.DriveError` if kernel or file system do not report owners."""
        super().__init__()
        self.groups = groups
        self.names = Names(mount)
        self._follower = _core.AllocationFollower(Path(device), filesystem)
        own = self._follower.journal()
        self._journal = _journal(device) if own is None else [own]
        #: The index of an inode's file before any event; on ext4 the first event makes it 0.
        self._first = -1 if filesystem == "ext4" else 0
        self._events: list[tuple[int, str, int, int, int]] = []
        self.began_ns = self.ended_ns = 0

    def __enter__(self) -> Self:
        self.names.__enter__()
        return super().__enter__()

    def close(self) -> None:
        """Frees the ring buffers, and stops following names."""
        self._follower.close()
        self.names.__exit__()

    def begin(self) -> None:
        """The command begins: earlier writes are not its own."""
        self.began_ns = time.monotonic_ns()

    def end(self) -> None:
        """The command has ended, and what it wrote has reached the drive."""
        self.ended_ns = time.monotonic_ns()

    def _work(self) -> None:
        with contextlib.suppress(DriveError):
            while not self._over.is_set():
                self._events += self._follower.poll(LOOK)
            for _ in range(2):
                self._events += self._follower.poll(SETTLED)

    def _group(self, path: str) -> str:
        """The group of a file; a folder has an empty path."""
        return self.groups.of(path) if path else METADATA

    def lost(self) -> int:
        """The number of events that the kernel lost. If there are any, owners are wrong."""
        return sum(count for _, kind, _, _, count in self._events if kind == "lost")

    def changes(self, pages: int) -> list[Change]:
        """The changes of owners of a drive's first ``pages`` pages, in order of time."""
        life: defaultdict[int, int] = defaultdict(lambda: self._first)
        changes: list[Change] = []
        for at, kind, inode, block, count in self._events:
            if kind == "next":
                life[inode] += 1
            elif kind == "data":
                path = self.names.path(inode, life[inode])
                owner = UNNAMED if path is None else self._group(path)
                changes.append((at, block, count, owner))
            elif kind in ("other", "freed"):
                changes.append((at, block, count, METADATA))
        # Space allocated before the command counts from the command's begin on.
        early = [(self.began_ns, *change[1:]) for change in changes if change[0] < self.began_ns]
        late = [change for change in changes if self.began_ns <= change[0] < self.ended_ns]
        start = [(self.began_ns, 0, pages, METADATA)]
        journal = [(self.began_ns, first, count, JOURNAL) for first, count in self._journal]
        return [(0, 0, pages, BEFORE), *start, *journal, *early, *late, (
            self.ended_ns, 0, pages, AFTER
        )]  # fmt: skip


def _journal(device: str) -> list[tuple[int, int]]:
    """The blocks of the journal as ranges: first block and number."""
    if programs.find("debugfs") is None:
        raise DriveError(
            "--by-file needs debugfs, which is not installed; hint: apt-get install e2fsprogs"
        )
    text = mounts.run("debugfs", "-R", "blocks <8>", device)
    blocks = sorted(int(word) for word in text.split() if word.isdigit())
    ranges: list[tuple[int, int]] = []
    for block in blocks:
        if ranges and ranges[-1][0] + ranges[-1][1] == block:
            ranges[-1] = (ranges[-1][0], ranges[-1][1] + 1)
        else:
            ranges.append((block, 1))
    return ranges


def numbered(
    changes: Sequence[Change], since_ns: int, groups: Groups = EACH
) -> tuple[list[str], list[tuple[int, int, int, int]]]:
    """The names of owners by number, and the changes with times as in a recording.

    If there are too many owners, names in small folders become one, ``FOLDER/*``. ``since_ns`` is
    the time of the recording's begin.
    """
    fixed = [BEFORE, JOURNAL, METADATA, AFTER, UNNAMED, OTHERS]
    sizes: dict[str, int] = defaultdict(int)
    for _, _, count, name in changes:
        sizes[name] += count
    files = {name: size for name, size in sizes.items() if name not in fixed}
    rows = gathered(files, MOST - len(fixed), groups.each)
    in_rows: dict[str, int] = defaultdict(int)
    for name, size in files.items():
        in_rows[rows[name]] += size
    largest = sorted(in_rows, key=lambda name: -in_rows[name])
    names = [*fixed, *largest[: MOST - len(fixed)]]
    numbers = {name: number for number, name in enumerate(names)}
    return names, [
        (max(0, at - since_ns), first, count, numbers.get(rows.get(name, name), numbers[OTHERS]))
        for at, first, count, name in changes
    ]
