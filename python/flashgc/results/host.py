"""A host in front of the drive: what it did, and what became of its hints."""

from __future__ import annotations

from dataclasses import dataclass

from flashgc.results import counts


@dataclass(frozen=True)
class HostConfig:
    """A host in front of the drive."""

    #: The spec of its cache.
    cache: str
    #: The spec of its way of hinting.
    hints: str


@dataclass(frozen=True)
class HostTraffic(counts.HostPages):
    """Counts of the hosts of all runs in the measured parts, in pages."""

    #: Dirty pages in the cache, mean over the requests; on a drive with a clock over the time.
    mean_dirty_pages: float
    #: Dirty pages of which the drive had a hint, the same mean.
    mean_known_pages: float
    #: ``mean_known_pages`` over ``mean_dirty_pages``; ``None`` if nothing was ever dirty.
    known_share: float | None
    #: Counts of hints.
    hints: counts.Hints
    #: The waits of requests; ``None`` where the drive has no clock.
    waits: counts.HostWaits | None = None


@dataclass(frozen=True)
class Zombies(counts.ZombieCounts):
    """Counts of zombies in the measured parts of all runs, in pages.

    A zombie is a live page of which a hint has said that it will be overwritten soon.
    """

    #: Zombies among the pages copied; ``None`` if none were copied.
    share_of_copies: float | None
