"""Zombie Chasing on a timed drive: waits (Table 5), reads (Figure 8), known zombies (Table 3)."""

from __future__ import annotations

import statistics

from flashgc.described import Simulation
from flashgc.results import Result
from flashgc_papers.claims import Claim
from flashgc_papers.published import Point
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import Reading, UnderReading, runner_under
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Outcome, conclude
from flashgc_papers.reproduce.tasks import Measured, NotMeasuredError, Size, Task, seeded
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.zombie.drawings import Axis, Saving, figure
from flashgc_papers.zombie.experiment import (
    BANKS,
    PAIRS,
    amplification,
    host_of,
    key,
    known,
    left_out,
    micro,
    printed_row,
    settings,
)
from flashgc_papers.zombie.figures import FOUR
from flashgc_papers.zombie.timed import saved, transactions
from flashgc_papers.zombie.tpcc import RATE, SPARES, database, database_left_out, database_settings

#: Reads per write in Table 3 and Figure 8.
READS = (0, 0.2, 0.5, 1, 2)


def over_reads(size: Size, reading: Reading, names: tuple[str, ...]) -> dict[str, Simulation]:
    """The runs of each collector and share of reads, h = 6."""
    simulations: dict[str, Simulation] = {}
    for name in names:
        for reads in READS:
            simulations |= seeded(
                key(name, 6, 4, reads), micro(size, reading, name, 6, reads=reads)
            )
    return simulations


@runner_under("zombie.fig8")
class Reads(UnderReading):
    """Figure 8: write amplification and elapsed time over the share of reads."""

    def task(self, _claim: Claim, size: Size) -> Task:
        """A drive for each collector and share of reads."""
        simulations = over_reads(size, self.reading, FOUR)
        return Task(simulations, settings=settings(size), left_out=left_out(size))

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge that ZGC's write amplification falls, and that few reads save most time."""
        printed = [self._printed(measured, *map(float, map(str, row))) for row in claim.rows]
        # A falling curve lies between its two printed ends.
        printed += [
            printed_row(measured, self._key("ZGC-CB", reads), self._label(reads))
            for reads in READS[1:-1]
        ]
        falls = [self._falls(measured, name) for name in ("ZGC-CB", "ZGC-GD")]
        best = [self._best(measured, claim.facts["best_time"], *pair) for pair in PAIRS]
        caption = (
            "Write amplification over reads a write, h = 6, cache 4 GiB, and the time that hints "
            "save. Published: ZGC-CB without reads and with two a write"
        )
        axis = Axis("reads a write", READS, self._key, log=False)
        points = [Point(float(reads), float(value), of="ZGC-CB") for reads, value in claim.rows]
        savings = [Saving("elapsed time saved, %", PAIRS, saved)]
        figures = [
            figure(measured, "zombie.fig8", caption, FOUR, axis, published=points, savings=savings)
        ]
        return conclude(claim, measured, [*printed, *falls, *best], figures=figures)

    @staticmethod
    def _key(name: str, reads: float) -> str:
        return key(name, 6, 4, reads)

    def _printed(self, measured: Measured, reads: float, published: float) -> Row:
        def judge() -> tuple[Value, Judgement]:
            value = amplification(measured, self._key("ZGC-CB", reads))
            return value, verdicts.true(value.low > 1, "")

        return row(self._label(reads), published, judge, base=1.0)

    @staticmethod
    def _label(reads: float) -> str:
        return f"waf(ZGC-CB), {reads:g} reads a write"

    def _falls(self, measured: Measured, name: str) -> Row:
        def judge() -> tuple[str, Judgement]:
            values = [amplification(measured, self._key(name, reads)) for reads in READS]
            text = ", ".join(f"{value.mean:.2f}" for value in values)
            return text, verdicts.falling(values, [f"{reads:g}" for reads in READS])

        return row(f"waf({name}) from 0 to 2 reads a write", "falls", judge)

    def _best(self, measured: Measured, published: float, less: str, more: str) -> Row:
        def judge() -> tuple[Value, Judgement]:
            gains = [
                saved(measured, self._key(less, reads), self._key(more, reads)) for reads in READS
            ]
            means = [value.mean for value in gains]
            best = READS[means.index(max(means))]
            each = ", ".join(f"{value.mean:.1f}" for value in gains)
            why = f"{less} saves {each}% at 0, 0.2, 0.5, 1, 2"
            return Value(best), verdicts.true(best == published, why)

        return row(f"{less}, reads a write at which most time is saved", published, judge)


