"""The drive of ZLeanStore's simulator under each of its rules, and a database that writes in place.

The simulator gives out erased units, and collects once none is left. Its `greedy` compacts the
victim where it is, and the host writes on in it: our ``single``. Of equal units it takes the one
with the lowest number. `greedy-s2r` has a unit for copies, our ``double``. The rules of two regions
compact victims until their invalid pages make up a unit, our ``compact``; of equal units they take
the one that was filled first. `greedy-k8` takes the best of eight random units.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from flashgc.described import Simulation, simulation
from flashgc_papers.reproduce.readings import Reading
from flashgc_papers.reproduce.tasks import Size

#: The README's example: 40 GiB in units of 128 MiB, and an eighth more.
LOGICAL, UNITS = 320, 360
SPARE = 1 - LOGICAL / UNITS
#: Pages of 4 KiB of a unit; the example has 32 768.
PAGES = {Size.QUICK: 128, Size.DEFAULT: 1024, Size.FULL: 32_768}
#: Drive writes after the sequential fill; the second half of them is counted.
WRITES = {Size.QUICK: 8, Size.DEFAULT: 8, Size.FULL: 2}


class Rule(NamedTuple):
    """A rule of the simulator, as options."""

    victim: str
    frontier: str


RULES = {
    "greedy": Rule("greedy:ties=lowest", "single"),
    "greedy-s2r": Rule("greedy:ties=lowest", "double"),
    "2r-greedy": Rule("2r-greedy:ties=oldest", "compact"),
    "2r-fifo": Rule("2r-fifo", "compact"),
    "greedy-k8": Rule("d-choices:d=8", "single"),
}


def writes(theta: float) -> str:
    """The writes by Zipf's law with this exponent."""
    return f"zipf:theta={theta:g}"


def counted(size: Size) -> int:
    """The writes whose programs are counted, half of all."""
    return WRITES[size] * LOGICAL * PAGES[size] // 2


def simulator(rule: str, theta: float, size: Size) -> Simulation:
    """The simulator's drive under one of its rules."""
    victim, frontier = RULES[rule]
    return simulation(
        workload=writes(theta),
        blocks=UNITS,
        pages_per_block=PAGES[size],
        spare=SPARE,
        victim=victim,
        frontier=frontier,
        fill="sequential",
        warmup=str(counted(size)),
        writes=counted(size),
        runs=1,
    )


#: The published drive, a PM9A3, has this spare factor by its capacity (preset ``samsung-pm9a3``).
PM9A3 = 0.11303
#: Units of the part of it that is simulated, and pages of a unit.
PART = {Size.QUICK: (512, 128), Size.DEFAULT: (1024, 256), Size.FULL: (1024, 2048)}
#: The share of the drive that the doublewrite buffer goes round in. From 0.0005 to 0.03 the figure
#: differs by less than 4%.
BUFFER = 0.002


def in_place(pages: str, fill: float, reading: Reading, size: Size) -> Simulation:
    """A database that was loaded into ``fill`` of the drive, and whose pages ``pages`` writes.

    Addresses that were never written, or that were trimmed, are no addresses to the drive: it has
    those of the database alone, and more spare space.
    """
    used = 1 if reading["trimmed"] else fill
    buffer = BUFFER * used / fill if reading["doublewrite"] else 0
    database = f"{pages}{',' if ':' in pages else ':'}from={buffer:g},to={used:g}"
    if buffer:
        database = f"0.5*sequential:to={buffer:g} + 0.5*{database}"
    blocks, in_block = PART[size]
    options: dict[str, Any] = {
        "workload": database,
        "blocks": blocks,
        "pages_per_block": in_block,
        "spare": 1 - fill / used * (1 - PM9A3),
        "victim": "greedy",
        "frontier": "pool",
        "fill": "sequential",
        "runs": 1,
    }
    return simulation(**options)


def kib(amplification: float, reading: Reading) -> float:
    """KiB of flash for a page of 4 KiB that the database writes."""
    return 4 * amplification * (2 if reading["doublewrite"] else 1)
