"""Wrong engines for Ji and Shin's claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashgc_papers.reproduce.mutants import Change, Mutant, swap
from flashgc_papers.vm.experiment import SCHEMES

_AWARE = [spec for spec in SCHEMES.values() if spec != "du-gc"]


def _with(*schemes: str) -> Change:
    """The simulations with one of these schemes, as they are."""

    def touched(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return options if options.get("scheme") in schemes else None

    return touched


def _in_place(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The recorded programs: in the worked example nothing is written after the collection."""
    if options.get("page_policy") == "lru:parts=2":
        return None
    mapping = str(options.get("mapping"))
    changed = mapping.replace("log_only=yes", "log_only=no")
    return {**options, "mapping": changed} if changed != mapping else None


MUTANTS = (
    Mutant(
        "left-out pages in place",
        "a page that a merge left out is written to its place in the data block",
        _in_place,
    ),
    Mutant(
        "LRU region of a third",
        "the LRU region of the worked example is a third of its cache",
        swap("page_policy", {"lru:parts=2": "lru:parts=3"}),
    ),
    Mutant(
        "duplicates are copied",
        "every scheme is DU-GC",
        swap("scheme", dict.fromkeys(_AWARE, "du-gc")),
    ),
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
