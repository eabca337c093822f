"""Zombie Chasing: Figure 5 with single answers of the chosen reading changed.

Two answers are fits: the length of the earlier run, and the memory. They are changed, too. An
oracle shows how much hints could save at most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from flashgc.described import Simulation, simulation
from flashgc_papers.claims import Claim
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import Reading
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Outcome, conclude, runner
from flashgc_papers.reproduce.tasks import Measured, Size, Task, seeded
from flashgc_papers.reproduce.verdicts import Judgement, Value, Verdict
from flashgc_papers.zombie import experiment
from flashgc_papers.zombie.figures import FOUR
from flashgc_papers.zombie.tpcc import bank_runs
from flashgc_papers.zombie.tpcc import gain as counted_gain

LITERAL = experiment.READINGS[1]
#: By the name of a change: the changed answers of the reading, and the changed options of the runs.
CHANGES: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "as chosen": ({}, {}),
    "no idle phase": ({"host": ""}, {}),
    "half of the earlier run": ({"before": 70_000}, {}),
    "twice the earlier run": ({"before": 280_000}, {}),
    "two drive writes before": ({"before": None}, {}),
    "all of the memory": ({"memory": 1}, {}),
    "the lowest addresses hot": ({"scattered": False}, {}),
    "DAC promotes with every update": ({"placement": LITERAL["placement"]}, {}),
    "reads as they come": ({"options": {"queue_depth": 256}}, {}),
    "32 requests queued": ({"options": {"scheduling": "reads-first", "queue_depth": 32}}, {}),
    "perfect knowledge": ({}, {"hints": "perfect"}),
    "flushed by the age of each page": ({"host": ",start=clean,expiry=page"}, {}),
    "127 of 128 pages for data": ({}, {"pages_per_block": 127, "spare": "4.9575%"}),
}
#: The readings of a quick run.
FEW = ("as chosen", "no idle phase", "all of the memory", "DAC promotes with every update")

POINTS = (3, 6, 10, 20, 50)
_POINTS = ", ".join(map(str, POINTS))


def changes(size: Size) -> tuple[str, ...]:
    """The changes that are run at a size."""
    return FEW if size is Size.QUICK else tuple(CHANGES)


def changed(change: str) -> Reading:
    """The chosen reading with one answer changed."""
    return replace(experiment.CHOSEN, answers={**experiment.CHOSEN.answers, **CHANGES[change][0]})


def _key(change: str, name: str, h: float) -> str:
    # The collector comes first, because rows take its name from there.
    return f"{name} {h:g} {change}"


@runner("zombie.readings")
class Readings:
    """The number of statements about Figure 5 that each change leaves true."""

    def task(self, _claim: Claim, size: Size) -> Task:
        """The runs of each change, collector and h."""
        simulations: dict[str, Simulation] = {}
        for change in changes(size):
            for name in FOUR:
                for h in POINTS:
                    simulation = experiment.micro(
                        size, changed(change), name, h, **CHANGES[change][1]
                    )
                    simulations |= seeded(_key(change, name, h), simulation)
        few = f"; changes but {len(FEW)}"
        text = f"{len(changes(size))} changes; {experiment.settings(size)} unless it says otherwise"
        return Task(simulations, settings=text, left_out=experiment.left_out(size, more=few))

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge two rows for each change: the statements that hold, and write amplification."""
        rows = []
        for change in changes(measured.size):
            rows.append(self._row(measured, change))
            rows.append(self._written(measured, change))
        return conclude(claim, measured, rows, heading="change")

    @staticmethod
    def _written(measured: Measured, change: str) -> Row:
        """A row: write amplification at h = 6 is in the range that Figure 8 prints."""
        low, high = experiment.printed_range()

        def judge() -> tuple[Value, Judgement]:
            value = experiment.amplification(measured, _key(change, "ZGC-CB", 6))
            others = ", ".join(
                f"{experiment.amplification(measured, _key(change, 'ZGC-CB', h)).mean:.2f}"
                for h in POINTS
            )
            verdict, why = verdicts.within(value, low, high)
            return value, Judgement(verdict, f"{why}; at h = {_POINTS}: {others}")

        return row(f"{change}: writes of ZGC-CB at h = 6", f"{low:g} to {high:g}", judge)

    def _row(self, measured: Measured, change: str) -> Row:
        def judge() -> tuple[str, Judgement]:
            missed, texts = [], []
            for less, more in experiment.PAIRS:
                gains = {
                    h: experiment.gain(measured, _key(change, less, h), _key(change, more, h))
                    for h in POINTS
                }
                missed += [f"{less}: {text}" for text, holds in STATEMENTS if not holds(gains)]
                each = ", ".join(f"{value.mean:.0f}" for value in gains.values())
                texts.append(f"{less} {each}")
            total = len(STATEMENTS) * len(experiment.PAIRS)
            why = f"gains in % at h = {_POINTS}: {'; '.join(texts)}"
            if missed:
                why += f". Not so: {'; '.join(missed)}"
            verdict = Verdict.MISSED if missed else Verdict.MET
            return f"{total - len(missed)} of {total}", Judgement(verdict, why)

        return row(change, "all statements", judge)


