"""Zombie Chasing's worked example (Figures 2 and 3), and Figures 5, 6, 7 and 9.

A trace writes the three blocks of the example, says which seven pages are dirty in the host's
cache, and writes these pages again. A replay needs a trace whose pages fill whole blocks. So the
trace also reads one page that it never writes, which makes two blocks of pages. The file of the
trace is in ``worked``; the test of this module makes it again. Figure 8 is in ``waits``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

from flashgc.described import Simulation, simulation
from flashgc_papers.claims import Claim
from flashgc_papers.published import Point
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import Reading, UnderReading, runner_under
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Figure, Outcome, conclude, runner
from flashgc_papers.reproduce.tasks import Measured, NotMeasuredError, Size, Task, seeded
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.zombie.drawings import ALL_H, Saving, figure, over_h
from flashgc_papers.zombie.experiment import (
    PAIRS,
    amplification,
    below_row,
    both,
    gain,
    gain_row,
    key,
    left_out,
    micro,
    overhead,
    printed_row,
    published_gains,
    settings,
)
from flashgc_papers.zombie.timed import saved, saved_row, seconds, taken

FOLDER = Path(__file__).resolve().parent / "worked"
TRACE = FOLDER / "figure.csv"
#: The traces for Equation 2, with zombies below or above half of a block's invalid pages.
BOUNDS = {"below": FOLDER / "below-half.csv", "above": FOLDER / "above-half.csv"}


def example(victim: str, trace: Path = TRACE) -> Simulation:
    """Four blocks of ten pages; host writes and copies share the update block."""
    return simulation(
        workload=str(trace),
        paging="floor",
        numbering="first-touch",
        victim=victim,
        placement="dac:regions=1",
        frontier="pool:low=1",
        fill="empty",
        page_size="512B",
        pages_per_block=10,
        spare="50%",
        passes=1,
        warmup="0",
        runs=1,
    )


@runner("zombie.fig2-3")
class Example:
    """Pages copied by greedy and by z-greedy."""

    def task(self, claim: Claim, _size: Size) -> Task:
        """Two collections of each policy, and one for each side of the bound in Equation 2."""
        figures = {str(policy): example(str(policy)) for policy in claim.column("policy")}
        bounds = {side: example("z-greedy", trace) for side, trace in BOUNDS.items()}
        return Task(
            {**figures, **bounds},
            settings="the two collections of Figures 2 and 3, and one for each side of the bound "
            "in Equation 2; at every size the same",
            whole="the worked example has all of its writes",
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge the copies of both collections, and that hinted pages were overwritten."""
        rows = [self._copies(claim, measured, *row) for row in claim.rows]
        rows.append(self._zombies(measured))
        rows += [self._bounded(claim, measured, side) for side in BOUNDS]
        return conclude(claim, measured, rows, heading="policy")

    @staticmethod
    def _copies(claim: Claim, measured: Measured, policy: object, published: object) -> Row:
        def judge() -> tuple[Value, Judgement]:
            result = measured.result(str(policy))
            value = Value(result.copied_pages)
            verdict, why = verdicts.equal(value, float(str(published)), claim.tolerance)
            return value, Judgement(verdict, f"{why}, in {result.collections} collections")

        return row(f"{policy}, pages copied", float(str(published)), judge)

    @staticmethod
    def _bounded(claim: Claim, measured: Measured, side: str) -> Row:
        """The pages copied from the block that Equation 2 chooses."""
        published = float(claim.facts[side])

        def judge() -> tuple[Value, Judgement]:
            result = measured.result(side)
            value = Value(result.copied_pages)
            verdict, why = verdicts.equal(value, published, claim.tolerance)
            return value, Judgement(verdict, f"{why}, in {result.collections} collection")

        label = f"z-greedy, zombies {side} half of the invalid pages, pages copied"
        return row(label, published, judge)

    @staticmethod
    def _zombies(measured: Measured) -> Row:
        def judge() -> tuple[Value, Judgement]:
            zombies = measured.result("z-greedy").zombies
            if zombies is None:
                raise NotMeasuredError("no hints are kept")
            marked, true = zombies.marked, zombies.overwritten
            why = f"{marked} pages became zombies, {true} of them were overwritten"
            return Value(marked), verdicts.true(marked == true == ZOMBIES, why)

        return row("z-greedy, zombies", ZOMBIES, judge)


#: Zombies of the figures: three on block 2, four on block 3.
ZOMBIES = 7