@runner_under("zombie.table3")
class Knowledge(UnderReading):
    """Table 3: the dirty pages that the drive knows."""

    def task(self, _claim: Claim, size: Size) -> Task:
        """A drive for each share of reads."""
        simulations = over_reads(size, self.reading, ("ZGC-GD",))
        return Task(simulations, settings=settings(size), left_out=left_out(size))

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge that share and volume rise, and that the share comes near 100%."""
        rows = [self._share(claim, measured, at) for at in range(len(claim.rows))]
        rows += [self._volume(claim, measured, at) for at in range(len(claim.rows))]
        rows += [self._rises(measured, at, what) for at, what in enumerate(("MB", "share, %"))]
        return conclude(claim, measured, rows, heading="reads a write")

    @staticmethod
    def _known(measured: Measured, reads: float) -> tuple[Value, Value]:
        """Zombies that the drive knows: MB, and percent of the dirty pages."""
        each = [known(run) for run in measured.runs(key("ZGC-GD", 6, 4, reads))]
        volume, share = zip(*each, strict=True)
        return Value.of(volume), Value.of(share)

    def _share(self, claim: Claim, measured: Measured, at: int) -> Row:
        reads = float(str(claim.column("reads a write")[at]))
        published = float(str(claim.column("share")[at]))
        above, start = claim.facts["above"], claim.facts["from"]

        def judge() -> tuple[Value, Judgement]:
            share = self._known(measured, reads)[1]
            return share, verdicts.true((share.mean > above) == (reads >= start), "")

        wanted = "above" if reads >= start else "below"
        return row(f"{reads:g}, share known, %, {wanted} {above:g}", published, judge)

    def _volume(self, claim: Claim, measured: Measured, at: int) -> Row:
        reads = float(str(claim.column("reads a write")[at]))
        published = float(str(claim.column("MB")[at]))

        def judge() -> tuple[Value, Judgement]:
            volume, share = self._known(measured, reads)
            dirty = 100 * volume.mean / share.mean
            return volume, verdicts.true(volume.low > 0, f"{dirty:.0f} MB are dirty")

        return row(f"{reads:g}, zombies known, MB", published, judge)

    def _rises(self, measured: Measured, at: int, what: str) -> Row:
        def judge() -> tuple[str, Judgement]:
            each = [self._known(measured, reads)[at] for reads in READS]
            text = ", ".join(f"{value.mean:.1f}" for value in each)
            return text, verdicts.rising(each, [f"{reads:g}" for reads in READS])

        return row(f"0 to 2, {what}", "rises", judge)


def _above(saving: Value) -> Value:
    """The additional time in percent, from a ``saving`` in percent."""
    return Value(-saving.mean, saving.ci95)


@runner_under("zombie.notification")
class Notices(UnderReading):
    """Section 5.2.5: the cost of hints."""

    WAYS = (
        ("ZGC-GD", "piggyback"),
        ("ZGC-GD", "perfect"),
        ("ZGC-GD", "command"),
        ("GC-GD", "none"),
        ("GC-GD", "piggyback"),
    )

    def task(self, _claim: Claim, size: Size) -> Task:
        """Drives that get the same hints in three ways, and drives that ignore them."""
        simulations: dict[str, Simulation] = {}
        for name, way in self.WAYS:
            simulation = micro(size, self.reading, name, 6, hints=way)
            simulations |= seeded(f"{name} {way}", simulation)
        return Task(simulations, settings=settings(size), left_out=left_out(size))

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge the cost, the gain and the use of the bus of each way."""
        rows = [
            self._riding(measured),
            self._nothing_gained(measured),
            self._longer(measured, claim.facts["longer"]),
            self._worth(measured),
            self._commands(measured),
        ]
        return conclude(claim, measured, rows)

    @staticmethod
    def _riding(measured: Measured) -> Row:
        def judge() -> tuple[Value, Judgement]:
            more = _above(saved(measured, "GC-GD piggyback", "GC-GD none"))
            inside = max(abs(more.low), abs(more.high)) <= 1
            return more, verdicts.true(inside, "GC-GD, which heeds no hints")

        return row("elapsed, riding above none sent, %", "within 1", judge)

    @staticmethod
    def _nothing_gained(measured: Measured) -> Row:
        def judge() -> tuple[Value, Judgement]:
            left = saved(measured, "ZGC-GD command", "GC-GD none")
            whole = saved(measured, "ZGC-GD piggyback", "GC-GD none")
            why = f"of GC-GD's time; riding saves {whole.mean:.1f}%"
            return left, verdicts.true(left.low <= 0, why)

        return row("elapsed, saved with a command each, %", "no improvement", judge)

    @staticmethod
    def _longer(measured: Measured, longer: float) -> Row:
        def judge() -> tuple[Value, Judgement]:
            more = _above(saved(measured, "ZGC-GD command", "GC-GD none"))
            riding = _above(saved(measured, "ZGC-GD command", "ZGC-GD piggyback"))
            why = f"above GC-GD without hints; above riding {riding.mean:.1f}%"
            return more, verdicts.over(more, longer, why)

        label = "elapsed, a command each above no hints, %"
        return row(label, f"over {longer:g} in some cases", judge, least=longer)

    @staticmethod
    def _worth(measured: Measured) -> Row:
        def judge() -> tuple[Value, Judgement]:
            riding, perfect = (
                amplification(measured, f"ZGC-GD {way}") for way in ("piggyback", "perfect")
            )
            more = 100 * (riding.mean / perfect.mean - 1)
            why = f"riding {riding.mean:.3f}, perfect knowledge {perfect.mean:.3f}"
            return Value(more), verdicts.true(more <= 1, why)

        return row("write amplification, riding above perfect knowledge, %", "at most 1", judge)

    @staticmethod
    def _commands(measured: Measured) -> Row:
        def judge() -> tuple[Value, Judgement]:
            hosts = [host_of(run) for run in measured.runs("ZGC-GD command")]
            commands, due = (
                sum(getattr(host.hints, name) for host in hosts) for name in ("commands", "due")
            )
            share = statistics.fmean(
                100 * host.hints.commands / (host.drive_reads + host.drive_writes) for host in hosts
            )
            why = f"{commands} of them, {due} pages became dirty"
            return Value(share), verdicts.true(commands == due, why)

        return row("commands for hints alone, % of reads and writes", "one a dirty page", judge)


