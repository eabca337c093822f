"""The drive of SSD-iq's simulator as simulations, with its write buffer, and the model.

The simulator's greedy collects only when no erased block is left. It compacts the victim in place
and continues to write there: one write frontier and no erased block in reserve, which is our
``single``. Among equal blocks it takes that of the lowest number.

The simulator's 2R collectors compact several victims, whose invalid pages together fill a block.
The host continues in the block that the copies do not fill: our ``compact``. Each region is a list
in the order in which its blocks were filled, and 2R-greedy takes the first of equal blocks.
"""

from __future__ import annotations

from typing import Any

from flashgc.described import Simulation, simulation
from flashgc_papers.claims import Cell
from flashgc_papers.reproduce.tasks import Computation, Measured, Size, model
from flashgc_papers.reproduce.verdicts import Value

#: The simulator's defaults: 16 GiB in blocks of 2048 pages of 4 KiB, seven eighths of them logical.
BLOCKS, PAGES, SPARE = 2048, 2048, 0.125
DRIVE = "2048 blocks of 2048 pages, S_f = 0.125, from a random fill"
GREEDY = "greedy:ties=lowest"
TWO_R_GREEDY = "2r-greedy:ties=oldest"
TWO_R_FIFO = "2r-fifo"
#: The frontier of each victim policy.
FRONTIERS = {GREEDY: "single", TWO_R_GREEDY: "compact", TWO_R_FIFO: "compact"}
#: Drive writes of the warm-up; 2R-greedy takes longer to become steady under skew.
WARMUPS = {GREEDY: 1, TWO_R_GREEDY: 8, TWO_R_FIFO: 1}
#: Drive writes per run, and the number of runs.
LENGTHS = {Size.QUICK: (1, 1), Size.DEFAULT: (10, 1), Size.FULL: (10, 8)}
#: ``LENGTHS`` with the buffer, which is slower to simulate than the drive.
BUFFERED = {**LENGTHS, Size.DEFAULT: (3, 1)}


def zones(hot: Cell) -> str:
    """A workload with this share of writes to a hot part: 0.9 is 90% of writes to 10% of pages."""
    share = float(hot)
    return "uniform" if share == 0.5 else f"hotcold:f={1 - share:g},r={share:g}"


def zipf(theta: Cell) -> str:
    """A workload by Zipf's law with the exponent ``theta``."""
    return f"zipf:theta={float(theta):g}"


def collector(victim: str, workload: str, size: Size, buffer: float = 0.0) -> Simulation:
    """A victim policy behind a write buffer for the share ``buffer`` of the pages; 0 for none."""
    writes, runs = length(size, buffer)
    options: dict[str, Any] = {
        "workload": workload,
        "blocks": BLOCKS,
        "pages_per_block": PAGES,
        "spare": SPARE,
        "victim": victim,
        "frontier": FRONTIERS[victim],
        "fill": "random",
        "warmup": f"{WARMUPS[victim]}x",
        "writes": f"{writes}x",
        "runs": runs,
    }
    if buffer:
        # The buffer evicts the least recently used page, and has no checkpoints.
        pages = int(buffer * BLOCKS * PAGES * (1 - SPARE))
        options["host_cache"] = f"buffer-cache:size={4 * pages}KiB,checkpoint=0s,pages=0"
    return simulation(**options)


def length(size: Size, buffer: float) -> tuple[int, int]:
    """The drive writes of a run of :func:`collector` after the warm-up, and the number of runs."""
    return (BUFFERED if buffer else LENGTHS)[size]


def separation(workload: str) -> Computation:
    """The best static separation of a workload's classes; Zipf is divided into 4096 classes."""
    return model(
        "separation",
        workload=workload,
        pages_per_block=PAGES,
        spare=SPARE,
        blocks=BLOCKS,
    )


def amplification(measured: Measured, key: str) -> Value:
    """Programmed pages per page that the application wrote, including buffered writes."""
    value = measured.value(key)
    host = measured.result(key).host
    if host is None:
        return value
    reached = host.drive_writes / host.writes
    return Value(value.mean * reached, value.ci95 * reached)
