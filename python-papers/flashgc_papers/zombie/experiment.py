"""Zombie Chasing's drive, host and micro-benchmark as simulations, and what is read from them.

The claims themselves are in the modules ``figures``, ``notices`` and ``tpcc``, what becomes of them
under other readings of the paper in ``readings``.

The drive collects each of its banks for itself. Requests are random and spread over the banks, so a
bank is a drive of its own with its part of the addresses, of the cache and of the requests a
second: a run is a bank, and the runs of a simulation are the banks of the drive.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from flashgc.described import Simulation, simulation
from flashgc.results import HostTraffic, Result
from flashgc_papers.claims import Claim
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.runner import Measured, NotMeasuredError, Row, Size, row
from flashgc_papers.reproduce.verdicts import Judgement, Value

#: Section 4.1: 32 GB of blocks of 128 effective pages of 16 KiB; section 5.1: about 6% of the
#: logical capacity is hidden.
BLOCKS, BLOCK, PAGE, PAGE_BYTES = 16384, 128, "16KiB", 16384
SPARE = "5.7%"
BANKS = 4
#: 5.12 GB.
WRITES = 312_500
#: The writes that reach a drive of it from a cache that is empty at first: the rest is overwritten
#: in the cache, or still dirty at the end. Measured: see the reads and writes of Table 3's
#: simulations.
REACHING = 184_000
#: Requests a second, and pages the drive writes a second: the host's clock, as the drive has none.
RATE, SPEED = 10_000, 1_000

#: Table 1 and section 5.2.4: the paper's names, and those of the collectors.
COLLECTORS = {
    "GC-GD": "gc-gd",
    "ZGC-GD": "zgc-gd",
    "GC-CB": "gc-cb",
    "ZGC-CB": "zgc-cb",
    "ZGC-GD-NZ": "zgc-gd-nz",
    "ZGC-CB-NZ": "zgc-cb-nz",
}
#: Each with what it is compared with.
PAIRS = (("ZGC-GD", "GC-GD"), ("ZGC-CB", "GC-CB"))

#: Pages of a block that hold data where its last page has their list, as in the open FTLs of the
#: board, and the spare factor with which such a drive has the same logical capacity. The paper does
#: not say what its own FTL does.
LISTED = 127
LISTED_SPARE = "4.9575%"

#: The readings of the drive by the end of their runs' names, and how rows name them. The paper says
#: neither where the hot addresses lie nor what was written before: the literal reading has the
#: lowest addresses, in use; under the other, hot pages lie among cold ones on a drive that was
#: only filled, and lock up its spare space.
SCATTERED = " scattered"
READINGS = {"": "", SCATTERED: ", scattered"}

#: Drives that a simulation is run on; a quick one is four banks of one.
DRIVES = {Size.QUICK: 1, Size.DEFAULT: 1, Size.FULL: 4}
#: Drive writes before the measured part: the paper's drives had been used, see the readings.
WARMUP = {Size.QUICK: "2x", Size.DEFAULT: "2x", Size.FULL: "8x"}


def scale(size: Size, banks: int = BANKS) -> int:
    """The factor by which a quick bank is smaller, and its cache, its clock and what is written.

    No bank is smaller than 256 blocks: of fewer, too few are spare for three regions and zombies.
    """
    return 1 if size is not Size.QUICK else min(8, BLOCKS // banks // 256)


def micro(
    size: Size,
    collector: str,
    h: float,
    *,
    cache: float = 4,
    reads: float = 0.5,
    banks: int = BANKS,
    host: str = "",
    hints: str = "piggyback",
    warmup: str = "",
    rate: float = RATE,
    speed: float = SPEED,
    writes: int = WRITES,
    reading: str = "",
    lists: bool = False,
) -> Simulation:
    """The micro-benchmark of section 5.2: ``cache`` in GiB, ``reads`` a write.

    With ``lists`` the last page of a block has the list of the others.
    """
    parts = banks * scale(size, banks)
    warmup = warmup or ("0" if reading == SCATTERED else WARMUP[size])
    spec = f"page-cache:size={cache * 1024 / parts:g}MiB,rate={rate / parts:g}"
    return simulation(
        workload=addresses(h, reads, reading),
        gc_preset=COLLECTORS[collector],
        frontier="pool",
        blocks=BLOCKS // parts,
        pages_per_block=LISTED if lists else BLOCK,
        page_size=PAGE,
        spare=LISTED_SPARE if lists else SPARE,
        host_cache=f"{spec},speed={speed / parts:g}{host}",
        hints=hints,
        warmup=warmup,
        writes=writes // parts,
        runs=bank_runs(size, banks),
    )


def addresses(h: float, reads: float, reading: str = "") -> str:
    """The requests of the micro-benchmark: 100 - h percent of them to h percent of the pages.

    >>> addresses(6, 0.5), addresses(6, 0, SCATTERED)
    ('skew:h=6,read=33.3333%', 'classes:pages=6/94,shares=94/6,scatter=yes,read=0%')
    """
    read = f"read={100 * reads / (1 + reads):.6g}%"
    if reading == SCATTERED:
        rest = 100 - h
        return f"classes:pages={h:g}/{rest:g},shares={rest:g}/{h:g},scatter=yes,{read}"
    return f"skew:h={h:g},{read}"


def bank_runs(size: Size, banks: int) -> int:
    """Banks that are simulated, each a run."""
    return min(banks, BANKS) if size is Size.QUICK else banks * DRIVES[size]


def settings(size: Size, banks: int = BANKS) -> str:
    """The size in words."""
    smaller = scale(size, banks)
    blocks = BLOCKS // banks // smaller
    written = WRITES * PAGE_BYTES / smaller / 1e9
    return (
        f"{bank_runs(size, banks)} banks of {blocks} blocks of {BLOCK} pages of {PAGE}, {banks} to "
        f"a drive, {written:.3g} GB a drive written by the cache after "
        f"{WARMUP[size].removesuffix('x')} drive writes"
    )


def left_out(size: Size, more: str = "") -> str:
    """The parts that a size leaves out, in words."""
    if size is not Size.QUICK:
        return ""
    return f"most of each bank, of the cache and of what is written{more}"


def key(collector: str, h: float, cache: float = 4, reads: float = 0.5, reading: str = "") -> str:
    """The name of a simulation in a task."""
    return f"{collector} {h:g} {cache:g} {reads:g}{reading}"


def gain(measured: Measured, less: str, more: str) -> Value:
    """By how many percent the write amplification of ``less`` is below that of ``more``.

    Runs of the same number have the same writes: their ratios are what is averaged.
    """
    runs = (measured.result(key).run_values for key in (less, more))
    return Value.of([100 * (1 - one / other) for one, other in zip(*runs, strict=True)])


def overhead(measured: Measured, less: str, more: str) -> Value:
    """By how many percent ``less`` copies fewer pages a host write than ``more``."""
    runs = (measured.result(key).run_values for key in (less, more))
    pairs = list(zip(*runs, strict=True))
    if any(other <= 1 for _, other in pairs):
        raise NotMeasuredError("nothing was collected")
    return Value.of([100 * (1 - (one - 1) / (other - 1)) for one, other in pairs])


def gain_row(
    measured: Measured,
    label: str,
    published: float | str,
    less: str,
    more: str,
    *,
    above: float = 0,
) -> Row:
    """A row that is met if ``less`` writes over ``above`` percent less than ``more``.

    So does the end of its interval.
    """

    def judge() -> tuple[Value, Judgement]:
        value = gain(measured, less, more)
        one, other = measured.value(less), measured.value(more)
        names = (less.split(maxsplit=1)[0], more.split(maxsplit=1)[0])
        why = f"{names[0]}: {one.mean:.3f}, {names[1]}: {other.mean:.3f}"
        return value, verdicts.true(value.low > above, why)

    return row(label, published, judge)


def below_row(measured: Measured, label: str, most: float, less: str, more: str) -> Row:
    """A row that is met if the gain is below so many percent."""

    def judge() -> tuple[Value, Judgement]:
        value = gain(measured, less, more)
        why = f"{less.split(maxsplit=1)[0]} is {value.mean:.1f}% below {more.split(maxsplit=1)[0]}"
        return value, verdicts.true(value.mean < most, why)

    return row(label, f"below {most:g}", judge)


def known(result: Result) -> tuple[float, float]:
    """Zombies that the drive knows of: MB of the whole drive, and percent of what is dirty."""
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


def amplifications(
    measured: Measured, names: tuple[str, ...], of: Callable[[str], str]
) -> tuple[float | None, ...]:
    """Write amplification of each collector, nothing where it was not measured; for tables."""
    values = (measured.get(of(name)).mean for name in names)
    return tuple(None if math.isnan(value) else value for value in values)


def published_gains(claim: Claim, fact: str) -> dict[str, float]:
    """The two published gains of a claim by the collector that has them."""
    return {pair[0]: value for pair, value in zip(PAIRS, claim.facts[fact], strict=True)}
