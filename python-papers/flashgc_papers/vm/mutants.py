"""Wrong engines for Ji and Shin's claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashgc_papers.reproduce.mutants import Change, Mutant, swap
from flashgc_papers.vm.experiment import READINGS, SCHEMES

_AWARE = [spec for spec in SCHEMES.values() if spec != "du-gc"]


def _with(*schemes: str) -> Change:
    """The simulations with one of these schemes, as they are."""

    def touched(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return options if options.get("scheme") in schemes else None

    return touched


def _in_place(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    mapping = str(options.get("mapping"))
    changed = mapping.replace("log_only=yes", "log_only=no")
    return {**options, "mapping": changed} if changed != mapping else None


#: The page caches of the worked example and of the chosen reading.
_EXAMPLE = "lru:parts=2"
_PROGRAMS = str(READINGS[0]["cache"]["page_policy"])


def _regions(parts: int, initial: float, lru: float) -> Change:
    """Regions of other sizes: a fixed part of a plain LRU cache, or shares of the other."""
    other = f"3-region:initial={initial:g},lru={lru:g},resize=no"
    return swap("page_policy", {_EXAMPLE: f"lru:parts={parts}", _PROGRAMS: other})


MUTANTS = (
    Mutant(
        "left-out pages in place",
        "a page that a merge left out is written to its place in the data block",
        _in_place,
    ),
    Mutant(
        "LRU region of a third",
        "the LRU region is a third of the page cache",
        _regions(3, 0.2, 0.3333),
    ),
    Mutant(
        "no MRU region",
        "the LRU region is the page cache, or nearly all of it",
        _regions(1, 0.0625, 0.875),
    ),
    Mutant(
        "LDE wherever LDA-BM is",
        "LDA-BM writes dirty pages near eviction back",
        swap("scheme", {"lda-gc2": "lda-gc4", "lda-gc3": "lda-gc5"}),
    ),
    Mutant(
        "all dirty pages written back",
        "every scheme but DU-GC writes all dirty pages in the cache back, and leaves none out",
        swap("scheme", dict.fromkeys(_AWARE, "ba-gc")),
    ),
    Mutant(
        "duplicates are copied",
        "every scheme is DU-GC",
        swap("scheme", dict.fromkeys(_AWARE, "du-gc")),
    ),
    Mutant("DU-GC is DA-GC", "DU-GC leaves duplicates out", swap("scheme", {"du-gc": "da-gc"})),
    Mutant(
        "victims in turn",
        "LDA-VBS takes log blocks in turn",
        swap("scheme", {"lda-gc1": "da-gc", "lda-gc3": "lda-gc2", "lda-gc5": "lda-gc4"}),
    ),
    Mutant(
        "no LDA-BM",
        "cached pages are left out in both regions",
        swap("scheme", {"lda-gc2": "da-gc", "lda-gc3": "lda-gc1"}),
    ),
    Mutant(
        "no LDE",
        "dirty pages are not written back early",
        swap("scheme", {"lda-gc4": "lda-gc2", "lda-gc5": "lda-gc3"}),
    ),
    Mutant(
        "LDE without its benefit",
        "victims are weighed without the writes that LDE saves",
        _with("lda-gc5"),
        engine="lde-without-benefit",
    ),
    Mutant(
        "cost without the erase",
        "victims are weighed without the blocks that are erased",
        _with("lda-gc1", "lda-gc3", "lda-gc5"),
        engine="victim-without-erase",
    ),
)
