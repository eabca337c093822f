"""BSGC and SFL: the drive, the traces and the seven combinations of Table 4, as simulations.

The figures and claims are in the module ``figures``. The module ``readings`` compares the order
under other readings of the paper.

The drive is empty at first, and holds only the data that its trace has written. Under no other
reading are collections as short as those of Figure 8. Other points that the paper leaves open are
in :data:`READINGS`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

from flashgc.described import Simulation, simulation
from flashgc.results import Result, WearPoint
from flashgc_papers.claims import Claim
from flashgc_papers.published import Drawing
from flashgc_papers.reproduce.readings import Reading, readings_of
from flashgc_papers.reproduce.runner import Figure, Table
from flashgc_papers.reproduce.tasks import Measured, NotMeasuredError, Size
from flashgc_papers.reproduce.verdicts import Judgement, Value, Verdict


def traces(shares: Mapping[str, float]) -> Figure:
    """Figure 4: the distribution of writes in the three traces, by their hot shares."""
    points = [at / 200 for at in range(1, 200)]
    cells = tuple(
        (trace, 100 * at, density(hot, at)) for trace, hot in shares.items() for at in points
    )

    def draw() -> Drawing:
        from flashgc.plot import Series, against

        series = [
            Series(
                f"{trace}, {hot * 100:.0f}% hot",
                [100 * at for at in points],
                [density(hot, at) for at in points],
            )
            for trace, hot in shares.items()
        ]
        return against(series, x_label="address (% of all)", y_label="writes a page, mean 1")

    table = Table(("trace", "address", "writes a page"), cells)
    return Figure("bsgc.fig4", "the three traces as they are read: writes by address", table, draw)


def density(hot: float, at: float) -> float:
    """Writes of the page at the share ``at`` of the addresses, divided by the mean of all pages.

    The writes follow a normal distribution that is cut at both ends. The central share ``hot`` of
    the addresses gets the share 1 - ``hot`` of the writes.

    >>> round(density(0.15, 0.5), 2), round(density(0.15, 0.575) / density(0.15, 0.5), 2)
    (7.66, 0.35)
    """
    half = half_width(hot)
    z = 2 * half * (at - 0.5)
    inside = math.erf(half / math.sqrt(2))
    return 2 * half * math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / inside


def half_width(hot: float) -> float:
    """Standard deviations from the middle to either end of the addresses, for a share ``hot``."""
    high = 1.0
    while central(hot, high) < 1 - hot:
        high *= 2
    return _least(lambda half: central(hot, half) >= 1 - hot, 1e-3, high)


def central(hot: float, half: float) -> float:
    """The share of the writes that go to the central share ``hot`` of the addresses.

    The addresses end ``half`` standard deviations to each side of the middle.
    """
    return math.erf(hot * half / math.sqrt(2)) / math.erf(half / math.sqrt(2))


def hot_of_deviation(sigma: float) -> float:
    """The central share h of the addresses that gets 1 - h of the writes.

    ``sigma`` is the standard deviation, as a share of the addresses.

    >>> [round(hot_of_deviation(one), 4) for one in (0.048, 0.15)]
    [0.1412, 0.3064]
    """
    half = 0.5 / sigma  # Standard deviations from the middle to either end of the addresses.
    return round(_least(lambda hot: central(hot, half) >= 1 - hot, 0.0, 0.5), 6)


def _least(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The least number for which ``holds`` is true; it is false at ``low`` and true at ``high``."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


#: The drive of Table 1, with its reserve and the trigger of collections.
DRIVE: Mapping[str, Any] = {
    "blocks": 2048,
    "pages_per_block": 64,
    "spare": "15%",
    "times": "read=60us,program=800us,erase=1.5ms",
}
#: The number of free blocks below which collections start: 5% of 2048.
LOW = 102
#: Table 2: the share of the addresses that is hot.
HOT = {"trace1": 0.15, "trace2": 0.25, "trace3": 0.35}
#: The columns of Table 4: victim policy, with the age that section II.2 gives it, and allocation.
TABLE = {
    "GA": ("greedy", "fifo"),
    "CB": ("cost-benefit:age=last_invalidate", "fifo"),
    "CAT": ("cat", "fifo"),
    "FIFO+EIGC": ("eigc", "fifo"),
    "LIF+EIGC": ("eigc", "lowest-erase"),
    "FIFO+BSGC": ("bsgc", "fifo"),
    "SFL+BSGC": ("bsgc", "sfl"),
}
#: Further combinations: every policy with SFL, to separate the effects of policy and allocation.
#: Each has the policy of the column of ``TABLE`` that stands beside it.
WITH_SFL = {
    "SFL+GA": "GA",
    "SFL+CB": "CB",
    "SFL+CAT": "CAT",
    "SFL+EIGC": "FIFO+EIGC",
}

#: The paper leaves open what the hot ratio of a normal distribution is, how much the drive holds,
#: what an age is and whether BSGC's averages count from 0. The first reading is the chosen one.
READINGS = readings_of("bsgc")


def hot(reading: Reading) -> Mapping[str, float]:
    """The share of the addresses that is hot, by trace."""
    deviations: Mapping[str, float] | None = reading["deviations"]
    if deviations is None:
        return dict(reading["hot"])
    return {trace: hot_of_deviation(sigma) for trace, sigma in deviations.items()}


def table(reading: Reading) -> dict[str, tuple[str, str]]:
    """The seven combinations under a reading: victim policy and allocation."""
    return {
        name: (reading["victims"].get(name, victim), allocation)
        for name, (victim, allocation) in TABLE.items()
    }


def with_sfl(reading: Reading) -> dict[str, tuple[str, str]]:
    """The combinations of :data:`WITH_SFL`."""
    return {name: (table(reading)[of][0], "sfl") for name, of in WITH_SFL.items()}


#: CB and CAT with ages that begin at the last collection at the earliest, as section II.3 says
#: of the policies before BSGC.
CAPPED = {"CB": "cost-benefit:age=last_collection", "CAT": "cat:age=last_collection"}

#: The erases that a block bears, at each size, and the number of seeds.
ENDURANCE = {Size.QUICK: 100, Size.DEFAULT: 1000, Size.FULL: 10_000}
SEEDS = 3
#: The paper's endurance for lifetimes, and its number of writes for all other figures.
PUBLISHED_ENDURANCE, PUBLISHED_WRITES = 1000, 100_000_000

#: Published values that differ by less than this share of the larger one have no order to check.
_SAME = 0.01


def writes(size: Size) -> int:
    """Pages written in the runs for deviation, migrations and response time."""
    return min(PUBLISHED_WRITES, PUBLISHED_WRITES * ENDURANCE[size] // PUBLISHED_ENDURANCE)


def lives(
    size: Size, reading: Reading, combinations: Mapping[str, tuple[str, str]]
) -> dict[str, Simulation]:
    """Runs until the system fails, by trace, combination and seed."""
    until = {"endurance": ENDURANCE[size], "until": "system-failure"}
    return _runs(reading, combinations, "life", until)


def wearing(
    size: Size, reading: Reading, combinations: Mapping[str, tuple[str, str]]
) -> dict[str, Simulation]:
    """Runs of a fixed length on blocks that do not wear out, by trace, combination and seed."""
    return _runs(reading, combinations, "wear", {"writes": writes(size), "warmup": "0"})


def _runs(
    reading: Reading,
    combinations: Mapping[str, tuple[str, str]],
    kind: str,
    length: Mapping[str, Any],
) -> dict[str, Simulation]:
    return {
        key(kind, trace, name, seed): simulation(
            workload=f"normal:hot={share:.6g}",
            victim=victim,
            frontier=f"pool:low={LOW}",
            allocation=allocation,
            fill="empty",
            **{**DRIVE, "spare": reading["spare"].get(trace, DRIVE["spare"])},
            **length,
            seed=seed,
        )
        for trace, share in hot(reading).items()
        for name, (victim, allocation) in combinations.items()
        for seed in range(1, SEEDS + 1)
    }


def key(kind: str, trace: str, name: str, seed: int) -> str:
    """The name of a simulation in a task."""
    return f"{kind} {trace} {name} {seed}"


def life(end: str) -> Callable[[Result], float]:
    """Drive writes until ``first_failure`` or ``system_failure``."""

    def measure(result: Result) -> float:
        failure = None if result.lifetime is None else result.lifetime.of(end)
        if failure is None:
            raise NotMeasuredError(f"the run did not come to its {end.replace('_', ' ')}")
        return failure.drive_writes

    return measure


def busy_until(result: Result, end: str) -> float:
    """Seconds that the flash was busy until ``first_failure`` or ``system_failure``."""
    assert result.lifetime is not None
    failure = result.lifetime.of(end)
    assert failure is not None
    assert failure.busy_seconds is not None
    return failure.busy_seconds


def failures(result: Result) -> tuple[tuple[float, int], ...]:
    """Pairs of drive writes and the number of bad blocks from then on."""
    assert result.lifetime is not None
    return result.lifetime.failures


def deviation(result: Result) -> float:
    """Standard deviation of the erase counts."""
    assert result.wear is not None
    return result.wear.deviation


def series(result: Result) -> tuple[WearPoint, ...]:
    """The wear of the first run over time."""
    assert result.wear is not None
    return result.wear.series


def migrations(result: Result) -> float:
    """Pages copied per collection."""
    return result.copied_pages / result.collections


def response(result: Result) -> float:
    """Milliseconds of a collection: its copies and its erase."""
    assert result.busy is not None
    assert result.busy.mean_collection_us is not None
    return result.busy.mean_collection_us / 1e3


#: The figures of Table 4 by name: the kind of run, the function that measures the figure, its unit.
FIGURES: dict[str, tuple[str, Callable[[Result], float], str]] = {
    "first failure": ("life", life("first_failure"), "drive writes"),
    "system failure": ("life", life("system_failure"), "drive writes"),
    "erase-count deviation": ("wear", deviation, "erases"),
    "page migrations": ("wear", migrations, "pages a collection"),
    "response time": ("wear", response, "ms"),
}


def samples(measured: Measured, figure: str, trace: str, name: str) -> list[float]:
    """The values of a figure for one combination, one value for each seed."""
    kind, measure, _ = FIGURES[figure]
    seeds = range(1, SEEDS + 1)
    return [measure(measured.result(key(kind, trace, name, seed))) for seed in seeds]


def in_percent_of_ga(measured: Measured, figure: str, trace: str, name: str) -> Value:
    """A figure in percent of GA's figure, seed by seed on the same writes."""
    ga = samples(measured, figure, trace, "GA")
    return Value.of([
        100 * value / base
        for value, base in zip(samples(measured, figure, trace, name), ga, strict=True)
    ])  # fmt: skip


