"""The outcome of a qualification: a result for each test, and the figures of a data sheet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from flashgc._documents import Document, Json, plain, read
from flashgc._summaries import Shown
from flashgc.results import Finding
from flashgc.results.parts.clock import Figures
from flashgc.results.parts.run import Snia
from flashgc.studies.qualifying.steady import Window
from flashgc.units import format_time

#: The ways in which quick tests are shorter than SNIA's.
QUICK = (
    "fewer and shorter cells, and less preconditioning; write saturation is 7 slices "
    "of a life, and JESD219 is a part; writes before them take no time"
)

#: Sizes of a data sheet's bytes and requests are decimal.
_DECIMAL = (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))


def decimal(value: float, unit: str) -> str:
    """A number with three digits and a decimal prefix, as in a data sheet.

    >>> decimal(7.68e12, "B"), decimal(168_400, ""), decimal(12, "B/s")
    ('7.68 TB', '168 k', '12 B/s')
    """
    for prefix, size in _DECIMAL:
        if value >= 0.9995 * size:
            return f"{value / size:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}".rstrip()


@dataclass(frozen=True)
class Response:
    """Response times in microseconds; of several rounds the means, and the longest of all."""

    #: The number of requests of all rounds.
    requests: int
    mean: float
    p50: float
    p99: float
    p99_9: float
    p99_99: float
    #: The longest of all rounds.
    max: float

    @classmethod
    def of(cls, figures: Figures) -> Response:
        """The response times of a class of requests."""
        return cls(
            figures.requests, figures.mean, figures.p50, figures.p99, figures.p99_9, figures.p99_99,
            figures.max,
        )  # fmt: skip

    @classmethod
    def of_rounds(cls, rounds: Sequence[Response]) -> Response:
        """The means of the figures over ``rounds``."""

        def of(name: str) -> float:
            return float(sum(getattr(each, name) for each in rounds) / len(rounds))

        return cls(
            sum(each.requests for each in rounds), of("mean"), of("p50"), of("p99"), of("p99_9"),
            of("p99_99"), max(each.max for each in rounds),
        )  # fmt: skip


@dataclass(frozen=True)
class CellResult:
    """Requests of one size and mix: means over the rounds of the window."""

    #: The bytes of a request.
    size: int
    #: The share of the requests that are reads.
    reads: float
    #: The requests under way.
    depth: int
    #: The number of requests that were measured, in all rounds of the window.
    requests: int
    requests_per_second: float
    bytes_per_second: float
    #: The mean response time.
    mean_us: float
    #: The response times of the reads; ``None`` if there are none.
    read_us: Response | None
    #: The response times of the writes; ``None`` if there are none.
    write_us: Response | None
    #: The figure that the test tracks, of this cell, in each round of the window.
    by_round: tuple[float, ...]


@dataclass(frozen=True)
class Rounds:
    """A test in rounds: the tracked figure of each, and the cells of the window."""

    name: str
    title: str
    #: The requests under way.
    depth: int
    #: The cell that is tracked, and its figure.
    tracked_cell: str
    tracked_figure: str
    #: The tracked figure of each round, from the first to the last of the window.
    tracked: tuple[float, ...]
    window: Window
    cells: tuple[CellResult, ...]
    #: True if the test was stopped before its end.
    interrupted: bool = False

    def cell(self, size: int, reads: float) -> CellResult | None:
        """The cell with this size and share of reads, if the test has it."""
        return next((cell for cell in self.cells if (cell.size, cell.reads) == (size, reads)), None)


@dataclass(frozen=True)
class Saturation:
    """Random writes on a fresh drive until they have written it several times (WSAT)."""

    #: The requests under way.
    depth: int
    #: The times that the drive was written.
    drive_writes: float
    #: Drive writes at the end of each slice of time, and the requests a second in it.
    points: tuple[tuple[float, float], ...]
    #: Drive writes at the end of each interval, and the write amplification in it.
    amplification: tuple[tuple[float, float], ...]
    #: The drive writes from which on the following figures are means.
    steady_from: float
    requests_per_second: float
    write_amplification: float
    #: SNIA's rule on five equal parts of the part from ``steady_from`` on. The test does not ask
    #: for it, and a quick one has too few parts.
    steady: Snia | None
    #: Response times of the whole test (of a quick one those of the last quarter), and of the
    #: writes that met a collection.
    write_us: Response
    collecting_us: Response | None


@dataclass(frozen=True)
class Enterprise:
    """JESD219's enterprise workload; writes before the figures take no time."""

    depth: int
    #: The times that the workload wrote the drive, which was full.
    drive_writes: float
    write_amplification: float
    requests_per_second: float
    bytes_per_second: float
    read_us: Response | None
    write_us: Response | None


@dataclass(frozen=True)
class AtDepth:
    """Random requests of 4 KiB with this many under way."""

    depth: int
    read: bool
    requests_per_second: float
    mean_us: float
    p99_us: float
    p99_9_us: float


@dataclass(frozen=True)
class Endurance:
    """The bytes that a host may write until the flash has had its erases."""

    #: Program and erase cycles of a block. 1000 if none are given.
    cycles: int
    #: True if the cycles were given.
    given: bool
    #: The test that the write amplification is from, and the write amplification.
    workload: str
    write_amplification: float
    #: Cycles x flash / write amplification.
    terabytes_written: float
    #: Drive writes a day over ``years``.
    drive_writes_per_day: float
    years: int


