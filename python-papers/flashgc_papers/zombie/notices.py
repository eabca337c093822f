"""Zombie Chasing's Table 3, what the drive knows of what is dirty, and what telling it costs."""

from __future__ import annotations

from flashgc_papers.claims import Claim
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.runner import (
    Measured,
    NotMeasuredError,
    Outcome,
    Row,
    Size,
    Task,
    conclude,
    row,
    runner,
    seeded,
)
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.zombie.experiment import (
    PAGE_BYTES,
    REACHING,
    WRITES,
    host_of,
    key,
    known,
    left_out,
    micro,
    settings,
)
from flashgc_papers.zombie.figures import READS
from flashgc_papers.zombie.timed import saved, timed


@runner("zombie.table3")
class Knowledge:
    """Table 3: what the drive knows of what is dirty."""

    def task(self, _claim: Claim, _size: Size) -> Task:
        """A drive a share of reads, from the moment at which the cache is empty."""
        told = {
            key("ZGC-GD", 6, 4, reads): micro(
                Size.DEFAULT, "ZGC-GD", 6, reads=reads, warmup="0", writes=REACHING
            )
            for reads in READS
        }
        written = WRITES * PAGE_BYTES / 1e9
        text = f"the first {written:.3g} GB that the application writes, at every size the same"
        return Task(told, settings=text)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """The share rises, and comes near all."""
        rows = [self._share(claim, measured, at) for at in range(len(claim.rows))]
        rows.append(self._rises(measured))
        notes = [self._volume(claim, measured)]
        return conclude(claim, measured, rows, heading="reads a write", notes=notes)

    @staticmethod
    def _known(measured: Measured, reads: float) -> tuple[float, float]:
        return known(measured.result(key("ZGC-GD", 6, 4, reads)))

    def _share(self, claim: Claim, measured: Measured, at: int) -> Row:
        reads = float(str(claim.column("reads a write")[at]))
        published = float(str(claim.column("share")[at]))
        above, start = claim.facts["above"], claim.facts["from"]

        def judge() -> tuple[Value, Judgement]:
            volume, share = self._known(measured, reads)
            why = f"{volume:.0f} MB of zombies known"
            return Value(share), verdicts.true((share > above) == (reads >= start), why)

        wanted = "above" if reads >= start else "below"
        return row(f"{reads:g}, share known, %, {wanted} {above:g}", published, judge)

    def _rises(self, measured: Measured) -> Row:
        def judge() -> tuple[str, Judgement]:
            shares = [Value(self._known(measured, reads)[1]) for reads in READS]
            text = ", ".join(f"{share.mean:.1f}" for share in shares)
            return text, verdicts.rising(shares, [f"{reads:g}" for reads in READS])

        return row("0 to 2", "rises", judge)

    def _volume(self, claim: Claim, measured: Measured) -> str:
        try:
            volumes = [self._known(measured, reads)[0] for reads in READS]
        except NotMeasuredError:
            return "the volumes were not measured"
        said = ", ".join(f"{volume:.0f}" for volume in volumes)
        published = ", ".join(map(str, claim.column("MB")))
        return f"zombies known, in MB of the whole drive: {said} (published: {published})"


def _above(saving: Value) -> Value:
    """By how many percent more time is taken, where ``saving`` says how many less."""
    return Value(-saving.mean, saving.ci95)


@runner("zombie.notification")
class Notices:
    """Section 5.2.5: what it costs to tell the drive."""

    WAYS = ("piggyback", "perfect", "command")

    def task(self, _claim: Claim, size: Size) -> Task:
        """Drives that get one knowledge by three ways."""
        simulations = {way: micro(size, "ZGC-GD", 6, hints=way) for way in self.WAYS}
        for way in self.WAYS:
            simulations |= seeded(f"ZGC-GD {way}", timed(size, "ZGC-GD", hints=way))
        for way in ("none", "piggyback"):
            simulations |= seeded(f"GC-GD {way}", timed(size, "GC-GD", hints=way))
        return Task(
            simulations,
            settings=settings(size),
            left_out=left_out(size),
        )

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
            return more, verdicts.true(more.low > longer, why)

        label = "elapsed, a command each above no hints, %"
        return row(label, f"over {longer:g} in some cases", judge)

    @staticmethod
    def _worth(measured: Measured) -> Row:
        def judge() -> tuple[Value, Judgement]:
            riding, perfect = measured.value("piggyback"), measured.value("perfect")
            more = 100 * (riding.mean / perfect.mean - 1)
            why = f"riding {riding.mean:.3f}, perfect knowledge {perfect.mean:.3f}"
            return Value(more), verdicts.true(more <= 1, why)

        return row("write amplification, riding above perfect knowledge, %", "at most 1", judge)

    @staticmethod
    def _commands(measured: Measured) -> Row:
        def judge() -> tuple[Value, Judgement]:
            host = host_of(measured.result("command"))
            commands, due = host.hints.commands, host.hints.due
            share = 100 * commands / (host.drive_reads + host.drive_writes)
            why = f"{commands} of them, {due} pages became dirty"
            return Value(share), verdicts.true(commands == due, why)

        return row("commands for hints alone, % of reads and writes", "one a dirty page", judge)