def as_printed(measured: Measured, figure: str, trace: str, name: str) -> Value:
    """A figure in the unit of the paper: seconds, percent of GA's or milliseconds.

    A life in seconds is the time for which the flash is busy, scaled to the paper's endurance.
    """
    kind, _, unit = FIGURES[figure]
    if kind == "life":
        scale = PUBLISHED_ENDURANCE / ENDURANCE[measured.size]
        results = (measured.result(key(kind, trace, name, seed)) for seed in range(1, SEEDS + 1))
        return Value.of(
            [scale * busy_until(result, figure.replace(" ", "_")) for result in results]
        )
    if unit == "ms":
        return Value.of(samples(measured, figure, trace, name))
    return in_percent_of_ga(measured, figure, trace, name)


def published(claim: Claim, trace: str) -> dict[str, float]:
    """The published figures of the seven combinations for a trace."""
    (row,) = (row for row in claim.rows if row[0] == trace)
    return dict(zip(claim.columns[1:], map(float, row[1:]), strict=True))


class Agreement:
    """The agreement of the order of measured values with that of published ones.

    A pair counts only if its published values differ by at least a percent of the larger one.
    ``same`` and ``other`` are the numbers of pairs with the published and with the reverse
    order. The intervals of all other pairs overlap.

    >>> told = Agreement({"a": 1, "b": 2, "c": 2.01}, {"a": Value(5), "b": Value(7), "c": Value(4)})
    >>> told.pairs, told.same, told.other, told.score
    (2, 1, 1, 0.0)
    """

    def __init__(self, published: Mapping[str, float], measured: Mapping[str, Value]) -> None:
        self.pairs = self.same = self.other = 0
        names = list(published)
        for at, first in enumerate(names):
            for two in names[at + 1 :]:
                distance = published[two] - published[first]
                if abs(distance) < _SAME * max(published[first], published[two]):
                    continue
                self.pairs += 1
                low, high = measured[first], measured[two]
                difference = high.mean - low.mean
                if abs(difference) > low.ci95 + high.ci95:
                    self.same += (difference > 0) == (distance > 0)
                    self.other += (difference > 0) != (distance > 0)

    @property
    def score(self) -> float:
        """Kendall's tau over these pairs: 1 for the published order, -1 for its reverse."""
        return (self.same - self.other) / self.pairs

    def judge(self) -> Judgement:
        """Met if every pair has the published order."""
        apart = self.pairs - self.same - self.other
        why = f"{self.same} of {self.pairs} pairs as published"
        if self.other:
            why += f", {self.other} the other way"
        if apart:
            why += f", {apart} not told apart"
        verdict = Verdict.MET if self.same == self.pairs else Verdict.MISSED
        return Judgement(verdict, f"{why}: tau {self.score:+.2f}")


def ordered(values: Mapping[str, float]) -> str:
    """Names in the order of their values.

    >>> ordered({"b": 2, "a": 1, "c": 2})
    'a < b = c'
    """
    names = sorted(values, key=lambda name: values[name])
    text = names[0]
    for before, name in itertools.pairwise(names):
        text += f" {'=' if values[before] == values[name] else '<'} {name}"
    return text
