"""Zombie Chasing's TPC-C, on a generator of the page accesses of such a database."""

from __future__ import annotations

import math
import statistics
from functools import partial

from flashgc.described import Simulation, simulation
from flashgc_papers.claims import Claim
from flashgc_papers.published import Bars, Drawing, bars
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import Reading, UnderReading, runner_under
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Figure, Outcome, Table, conclude
from flashgc_papers.reproduce.tasks import Measured, Size, Task, measured_or, seeded
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.zombie import experiment
from flashgc_papers.zombie.figures import FOUR
from flashgc_papers.zombie.timed import seconds, transactions

#: Spare factors of Table 4: 31.6 GB are 9.7% and 19% more than databases of 28.8 and 26.5 GB.
SPARES = {"TPC-C1": "8.84%", "TPC-C2": "16.1%"}
#: Page accesses a second. With this rate and PostgreSQL's timers, about 2 GB of the cache of 4 GB
#: are dirty. The paper's zombies, 1.28 GB and 70% of the dirty pages, mean 1.83 GB of dirty pages.
RATE = 20_000

#: The delay of the paper's daemon, which follows the log, in commands of a bank. It is a fit: with
#: it, the drive knows 70% of the dirty pages, as in the paper.
DELAY = 32_000


#: The number of simulated drives of four or sixteen banks; each bank is a run.
DRIVES = {Size.DEFAULT: 1, Size.FULL: 4}


def database(
    size: Size,
    reading: Reading,
    name: str,
    cache: float,
    of: str = "TPC-C1",
    *,
    banks: int = experiment.BANKS,
    timers: str = "",
    hints: str = "piggyback",
) -> Simulation:
    """TPC-C with as many warehouses as fill a bank, ``cache`` in GiB for all banks.

    The drive is a counting drive here, so each bank is simulated alone, with its part of the
    addresses, the cache and the request rate. ``timers`` are parameters of the buffer cache.
    """
    cached = f"buffer-cache:size={cache * 1024 / banks:g}MiB,rate={RATE / banks:g}{timers}"
    return simulation(
        workload="tpcc:fill=72%",
        frontier="pool",
        blocks=experiment.BLOCKS // banks,
        pages_per_block=experiment.BLOCK,
        page_size=experiment.PAGE,
        spare=SPARES[of],
        host_cache=cached,
        hints=hints,
        warmup=experiment.WARMUP[size],
        writes=2 * experiment.WRITES // banks,
        runs=bank_runs(size, banks),
        **experiment.collector(reading, name),
    )


def bank_runs(size: Size, banks: int) -> int:
    """The number of simulated banks, each a run; the quick size has two, for an interval."""
    return 2 if size is Size.QUICK else banks * DRIVES[size]


def gain(measured: Measured, less: str, more: str) -> Value:
    """The percentage by which the write amplification of ``less`` is below that of ``more``.

    Runs with the same number have the same writes, so runs are compared in pairs.
    """
    return experiment.saved(*(measured.result(key).run_values for key in (less, more)))


#: A row of a gain on the drive without a clock, whose runs are one simulation.
gain_row = partial(experiment.gain_row, gained=gain, figure=Measured.value)


def database_left_out(size: Size, banks: int = experiment.BANKS, more: str = "") -> str:
    """The parts that a size leaves out, in words."""
    if size is not Size.QUICK:
        return ""
    return f"all banks but two of {banks}; with a clock all but one{more}"


def database_settings(size: Size, banks: int = experiment.BANKS) -> str:
    """The size in words."""
    blocks = experiment.BLOCKS // banks
    warehouses = round(81 * blocks / 4096)
    return (
        f"{bank_runs(size, banks)} banks of {blocks} blocks of {experiment.BLOCK} pages of "
        f"{experiment.PAGE}, {warehouses} warehouses each, a buffer cache with PostgreSQL's timers"
    )


