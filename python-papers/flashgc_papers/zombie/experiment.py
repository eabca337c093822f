"""Zombie Chasing's drive, host and micro-benchmark as simulations, and what is read from them.

The claims are in the modules ``figures``, ``waits``, ``tpcc``, ``live``, ``raw`` and
``transactions``. The module ``readings`` changes single answers of the chosen reading.

The micro-benchmark runs on the drive with a clock: sixteen threads, each with one request under
way, ask a page cache that writes back at the drive's own speed. The measured part has the paper's
312 500 writes and the reads that go with them. A quick run has one bank of the drive with its
share of the addresses, the memory, the threads and the requests, because banks collect
independently and random requests are spread over them. The queue depth stays the same: the daemon
has up to 128 pages under way on any drive, and later reads would wait for all of these pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flashgc.described import Simulation, simulation
from flashgc.results import HostTraffic, Result
from flashgc_papers.claims import Claim, claims
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import Reading, readings_of
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.tasks import Measured, NotMeasuredError, Size
from flashgc_papers.reproduce.verdicts import Judgement, Value

#: Section 4.1: 32 GB of blocks of 128 effective pages of 16 KiB; section 5.1: about 6% of the
#: logical capacity is hidden.
BLOCKS, BLOCK, PAGE, PAGE_BYTES = 16384, 128, "16KiB", 16384
SPARE = "5.7%"
BANKS, THREADS = 4, 16
#: The number of writes of 16 KiB: 5.12 GB in all.
WRITES = 312_500
#: Requests per second of a whole drive's host, and pages per second that this drive writes.
RATE, SPEED = 10_000, 1_000

#: Table 1 and section 5.2.4: victim policy, and whether there is a zombie block.
COLLECTORS = {
    "GC-GD": ("greedy", "no"),
    "ZGC-GD": ("z-greedy", "yes"),
    "GC-CB": ("cost-benefit", "no"),
    "ZGC-CB": ("z-cost-benefit", "yes"),
    "ZGC-GD-NZ": ("z-greedy", "no"),
    "ZGC-CB-NZ": ("z-cost-benefit", "no"),
}
#: Pairs of collectors: the second is the one with which the first is compared.
PAIRS = (("ZGC-GD", "GC-GD"), ("ZGC-CB", "GC-CB"))
#: Milliseconds of a victim search in a bank of 4096 blocks (section 5.2.2). The paper gives them
#: for ZGC. GC compares the same blocks, so it gets the same times.
SEARCH = {"GD": 3.19, "CB": 7.65}

#: The number of runs, each with its own requests.
RUNS = {Size.QUICK: 3, Size.DEFAULT: 4, Size.FULL: 8}
#: Drive writes before the measured part, under a reading that has no other answer.
WARMUP = {Size.QUICK: "1x", Size.DEFAULT: "2x", Size.FULL: "8x"}

#: The paper leaves open where the hot addresses lie, what was written before, what a time threshold
#: of zero does, how much memory its page cache has, in which order requests are served, and whether
#: those of a bank wait while it collects.
READINGS = readings_of("zombie")
#: The reading that decides verdicts.
CHOSEN = READINGS[0]


def collector(reading: Reading, name: str) -> dict[str, str]:
    """Victim policy and placement of a collector of the paper."""
    victim, block = COLLECTORS[name]
    return {"victim": victim, "placement": f"{reading['placement']},zombie-block={block}"}


def part_of(size: Size, banks: int) -> int:
    """The drive's size divided by the simulated part: a quick run simulates one bank."""
    return banks if size is Size.QUICK else 1


def drive(size: Size, reading: Reading, name: str, banks: int) -> dict[str, Any]:
    """The drive with a clock, or a bank of it, with a collector."""
    part = part_of(size, banks)
    one_bank: dict[str, Any] = {"channels": 1, "ways": 1} if part > 1 else {}
    search = SEARCH["GD" if "-GD" in name else "CB"]
    if reading["linear"]:
        search *= BANKS / banks
    return {
        "kind": "timed",
        "device": f"jasmine-{banks}",
        "blocks": BLOCKS // part,
        "victim_search_time": f"{search:g}ms",
        "arrivals": f"closed:threads={THREADS // part}",
        "runs": RUNS[size],
        **one_bank,
        **reading["options"],
        **collector(reading, name),
    }


