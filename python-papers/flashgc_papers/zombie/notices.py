"""Zombie Chasing's Table 3, what the drive knows of what is dirty, and what telling it costs."""

from __future__ import annotations

import statistics

from flashgc.described import Simulation
from flashgc_papers.claims import Claim
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import UnderReading, runner_under
from flashgc_papers.reproduce.runner import (
    Measured,
    Outcome,
    Row,
    Size,
    Task,
    conclude,
    row,
    seeded,
)
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.zombie.experiment import (
    amplification,
    host_of,
    key,
    known,
    left_out,
    micro,
    settings,
)
from flashgc_papers.zombie.reads import READS, over_reads
from flashgc_papers.zombie.timed import saved


@runner_under("zombie.table3")
class Knowledge(UnderReading):
    """Table 3: what the drive knows of what is dirty."""

    def task(self, _claim: Claim, size: Size) -> Task:
        """A drive a share of reads."""
        simulations = over_reads(size, self.reading, ("ZGC-GD",))
        return Task(simulations, settings=settings(size), left_out=left_out(size))

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """The share rises, and comes near all; so does the volume."""
        rows = [self._share(claim, measured, at) for at in range(len(claim.rows))]
        rows += [self._volume(claim, measured, at) for at in range(len(claim.rows))]
        rows += [self._rises(measured, at, what) for at, what in enumerate(("MB", "share, %"))]
        return conclude(claim, measured, rows, heading="reads a write")

    @staticmethod
    def _known(measured: Measured, reads: float) -> tuple[Value, Value]:
        """Zombies that the drive knows of: MB, and percent of what is dirty."""
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
    """By how many percent more time is taken, where ``saving`` says how many less."""
    return Value(-saving.mean, saving.ci95)


@runner_under("zombie.notification")
class Notices(UnderReading):
    """Section 5.2.5: what it costs to tell the drive."""

    WAYS = (
        ("ZGC-GD", "piggyback"),
        ("ZGC-GD", "perfect"),
        ("ZGC-GD", "command"),
        ("GC-GD", "none"),
        ("GC-GD", "piggyback"),
    )

    def task(self, _claim: Claim, size: Size) -> Task:
        """Drives that get one knowledge by three ways, and drives that do not heed it."""
        simulations: dict[str, Simulation] = {}
        for name, way in self.WAYS:
            simulation = micro(size, self.reading, name, 6, hints=way)
            simulations |= seeded(f"{name} {way}", simulation)
        return Task(simulations, settings=settings(size), left_out=left_out(size))

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge what each way costs, what it is worth, and what it asks of the bus."""
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