#: The events of the table, with the fields for their number and time.
EVENTS = {
    "db file sequential read": ("reads", "read_ns"),
    "free buffer wait": ("rooms", "room_ns"),
    "write complete waits": ("rewrites", "rewrite_ns"),
}


def mean_wait(result: Result, event: str) -> float:
    """The mean wait for an event of the database, in milliseconds."""
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
        return conclude(
            claim,
            measured,
            [*shorter, *over],
            heading="event",
            notes=self._absolute(claim, measured),
        )

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

        If ``published`` is a number, the size of the change is compared with it later, in grading.
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


#: Parameters of the buffer cache, by their names in rows. Unlike PostgreSQL's checkpoints, Oracle's
#: follow its log.
TIMERS = {"PostgreSQL's timers": "", "a checkpoint every 10 s": ",checkpoint=10s"}


@runner_under("zombie.written")
class Written(UnderReading):
    """Section 3.1: how soon the database writes dirty pages.

    Hints are delayed by a number of commands. A hint is late if its page is already written. So
    the share of late hints is the share of pages that are written before these commands end.
    """

    def task(self, claim: Claim, size: Size) -> Task:
        """A drive for each way to write back; hints are as late as the statement says."""
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
        """The least number of commands that a bank gets in the seconds of the statement.

        About half of the accesses become commands. Nine twentieths instead of ten allow for chance.
        """
        return int(claim.facts["seconds"]) * RATE * 9 // (20 * BANKS)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge the share of late hints for each way."""
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
            # Hints that are later than the statement's time say nothing about the statement.
            assert least is not None
            holds = share > least and late <= limit
            return Value(share), verdicts.true(holds, why)

        return row(f"{published}, % in {limit:g} s", f"over {least:g}", judge, least=least)
