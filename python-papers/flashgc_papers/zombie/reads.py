"""Zombie Chasing's Figure 8: the micro-benchmark over the share of reads."""

from __future__ import annotations

from flashgc.described import Simulation
from flashgc_papers.claims import Claim
from flashgc_papers.published import Point
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import Reading, UnderReading, runner_under
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
from flashgc_papers.zombie.drawings import Axis, Saving, figure
from flashgc_papers.zombie.experiment import (
    PAIRS,
    amplification,
    key,
    left_out,
    micro,
    settings,
)
from flashgc_papers.zombie.figures import FOUR
from flashgc_papers.zombie.timed import saved

#: Reads a write of Table 3 and Figure 8.
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
        """A drive a collector and share of reads."""
        simulations = over_reads(size, self.reading, FOUR)
        return Task(simulations, settings=settings(size), left_out=left_out(size))

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """ZGC's falls, and most time is saved with few reads."""
        printed = [self._printed(measured, *map(float, map(str, row))) for row in claim.rows]
        printed += [self._between(claim, measured, reads) for reads in READS[1:-1]]
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

        label = f"waf(ZGC-CB), {reads:g} reads a write"
        return row(label, published, judge, base=1.0)

    def _between(self, claim: Claim, measured: Measured, reads: float) -> Row:
        """A row between the two printed points, as what falls throughout is."""
        low, high = sorted(float(str(value)) for _, value in claim.rows)

        def judge() -> tuple[Value, Judgement]:
            value = amplification(measured, self._key("ZGC-CB", reads))
            return value, verdicts.within(value, low, high)

        return row(f"waf(ZGC-CB), {reads:g} reads a write", f"{low:g} to {high:g}", judge)

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