def _key(name: str, collector: str, cache: float) -> str:
    return f"{collector} {name} {cache:g}"


def _rate(
    measured: Measured, label: str, published: float | str, above: float, less: str, more: str
) -> Row:
    """A row: ``less`` has over ``above`` percent more transactions a second than ``more``."""

    def judge() -> tuple[Value, Judgement]:
        taken = [seconds(measured, name) for name in (less, more)]
        value = Value.of([100 * (slow / fast - 1) for fast, slow in zip(*taken, strict=True)])
        means = [statistics.fmean(times) for times in taken]
        why = f"as many in {means[0]:.0f} s as {more.partition(' ')[0]} in {means[1]:.0f} s"
        return value, verdicts.over(value, above, why)

    return row(label, published, judge, least=above or None)


@runner_under("zombie.tpcc")
class Database(UnderReading):
    """Figure 10, and the larger reserve of Figure 11 on four banks."""

    def task(self, claim: Claim, size: Size) -> Task:
        """A drive for each collector, cache size and database."""
        points = [("TPC-C1", cache) for cache in claim.facts["caches"]]
        points.append(("TPC-C2", claim.facts["caches"][-1]))
        simulations = {
            _key(name, collector, cache): database(size, self.reading, collector, cache, name)
            for name, cache in points
            for collector in FOUR
        }
        for collector in ("ZGC-GD", "ZGC-CB"):
            late = f"piggyback:late={DELAY}"
            simulations[f"{collector} late"] = database(
                size, self.reading, collector, claim.facts["caches"][-1], hints=late
            )
        for collector in FOUR:
            clocked = transactions(size, self.reading, collector, SPARES["TPC-C1"])
            simulations |= seeded(f"{collector} timed", clocked)
        return Task(
            simulations,
            settings=database_settings(size),
            left_out=database_left_out(size),
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge the gains, their growth with the cache, and the zombies that the drive knows."""
        small, large = claim.facts["caches"]
        rows = []
        for (less, more), published in zip(experiment.PAIRS, claim.facts["gains"], strict=True):
            label = f"{less} below {more}, TPC-C1, cache {large} GiB, %"
            keys = [_key("TPC-C1", collector, large) for collector in (less, more)]
            rows.append(gain_row(measured, label, published, *keys))
            rows.append(self._less(measured, less, more, small, large))
            label = f"{less} below {more}, TPC-C2, cache {large} GiB, %"
            keys = [_key("TPC-C2", collector, large) for collector in (less, more)]
            rows.append(gain_row(measured, label, "a gain", *keys))
            label = f"{less} below {more}, TPC-C1, with a late log daemon, %"
            keys = [f"{less} late", _key("TPC-C1", more, large)]
            rows.append(gain_row(measured, label, "a gain", *keys))
        rows.append(self._known(claim, measured, large))
        for (less, more), published in zip(
            experiment.PAIRS, claim.facts["transactions"], strict=True
        ):
            label = f"{less}, more transactions a second, %"
            rows.append(_rate(measured, label, published, 0, f"{less} timed", f"{more} timed"))
        return conclude(claim, measured, rows, notes=self._daemon(measured))

    @staticmethod
    def _daemon(measured: Measured) -> list[str]:
        """The knowledge of the drive if the daemon that follows the log is late."""
        late = measured_or(None, lambda: experiment.known(measured.result("ZGC-GD late")))
        if late is None:
            return []
        volume, share = late
        return [
            f"With a log daemon that is {DELAY} commands of a bank late, a fit, {share:.0f}% of "
            f"the dirty pages are known, {volume:.0f} MB of zombies."
        ]

    @staticmethod
    def _less(measured: Measured, less: str, more: str, small: float, large: float) -> Row:
        def judge() -> tuple[str, Judgement]:
            first, other = (
                gain(measured, _key("TPC-C1", less, cache), _key("TPC-C1", more, cache))
                for cache in (small, large)
            )
            text = f"{first.mean:.1f} to {other.mean:.1f}"
            names = (f"{small} GiB", f"{large} GiB")
            return text, verdicts.below(first, other, names)

        return row(f"{less}, gain from {small} to {large} GiB, %", "rises", judge)

    @staticmethod
    def _known(claim: Claim, measured: Measured, large: float) -> Row:
        def judge() -> tuple[Value, Judgement]:
            volume, share = experiment.known(measured.result(_key("TPC-C1", "ZGC-GD", large)))
            about = claim.facts["known"]
            holds = abs(share - about) <= about / 10
            return Value(share), verdicts.true(holds, f"{volume:.0f} MB of zombies known")

        return row("share of dirty pages known, %, about", claim.facts["known"], judge)


@runner_under("zombie.fig11")
class SixteenBanks(UnderReading):
    """Figure 11: both databases on sixteen banks."""

    def task(self, claim: Claim, size: Size) -> Task:
        """A drive for each collector and database, without and with a clock."""
        banks, cache = claim.facts["banks"], claim.facts["cache"]
        simulations: dict[str, Simulation] = {}
        for name, spare in SPARES.items():
            for collector in FOUR:
                simulations[_key(name, collector, cache)] = database(
                    size, self.reading, collector, cache, name, banks=banks
                )
                if size is not Size.QUICK:
                    clocked = transactions(size, self.reading, collector, spare, banks)
                    simulations |= seeded(f"{collector} {name} timed", clocked)
        return Task(
            simulations,
            settings=database_settings(size, banks),
            left_out=database_left_out(size, banks, "; all times"),
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge the gains in write amplification and in transactions, with both databases."""
        cache, better = claim.facts["cache"], claim.facts["better"]
        rows = []
        for name in SPARES:
            above = better if name == "TPC-C2" else 0
            text = f"over {above}" if above else "a gain"
            for less, more in experiment.PAIRS:
                label = f"{name}, {less} below {more}, %"
                keys = [_key(name, collector, cache) for collector in (less, more)]
                rows.append(gain_row(measured, label, text, *keys, above=above))
                if measured.size is Size.QUICK:
                    continue
                names = f"{less} {name} timed", f"{more} {name} timed"
                label = f"{name}, {less}, more transactions a second, %"
                rows.append(_rate(measured, label, text, above, *names))
        return conclude(claim, measured, rows, figures=self._figures(claim, measured))

    @staticmethod
    def _figures(claim: Claim, measured: Measured) -> list[Figure]:
        """Write amplification and transactions of the four collectors, as the paper's bars."""
        cache = claim.facts["cache"]
        lines = []
        for name in SPARES:
            for collector in FOUR:
                written = measured.get(_key(name, collector, cache))
                base, taken = (
                    measured_or([math.nan], partial(seconds, measured, f"{each} {name} timed"))
                    for each in ("GC-GD", collector)
                )
                faster = statistics.fmean(base) / statistics.fmean(taken)
                lines.append((name, collector, written.mean, written.ci95, faster))
        columns = ("database", "collector", "write amplification", "ci95")
        data = Table((*columns, "transactions, GC-GD = 1"), tuple(lines))
        caption = "TPC-C on sixteen banks: write amplification, and transactions a second"
        return [Figure("zombie.fig11.banks", caption, data, partial(_bars, data))]


def _bars(data: Table) -> Drawing:
    databases = list(dict.fromkeys(str(line[0]) for line in data.rows))

    def panel(value: int, half: int | None) -> Bars:
        series = {
            collector: [
                (float(line[value] or 0), 0.0 if half is None else float(line[half] or 0))
                for line in data.rows
                if line[1] == collector
            ]
            for collector in FOUR
        }
        return Bars(data.columns[value], databases, series)

    timed = (
        [panel(4, None)] if any(not math.isnan(float(line[4] or 0)) for line in data.rows) else []
    )
    return bars([panel(2, 3), *timed], "database")
