"""BSGC and SFL: the drive, the traces and the seven combinations of Table 4, as simulations.

The figures and claims themselves are in the module ``figures``, what becomes of the order
under other readings of the paper in ``readings``.

What the paper leaves open is read so: the drive is empty at first, and holds what its trace has
written (the only reading under which collections are as short as those of Figure 8); the central
15, 25 or 35% of the addresses get 85, 75 or 65% of the writes; ages count pages programmed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from flashgc.described import Simulation, simulation
from flashgc.results import Result, WearPoint
from flashgc_papers.claims import Claim
from flashgc_papers.reproduce.runner import Measured, NotMeasuredError, Size
from flashgc_papers.reproduce.verdicts import Judgement, Value, Verdict

#: Table 1, and the reserve and trigger in blocks.
DRIVE: Mapping[str, Any] = {
    "blocks": 2048,
    "pages_per_block": 64,
    "spare": "15%",
    "times": "read=60us,program=800us,erase=1.5ms",
}
#: 5% of 2048 blocks.
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
#: CB and CAT with ages that reach back no further than the last collection, as section II.3 says of
#: the policies before BSGC.
CAPPED = {
    "CB, capped": ("cost-benefit:age=last_collection", "fifo"),
    "CAT, capped": ("cat:age=last_collection", "fifo"),
}
#: The readings of the ages of CB and CAT, by what rows say of them: what stands for which column.
AGES: Mapping[str, Mapping[str, str]] = {
    "": {},
    ", capped ages": {"CB": "CB, capped", "CAT": "CAT, capped"},
}


def ages(size: Size, kind: str) -> Mapping[str, Mapping[str, str]]:
    """The readings of :data:`AGES` that are run.

    Where ages are capped, every collection weighs every block anew: quick runs have no such lives.
    """
    return {"": AGES[""]} if (size, kind) == (Size.QUICK, "life") else AGES


def table(size: Size, kind: str) -> dict[str, tuple[str, str]]:
    """The seven combinations, and those of the other readings of ages."""
    return {**TABLE, **(CAPPED if len(ages(size, kind)) > 1 else {})}


#: The specs of each policy, in every reading that is run.
POLICIES = {
    "GA": ("greedy",),
    "CB": ("cost-benefit:age=last_invalidate", "cost-benefit:age=last_collection"),
    "CAT": ("cat", "cat:age=last_collection"),
    "EIGC": ("eigc",),
    "BSGC": ("bsgc",),
}
#: The runs that tell the policy from the allocation: every policy with SFL.
WITH_SFL = {
    "SFL+GA": ("greedy", "sfl"),
    "SFL+CB": ("cost-benefit:age=last_invalidate", "sfl"),
    "SFL+CAT": ("cat", "sfl"),
    "SFL+EIGC": ("eigc", "sfl"),
}

#: Erases a block bears, at each size; and seeds.
ENDURANCE = {Size.QUICK: 100, Size.DEFAULT: 1000, Size.FULL: 10_000}
SEEDS = 3
#: The paper's own endurance for lives, and writes for all else.
PUBLISHED_ENDURANCE, PUBLISHED_WRITES = 1000, 100_000_000

#: Published values that differ by less than this share of the larger one have no order to check.
_SAME = 0.01


def writes(size: Size) -> int:
    """Pages written in the runs for deviation, migrations and response time."""
    return min(PUBLISHED_WRITES, PUBLISHED_WRITES * ENDURANCE[size] // PUBLISHED_ENDURANCE)


def lives(size: Size, combinations: Mapping[str, tuple[str, str]]) -> dict[str, Simulation]:
    """Runs until the system fails, by trace, combination and seed."""
    until = {"endurance": ENDURANCE[size], "until": "system-failure"}
    return _runs(size, combinations, "life", until)


def wearing(size: Size, combinations: Mapping[str, tuple[str, str]]) -> dict[str, Simulation]:
    """Runs of a number of writes on blocks that bear all of them, likewise."""
    return _runs(size, combinations, "wear", {"writes": writes(size), "warmup": "0"})


def _runs(
    size: Size, combinations: Mapping[str, tuple[str, str]], kind: str, length: Mapping[str, Any]
) -> dict[str, Simulation]:
    return {
        key(kind, trace, name, seed): simulation(
            workload=f"normal:hot={hot}",
            victim=victim,
            frontier=f"pool:low={LOW}",
            allocation=allocation,
            fill="empty",
            **DRIVE,
            **length,
            seed=seed,
        )
        for trace, hot in HOT.items()
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
    """Drive writes done, and bad blocks from then on."""
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
    """Pages copied a collection."""
    return result.copied_pages / result.collections


def response(result: Result) -> float:
    """Milliseconds of a collection: its copies and its erase."""
    assert result.busy is not None
    assert result.busy.mean_collection_us is not None
    return result.busy.mean_collection_us / 1e3


#: The figures of Table 4 by name: kind of run, how it is measured, unit.
FIGURES: dict[str, tuple[str, Callable[[Result], float], str]] = {
    "first failure": ("life", life("first_failure"), "drive writes"),
    "system failure": ("life", life("system_failure"), "drive writes"),
    "erase-count deviation": ("wear", deviation, "erases"),
    "page migrations": ("wear", migrations, "pages a collection"),
    "response time": ("wear", response, "ms"),
}


def samples(measured: Measured, figure: str, trace: str, name: str) -> list[float]:
    """A figure of one combination, a value a seed."""
    kind, measure, _ = FIGURES[figure]
    seeds = range(1, SEEDS + 1)
    return [measure(measured.result(key(kind, trace, name, seed))) for seed in seeds]


def in_percent_of_ga(measured: Measured, figure: str, trace: str, name: str) -> Value:
    """A figure in percent of GA's on the same writes."""
    ga = samples(measured, figure, trace, "GA")
    return Value.of([
        100 * one / base
        for one, base in zip(samples(measured, figure, trace, name), ga, strict=True)
    ])  # fmt: skip


