"""Van Houdt's drive under uniform random writes, as simulations and as the mean field."""

from __future__ import annotations

import math

from flashgc.described import Simulation, simulation
from flashgc_papers.claims import Cell
from flashgc_papers.reproduce.tasks import Computation, model
from flashgc_papers.reproduce.verdicts import Value

#: The paper's number of blocks, and of collections per run.
BLOCKS, COLLECTIONS = 50_000, 250_000
#: A sentence on the part of the paper's experiment that a run covers.
WHOLE = "a run has all collections of the paper, of which it leaves out the first third"
DRIVE = "N = 50 000, 250 000 collections a run, the first third left out"


def uniform(
    *, b: Cell, spare: Cell, victim: str, runs: int, frontier: str = "single"
) -> Simulation:
    """The paper's drive under uniform random writes, from a random fill."""
    return simulation(
        workload="uniform",
        blocks=BLOCKS,
        pages_per_block=b,
        spare=spare,
        victim=victim,
        frontier=frontier,
        fill="random",
        collections=COLLECTIONS,
        warmup="1/3",
        runs=runs,
    )


def choices(d: Cell, c: Cell) -> str:
    """The policy of ``d`` choices and ``c`` blocks of memory."""
    return f"d-choices:d={d},c={c}"


def mean_field(*, b: Cell, spare: Cell, d: Cell, c: Cell) -> Computation:
    """The computation of the mean field's fixed point for one set of parameters."""
    return model("meanfield", pages_per_block=b, spare=spare, d=d, c=c)


def ratio(over: Value, under: Value) -> Value:
    """The ratio of two values that were measured independently, its interval to first order."""
    mean = over.mean / under.mean
    return Value(mean, mean * math.hypot(over.ci95 / over.mean, under.ci95 / under.mean))
