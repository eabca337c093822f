"""WARP's emulated drives and the three streams that fio writes to them, as simulations.

Nothing is fitted: the numbers of units, the reserve and the handles are those of the emulator's
scripts and source. Its logs confirm them, for they count the units that are programmed and not
erased.

A collection of the emulator copies die by die. It begins when as many units are free as the reserve
says, and ends with one more. Each of the eight handles has a unit from the start on, also one that
nobody writes to: such a unit is as good as kept erased.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from flashgc.described import Simulation, simulation
from flashgc_papers.claims import Claim
from flashgc_papers.reproduce.tasks import Size

#: Dies that a reclaim unit has a block of.
DIES = 64
#: Handles of the emulator, each with a unit from the start on. Copies of data of initially isolated
#: handles go to that of the last.
HANDLES = 8
#: One of so many pages of a unit is simulated.
SHARES = {Size.QUICK: 64, Size.DEFAULT: 16, Size.FULL: 1}
#: The handle of the jumper, and the number of handles that are written to.
MODES = {"own handles": (2, 3), "jumper on 0": (0, 2), "no handles": (0, 1)}


class Cell(NamedTuple):
    """A published cell: the streams, the measured part of the run and its amplification."""

    #: The distribution of the jumper's writes over the first 90% of the drive.
    writes: str
    #: A name of :data:`MODES`.
    mode: str
    #: Shares of 128 KiB sequential writes to the first 90%, of the jumper, and of uniform writes to
    #: the last 10%.
    sequential: float
    jumper: float
    uniform: float
    #: Drive writes after the fill at which the measured part begins and ends.
    begin: float
    end: float
    amplification: float

    @property
    def key(self) -> str:
        """The cell in words: ``zipf 1.2, own handles``."""
        return f"{self.writes}, {self.mode}"


def cells(claim: Claim) -> list[Cell]:
    """The published cells of ``claim``."""
    return [
        Cell(str(writes), str(mode), *(float(number) for number in numbers))
        for writes, mode, *numbers in claim.rows
    ]


def drive(claim: Claim, cell: Cell, size: Size) -> Simulation:
    """The drive in the facts of ``claim`` under the streams of ``cell``."""
    units, logical = claim.facts["units"], claim.facts["logical_units"]
    options: dict[str, Any] = {
        "workload": workload(cell),
        "blocks": units * DIES,
        "pages_per_block": claim.facts["unit_pages"] // DIES // SHARES[size],
        "superblock": f"dies={DIES},planes=1",
        "copy_order": "die",
        "spare": 1 - logical / units,
        "victim": "greedy",
        "frontier": f"pool:low={low_water(claim, cell.mode)}",
        "warmup": f"{cell.begin:g}x",
        "writes": f"{cell.end - cell.begin:.3f}x",
        "runs": 1,
    }
    if cell.mode != "no handles":
        options["placement"] = placement(claim, cell.mode)
    return simulation(**options)


def workload(cell: Cell) -> str:
    """The three streams; stream *i* writes to handle *i*."""
    stream, _ = MODES[cell.mode]
    parts = [f"{cell.sequential:g}*sequential:to=0.9,stream=0"]
    parts += [
        f"{cell.jumper * share:.6f}*{writes},stream={stream}"
        for share, writes in _jumper(cell.writes)
    ]
    # The printed shares are rounded, and weights have the sum 1.
    rest = 1 - cell.sequential - cell.jumper
    parts.append(f"{rest:.4f}*uniform:from=0.9,stream=1")
    return " + ".join(parts)


def _jumper(writes: str) -> list[tuple[float, str]]:
    """The jumper's writes: shares of it, each with a generator."""
    name, _, theta = writes.partition(" ")
    if name == "zipf":
        return [(1, f"zipf:theta={theta},to=0.9")]
    if name == "zoned":
        # fio's zoned:80/20:10/20:10/60 over 90% of the drive.
        return [
            (0.8, "uniform:to=0.18"),
            (0.1, "uniform:from=0.18,to=0.36"),
            (0.1, "uniform:from=0.36,to=0.9"),
        ]
    return [(1, "uniform:to=0.9")]


def placement(claim: Claim, mode: str) -> str:
    """The handles that are written to, of the drive's type of isolation."""
    _, handles = MODES[mode]
    persistent = handles if claim.facts["persistent"] else 0
    return f"fdp:handles={handles},persistent={persistent}"


def low_water(claim: Claim, mode: str) -> int:
    """The low-water mark with which as many units are erased as in the emulator.

    To the units that the emulator keeps free it adds those of idle handles. flashgc keeps a unit
    beyond the mark for all handles' copies but the first's, the emulator does not.
    """
    _, handles = MODES[mode]
    persistent = claim.facts["persistent"]
    for_copies = handles if persistent else 1
    idle = HANDLES - handles - (not persistent)
    return int(claim.facts["free_units"] + idle - (for_copies - 1))