def as_printed(measured: Measured, figure: str, trace: str, name: str) -> Value:
    """A figure in the unit of the paper: seconds, percent of GA's or milliseconds.

    Seconds are those for which the flash is busy, at the endurance of the paper.
    """
    kind, _, unit = FIGURES[figure]
    if kind == "life":
        scale = PUBLISHED_ENDURANCE / ENDURANCE[measured.size]
        results = (measured.result(key(kind, trace, name, seed)) for seed in range(1, SEEDS + 1))
        return Value.of([scale * busy_until(one, figure.replace(" ", "_")) for one in results])
    if unit == "ms":
        return Value.of(samples(measured, figure, trace, name))
    return in_percent_of_ga(measured, figure, trace, name)


def published(claim: Claim, trace: str) -> dict[str, float]:
    """The published figures of the seven in a row of a claim."""
    (row,) = (row for row in claim.rows if row[0] == trace)
    return dict(zip(claim.columns[1:], map(float, row[1:]), strict=True))


class Agreement:
    """The agreement of the order of measured values with that of published ones.

    Of the pairs whose published values differ by a percent of the larger one or more: how many have
    the same order, and how many the other one. The rest are not told apart by their intervals.

    >>> told = Agreement({"a": 1, "b": 2, "c": 2.01}, {"a": Value(5), "b": Value(7), "c": Value(4)})
    >>> told.pairs, told.same, told.other, told.score
    (2, 1, 1, 0.0)
    """

    def __init__(self, published: Mapping[str, float], measured: Mapping[str, Value]) -> None:
        self.pairs = self.same = self.other = 0
        names = list(published)
        for at, one in enumerate(names):
            for two in names[at + 1 :]:
                said = published[two] - published[one]
                if abs(said) < _SAME * max(published[one], published[two]):
                    continue
                self.pairs += 1
                low, high = measured[one], measured[two]
                found = high.mean - low.mean
                if abs(found) > low.ci95 + high.ci95:
                    self.same += (found > 0) == (said > 0)
                    self.other += (found > 0) != (said > 0)

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
