"""The four traces of the d-choices paper: where they are, and workloads that stand in for them.

A stand-in is made from the paper's Tables 2 and 3. They give five classes of pages, hot to cold,
each with 20% of the requests; the share of the writes; and the share of pages that are only read,
which are taken from the coldest class. Two things that the tables do not say are chosen, alike for
all four traces:

- The number of pages, 40 000 to 200 000. The tables give only an upper bound: every page is
  requested at least once, so the coldest class has at most as many pages as requests, a fifth of
  all. The bound is 0.8 (rsrch0) to 4.7 million pages (prxy0). For rsrch0, a public table of write
  frequencies says more: the 17 most written offsets get 20% of the page requests and are 0.01% of
  the pages. With the rounding, that makes 113 000 to 340 000 pages.
- Change over time. It has the readings :data:`READINGS`: windows of activity that move through
  the classes, or no change, with runs of 64 neighbouring pages requested together.

Two frontiers gain over one only if there is change over time. Memory at the best number of choices
gains only then, too (``tests/test_standins.py`` shows both).
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flashgc import FlashgcError
from flashgc.described import Simulation, simulation
from flashgc.results import TraceStat
from flashgc.traces import trace_stat
from flashgc.units import format_count
from flashgc_papers.claims import Claim, claims
from flashgc_papers.reproduce.readings import Reading, readings_of
from flashgc_papers.reproduce.tasks import Size

#: The number of neighbouring pages that are requested together, or by which windows move.
RUN = 64
#: The environment variable that names the folder of the public traces.
FOLDER = "FLASHGC_TRACES"
#: The largest relative difference in page requests between a file and the trace that it may be.
WHOLE = 0.01

#: The counting of a trace's requests. Section 5 rounds offsets down to a page and splits by size,
#: for all of its tables. Statistics count in this way. Drives also leave out the pages beyond
#: their U = b floor(x/b) pages.
COUNTED: Literal["rounded"] = "rounded"
REPLAYED = "rounded+floor"

#: Pages per block of the paper's drives.
B = 64
#: Runs, and page requests of a run.
RUNS = {Size.QUICK: 3, Size.DEFAULT: 4, Size.FULL: 10}
PUBLISHED_REQUESTS = 50_000_000
#: A window moves through its class once in ``PERIOD`` page requests per page of the stand-in.
PERIOD = 50

#: The readings of change over time, on which the tables are silent. The first is the chosen one.
READINGS = readings_of("dchoices")


@dataclass(frozen=True)
class Published:
    """The paper's data on one of its traces."""

    #: Its name in the paper.
    name: str
    #: Writes in percent of the page requests.
    writes: float
    #: Page requests.
    requests: int
    #: Pages only read, in percent of all pages accessed.
    read_only: float
    #: Percent of the pages that get 20, 40, 60 and 80% of the page requests.
    locality: tuple[float, ...]

    @property
    def word(self) -> str:
        """A word that the names of its files contain."""
        return {"rsrch0": "rsrch_0", "prxy0": "prxy_0"}.get(self.name, self.name)


@functools.cache
def published() -> dict[str, Published]:
    """The paper's four traces by name, from its Tables 2 and 3."""
    (sizes,) = claims().select(("dchoices.table2",))
    (shares,) = claims().select(("dchoices.table3",))
    locality = {str(name): tuple(map(float, row)) for name, *row in shares.rows}
    return {
        str(name): Published(
            str(name), float(writes), int(requests), float(read_only), locality[str(name)]
        )
        for name, writes, requests, read_only in sizes.rows
    }


def workload(trace: Published, run: int = RUN) -> str:
    """The static stand-in of a trace, as a mixture: a part that writes and one that reads.

    Pages that are only read are as popular as the other pages of their class, or less where the
    trace has too few reads for that (prxy0). The reads that are left go to the other pages as the
    writes do.

    >>> workload(published()["rsrch0"])
    '0.8887*classes:pages=0.01/0.08/7.06/12.02/61.81/19.02,shares=20/20/20/20/15.2938/0,\
run=64,burst=64 + 0.1113*classes:pages=0.01/0.08/7.06/12.02/61.81/19.02,\
shares=1.34821/1.34821/1.34821/1.34821/1.03096/4.7062,run=64,burst=64,read=1'
    """
    return _mixture(trace, "classes", lambda _: f"run={run},burst={run}")