FOUR = ("GC-GD", "ZGC-GD", "GC-CB", "ZGC-CB")


def runs_over_h(
    size: Size,
    reading: Reading,
    names: tuple[str, ...] = FOUR,
    *,
    cache: float = 4,
    banks: int = 4,
    points: tuple[float, ...] = ALL_H,
) -> dict[str, Simulation]:
    """The runs of each collector and h."""
    simulations: dict[str, Simulation] = {}
    for name in names:
        for h in points:
            simulation = micro(size, reading, name, h, cache=cache, banks=banks)
            simulations |= seeded(key(name, h, cache), simulation)
    return simulations


@runner_under("zombie.fig5")
class Locality(UnderReading):
    """Figure 5: write amplification and elapsed time against the locality of writes."""

    def task(self, claim: Claim, size: Size) -> Task:
        """A drive for each collector and h."""
        simulations = runs_over_h(size, self.reading, cache=claim.facts["cache"])
        return Task(simulations, settings=settings(size), left_out=left_out(size))

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge gains, their change with h, and the h without gains."""
        rows = [row for pair in PAIRS for row in self._written(claim, measured, *pair)]
        rows += [row for pair in PAIRS for row in self._elapsed(claim, measured, *pair)]
        return conclude(claim, measured, rows, figures=[self._figure(claim, measured)])

    @staticmethod
    def _figure(claim: Claim, measured: Measured) -> Figure:
        first, last = claim.facts["gains"][0], claim.facts["h"][-1]
        few = Point(last, claim.facts["below_at_50"], bound="below")

        def printed(fact: str) -> list[Point]:
            of = published_gains(claim, fact)
            return [*(Point(first, value, of=name) for name, value in of.items()), few]

        savings = (
            Saving("write amplification saved, %", PAIRS, gain, printed("at_6")),
            Saving("elapsed time saved, %", PAIRS, saved, printed("time_at_6")),
        )
        caption = (
            "Write amplification over h, cache 4 GiB, and what hints save of it and of the "
            f"elapsed time. Published: the savings at h = {first}, and a bound at h = {last}"
        )
        return figure(measured, "zombie.fig5", caption, FOUR, over_h(), savings=savings)

    def _written(self, claim: Claim, measured: Measured, less: str, more: str) -> list[Row]:
        gains, most = published_gains(claim, "at_6"), claim.facts["below_at_50"]
        rows = []
        for h in claim.facts["gains"]:
            published = gains[less] if h == claim.facts["gains"][0] else "a gain"
            label = f"{less} below {more} at h = {h}, %"
            rows.append(gain_row(measured, label, published, key(less, h), key(more, h)))
        rows.append(self._falls(measured, less, more))
        for h in (claim.facts["h"][-1], claim.facts["h"][0]):
            names = key(less, h), key(more, h)
            rows.append(
                below_row(
                    f"{less} below {more} at h = {h}, %",
                    most,
                    functools.partial(gain, measured, *names),
                    functools.partial(both, measured, *names),
                )
            )
        return rows

    @staticmethod
    def _elapsed(claim: Claim, measured: Measured, less: str, more: str) -> list[Row]:
        times, most = published_gains(claim, "time_at_6"), claim.facts["below_at_50"]
        rows = []
        for h in claim.facts["gains"]:
            published = times[less] if h == claim.facts["gains"][0] else "a gain"
            label = f"{less}, elapsed time saved at h = {h}, %"
            rows.append(saved_row(measured, label, published, key(less, h), key(more, h)))
        h = claim.facts["h"][-1]
        names = key(less, h), key(more, h)
        rows.append(
            below_row(
                f"{less}, elapsed time saved at h = {h}, %",
                most,
                functools.partial(saved, measured, *names),
                functools.partial(taken, measured, *names),
            )
        )
        return rows

    @staticmethod
    def _falls(measured: Measured, less: str, more: str) -> Row:
        def judge() -> tuple[str, Judgement]:
            points = [h for h in ALL_H if h >= 6]
            gains = [gain(measured, key(less, h), key(more, h)) for h in points]
            text = ", ".join(f"{value.mean:.1f}" for value in gains)
            return text, verdicts.falling(gains, [f"h = {h}" for h in points])

        return row(f"{less}, gain from h = 6 to 50, %", "falls", judge)


@runner_under("zombie.fig6")
class Memory(UnderReading):
    """Figure 6: a cache of half the size."""

    def task(self, claim: Claim, size: Size) -> Task:
        """A drive for each collector, h and cache size."""
        small, large = claim.facts["caches"]
        points = claim.facts["outperforms"] if size is Size.QUICK else ALL_H
        simulations = runs_over_h(size, self.reading, cache=small, points=tuple(points))
        simulations |= runs_over_h(size, self.reading, cache=large, points=(claim.facts["h"],))
        less = left_out(size, more="; a cache of 2 GiB at h = 3 and 50")
        return Task(simulations, settings=settings(size), left_out=less)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge the gain with each cache, and that the larger cache gains more."""
        rows = []
        small, h = claim.facts["caches"][0], claim.facts["h"]
        caches = list(zip(claim.facts["caches"], claim.facts["gains"], strict=True))
        for less, more in PAIRS:
            for cache, published in caches:
                names = key(less, h, cache), key(more, h, cache)
                label = f"overhead, {less} below {more}, cache {cache} GiB, %"
                above = 0 if cache == small else published
                text = f"over {above:g}" if above else published
                rows.append(gain_row(measured, label, text, *names, above=above, gained=overhead))
            rows.append(self._more(claim, measured, less, more))
            for at in claim.facts["outperforms"]:
                names = key(less, at, small), key(more, at, small)
                label = f"{less} below {more}, cache {small} GiB, h = {at}, %"
                rows.append(gain_row(measured, label, "a gain", *names))
                label = f"{less}, elapsed time saved, cache {small} GiB, h = {at}, %"
                rows.append(saved_row(measured, label, "a gain", *names))
        rows += self._inverted(claim, measured)
        printed = [Point(h, claim.facts["gains"][0])]
        savings = [
            Saving("overhead saved, %", PAIRS, overhead, printed),
            Saving("elapsed time saved, %", PAIRS, saved),
        ]
        caption = (
            f"Write amplification over h, cache {small:g} GiB, and what hints save. Published: "
            f"about {claim.facts['gains'][0]}% of the overhead at h = {h}"
        )
        figures = [figure(measured, "zombie.fig6", caption, FOUR, over_h(small), savings=savings)]
        return conclude(claim, measured, rows, figures=figures)

    @staticmethod
    def _more(claim: Claim, measured: Measured, less: str, more: str) -> Row:
        h = claim.facts["h"]

        def judge() -> tuple[str, Judgement]:
            small, large = (
                overhead(measured, key(less, h, cache), key(more, h, cache))
                for cache in claim.facts["caches"]
            )
            text = f"{small.mean:.1f} to {large.mean:.1f}"
            return text, verdicts.below(small, large, ("2 GiB", "4 GiB"))

        return row(f"{less}, gain in overhead from 2 to 4 GiB, %", "rises", judge)

    @staticmethod
    def _inverted(claim: Claim, measured: Measured) -> list[Row]:
        """Rows in which z-cost-benefit writes less but takes longer, due to its victim search."""
        small, h = claim.facts["caches"][0], claim.facts["inverted"]
        better, faster = "ZGC-CB", "ZGC-GD"

        def writes() -> tuple[str, Judgement]:
            first, other = (
                amplification(measured, key(name, h, small)) for name in (better, faster)
            )
            judged = verdicts.below(first, other, (better, faster))
            return f"{first.mean:.3f} and {other.mean:.3f}", judged

        def takes() -> tuple[str, Judgement]:
            first, other = (
                Value.of(seconds(measured, key(name, h, small))) for name in (better, faster)
            )
            judged = verdicts.below(other, first, (faster, better))
            return f"{first.mean:.0f} s and {other.mean:.0f} s", judged

        at = f"{better} beside {faster}, cache {small} GiB, h = {h}"
        return [
            row(f"{at}: write amplification", "less", writes),
            row(f"{at}: elapsed time", "longer", takes),
        ]


