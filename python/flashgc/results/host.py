"""A host in front of the drive: what it did, and what became of its hints."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HostConfig:
    """A host in front of the drive."""

    #: The spec of its cache.
    cache: str
    #: The spec of its way of hinting.
    hints: str


@dataclass(frozen=True)
class Hints:
    """Counts of hints in the measured parts, in pages."""

    #: Pages that became dirty: what there was to tell.
    due: int
    #: Hints that came to the drive.
    sent: int
    #: Hints that were dropped, because the page was written before they could leave.
    overtaken: int
    #: Hints that never came.
    lost: int
    #: Hints that came after their page was written.
    late: int
    #: Hints that came and named a page that was not dirty.
    wrong: int
    #: Commands made for hints alone; of commands, not of pages.
    commands: int


@dataclass(frozen=True)
class HostTraffic:
    """Counts of the hosts of all runs in the measured parts, in pages."""

    #: Pages read by the application.
    reads: int
    #: Pages written by the application.
    writes: int
    #: Pages that the drive was asked to read: misses of the cache.
    drive_reads: int
    #: Pages that the drive was asked to write.
    drive_writes: int
    #: Dirty pages in the cache, mean over the requests; on a drive with a clock over the time.
    mean_dirty_pages: float
    #: Dirty pages of which the drive had a hint, the same mean.
    mean_known_pages: float
    #: ``mean_known_pages`` over ``mean_dirty_pages``; ``None`` if nothing was ever dirty.
    known_share: float | None
    #: Counts of hints.
    hints: Hints


@dataclass(frozen=True)
class Zombies:
    """Counts of zombies in the measured parts of all runs, in pages.

    A zombie is a live page of which a hint has said that it will be overwritten soon.
    """

    #: Pages that a hint made zombies.
    marked: int
    #: Zombies that the host overwrote: their hints came true.
    overwritten: int
    #: Zombies that a TRIM discarded.
    trimmed: int
    #: Zombies that collections copied.
    copied: int
    #: Zombies among the pages copied; ``None`` if none were copied.
    share_of_copies: float | None
