"""Wrong engines for Kim and Kwak's claims."""

from __future__ import annotations

from flashgc_papers.bsgc.experiment import POLICIES
from flashgc_papers.reproduce.mutants import Mutant, swap

MUTANTS = (
    Mutant(
        "random for BSGC",
        "BSGC takes any block",
        swap("victim", dict.fromkeys(POLICIES["BSGC"], "random")),
    ),
    Mutant(
        "random for EIGC",
        "EIGC takes any block",
        swap("victim", dict.fromkeys(POLICIES["EIGC"], "random")),
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
)
