"""Erases of blocks: their number and their evenness."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Erases:
    """Erase counts of the blocks of a drive."""

    #: Mean over the blocks.
    mean: float
    #: Standard deviation over the blocks: of all of them, not of a sample.
    deviation: float
    #: Standard deviation by mean; ``None`` before the first erase.
    cv: float | None
    #: Gini coefficient: 0 where all blocks are alike, 1 where one has all erases; ``None`` before
    #: the first erase.
    gini: float | None
    #: Erases of the least worn block.
    min: int
    #: Erases of the most worn block.
    max: int


@dataclass(frozen=True)
class WearPoint:
    """The erase counts of the first run at one moment."""

    #: Drive writes done: pages written by the host over logical pages.
    drive_writes: float
    #: Mean erases of a block.
    mean: float
    #: Standard deviation over the blocks.
    deviation: float
    #: Gini coefficient; ``None`` before the first erase.
    gini: float | None
    #: 11 erase counts: of the least worn block, those that 10% to 90% of the blocks do not exceed,
    #: and of the most worn block.
    deciles: tuple[int, ...]


@dataclass(frozen=True)
class Wear(Erases):
    """Erase counts since the drives were made, warm-up included.

    Means are over the runs; ``min`` and ``max`` are the extremes of all runs.
    """

    #: Blocks of all runs by their erases: the least erases of a bin, and the blocks in it.
    histogram: tuple[tuple[int, int], ...] = field(repr=False)
    #: The wear of the first run, in order of time; empty without an endurance.
    series: tuple[WearPoint, ...] = field(default=(), repr=False)