def micro(
    size: Size,
    reading: Reading,
    name: str,
    h: float,
    *,
    cache: float = 4,
    reads: float = 0.5,
    banks: int = BANKS,
    hints: str = "piggyback",
    **changed: Any,
) -> Simulation:
    """The micro-benchmark of section 5.2 on ``cache`` GiB of memory; ``reads`` are per write."""
    part = part_of(size, banks)
    memory = f"page-cache:size={cache * 1024 * reading['memory'] / part:g}MiB"
    if part > 1:
        memory += f",rate={RATE / part:g},speed={SPEED / part:g}"
    before = reading["before"]
    return simulation(
        **{
            **drive(size, reading, name, banks),
            "workload": addresses(h, reads, scattered=reading["scattered"]),
            "host_cache": memory + reading["host"],
            "hints": hints,
            "warmup": WARMUP[size] if before is None else str(before // part),
            "requests": round(WRITES * (1 + reads)) // part,
            **changed,
        }
    )


def addresses(h: float, reads: float, *, scattered: bool) -> str:
    """The requests: 100 - h percent of the writes to h percent of the pages, reads anywhere.

    >>> addresses(6, 1, scattered=False)
    '0.5*skew:h=6 + 0.5*uniform:read=1'
    >>> addresses(6, 0, scattered=True)
    'classes:pages=6/94,shares=94/6,scatter=yes'
    """
    rest = 100 - h
    writes = f"classes:pages={h:g}/{rest:g},shares={rest:g}/{h:g},scatter=yes"
    if not scattered:
        writes = f"skew:h={h:g}"
    if not reads:
        return writes
    share = round(reads / (1 + reads), 6)
    return f"{1 - share:g}*{writes} + {share:g}*uniform:read=1"


def settings(size: Size, banks: int = BANKS) -> str:
    """The size in words."""
    part = part_of(size, banks)
    what = "one bank of" if part > 1 else f"{banks} banks of"
    return (
        f"{what} {BLOCKS // banks} blocks of {BLOCK} pages of {PAGE}, {WRITES // part} pages "
        f"written by the application, {RUNS[size]} runs"
    )


def left_out(size: Size, banks: int = BANKS, more: str = "") -> str:
    """The parts that a size leaves out, in words."""
    if size is not Size.QUICK:
        return ""
    return f"all banks but one of {banks}, and what they share: the bus of the host{more}"


def key(name: str, h: float, cache: float = 4, reads: float = 0.5) -> str:
    """The name of a simulation in a task."""
    return f"{name} {h:g} {cache:g} {reads:g}"


def amplifications(measured: Measured, name: str) -> list[float]:
    """Write amplification in pages, run by run."""
    return [run.page_amplification for run in measured.runs(name)]


def amplification(measured: Measured, name: str) -> Value:
    """The mean write amplification of the runs."""
    return Value.of(amplifications(measured, name))


def gain(measured: Measured, less: str, more: str) -> Value:
    """The percentage by which the write amplification of ``less`` is below that of ``more``.

    Runs with the same number have the same requests, so runs are compared in pairs.
    """
    return saved(*(amplifications(measured, name) for name in (less, more)))


def saved(less: Sequence[float], more: Sequence[float]) -> Value:
    """The percentage by which values of ``less`` are below those of ``more``, mean over pairs."""
    return Value.of([100 * (1 - low / high) for low, high in zip(less, more, strict=True)])


def overhead(measured: Measured, less: str, more: str) -> Value:
    """The percentage by which ``less`` copies fewer pages per host write than ``more``."""
    runs = (amplifications(measured, name) for name in (less, more))
    pairs = list(zip(*runs, strict=True))
    if any(other <= 1 for _, other in pairs):
        raise NotMeasuredError("nothing was collected")
    return Value.of([100 * (1 - (low - 1) / (high - 1)) for low, high in pairs])


def gain_row(
    measured: Measured,
    label: str,
    published: float | str,
    less: str,
    more: str,
    *,
    above: float = 0,
    gained: Callable[[Measured, str, str], Value] = gain,
    figure: Callable[[Measured, str], Value] = amplification,
) -> Row:
    """A row that is met if ``less`` writes less than ``more``, by more than ``above`` percent.

    The lower end of the interval must be above that, too. ``figure`` gives the value of each
    simulation for the reason.
    """

    def judge() -> tuple[Value, Judgement]:
        value = gained(measured, less, more)
        return value, verdicts.over(value, above, both(measured, less, more, figure=figure))

    return row(label, published, judge, least=above or None)


def printed_row(measured: Measured, name: str, label: str, source: str = "") -> Row:
    """A row that is met if the write amplification of ``name`` is in the range of Figure 8."""
    low, high = printed_range()

    def judge() -> tuple[Value, Judgement]:
        value = amplification(measured, name)
        return value, verdicts.within(value, low, high)

    return row(label, f"{low:g} to {high:g}{source}", judge)


def printed_range() -> tuple[float, float]:
    """The least and the largest write amplification that Figure 8 prints.

    Those values are of ZGC-CB at h = 6 with more and fewer reads than in the other figures.
    """
    (figure,) = claims().select(("zombie.fig8",))
    low, *_, high = sorted(float(str(value)) for _, value in figure.rows)
    return low, high


def both(
    measured: Measured,
    *names: str,
    figure: Callable[[Measured, str], Value] = amplification,
) -> str:
    """The write amplification of simulations whose names begin with a collector's, in words."""
    each = ((name.split(maxsplit=1)[0], figure(measured, name)) for name in names)
    return ", ".join(f"{name}: {value.mean:.3f}" for name, value in each)


def below_row(label: str, most: float, measure: Callable[[], Value], why: Callable[[], str]) -> Row:
    """A row that is met if the measured value is below ``most`` percent."""

    def judge() -> tuple[Value, Judgement]:
        value = measure()
        return value, verdicts.true(value.mean < most, why())

    return row(label, f"below {most:g}", judge)


def known(result: Result) -> tuple[float, float]:
    """Zombies that the drive knows: MB on the whole drive, and percent of the dirty pages."""
    host = host_of(result)
    share = host.known_share
    if share is None:
        raise NotMeasuredError("nothing was ever dirty")
    blocks = result.config.blocks
    return host.mean_known_pages * PAGE_BYTES * BLOCKS / blocks / 1e6, 100 * share


def host_of(result: Result) -> HostTraffic:
    """The traffic of the host."""
    if result.host is None:
        raise NotMeasuredError("there was no host")
    return result.host


def published_gains(claim: Claim, fact: str) -> dict[str, float]:
    """The two published gains of a claim by the collector that has them."""
    return {pair[0]: value for pair, value in zip(PAIRS, claim.facts[fact], strict=True)}