@runner_under("zombie.fig7")
class Banks(UnderReading):
    """Figure 7: sixteen banks."""

    def task(self, claim: Claim, size: Size) -> Task:
        """A drive for each collector and h, whose banks collect independently."""
        banks = claim.facts["banks"]
        simulations = runs_over_h(size, self.reading, banks=banks)
        return Task(simulations, settings=settings(size, banks), left_out=left_out(size, banks))

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge gains at the h that have gains with four banks."""
        rows = []
        for less, more in PAIRS:
            for h in (6, 10, 20):
                gained = functools.partial(overhead, measured, key(less, h), key(more, h))
                label = f"overhead, {less} below {more} at h = {h}, %"
                rows.append(self._up_to(label, claim.facts["most"], gained))
            for h in (6, 10, 20):
                shorter = functools.partial(saved, measured, key(less, h), key(more, h))
                label = f"{less}, elapsed time saved at h = {h}, %"
                rows.append(self._up_to(label, claim.facts["time"], shorter))
        most, time = claim.facts["most"], claim.facts["time"]
        savings = (
            Saving("overhead saved, %", PAIRS, overhead, bounds={f"published: up to {most}": most}),
            Saving("elapsed time saved, %", PAIRS, saved, bounds={f"published: {time}": time}),
        )
        caption = (
            "Write amplification over h, sixteen banks, cache 4 GiB, and what hints save. "
            "Published: the dashed bounds"
        )
        figures = [figure(measured, "zombie.fig7", caption, FOUR, over_h(), savings=savings)]
        return conclude(claim, measured, rows, figures=figures)

    @staticmethod
    def _up_to(label: str, most: float, measure: Callable[[], Value]) -> Row:
        def judge() -> tuple[Value, Judgement]:
            value = measure()
            return value, verdicts.up_to(value, most)

        return row(label, f"up to {most:g}", judge)


@runner_under("zombie.fig9")
class ZombieBlock(UnderReading):
    """Figure 9: the gain of the zombie block."""

    NAMES = ("ZGC-GD", "ZGC-GD-NZ", "ZGC-CB", "ZGC-CB-NZ")

    def task(self, claim: Claim, size: Size) -> Task:
        """A drive for each collector and h."""
        points = tuple(claim.facts["h"]) if size is Size.QUICK else ALL_H
        simulations = runs_over_h(size, self.reading, self.NAMES, points=points)
        return Task(simulations, settings=settings(size), left_out=left_out(size, more="; other h"))

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge the gain of the zombie block at the h of its largest and of a smaller gain."""
        rows = []
        (first, second), (most, few) = claim.facts["h"], claim.facts["gains"]
        for less in ("ZGC-GD", "ZGC-CB"):
            more = f"{less}-NZ"
            published: tuple[float | str, float | str] = (most, f"below {few}")
            if less == "ZGC-CB":
                published = ("a gain", "less")
            for h, printed_value in zip((first, second), published, strict=True):
                label = f"{less} below {more} at h = {h}, %"
                limit = few if (less, h) == ("ZGC-GD", second) else 100
                rows.append(self._gain(measured, label, printed_value, limit, (less, more, h)))
            rows.append(self._less(measured, less, (first, second)))
        label = f"waf(ZGC-CB) at h = {first:g}"
        rows.append(printed_row(measured, key("ZGC-CB", first), label, " (Figure 8)"))
        printed = [Point(first, most, of="ZGC-GD"), Point(second, few, bound="below")]
        pairs = [(name, f"{name}-NZ") for name in ("ZGC-GD", "ZGC-CB")]
        savings = [Saving("saved by the zombie block, %", pairs, gain, printed)]
        caption = (
            "Write amplification over h with and without the zombie block (NZ), cache 4 GiB. "
            f"Published: what ZGC-GD's saves at h = {first}, and a bound at h = {second}"
        )
        figures = [figure(measured, "zombie.fig9", caption, self.NAMES, over_h(), savings=savings)]
        return conclude(claim, measured, rows, figures=figures)

    @staticmethod
    def _gain(
        measured: Measured,
        label: str,
        published: float | str,
        limit: float,
        names: tuple[str, str, float],
    ) -> Row:
        less, more, h = names

        def judge() -> tuple[Value, Judgement]:
            value = gain(measured, key(less, h), key(more, h))
            holds = (value.low > 0 or limit < 100) and value.high >= 0 and value.mean < limit
            return value, verdicts.true(holds, both(measured, key(less, h), key(more, h)))

        return row(label, published, judge)

    @staticmethod
    def _less(measured: Measured, less: str, points: tuple[float, float]) -> Row:
        def judge() -> tuple[str, Judgement]:
            first, other = (gain(measured, key(less, h), key(f"{less}-NZ", h)) for h in points)
            judged = verdicts.below(other, first, (f"h = {points[1]}", f"h = {points[0]}"))
            return f"{first.mean:.1f} to {other.mean:.1f}", judged

        return row(f"{less}, worth of the zombie block from h = 6 to 20, %", "falls", judge)