def moving(trace: Published, pages: int, active: float, region: int = RUN) -> str:
    """The stand-in of a trace with windows of activity on ``pages`` pages, as a mixture.

    >>> moving(published()["rsrch0"], 80_000, 0.07)
    '0.8887*windows:pages=0.01/0.08/7.06/12.02/61.81/19.02,shares=20/20/20/20/15.2938/0,\
active=0.07,region=64,period=3554800 + 0.1113*windows:pages=0.01/0.08/7.06/12.02/61.81/19.02,\
shares=1.34821/1.34821/1.34821/1.34821/1.03096/4.7062,active=0.07,region=64,period=445200,read=1'
    """
    # The period of a part counts only the commands of that part.
    period = PERIOD * pages
    return _mixture(
        trace,
        "windows",
        lambda share: f"active={active:g},region={region},period={round(share * period)}",
    )


def _mixture(trace: Published, name: str, further: Callable[[float], str]) -> str:
    """A part that writes and a part that reads; ``further`` adds parameters, by a part's share."""
    edges = (0.0, *trace.locality, 100.0)
    pages = [high - low for low, high in itertools.pairwise(edges)]
    reads = 100 - trace.writes
    only_read = round(min(20 * trace.read_only / pages[-1], reads), 4)
    pages[-1] -= trace.read_only
    written = (20.0, 20.0, 20.0, 20.0, 20 - only_read)
    left = (reads - only_read) / (100 - only_read)
    lies = f"pages={_proportions((*pages, trace.read_only))}"
    parts = [trace.writes / 100, reads / 100]
    writing = f"{name}:{lies},shares={_proportions((*written, 0))},{further(parts[0])}"
    shares = _proportions((*(round(left * share, 6) for share in written), only_read))
    reading = f"{name}:{lies},shares={shares},{further(parts[1])},read=1"
    return f"{parts[0]:.6g}*{writing} + {parts[1]:.6g}*{reading}"


def _proportions(parts: tuple[float, ...]) -> str:
    return "/".join(f"{part:.6g}" for part in parts)


@dataclass(frozen=True)
class TraceFile:
    """A complete trace file."""

    path: Path
    #: Its statistics as the paper counts.
    stat: TraceStat
    #: Its pages and requests in words, by the paper's counting and by that of all touched pages.
    counted: str


@dataclass(frozen=True)
class Missing:
    """A trace without a file."""

    #: The reason, in words.
    why: str
    #: The pages and requests of each file that was found and not accepted, in words.
    counted: tuple[str, ...] = ()


def find(trace: Published) -> TraceFile | Missing:
    """Looks for a trace in the folder that the environment names.

    A file is the trace if its name says so and it has as many page requests as the paper's, within
    1%. The number is checked because parts of traces, and lists of addresses, have such names too.
    """
    folder = os.environ.get(FOLDER)
    if not folder:
        return Missing(f"{FOLDER} is not set")
    return _search(trace, folder)


@functools.cache
def _search(trace: Published, folder: str) -> TraceFile | Missing:
    rejected, counted = [], []
    for path in sorted(Path(folder).rglob(f"*{trace.word}*")):
        if not path.is_file():
            continue
        try:
            stat = trace_stat(path, paging=COUNTED)
            touched = trace_stat(path, paging="covered")
        except FlashgcError:
            rejected.append(f"{path.name} is no trace")
            continue
        counted.append(
            f"{path.name}: {_counts(stat)} by size ({COUNTED}), {_counts(touched)} where a request "
            "is every page that it touches (covered)"
        )
        if abs(stat.page_requests / trace.requests - 1) <= WHOLE:
            return TraceFile(path, stat, counted[-1])
        rejected.append(
            f"{path.name} has {stat.page_requests} page requests, the trace {trace.requests}"
        )
    there = ", ".join(rejected) if rejected else f"no file in {folder} is called *{trace.word}*"
    return Missing(f"{trace.name}: {there}", tuple(counted))


def _counts(stat: TraceStat) -> str:
    return f"{stat.pages} pages and {stat.page_requests} requests"


