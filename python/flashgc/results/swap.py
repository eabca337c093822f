"""A page cache of a virtual memory system, and what passed between memory and flash."""

from __future__ import annotations

from dataclasses import dataclass

from flashgc.results import counts


@dataclass(frozen=True)
class SwapConfig:
    """The page cache of a virtual memory system."""

    #: Pages that it holds.
    cache_pages: int
    #: Its policy.
    policy: str
    #: The treatment by collections of pages that are also in memory.
    scheme: str


@dataclass(frozen=True)
class Swap(counts.SwapCounts):
    """Traffic of a page cache and the time it took, in the measured parts of all runs."""

    #: Seconds of collections and of pages swapped out, mean over the runs. Pages swapped in are
    #: left out: the I/O time of Ji and Shin, section V.B.
    io_seconds: float
    #: ``io_seconds`` of each run.
    run_values: tuple[float, ...]
    #: Seconds of collections: copies, erases and pages written from memory.
    collection_seconds: float
    #: Seconds of pages swapped out.
    swap_out_seconds: float
    #: Seconds of pages swapped in.
    swap_in_seconds: float
    #: Microseconds that a collection takes, mean; ``None`` where there was none.
    mean_collection_us: float | None
    #: Pages in memory that a collection did not read from flash (N_dup), mean; ``None`` where there
    #: was no collection.
    excluded_per_collection: float | None
