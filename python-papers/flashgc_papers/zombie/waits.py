"""Zombie Chasing's database: how long it waits (Table 5), and how soon it writes what is dirty."""

from __future__ import annotations

from flashgc.described import Simulation
from flashgc.results import Result
from flashgc_papers.claims import Claim
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import UnderReading, runner_under
from flashgc_papers.reproduce.runner import (
    Measured,
    NotMeasuredError,
    Outcome,
    Row,
    Size,
    Task,
    conclude,
    row,
    seeded,
)
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.zombie.experiment import BANKS, PAIRS, host_of
from flashgc_papers.zombie.figures import FOUR
from flashgc_papers.zombie.timed import transactions
from flashgc_papers.zombie.tpcc import (
    RATE,
    SPARES,
    database,
    database_left_out,
    database_settings,
)

#: The events of the table, with the counts of the waits that are theirs.
EVENTS = {
    "db file sequential read": ("reads", "read_ns"),
    "free buffer wait": ("rooms", "room_ns"),
    "write complete waits": ("rewrites", "rewrite_ns"),
}


def mean_wait(result: Result, event: str) -> float:
    """Milliseconds of an event of the database, on average."""
    waits = host_of(result).waits
    if waits is None:
        raise NotMeasuredError("there was no clock")
    count, ns = (getattr(waits, name) for name in EVENTS[event])
    if not count:
        raise NotMeasuredError("no access waited")
    return float(ns / count / 1e6)


@runner_under("zombie.table5")
class Waits(UnderReading):
    """Table 5: the waits of the database."""

    def task(self, _claim: Claim, size: Size) -> Task:
        """TPC-C1 on the drive with a clock."""
        simulations: dict[str, Simulation] = {}
        for collector in FOUR:
            clocked = transactions(size, self.reading, collector, SPARES["TPC-C1"])
            simulations |= seeded(f"{collector} timed", clocked)
        return Task(simulations, settings=database_settings(size), left_out=database_left_out(size))

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge how much shorter each wait is."""
        shorter, over = [], []
        least = claim.facts["shorter"]
        for event, *waits in claim.rows:
            published = dict(zip(claim.columns[1:], map(float, waits), strict=True))
            for pair in PAIRS:
                change = 100 * (published[pair[0]] / published[pair[1]] - 1)
                label = f"{event}, {pair[0]} beside {pair[1]}, %"
                shorter.append(self._row(measured, label, round(change, 1), str(event), pair, 0))
                # The paper's own table has one wait that contradicts its sentence.
                if change < -least:
                    label = f"waits, {label}"
                    text = f"over {least:g} shorter"
                    over.append(self._row(measured, label, text, str(event), pair, least))
        notes = [
            "A read is that of a page that is not in the cache. A free buffer is waited for while "
            "the page that makes room is written. A write is waited for by an update of its page; "
            "writes leave the cache one by one.",
            *self._absolute(claim, measured),
        ]
        return conclude(claim, measured, [*shorter, *over], heading="event", notes=notes)

    @staticmethod
    def _row(
        measured: Measured,
        label: str,
        published: float | str,
        event: str,
        pair: tuple[str, str],
        least: float,
    ) -> Row:
        """A row that is met if the wait is shorter by over ``least`` percent, interval included.

        How much shorter it may be, the row of the published figure says.
        """

        def judge() -> tuple[Value, Judgement]:
            runs = (measured.runs(f"{name} timed") for name in pair)
            each = [
                100 * (mean_wait(run, event) / mean_wait(other, event) - 1)
                for run, other in zip(*runs, strict=True)
            ]
            change = Value.of(each)
            why = f"at most {change.high:+.1f}% with its interval"
            return change, verdicts.true(change.high < -least, why)

        return row(label, published, judge)

    @staticmethod
    def _absolute(claim: Claim, measured: Measured) -> list[str]:
        notes = []
        for event, *waits in claim.rows:
            try:
                means = {
                    name: Value.of(
                        [mean_wait(run, str(event)) for run in measured.runs(f"{name} timed")]
                    ).mean
                    for name in FOUR
                }
            except NotMeasuredError:
                continue
            texts = ", ".join(f"{name} {mean:.4g}" for name, mean in means.items())
            published = dict(zip(claim.columns[1:], waits, strict=True))
            wanted = ", ".join(f"{name} {wait}" for name, wait in published.items())
            notes.append(f"{str(event).capitalize()}, ms: {texts} (published: {wanted}).")
        return notes


#: Parameters of the buffer cache, by what rows say of them. Oracle's checkpoints are not
#: PostgreSQL's: they follow its log.
TIMERS = {"PostgreSQL's timers": "", "a checkpoint every 10 s": ",checkpoint=10s"}


@runner_under("zombie.written")
class Written(UnderReading):
    """Section 3.1: how soon the database writes what is dirty.

    A hint that comes so many commands late finds its page written, or not: the share of late hints
    is the share of dirty pages that are written in less time than those commands take.
    """

    def task(self, claim: Claim, size: Size) -> Task:
        """A drive for each way to write back, hinted as late as the statement says."""
        return Task(
            {
                timer: database(
                    size,
                    self.reading,
                    "GC-GD",
                    4,
                    timers=timers,
                    hints=f"perfect:late={self._late(claim)}",
                )
                for timer, timers in TIMERS.items()
            },
            settings=database_settings(size),
            left_out=database_left_out(size),
        )

    @staticmethod
    def _late(claim: Claim) -> int:
        """Commands that a bank gets in the seconds of the statement, at least.

        About half the accesses become commands. Nine twentieths leave room for chance.
        """
        return int(claim.facts["seconds"]) * RATE * 9 // (20 * BANKS)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """The share of each way."""
        rows = [self._row(claim, measured, timer) for timer in TIMERS]
        return conclude(claim, measured, rows, heading="written back with")

    def _row(self, claim: Claim, measured: Measured, published: str) -> Row:
        limit, least = claim.facts["seconds"], claim.lo

        def judge() -> tuple[Value, Judgement]:
            host = host_of(measured.result(published))
            rate = RATE / BANKS
            taken = (host.reads + host.writes) / rate
            commands = (host.drive_reads + host.drive_writes) / taken
            late = self._late(claim) / commands
            share = 100 * host.hints.late / host.hints.due
            why = f"of the pages that become dirty, within {late:.1f} s"
            # Late hints of another time than the statement's say nothing of it.
            assert least is not None
            holds = share > least and late <= limit
            return Value(share), verdicts.true(holds, why)

        return row(f"{published}, % in {limit:g} s", f"over {least:g}", judge, least=least)