@dataclass(frozen=True)
class Worked:
    """The rate of random writes by hand: sequential rate / (write amplification x 4 KiB)."""

    requests_per_second: float
    #: The simulated rate over this one.
    ratio: float


@dataclass(frozen=True)
class Line:
    """A line of the data sheet."""

    name: str
    value: str
    test: str


@dataclass(frozen=True, repr=False)
class Qualification(Document):
    """The tests of one drive."""

    name: str
    #: The command without ``--tests``.
    command: str
    version: str
    seed: int
    quick: bool
    #: True if the work was stopped; tests that are missing were not completed.
    interrupted: bool
    #: The tests that were asked for.
    tests: tuple[str, ...]
    #: The bytes of the whole drive for its host.
    drive_bytes: float
    #: The bytes that were simulated, and those of them that the tests use.
    logical_bytes: int
    used_bytes: int
    #: The share of the flash that is spare, beside parity.
    spare: float
    #: The bytes of a mapping unit.
    mapping_unit: int
    rounds: tuple[Rounds, ...] = ()
    wsat: Saturation | None = None
    jesd219: Enterprise | None = None
    depth: tuple[AtDepth, ...] = ()
    endurance: Endurance | None = None
    worked: Worked | None = None
    #: The reasons why tests cannot run on this drive.
    refused: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    @classmethod
    def from_dict(cls, raw: Mapping[str, Json]) -> Qualification:
        """Read the document that :meth:`to_dict` makes."""
        return read(cls, raw)

    def to_dict(self) -> dict[str, Json]:
        """All of it as plain Python values, with the keys of the JSON document."""
        qualification: dict[str, Json] = {
            name: plain(value) for name, value in vars(self).items() if not name.startswith("_")
        }
        return qualification

    def of(self, name: str) -> Rounds | None:
        """The test in rounds with this name, if it has a result."""
        return next((test for test in self.rounds if test.name == name), None)

    def lines(self) -> Iterator[Line]:
        """The lines of the data sheet."""
        for kib in (128, 1024):
            test = self.of(f"throughput-{kib}k")
            for cell in test.cells if test else ():
                kind = "read" if cell.reads else "write"
                rate = decimal(cell.bytes_per_second, "B/s")
                yield Line(f"sequential {kind}, {kib} KiB", rate, "throughput")
        for read_ in (True, False):
            kind = "read" if read_ else "write"
            best = max(
                (cell for cell in self.depth if cell.read == read_),
                key=lambda cell: cell.requests_per_second, default=None,
            )  # fmt: skip
            if best is not None:
                rate = f"{decimal(best.requests_per_second, '')} at depth {best.depth}"
                yield Line(f"random {kind}, 4 KiB, /s", rate, "depth")
        iops = self.of("iops")
        for share, kind in ((1.0, "read"), (0.65, "65/35"), (0.0, "write")):
            result = iops.cell(4096, share) if iops else None
            if result is not None and iops is not None:
                rate = f"{decimal(result.requests_per_second, '')} at depth {iops.depth}"
                yield Line(f"IOPS test, 4 KiB {kind}, /s", rate, "iops")
        if self.wsat is not None:
            rate = f"{decimal(self.wsat.requests_per_second, '')} at depth {self.wsat.depth}"
            yield Line("saturated write, 4 KiB, /s", rate, "wsat")
            yield Line("  write amplification", f"{self.wsat.write_amplification:.2f}", "wsat")
            if self.worked is not None:
                rate = decimal(self.worked.requests_per_second, "")
                value = f"{rate}, {self.worked.ratio:.2f}"
                yield Line("  rate by hand, and share of it", value, "wsat")
            if self.wsat.collecting_us is not None:
                met = self.wsat.collecting_us
                times = f"{format_time(met.p99)}, {format_time(met.p99_9)}"
                yield Line("  under collections, p99, p99.9", times, "wsat")
        latency = self.of("latency")
        for share, kind in ((1.0, "read"), (0.0, "write")):
            result = latency.cell(4096, share) if latency else None
            each = None if result is None else result.read_us if share else result.write_us
            if each is not None:
                times = f"{format_time(each.mean)}, {format_time(each.p99_9)}"
                yield Line(f"{kind} latency, 4 KiB, mean, p99.9", times, "latency")
        if self.jesd219 is not None:
            yield Line(
                "JESD219, write amplification", f"{self.jesd219.write_amplification:.2f}",
                "jesd219",
            )  # fmt: skip
        if self.endurance is not None:
            life = self.endurance
            for_ = "" if life.given else " per 1000 cycles"
            yield Line(
                f"written in a life ({life.workload})",
                f"{decimal(life.terabytes_written * 1e12, 'B')}{for_}", life.workload,
            )  # fmt: skip
            yield Line(
                f"drive writes a day, {life.years} years",
                f"{life.drive_writes_per_day:.2g}{for_}", life.workload,
            )  # fmt: skip

    def _shown(self) -> Shown:
        return Shown(
            f"qualification of {self.name}", [(line.name, line.value) for line in self.lines()]
        )
