"""Wrong engines for Lee et al.'s claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashgc_papers.reproduce.mutants import Change, Mutant, swap

_ALL = "pgc+merge+pipeline"


def _no_threshold(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return {**options, "gc_hard": "0"} if "gc_hard" in options else None


def _short_erase(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    whole, short = "erase=1.5ms", "erase=150us"
    times = str(options.get("times"))
    return {**options, "times": times.replace(whole, short)} if whole in times else None


def _no_collections(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The drives whose bandwidth is measured in slices, empty at first: nothing is collected."""
    return {**options, "fill": "empty", "warmup": "0"} if "resolution" in options else None


def _of_drive(key: str, value: str) -> Change:
    """The paper's drive with another value of an option, which its preset or a claim gives."""

    def change(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return {**options, key: value} if "device" in options else None

    return change


def _over_the_bus(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The examples have no bus: there each transfer of a page takes as long as on the drive."""
    if "device" in options:
        return {**options, "copy_back": "no"}
    return {**options, "times": f"{options['times']},transfer=102.4us"}


def _reads_alone(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The drives that let requests in, with the hard threshold where collections start."""
    if options.get("preemption", "none") == "none":
        return None
    return {**options, "gc_hard": "5%" if "device" in options else options["gc_low"]}


MUTANTS = (
    Mutant(
        "no preemption",
        "collections run to their end",
        swap("preemption", dict.fromkeys(("pgc", "pgc+pipeline", _ALL), "none")),
    ),
    Mutant(
        "suspension",
        "requests interrupt erases and programs too",
        swap("preemption", {"pgc": "suspend"}),
    ),
    Mutant("no merging", "collections share no page", swap("preemption", {_ALL: "pgc+pipeline"})),
    Mutant(
        "no pipelining",
        "requests and collections overlap nowhere",
        swap("preemption", {"pgc+pipeline": "pgc", _ALL: "pgc+merge"}),
    ),
    Mutant("reads alone preempt", "writes wait wherever blocks are collected", _reads_alone),
    Mutant("moves over the bus", "a page that is moved crosses the bus", _over_the_bus),
    Mutant("random victims", "a victim is any block", _of_drive("victim", "random")),
    Mutant(
        "collections too early",
        "the examples' drive keeps an eighth of its blocks erased, not four of them",
        swap("gc_low", {"4": "32"}),
    ),
    Mutant("no collections", "the drive never runs short of erased blocks", _no_collections),
    Mutant("no hard threshold", "writes preempt until no block is left", _no_threshold),
    Mutant("short erases", "an erase takes a tenth of its time", _short_erase),
)