def paging(claim: Claim, used: str) -> list[str]:
    """Notes on how a table counts a trace's requests, and on the counts of the files found."""
    text = (
        f"Requests of a trace are paged as section 5 has it for all tables, offsets rounded down "
        f"to 4 KiB and sizes split: here with --paging {used}"
    )
    if used == REPLAYED:
        text += (
            f"; Tables 2 and 3 count the same requests with --paging {COUNTED}, the drive has "
            "U = b floor(x/b) of the x pages"
        )
    files: list[str] = []
    for trace_file in map(find, traces(claim)):
        files += [trace_file.counted] if isinstance(trace_file, TraceFile) else trace_file.counted
    return [text, *files]


def wanted(claim: Claim) -> list[str]:
    """Notes on the traces of a claim that are missing, and which files to put where."""
    missing = [source.why for source in map(find, traces(claim)) if isinstance(source, Missing)]
    if not missing:
        return []
    return [
        *dict.fromkeys(missing),
        f"To run on a trace itself, put it into the folder that {FOLDER} names, as one file whose "
        "name has the word: rsrch_0 and prxy_0, of the MSR Cambridge traces; online and webmail, "
        "of the FIU SRCMap traces. SNIA IOTTA publishes them",
    ]


def traces(claim: Claim) -> list[Published]:
    """The traces that a claim speaks of, in its order."""
    return [published()[str(name)] for name in dict.fromkeys(claim.column("trace"))]


def drive(
    trace: Published,
    size: Size,
    *,
    spare: float,
    victim: str,
    frontier: str,
    reading: Reading,
    run: int = RUN,
    times: float = 1.0,
    wider: float = 1.0,
) -> Simulation:
    """The paper's drive under a trace, or under its stand-in by a reading.

    ``times`` multiplies pages and requests, so drive writes stay the same. ``wider`` multiplies the
    width of windows.
    """
    requests, pages = reading["requests"][size], round(times * reading["pages"][size])
    file = find(trace)
    if isinstance(file, TraceFile):
        source: dict[str, object] = {
            "workload": str(file.path),
            # The paper numbers the pages in the order of their first access.
            "paging": REPLAYED,
            "numbering": "first-touch",
        }
    else:
        active = reading["active"]
        generator = (
            workload(trace, run)
            if active is None
            else moving(trace, pages, wider * active[trace.name], run)
        )
        source = {"workload": generator, "blocks": round(pages / B / (1 - spare))}
        requests = round(times * requests)
    return simulation(
        **source,
        pages_per_block=B,
        spare=spare,
        victim=victim,
        frontier=frontier,
        fill="sequential",
        warmup="0",
        requests=requests,
        runs=RUNS[size],
    )


def stand_in(trace: Published) -> str:
    """The word for a stand-in in rows; empty where the workload is the trace itself."""
    if isinstance(find(trace), TraceFile):
        return ""
    return "a stand-in"


def settings(size: Size, reading: Reading) -> str:
    """The size of the simulations in words."""
    requests = reading["requests"][size] // 10**6
    return (
        f"sequential fill, no warm-up, {requests} million page requests, {RUNS[size]} runs; a "
        f"stand-in has {format_count(reading['pages'][size])} pages, a trace its own"
    )


def left_out(size: Size, reading: Reading) -> str:
    """The runs of the paper that a size leaves out, in words."""
    if size is Size.FULL:
        return ""
    return (
        f"all but {reading['requests'][size] // 10**6} of {PUBLISHED_REQUESTS // 10**6} million "
        f"requests a run, and all but {RUNS[size]} of {RUNS[Size.FULL]} runs"
    )


def whole(size: Size) -> str:
    """A sentence if the runs cover all of the paper's replays, else empty: :attr:`Task.whole`."""
    if size is not Size.FULL:
        return ""
    return "a run has all requests of the paper, from a sequential fill on"


def notes(claim: Claim) -> list[str]:
    """Notes on the stand-ins, on how traces are read, and on those that are missing."""
    lines = []
    if any(stand_in(trace) for trace in traces(claim)):
        lines.append(
            "A stand-in is made from Tables 2 and 3: classes of pages, hot to cold, and pages that "
            "are only read. The tables say neither how many pages there are, nor which are "
            "requested together or at one time: the readings do"
        )
    return lines + paging(claim, REPLAYED) + wanted(claim)
