"""Zombie Chasing's Figures 5 to 9, on the micro-benchmark."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from flashgc.described import Simulation
from flashgc_papers.claims import Claim
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.runner import (
    Figure,
    Measured,
    Outcome,
    Row,
    Size,
    Table,
    Task,
    conclude,
    row,
    runner,
    seeded,
)
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.zombie.experiment import (
    PAIRS,
    READINGS,
    SCATTERED,
    amplifications,
    below_row,
    gain,
    gain_row,
    key,
    left_out,
    micro,
    overhead,
    published_gains,
    settings,
)
from flashgc_papers.zombie.timed import pair, saved, saved_row, seconds, timed

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

FOUR = ("GC-GD", "ZGC-GD", "GC-CB", "ZGC-CB")
ZGCS = ("ZGC-GD", "ZGC-CB")
#: All h of Figures 5 to 7 and 9.
ALL_H = (3, 6, 10, 20, 50)


def over_h(
    size: Size,
    names: tuple[str, ...],
    cache: float,
    banks: int = 4,
    points: tuple[float, ...] = ALL_H,
    reading: str = "",
) -> dict[str, Simulation]:
    """A simulation for each collector and h."""
    return {
        key(name, h, cache, reading=reading): micro(
            size, name, h, cache=cache, banks=banks, reading=reading
        )
        for name in names
        for h in points
    }


def figure_over_h(
    measured: Measured,
    name: str,
    caption: str,
    names: tuple[str, ...],
    cache: float,
    reading: str = "",
) -> Figure:
    """Write amplification against h."""
    of = functools.partial
    rows = tuple(
        (h, *amplifications(measured, names, of(_key_of, h, cache, reading))) for h in ALL_H
    )

    def draw() -> Drawing:
        from flashgc import plot

        series = []
        for one in names:
            values = [measured.get(key(one, h, cache, reading=reading)) for h in ALL_H]
            means, halves = [v.mean for v in values], [v.ci95 for v in values]
            if not all(map(math.isnan, means)):  # What was interrupted may have none.
                series.append(plot.Series(one, list(ALL_H), means, halves))
        return plot.against(series, x_label="h, %", x_log=True)

    return Figure(name, caption, Table(("h", *names), rows), draw)


def _key_of(h: float, cache: float, reading: str, name: str) -> str:
    return key(name, h, cache, reading=reading)


@runner("zombie.fig5")
class Locality:
    """Figure 5: write amplification against the locality of writes."""

    def task(self, claim: Claim, size: Size) -> Task:
        """A drive a collector and h."""
        return Task(
            {
                **over_h(size, FOUR, claim.facts["cache"]),
                **over_h(size, FOUR, claim.facts["cache"], reading=SCATTERED),
                **pair(size, FOUR),
                **pair(size, FOUR, reading=SCATTERED),
            },
            settings=settings(size),
            left_out=left_out(size),
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Gains, how they go with h, and where there are none."""
        rows = [row for reading in READINGS for row in self._rows(claim, measured, reading)]
        caption = "Write amplification over h, cache 4 GiB"
        figures = [
            figure_over_h(
                measured,
                f"fig5{reading.replace(' ', '-')}",
                f"{caption}{READINGS[reading]}",
                FOUR,
                4,
                reading,
            )
            for reading in READINGS
        ]
        notes = [
            "Scattered: the hot pages lie anywhere among the cold ones, on a drive that was filled "
            "in order and not written since. The paper says neither."
        ]
        return conclude(claim, measured, rows, figures=figures, notes=notes)

    def _rows(self, claim: Claim, measured: Measured, reading: str) -> list[Row]:
        gains, said = published_gains(claim, "at_6"), READINGS[reading]
        rows = []
        for less, more in PAIRS:
            for h in claim.facts["gains"]:
                published = gains[less] if h == claim.facts["gains"][0] else "a gain"
                label = f"{less} below {more} at h = {h}{said}, %"
                keys = key(less, h, reading=reading), key(more, h, reading=reading)
                rows.append(gain_row(measured, label, published, *keys))
            rows.append(self._falls(measured, less, more, reading))
            most = claim.facts["below_at_50"]
            for h in (claim.facts["h"][-1], claim.facts["h"][0]):
                label = f"{less} below {more} at h = {h}{said}, %"
                keys = key(less, h, reading=reading), key(more, h, reading=reading)
                rows.append(below_row(measured, label, most, *keys))
        for (less, more), time in zip(PAIRS, claim.facts["time_at_6"], strict=True):
            label = f"{less}, elapsed time saved at h = 6{said}, %"
            names = f"{less} timed{reading}", f"{more} timed{reading}"
            rows.append(saved_row(measured, label, time, *names))
        return rows

    @staticmethod
    def _falls(measured: Measured, less: str, more: str, reading: str) -> Row:
        def judge() -> tuple[str, Judgement]:
            points = [h for h in ALL_H if h >= 6]
            gains = [
                gain(measured, key(less, h, reading=reading), key(more, h, reading=reading))
                for h in points
            ]
            text = ", ".join(f"{value.mean:.1f}" for value in gains)
            return text, verdicts.falling(gains, [f"h = {h}" for h in points])

        return row(f"{less}, gain from h = 6 to 50{READINGS[reading]}, %", "falls", judge)


