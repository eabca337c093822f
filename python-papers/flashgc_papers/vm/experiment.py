"""Ji and Shin's drive and the programs on it, as simulations, and what is read from them.

The paper's five traces are not public. Programs of the same kinds, recorded for this project, stand
in for them; each is run again and again on the same memory, as a person would, until there
are enough collections to compare.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from flashgc.described import Simulation, simulation
from flashgc.results import Merges, Result
from flashgc_papers.reproduce.runner import NotMeasuredError, Size, Task

#: The folder of the recorded programs, in a clone of the repository.
FOLDER = Path(__file__).resolve().parents[3] / "data" / "memory"
STAND_IN = "programs recorded for this project; the paper's five are not public"
ABSENT = (
    "the recorded programs are not here; they are the files data/memory/*.pages.zst of the "
    "repository, and flashgc must be installed from a clone of it"
)

#: The schemes of Table II, by the paper's names.
SCHEMES = {
    "DU-GC": "du-gc",
    "DA-GC": "da-gc",
    "LDA-GC1": "lda-gc1",
    "LDA-GC2": "lda-gc2",
    "LDA-GC3": "lda-gc3",
    "LDA-GC4": "lda-gc4",
    "LDA-GC5": "lda-gc5",
}
#: Schemes that are judged beside them, and are not in the paper.
FURTHER = {"LDA-P": "lda-p"}

#: The drive of the paper, section V.A, and the middle of its sweeps.
PAGE, BLOCK = "2KiB", 64
CACHE, LOGS = 4, 32
#: Erased blocks that are never used cost nothing: room for every number of log blocks.
SPARE = "90%"
#: Runs with a page map, by the end of their names, and what it has to spare.
MAPPED, PAGE_MAPPED_SPARE = " on a page map", "20%"
#: Runs under another reading of what the paper leaves open, by the end of their names: no
#: sequential log block, and regions of the page cache that keep their sizes.
FIXED = " with fixed regions"
FIXED_REGIONS = "3-region:initial=0.2,lru=0.6,resize=no"
#: The number of passes of each program.
PASSES = {Size.QUICK: 6, Size.DEFAULT: 24, Size.FULL: 100}


def programs() -> dict[str, Path]:
    """The recorded programs by name; none where there is no clone."""
    found = sorted(FOLDER.glob("*.pages.zst"))
    return {path.name.removesuffix(".pages.zst"): path for path in found}


def drive(
    program: Path,
    scheme: str,
    size: Size,
    *,
    cache: int = CACHE,
    logs: int = LOGS,
    window: str = "",
    fixed: bool = False,
) -> Simulation:
    """A program on the paper's drive, ``cache`` in MiB; ``fixed`` is the reading ``FIXED``."""
    mapping = f"fast:log_blocks={logs},log_only=yes" + (f",window={window}" if window else "")
    reading = {"page_policy": FIXED_REGIONS} if fixed else {}
    return simulation(
        workload=str(program),
        numbering="first-touch",
        mapping=f"{mapping},sequential=0" if fixed else mapping,
        vm_page_cache=f"{cache}MiB",
        **reading,
        scheme=scheme,
        page_size=PAGE,
        pages_per_block=BLOCK,
        spare=SPARE,
        passes=PASSES[size],
        runs=1,
    )


def page_mapped(program: Path, scheme: str, size: Size) -> Simulation:
    """A program on a drive with a page map, whose blocks are collected in turn, too."""
    return simulation(
        workload=str(program),
        numbering="first-touch",
        victim="fifo",
        frontier="pool:low=2",
        vm_page_cache=f"{CACHE}MiB",
        scheme=scheme,
        page_size=PAGE,
        pages_per_block=BLOCK,
        spare=PAGE_MAPPED_SPARE,
        passes=PASSES[size],
        runs=1,
    )


def task(size: Size, simulations: Mapping[str, Simulation]) -> Task:
    """The task with these simulations, or why there is none."""
    if not programs():
        return Task(not_run=ABSENT)
    passes = next(iter(simulations.values())).options["passes"]
    return Task(
        simulations,
        settings=f"{len(programs())} programs, each {passes} times in a row, FAST, blocks of "
        f"{BLOCK} pages of {PAGE}",
        left_out="more runs of each program" if size is Size.QUICK else "",
    )


def io(result: Result) -> float:
    """The I/O time in seconds, as the paper counts it."""
    return swap(result, "io_seconds")


def swap(result: Result, key: str) -> float:
    """A figure of the page cache's traffic."""
    value = None if result.swap is None else getattr(result.swap, key)
    if value is None:
        raise NotMeasuredError("there was no collection")
    return float(value)


def collections(result: Result) -> float:
    """Merges of every kind."""
    return merges(result).total


def merges(result: Result) -> Merges:
    """The merges of log blocks."""
    if result.merges is None:
        raise NotMeasuredError("there are no log blocks")
    return result.merges
