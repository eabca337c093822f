"""Zombie Chasing's database: how long it waits (Table 5), and how soon it writes what is dirty."""

from __future__ import annotations

from flashgc.described import Simulation
from flashgc.results import Result
from flashgc_papers.claims import Claim
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import Reading, runner_under
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
from flashgc_papers.zombie.experiment import BANKS, PAIRS, READINGS, host_of
from flashgc_papers.zombie.figures import FOUR
from flashgc_papers.zombie.timed import transactions
from flashgc_papers.zombie.tpcc import (
    RATE,
    SPARES,
    database,
    database_left_out,
    database_settings,
)

#: Microseconds of a request that memory serves: the default of the cache.
MEMORY = 5


def read_wait(result: Result) -> float:
    """Milliseconds that an access waits whose page is not in the cache."""
    if result.timing is None or (every := result.timing.latency_us.all) is None:
        raise NotMeasuredError("there was no clock")
    host = host_of(result)
    hits = every.requests - host.drive_reads
    return (every.mean * every.requests - MEMORY * hits) / host.drive_reads / 1e3


@runner_under(READINGS, "zombie.table5")
class Waits:
    """Table 5: the waits of the database."""

    #: The event that is measured; what the cache here does not tell apart from it.
    READ = "db file sequential read"

    def __init__(self, reading: Reading) -> None:
        self.reading = reading

    def task(self, _claim: Claim, size: Size) -> Task:
        """TPC-C1 on the drive with a clock."""
        simulations: dict[str, Simulation] = {}
        for one in FOUR:
            clocked = transactions(size, self.reading, one, SPARES["TPC-C1"])
            simulations |= seeded(f"{one} timed", clocked)
        return Task(simulations, settings=database_settings(size), left_out=database_left_out(size))

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge how much shorter each wait is."""
        rows = []
        for event, *waits in claim.rows:
            published = dict(zip(claim.columns[1:], map(float, waits), strict=True))
            for less, more in PAIRS:
                change = 100 * (published[less] / published[more] - 1)
                label = f"{event}, {less} beside {more}, %"
                rows.append(
                    self._shorter(measured, label, str(event), round(change, 1), less, more)
                )
        for less, more in PAIRS:
            rows.append(self._over(measured, claim.facts["shorter"], less, more))
        notes = [
            "The wait is that of an access whose page is not in the cache. A page that must be "
            "written before its place is free is waited for in it, the free buffer wait; no access "
            "here waits for a page because it is being written.",
            *self._absolute(claim, measured),
        ]
        return conclude(claim, measured, rows, heading="event", notes=notes)

    @staticmethod
    def _change(measured: Measured, less: str, more: str) -> Value:
        runs = (measured.runs(f"{name} timed") for name in (less, more))
        pairs = zip(*runs, strict=True)
        return Value.of([100 * (read_wait(one) / read_wait(other) - 1) for one, other in pairs])

    def _shorter(
        self, measured: Measured, label: str, event: str, published: float, less: str, more: str
    ) -> Row:
        def judge() -> tuple[Value, Judgement]:
            if event != self.READ:
                raise NotMeasuredError("the cache here does not tell this wait from that of a read")
            change = self._change(measured, less, more)
            return change, verdicts.true(change.high < 0, "")

        return row(label, published, judge)

    def _over(self, measured: Measured, over: float, less: str, more: str) -> Row:
        def judge() -> tuple[Value, Judgement]:
            change = self._change(measured, less, more)
            return change, verdicts.true(change.high < -over, "")

        return row(f"waits, {less} beside {more}, %", f"over {over:g} shorter", judge)

    @staticmethod
    def _absolute(claim: Claim, measured: Measured) -> list[str]:
        try:
            means = {
                name: Value.of([read_wait(one) for one in measured.runs(f"{name} timed")]).mean
                for name in FOUR
            }
        except NotMeasuredError:
            return []
        said = ", ".join(f"{name} {mean:.1f}" for name, mean in means.items())
        published = dict(zip(claim.columns[1:], claim.rows[0][1:], strict=True))
        wanted = ", ".join(f"{name} {wait}" for name, wait in published.items())
        return [f"Wait of an access that is not in the cache, ms: {said} (published: {wanted})."]


#: Parameters of the buffer cache, by what rows say of them. Oracle's checkpoints are not
#: PostgreSQL's: they follow its log.
TIMERS = {"PostgreSQL's timers": "", "a checkpoint every 10 s": ",checkpoint=10s"}


@runner_under(READINGS, "zombie.written")
class Written:
    """Section 3.1: how soon the database writes what is dirty.

    A hint that comes so many commands late finds its page written, or not: the share of late hints
    is the share of dirty pages that are written in less time than those commands take.
    """

    def __init__(self, reading: Reading) -> None:
        self.reading = reading

    def task(self, claim: Claim, size: Size) -> Task:
        """A drive for each way to write back, hinted as late as the statement says."""
        return Task(
            {
                said: database(
                    size,
                    self.reading,
                    "GC-GD",
                    4,
                    timers=timers,
                    hints=f"perfect:late={self._late(claim)}",
                )
                for said, timers in TIMERS.items()
            },
            settings=database_settings(size),
            left_out=database_left_out(size),
        )

    @staticmethod
    def _late(claim: Claim) -> int:
        """Commands of a bank in no more than the seconds of the statement.

        There are about as many as half the accesses; nine twentieths leave room.
        """
        return int(claim.facts["seconds"]) * RATE * 9 // (20 * BANKS)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """The share of each way."""
        rows = [self._row(claim, measured, said) for said in TIMERS]
        return conclude(claim, measured, rows, heading="written back with")

    def _row(self, claim: Claim, measured: Measured, said: str) -> Row:
        limit, least = claim.facts["seconds"], claim.lo

        def judge() -> tuple[Value, Judgement]:
            host = host_of(measured.result(said))
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

        return row(f"{said}, % in {limit:g} s", f"over {least:g}", judge)