@runner("zombie.fig6")
class CacheSize:
    """Figure 6: the same with half the cache."""

    def task(self, claim: Claim, size: Size) -> Task:
        """A drive a collector, h and size of the cache."""
        small, large = claim.facts["caches"]
        points = (claim.facts["h"],) if size is Size.QUICK else ALL_H
        simulations = over_h(size, FOUR, small, points=points) | over_h(size, FOUR, large)
        h = claim.facts["h"]
        for cache in (small, large):
            simulations |= over_h(size, FOUR, cache, points=(h,), reading=SCATTERED)
        h = claim.facts["inverted"]
        simulations |= over_h(size, ZGCS, small, points=(h,))
        simulations |= pair(size, ZGCS, cache=small, h=h)
        less = left_out(size, "; a cache of 2 GiB but at h = 6")
        return Task(simulations, settings=settings(size), left_out=less)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """The gain with each cache, and that more is more."""
        rows = []
        caches = list(zip(claim.facts["caches"], claim.facts["gains"], strict=True))
        for reading in READINGS:
            for less, more in PAIRS:
                for cache, published in caches:
                    rows.append(
                        self._overhead(claim, measured, (less, more), cache, published, reading)
                    )
                rows.append(self._more(claim, measured, less, more, reading))
        rows += self._inverted(claim, measured)
        figures = [
            figure_over_h(measured, "fig6", "Write amplification over h, cache 2 GiB", FOUR, 2)
        ]
        notes = ["Overhead is what is written beyond the host's pages."]
        return conclude(claim, measured, rows, figures=figures, notes=notes)

    @staticmethod
    def _overhead(
        claim: Claim,
        measured: Measured,
        names: tuple[str, str],
        cache: float,
        published: float,
        reading: str,
    ) -> Row:
        less, more = names
        keys = [key(name, claim.facts["h"], cache, reading=reading) for name in names]

        def judge() -> tuple[Value, Judgement]:
            value = overhead(measured, *keys)
            one, other = (measured.value(name).mean for name in keys)
            why = f"write amplification {one:.3f} and {other:.3f}"
            return value, verdicts.true(value.low > 0, why)

        label = f"overhead, {less} below {more}, cache {cache} GiB{READINGS[reading]}, %"
        return row(label, published, judge)

    @staticmethod
    def _more(claim: Claim, measured: Measured, less: str, more: str, reading: str) -> Row:
        h = claim.facts["h"]

        def judge() -> tuple[str, Judgement]:
            small, large = (
                overhead(
                    measured,
                    key(less, h, cache, reading=reading),
                    key(more, h, cache, reading=reading),
                )
                for cache in claim.facts["caches"]
            )
            text = f"{small.mean:.1f} to {large.mean:.1f}"
            return text, verdicts.below(small, large, ("2 GiB", "4 GiB"))

        label = f"{less}, gain in overhead from 2 to 4 GiB{READINGS[reading]}, %"
        return row(label, "rises", judge)

    @staticmethod
    def _inverted(claim: Claim, measured: Measured) -> list[Row]:
        """Rows where z-cost-benefit writes less but takes longer: it looks longer for victims."""
        small, h = claim.facts["caches"][0], claim.facts["inverted"]
        better, faster = "ZGC-CB", "ZGC-GD"

        def writes() -> tuple[str, Judgement]:
            one, other = (measured.value(key(name, h, small)) for name in (better, faster))
            judged = verdicts.below(one, other, (better, faster))
            return f"{one.mean:.3f} and {other.mean:.3f}", judged

        def takes() -> tuple[str, Judgement]:
            one, other = (Value.of(seconds(measured, f"{name} timed")) for name in (better, faster))
            judged = verdicts.below(other, one, (faster, better))
            return f"{one.mean:.0f} s and {other.mean:.0f} s", judged

        at = f"{better} beside {faster}, cache {small} GiB, h = {h}"
        return [
            row(f"{at}: write amplification", "less", writes),
            row(f"{at}: elapsed time", "longer", takes),
        ]


