"""The tests of SNIA's Performance Test Specification 2.0.2 that consist of rounds of cells."""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024

#: Sizes of the preconditioning's sequential writes, and how often they write the drive.
PRECONDITION, TIMES = 128 * KIB, 2

#: The preconditioning's writes under way.
PRECONDITION_DEPTH = 32

#: The largest share of a drive's bytes that is under way: a small drive has fewer large requests.
MOST_UNDER_WAY = 1 / 64

#: Sizes and shares of reads of the IOPS test, in its order, and those of a quick one.
IOPS_SIZES = (*(size * KIB for size in (1024, 128, 64, 32, 16, 8, 4)), 512)
IOPS_READS = (1.0, 0.95, 0.65, 0.5, 0.35, 0.05, 0.0)
QUICK_SIZES = (128 * KIB, 16 * KIB, 4 * KIB)
LATENCY_SIZES = (8 * KIB, 4 * KIB, 512)
LATENCY_READS = (1.0, 0.65, 0.0)
THROUGHPUT_SIZES = (128 * KIB, 1024 * KIB)


@dataclass(frozen=True)
class Cell:
    """Requests of one size with one share of reads."""

    size: int
    #: The share of the requests that are reads.
    reads: float

    @property
    def name(self) -> str:
        """The size and the shares of reads and writes.

        >>> Cell(4096, 0.65).name, Cell(512, 0).name
        ('4 KiB 65/35', '0.5 KiB 0/100')
        """
        reads = round(100 * self.reads)
        return f"{self.size / KIB:g} KiB {reads}/{100 - reads}"


@dataclass(frozen=True)
class Lengths:
    """The number of requests of a cell.

    SNIA's cell lasts a minute, in which a drive for servers moves about 3% of its bytes. A cell
    here moves a share of the drive's bytes, within limits on the number of requests.
    """

    share: float = 1 / 32
    least: int = 256
    most: int = 16384

    def of(self, size: int, capacity: int, depth: int) -> int:
        """The requests of ``size`` bytes of a cell on a drive of ``capacity`` bytes.

        There are four for each request under way, because the last ones meet an emptier queue.

        >>> [Lengths().of(size, 2**30, 64) for size in (2**20, 2**17, 2**12)]
        [256, 256, 8192]
        """
        wanted = int(self.share * capacity / size)
        return max(min(max(wanted, self.least), self.most), 4 * depth)


QUICK_LENGTHS = Lengths(1 / 32, 256, 8192)


@dataclass(frozen=True)
class Start:
    """The state of a drive before its rounds: a fill, which takes no time, and writes in order."""

    #: The fill of ``flashgc.run``.
    fill: str = "empty"
    #: Drive writes in order after the fill.
    times: float = TIMES


@dataclass(frozen=True)
class Life:
    """One life of a drive: its preconditioning, then rounds of cells."""

    name: str
    title: str
    #: The requests under way. A small drive has fewer of the large ones.
    depth: int
    #: The cells of a round, in their order.
    cells: tuple[Cell, ...]
    #: The cell whose figure tells whether the drive is steady.
    tracked: Cell
    #: The tracked figure: ``requests_per_second``, ``bytes_per_second`` or ``mean_us``.
    figure: str
    lengths: Lengths
    #: True if a cell goes through the drive in order of address.
    sequential: bool = False
    start: Start = Start()

    def depth_of(self, cell: Cell, capacity: int) -> int:
        """The requests of a ``cell`` that are under way."""
        return max(min(self.depth, int(MOST_UNDER_WAY * capacity / cell.size)), 1)


#: The start of a quick test at random: near the steady state of random writes.
_QUICK_START = Start("steady", 0.0)


def iops(depth: int, *, quick: bool) -> Life:
    """The IOPS test: sizes from 1024 to 0.5 KiB by seven shares of reads."""
    sizes = QUICK_SIZES if quick else IOPS_SIZES
    reads = LATENCY_READS if quick else IOPS_READS
    cells = tuple(Cell(size, share) for share in reads for size in sizes)
    lengths = QUICK_LENGTHS if quick else Lengths()
    start = _QUICK_START if quick else Start()
    return Life(
        "iops", "IOPS", depth, cells, Cell(4 * KIB, 0.0), "requests_per_second", lengths,
        start=start,
    )  # fmt: skip


def throughput(size: int, depth: int, spare: float, *, quick: bool) -> Life:
    """The throughput test: sequential requests of one ``size``.

    A quick one writes the drive and its ``spare`` flash once before, so that its rounds find no
    block erased by the purge.
    """
    cells = (Cell(size, 1.0), Cell(size, 0.0))
    lengths = Lengths(1 / 32 if quick else 1 / 8, 256, 1 << 16)
    name = f"throughput-{size // KIB}k"
    title = f"Throughput, {size // KIB} KiB"
    start = Start(times=1 / (1 - spare)) if quick else Start()
    return Life(
        name, title, depth, cells, cells[1], "bytes_per_second", lengths, sequential=True,
        start=start,
    )  # fmt: skip


def latency(*, quick: bool) -> Life:
    """The latency test: one request at a time."""
    cells = tuple(Cell(size, share) for share in LATENCY_READS for size in LATENCY_SIZES)
    lengths = Lengths(1 / 64, 256, 8192) if quick else Lengths(1 / 32, 512)
    start = _QUICK_START if quick else Start()
    return Life("latency", "Latency", 1, cells, Cell(4 * KIB, 0.0), "mean_us", lengths, start=start)