Gains = Mapping[int, Value]


def _falls(gains: list[Value]) -> bool:
    names = [str(at) for at in range(len(gains))]
    return verdicts.falling(gains, names).verdict is Verdict.MET


#: The statements of section 5.2.2.
STATEMENTS: tuple[tuple[str, Callable[[Gains], bool]], ...] = (
    ("gains for h = 6 to 20", lambda g: all(g[h].low > 0 for h in (6, 10, 20))),
    ("falling with h from 6", lambda g: _falls([g[h] for h in (6, 10, 20, 50)])),
    ("below 5% at h = 50", lambda g: g[50].mean < 5),
    ("none at h = 3", lambda g: g[3].low <= 0 or g[3].mean < 5),
)


#: Horizons of the oracle, in percent of the drive's pages.
HORIZONS = (0.5, 1, 2, 5, 10, 20, 50)


def horizons(size: Size) -> tuple[float, ...]:
    """The horizons that are run at a size."""
    return HORIZONS[1:-1:2] if size is Size.QUICK else HORIZONS


def oracle_points(size: Size) -> tuple[int, ...]:
    """The h that are run at a size."""
    return (6,) if size is Size.QUICK else (6, 20)


def foreseen(size: Size, name: str, h: float, hints: str = "piggyback") -> Simulation:
    """The micro-benchmark on the drive without a clock, where an oracle can look ahead.

    Each bank is simulated as a drive, with its part of the addresses, the cache and the requests.
    """
    banks = experiment.BANKS
    rate, speed = experiment.RATE / banks, experiment.SPEED / banks
    return simulation(
        workload=f"skew:h={h:g},read=33.3333%",
        frontier="pool",
        blocks=experiment.BLOCKS // banks,
        pages_per_block=experiment.BLOCK,
        page_size=experiment.PAGE,
        spare=experiment.SPARE,
        host_cache=f"page-cache:size={4096 / banks:g}MiB,rate={rate:g},speed={speed:g}",
        hints=hints,
        warmup=experiment.WARMUP[size],
        writes=experiment.WRITES // banks,
        runs=bank_runs(size, banks),
        **experiment.collector(LITERAL, name),
    )


@runner("zombie.oracle")
class Oracle:
    """The savings by hints, compared with those of an oracle that knows all future writes."""

    def task(self, _claim: Claim, size: Size) -> Task:
        """Drives without hints, with the paper's hints, and with an oracle of each horizon."""
        ways = {f"oracle {far:g}": f"oracle:horizon={far:g}%" for far in horizons(size)}
        ways |= {"riding": "piggyback"}
        simulations = {
            f"{less} {h} {way}": foreseen(size, less, h, hints)
            for less, _ in experiment.PAIRS
            for h in oracle_points(size)
            for way, hints in ways.items()
        } | {
            f"{more} {h}": foreseen(size, more, h)
            for _, more in experiment.PAIRS
            for h in oracle_points(size)
        }
        text = (
            f"{bank_runs(size, experiment.BANKS)} banks without a clock, the lowest addresses hot, "
            f"{experiment.WARMUP[size].removesuffix('x')} drive writes before"
        )
        less = "two of the four banks" if size is Size.QUICK else ""
        return Task(simulations, settings=text, left_out=less)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge the gain of hints as a share of the oracle's gain at the oracle's best horizon."""
        rows = [
            self._row(measured, less, more, h)
            for less, more in experiment.PAIRS
            for h in oracle_points(measured.size)
        ]
        return conclude(claim, measured, rows, heading="collector")

    @staticmethod
    def _row(measured: Measured, less: str, more: str, h: int) -> Row:
        def judge() -> tuple[Value | str, Judgement]:
            saved = counted_gain(measured, f"{less} {h} riding", f"{more} {h}").mean
            foretold = {
                far: counted_gain(measured, f"{less} {h} oracle {far:g}", f"{more} {h}").mean
                for far in horizons(measured.size)
            }
            best = max(foretold.values())
            each = ", ".join(f"{value:.1f} at {far:g}%" for far, value in foretold.items())
            why = (
                f"hints save {saved:.1f}% of {more}'s writes, the oracle {each} of the drive ahead"
            )
            if not best > 0:
                return "nothing saved", Judgement(Verdict.MISSED, why)
            return Value(100 * saved / best), Judgement(
                Verdict.MET if best >= saved else Verdict.MISSED, why
            )

        return row(f"{less}, h = {h}, % of the oracle's gain", "at most all", judge)
