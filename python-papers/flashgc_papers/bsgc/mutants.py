"""Wrong engines for Kim and Kwak's claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashgc_papers.bsgc.experiment import POLICIES
from flashgc_papers.bsgc.wrong import without_wear
from flashgc_papers.reproduce.mutants import Mutant, swap

_BSGC, _EIGC = POLICIES["BSGC"], POLICIES["EIGC"]


def _mixed(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    frontier = str(options.get("frontier"))
    apart = frontier.startswith("pool:")
    return {**options, "frontier": frontier.replace("pool", "mixed")} if apart else None


def _uniform(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return {**options, "workload": "uniform"}


def _by_bsgc(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The simulations of BSGC in the form that its wrong one is written in, as they are."""
    return options if str(options.get("victim")).startswith("bsgc:reading=since_erase") else None


MUTANTS = (
    Mutant(
        "random for BSGC",
        "BSGC takes any block",
        swap("victim", dict.fromkeys(_BSGC, "random")),
    ),
    Mutant(
        "random for EIGC",
        "EIGC takes any block",
        swap("victim", dict.fromkeys(_EIGC, "random")),
    ),
    Mutant(
        "greedy for CB and CAT",
        "CB and CAT look at valid pages only",
        swap("victim", dict.fromkeys((*POLICIES["CB"], *POLICIES["CAT"]), "greedy")),
    ),
    Mutant(
        "random for GA",
        "GA takes any block",
        swap("victim", dict.fromkeys(POLICIES["GA"], "random")),
    ),
    Mutant("FIFO for SFL", "SFL allocates blocks in turn", swap("allocation", {"sfl": "fifo"})),
    Mutant(
        "FIFO for LIF",
        "LIF allocates blocks in turn",
        swap("allocation", {"lowest-erase": "fifo"}),
    ),
    Mutant(
        "random for SFL", "SFL allocates any erased block", swap("allocation", {"sfl": "random"})
    ),
    Mutant(
        "erases ignored",
        "BSGC weighs a block without its erase count",
        _by_bsgc,
        policies=without_wear,
    ),
    Mutant(
        "ages since the last write",
        "BSGC and EIGC weigh the time since a block was filled, and no former valid ratio",
        swap("victim", dict.fromkeys((*_BSGC, *_EIGC), "cat")),
    ),
    Mutant(
        "BSGC and EIGC exchanged",
        "BSGC weighs blocks as EIGC does, and EIGC as BSGC",
        swap("victim", {**dict.fromkeys(_BSGC, _EIGC[0]), _EIGC[0]: _BSGC[0]}),
    ),
    Mutant("copies with host writes", "copies and host writes share a block", _mixed),
    Mutant("no skew", "all pages are written equally often", _uniform),
)