@runner("zombie.fig7")
class Banks:
    """Figure 7: sixteen banks."""

    def task(self, claim: Claim, size: Size) -> Task:
        """A drive a collector and h, collected bank by bank."""
        banks = claim.facts["banks"]
        return Task(
            {**over_h(size, FOUR, 4, banks), **pair(size, FOUR, device="jasmine-16")},
            settings=settings(size, banks),
            left_out=left_out(size),
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """The gains where there are some with four banks."""
        rows = []
        for less, more in PAIRS:
            for h in (6, 10, 20):

                def gained(less: str = less, more: str = more, h: float = h) -> Value:
                    return overhead(measured, key(less, h), key(more, h))

                label = f"overhead, {less} below {more} at h = {h}, %"
                rows.append(self._up_to(label, claim.facts["most"], gained))
        for less, more in PAIRS:

            def shorter(less: str = less, more: str = more) -> Value:
                return saved(measured, f"{less} timed", f"{more} timed")

            label = f"{less}, elapsed time saved at h = 6, %"
            rows.append(self._up_to(label, claim.facts["time"], shorter))
        figures = [
            figure_over_h(
                measured, "fig7", "Write amplification over h, sixteen banks, cache 4 GiB", FOUR, 4
            )
        ]
        return conclude(claim, measured, rows, figures=figures)

    @staticmethod
    def _up_to(label: str, most: float, measure: Callable[[], Value]) -> Row:
        def judge() -> tuple[Value, Judgement]:
            value = measure()
            return value, verdicts.up_to(value, most)

        return row(label, f"up to {most:g}", judge)


#: Reads a write of Table 3 and Figure 8.
READS = (0, 0.2, 0.5, 1, 2)


def over_reads(size: Size) -> dict[str, Simulation]:
    """A simulation for each collector and share of reads, h = 6."""
    return {
        key(name, 6, 4, reads): micro(size, name, 6, reads=reads)
        for name in FOUR
        for reads in READS
    }


@runner("zombie.fig8")
class Reads:
    """Figure 8: write amplification over the share of reads."""

    def task(self, _claim: Claim, size: Size) -> Task:
        """A drive a share of reads, without and with a clock."""
        clocked: dict[str, Simulation] = {}
        for name in FOUR[:2]:
            for reads in READS:
                clocked |= seeded(f"{name} timed {reads:g}", timed(size, name, reads=reads))
        return Task(
            {**over_reads(size), **clocked}, settings=settings(size), left_out=left_out(size)
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """ZGC's falls."""
        rows = [
            *(self._falls(measured, name) for name in ("ZGC-CB", "ZGC-GD")),
            self._best(measured, claim.facts["best_time"]),
        ]
        table = Table(
            ("reads a write", *FOUR),
            tuple(
                (reads, *amplifications(measured, FOUR, functools.partial(self._key, reads)))
                for reads in READS
            ),
        )
        caption = "Write amplification over reads a write, h = 6, cache 4 GiB"
        figures = [Figure("fig8", caption, table, lambda: self._draw(measured))]
        said = ", ".join(f"{value:g} at {reads:g}" for reads, value in claim.rows)
        notes = [f"published for ZGC-CB: {said}"]
        return conclude(claim, measured, rows, figures=figures, notes=notes)

    @staticmethod
    def _key(reads: float, name: str) -> str:
        return key(name, 6, 4, reads)

    def _falls(self, measured: Measured, name: str) -> Row:
        def judge() -> tuple[str, Judgement]:
            values = [measured.value(self._key(reads, name)) for reads in READS]
            text = ", ".join(f"{value.mean:.2f}" for value in values)
            return text, verdicts.falling(values, [f"{reads:g}" for reads in READS])

        return row(f"waf({name}) from 0 to 2 reads a write", "falls", judge)

    @staticmethod
    def _best(measured: Measured, published: float) -> Row:
        def judge() -> tuple[Value, Judgement]:
            gains = [
                saved(measured, f"ZGC-GD timed {reads:g}", f"GC-GD timed {reads:g}")
                for reads in READS
            ]
            means = [value.mean for value in gains]
            best = READS[means.index(max(means))]
            each = ", ".join(f"{value.mean:.1f}" for value in gains)
            why = f"ZGC-GD saves {each}% at 0, 0.2, 0.5, 1, 2"
            return Value(best), verdicts.true(best == published, why)

        return row("reads a write at which most time is saved", published, judge)

    def _draw(self, measured: Measured) -> Drawing:
        from flashgc import plot

        series = []
        for name in FOUR:
            values = [measured.get(self._key(reads, name)) for reads in READS]
            means, halves = [v.mean for v in values], [v.ci95 for v in values]
            if not all(map(math.isnan, means)):
                series.append(plot.Series(name, list(READS), means, halves))
        return plot.against(series, x_label="reads a write")


@runner("zombie.fig9")
class ZombieBlock:
    """Figure 9: what the zombie block is worth."""

    NAMES = ("ZGC-GD", "ZGC-GD-NZ", "ZGC-CB", "ZGC-CB-NZ")

    def task(self, _claim: Claim, size: Size) -> Task:
        """A drive a collector and h."""
        return Task(over_h(size, self.NAMES, 4), settings=settings(size), left_out=left_out(size))

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """With it against without, where it is worth most and less."""
        rows = []
        first, second = claim.facts["h"]
        most, few = claim.facts["gains"]
        for less in ("ZGC-GD", "ZGC-CB"):
            more = f"{less}-NZ"
            published: tuple[float | str, float | str] = (most, f"below {few}")
            if less == "ZGC-CB":
                published = ("a gain", "less")
            for h, said in zip((first, second), published, strict=True):
                label = f"{less} below {more} at h = {h}, %"
                limit = few if (less, h) == ("ZGC-GD", second) else 100
                rows.append(self._gain(measured, label, said, limit, (less, more, h)))
            rows.append(self._less(measured, less, (first, second)))
        names = self.NAMES
        caption = "Write amplification over h with and without the zombie block"
        figures = [figure_over_h(measured, "fig9", caption, names, 4)]
        return conclude(claim, measured, rows, figures=figures)

    @staticmethod
    def _gain(
        measured: Measured,
        label: str,
        said: float | str,
        limit: float,
        names: tuple[str, str, float],
    ) -> Row:
        less, more, h = names

        def judge() -> tuple[Value, Judgement]:
            value = gain(measured, key(less, h), key(more, h))
            told = value.low > 0 or limit < 100
            return value, verdicts.true(told and 0 <= value.mean < limit, "less with it")

        return row(label, said, judge)

    @staticmethod
    def _less(measured: Measured, less: str, points: tuple[float, float]) -> Row:
        def judge() -> tuple[str, Judgement]:
            one, other = (gain(measured, key(less, h), key(f"{less}-NZ", h)) for h in points)
            names = (f"h = {points[1]}", f"h = {points[0]}")
            return f"{one.mean:.1f} to {other.mean:.1f}", verdicts.below(other, one, names)

        return row(f"{less}, worth of the zombie block from h = 6 to 20, %", "falls", judge)
