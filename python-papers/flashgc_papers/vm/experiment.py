"""Ji and Shin's drive and the programs on it, as simulations, and what is read from them.

The paper's five traces are not public. Programs of the same kinds, recorded for this project, stand
in for them; each is run again and again on the same memory, as a person would, until there
are enough collections to compare (:data:`PASSES`). What the paper leaves open is in
:data:`READINGS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flashgc.described import Simulation, simulation
from flashgc.results import Merges, Result
from flashgc_papers.reproduce.readings import Reading, readings_of
from flashgc_papers.reproduce.tasks import NotMeasuredError, Task

#: The folder of the recorded programs, in a clone of the repository.
FOLDER = Path(__file__).resolve().parents[3] / "data" / "memory"
STAND_IN = "programs recorded for this project; the paper's five are not public"
ABSENT = (
    "the recorded programs are not here; they are the files data/memory/*.pages.zst of the "
    "repository, and flashgc must be installed from a clone of it"
)
#: The folder of mixtures: all programs except sqlite take turns in one memory, in several orders
#: (``experiments/memory/mixtures.py``).
MIXTURES = FOLDER / "mixtures"

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
#: Further schemes, which are judged too, but are not in the paper.
FURTHER = {"LDA-P": "lda-p"}

#: The drive of the paper, section V.A, and the middle of its sweeps.
PAGE, BLOCK = "2KiB", 64
CACHE, LOGS = 4, 32
#: Unused erased blocks cost nothing, so there are enough for every number of log blocks.
SPARE = "90%"
#: The end of the names of runs with a page map, and their spare factor.
MAPPED, PAGE_MAPPED_SPARE = " on a page map", "20%"
#: Passes over each recording, at every size. The paper's traces are of one execution each. With one
#: pass, three of our five smaller programs have no collections. Five is the least number that gives
#: every writing program a hundred collections with DU-GC in the middle of the sweeps, under both
#: readings: 103 to 3926 under the first.
PASSES = 5
#: Passes if the victim window adapts: it changes at most every 16 collections, and there are four
#: times as many log blocks to fill.
PASSES_TO_ADAPT = 24

#: The paper leaves open how large the regions of its page cache are, whether FAST has its
#: sequential log block, and how many log blocks LDA-VBS weighs. The first reading is the chosen
#: one.
READINGS = readings_of("vm")


def programs() -> dict[str, Path]:
    """The recorded programs by name; empty outside a clone."""
    return _recordings(FOLDER)


def mixtures() -> dict[str, Path]:
    """The mixtures by name; empty outside a clone."""
    return {f"order-{name}": path for name, path in _recordings(MIXTURES).items()}


def _recordings(folder: Path) -> dict[str, Path]:
    return {
        path.name.removesuffix(".pages.zst"): path for path in sorted(folder.glob("*.pages.zst"))
    }


@dataclass(frozen=True)
class Recorded:
    """Recordings by name, how often in a row each is run, and the words for both."""

    recordings: Mapping[str, Path]
    passes: int
    what: str


def alone(passes: int = PASSES) -> Recorded:
    """The programs, each alone in the memory."""
    recordings = programs()
    return Recorded(recordings, passes, f"{len(recordings)} programs, each {passes} times in a row")


def together() -> Recorded:
    """The mixtures, with one pass, because they are long enough."""
    recordings = mixtures()
    return Recorded(
        recordings, 1, f"five programs that take turns, once, in {len(recordings)} orders"
    )


def drive(
    program: Path,
    scheme: str,
    reading: Reading,
    *,
    cache: int = CACHE,
    logs: int = LOGS,
    window: str = "",
    passes: int = PASSES,
) -> Simulation:
    """A program on the paper's drive; ``cache`` is in MiB, ``window`` replaces the reading's."""
    window = window or reading["window"]
    weighed = f",window={window}" if window else ""
    return simulation(
        workload=str(program),
        numbering="first-touch",
        mapping=f"fast:log_blocks={logs},log_only=yes{weighed}{reading['mapping']}",
        vm_page_cache=f"{cache}MiB",
        **reading["cache"],
        vm_scheme=scheme,
        page_size=PAGE,
        pages_per_block=BLOCK,
        spare=SPARE,
        passes=passes,
        runs=1,
    )


def page_mapped(program: Path, scheme: str, reading: Reading) -> Simulation:
    """A program on a drive with a page map, whose blocks are collected in turn, too."""
    return simulation(
        workload=str(program),
        numbering="first-touch",
        victim="fifo",
        frontier="pool:low=2",
        vm_page_cache=f"{CACHE}MiB",
        **reading["cache"],
        vm_scheme=scheme,
        page_size=PAGE,
        pages_per_block=BLOCK,
        spare=PAGE_MAPPED_SPARE,
        passes=PASSES,
        runs=1,
    )


def task(simulations: Mapping[str, Simulation], recorded: Recorded) -> Task:
    """The task with these simulations, or one that says why there are no recordings."""
    if not recorded.recordings:
        return Task(not_run=ABSENT)
    return Task(
        simulations,
        settings=f"{recorded.what}, FAST, blocks of {BLOCK} pages of {PAGE}; "
        "at every size the same",
        whole="a program runs once, from its beginning to its end" if recorded.passes == 1 else "",
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
