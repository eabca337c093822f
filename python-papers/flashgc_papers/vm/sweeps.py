"""Ji and Shin's collections over page cache, log blocks and victim window: Figures 11 to 14."""

from __future__ import annotations

import dataclasses
import itertools
import math
from functools import partial

from flashgc_papers.claims import Claim
from flashgc_papers.published import Drawing
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import UnderReading, runner_under
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Figure, Outcome, Table, conclude
from flashgc_papers.reproduce.tasks import Measured, NotMeasuredError, Size, Task, measured_or
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.vm.drawings import over_sizes
from flashgc_papers.vm.experiment import (
    PASSES_TO_ADAPT,
    SCHEMES,
    STAND_IN,
    Recorded,
    alone,
    collections,
    drive,
    io,
    mixtures,
    programs,
    task,
    together,
)

CACHES, LOG_BLOCKS = (1, 2, 4, 8, 16), (8, 16, 32, 64, 128)
#: The axes of Figures 11 and 12: their points, and words for tables.
POINTS = {"cache": CACHES, "logs": LOG_BLOCKS}
OVER = {"cache": "page cache in MiB", "logs": "log blocks"}
WINDOWS = (1, 2, 4, 8, 16, 32, 64, 128)
#: Windows of the statement on Figure 13, which says that changes beyond the second are marginal.
STATED = (1, 32, 128)
TIME, SAVED = "I/O time in s", "saved of DU-GC, %"
EXCLUDED = "N_dup, duplicates left out of a collection"


@runner_under("vm.fig11-12")
class Sizes(UnderReading):
    """DU-GC and two of the schemes over page cache and log blocks, on programs that take turns."""

    COMPARED = ("DU-GC", "LDA-GC3", "LDA-GC5")

    def task(self, _claim: Claim, _size: Size) -> Task:
        """A run for each order, scheme and point."""
        simulations, reading, recorded = {}, self.reading, together()
        for name, path in recorded.recordings.items():
            for scheme in self.COMPARED:
                spec = SCHEMES[scheme]
                for cache in CACHES:
                    simulations[f"{name} {scheme} cache {cache}"] = drive(
                        path, spec, reading, cache=cache, passes=recorded.passes
                    )
                for logs in LOG_BLOCKS:
                    simulations[f"{name} {scheme} logs {logs}"] = drive(
                        path, spec, reading, logs=logs, passes=recorded.passes
                    )
        return task(simulations, recorded)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge if the gain grows along each axis, and how N_dup changes."""
        rows = [
            self._rises(measured, scheme, kind) for scheme in self.COMPARED[1:] for kind in POINTS
        ]
        for scheme in self.COMPARED[1:]:
            rows.append(self._better(measured, scheme))
            rows.append(self._faster(measured, scheme, "cache"))
            rows.append(self._faster(measured, scheme, "logs"))
            rows.append(self._more_duplicates(measured, scheme))
            rows.append(self._peak(measured, scheme, claim.facts["peak"]))
        figures = [
            Figure(
                name,
                caption,
                self._table(measured, kind),
                partial(self._draw, measured, kind),
            )
            for name, kind, caption in (
                ("vm.fig11", "cache", "I/O time and N_dup over page cache, 32 log blocks"),
                ("vm.fig12", "logs", "I/O time and N_dup over the log blocks, cache of 4 MiB"),
            )
        ]
        return conclude(claim, measured, rows, heading="scheme, over", figures=figures)

    def _means(self, measured: Measured, scheme: str, kind: str, what: str) -> list[Value]:
        """A figure at each point, mean over the orders."""
        for name, run, point in itertools.product(mixtures(), ("DU-GC", scheme), POINTS[kind]):
            measured.result(f"{name} {run} {kind} {point}")
        curves = [self._curve(measured, name, scheme, kind)[what] for name in mixtures()]
        return [Value.of(values) for values in zip(*curves, strict=True)]

    def _rises(self, measured: Measured, scheme: str, kind: str) -> Row:
        def judge() -> tuple[str, Judgement]:
            gains = self._means(measured, scheme, kind, SAVED)
            text = ", ".join(f"{gain.mean:.1f}" for gain in gains)
            return text, verdicts.rising(gains, [str(point) for point in POINTS[kind]])

        return row(
            f"{scheme}, saved of DU-GC in % over {OVER[kind]}", "rises", judge, stand_in=STAND_IN
        )

    def _better(self, measured: Measured, scheme: str) -> Row:
        def judge() -> tuple[Value, Judgement]:
            gains = self._means(measured, scheme, "cache", SAVED)
            least = min(gains, key=lambda gain: gain.low)
            at = CACHES[gains.index(least)]
            return least, verdicts.over(least, 0, f"saved at {at} MiB, in %")

        label = f"{scheme} below DU-GC at every size of the cache"
        return row(label, "less", judge, stand_in=STAND_IN, base=None)

    def _faster(self, measured: Measured, scheme: str, kind: str) -> Row:
        def judge() -> tuple[str, Judgement]:
            times = self._means(measured, scheme, kind, TIME)
            text = ", ".join(f"{time.mean:.0f}" for time in times)
            return text, verdicts.falling(times, [str(point) for point in POINTS[kind]])

        label = f"{scheme}, I/O time in s over {OVER[kind]}"
        return row(label, "falls", judge, stand_in=STAND_IN)

    def _more_duplicates(self, measured: Measured, scheme: str) -> Row:
        def judge() -> tuple[str, Judgement]:
            means = self._means(measured, scheme, "cache", EXCLUDED)
            text = ", ".join(f"{mean.mean:.1f}" for mean in means)
            return text, verdicts.rising(means, [f"{at} MiB" for at in CACHES])

        label = f"{scheme}, N_dup over page cache in MiB"
        return row(label, "rises", judge, stand_in=STAND_IN)

    def _peak(self, measured: Measured, scheme: str, published: int) -> Row:
        def judge() -> tuple[str, Judgement]:
            means = self._means(measured, scheme, "logs", EXCLUDED)
            most = max(means, key=lambda mean: mean.mean)
            peak = LOG_BLOCKS[means.index(most)]
            why = ", ".join(f"{mean.mean:.1f}" for mean in means)
            return f"{peak} log blocks", verdicts.true(peak == published, why)

        label = f"{scheme}, log blocks at which N_dup is largest"
        return row(label, f"{published} log blocks", judge, stand_in=STAND_IN)

    def _curve(
        self, measured: Measured, name: str, scheme: str, kind: str
    ) -> dict[str, list[float]]:
        """I/O time, its saving against DU-GC in percent, and N_dup of one order; NaN if unknown."""
        curve: dict[str, list[float]] = {TIME: [], SAVED: [], EXCLUDED: []}
        for point in POINTS[kind]:
            result = measured.results.get(f"{name} {scheme} {kind} {point}")
            base = measured.results.get(f"{name} DU-GC {kind} {point}")
            time = io(result) if result else math.nan
            usual = io(base) if base else math.nan
            swap = result.swap if result else None
            excluded = None if swap is None else swap.excluded_per_collection
            curve[TIME].append(time)
            curve[SAVED].append((1 - time / usual) * 100 if usual else math.nan)
            curve[EXCLUDED].append(math.nan if excluded is None else float(excluded))
        return curve

    def _table(self, measured: Measured, kind: str) -> Table:
        rows: list[tuple[float | str | None, ...]] = []
        for name in mixtures():
            for scheme in self.COMPARED:
                curve = self._curve(measured, name, scheme, kind)
                rows += [(name, scheme, what, *curve[what]) for what in (TIME, EXCLUDED)]
        headings = (f"{kind} {point}" for point in POINTS[kind])
        return Table(("order", "scheme", "figure", *headings), tuple(rows))

    def _draw(self, measured: Measured, kind: str) -> Drawing:
        curves = {
            (scheme, name): self._curve(measured, name, scheme, kind)
            for scheme in self.COMPARED[1:]
            for name in mixtures()
        }
        parts = {
            f"{scheme}: {what}": {name: curves[scheme, name][what] for name in mixtures()}
            for what in (SAVED, EXCLUDED)
            for scheme in self.COMPARED[1:]
        }
        return over_sizes(parts, POINTS[kind], OVER[kind])


class _Windows(UnderReading):
    """LDA-GC5 with 128 log blocks and several victim windows, on each of the recordings."""

    @staticmethod
    def recorded() -> Recorded:
        """The recordings, and how often in a row each is run."""
        return together()

    def windows(self, size: Size) -> list[str]:
        """The windows that are compared with the unlimited one."""
        raise NotImplementedError

    def task(self, _claim: Claim, size: Size) -> Task:
        """A run for each recording and window."""
        recorded = self.recorded()
        simulations = task(
            {
                f"{name} {window}": drive(
                    path,
                    SCHEMES["LDA-GC5"],
                    self.reading,
                    logs=LOG_BLOCKS[-1],
                    window=window,
                    passes=recorded.passes,
                )
                for name, path in recorded.recordings.items()
                for window in ("all", *self.windows(size))
            },
            recorded,
        )
        few = "" if size is not Size.QUICK or simulations.not_run else "most sizes of the window"
        return dataclasses.replace(simulations, left_out=few)

    @staticmethod
    def share(measured: Measured, name: str, window: str) -> float:
        whole = io(measured.result(f"{name} all"))
        if not collections(measured.result(f"{name} all")):
            raise NotMeasuredError("there was no collection")
        return io(measured.result(f"{name} {window}")) / whole


@runner_under("vm.fig13")
class VictimWindow(_Windows):
    """Figure 13: I/O time over windows of fixed size."""

    def windows(self, size: Size) -> list[str]:
        """Only the windows of the statement at the quick size, otherwise all of the paper's."""
        return [str(window) for window in (WINDOWS if size is not Size.QUICK else STATED)]

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge if time falls up to 32 log blocks, and changes by less beyond."""
        rows = [self._falls(measured), self._flat(measured)]
        figure = Figure(
            "vm.fig13",
            "I/O time over the victim window, of the unlimited one's",
            self._table(measured),
            lambda: self._draw(measured),
        )
        return conclude(claim, measured, rows, heading="statement", figures=[figure])

    def _mean(self, measured: Measured, window: int) -> Value:
        """I/O time divided by that of the unlimited window, mean over the orders."""
        return Value.of([self.share(measured, name, str(window)) for name in mixtures()])

    def _falls(self, measured: Measured) -> Row:
        windows = [
            int(window) for window in self.windows(measured.size) if int(window) <= STATED[1]
        ]

        def judge() -> tuple[str, Judgement]:
            series = [self._mean(measured, window) for window in windows]
            text = ", ".join(f"{value.mean:.3f}" for value in series)
            return text, verdicts.falling(series, [str(window) for window in windows])

        label = f"I/O time over a window of {', '.join(map(str, windows))}, unlimited = 1"
        return row(label, "falls", judge, stand_in=STAND_IN)

    def _flat(self, measured: Measured) -> Row:
        first, middle, last = STATED

        def judge() -> tuple[str, Judgement]:
            first, two, three = (self._mean(measured, window).mean for window in STATED)
            text = f"{first - two:.3f} and {abs(two - three):.3f}"
            return text, verdicts.true(
                abs(two - three) < first - two, "of the unlimited one's time"
            )

        label = f"change from {first} to {middle}, and from {middle} to {last}"
        return row(label, "marginal from 32 on", judge, stand_in=STAND_IN)

    def _table(self, measured: Measured) -> Table:
        rows: list[tuple[float | str | None, ...]] = []
        for name in mixtures():
            for window in self.windows(measured.size):
                share = measured_or(None, partial(self.share, measured, name, window))
                rows.append((name, window, share))
        return Table(("order", "window", "of unlimited"), tuple(rows), keys=2)

    def _draw(self, measured: Measured) -> Drawing:
        windows = self.windows(measured.size)
        shares = {
            name: [
                measured_or(math.nan, partial(self.share, measured, name, window))
                for window in windows
            ]
            for name in mixtures()
        }
        label = "I/O time, unlimited = 1"
        return over_sizes({label: shares}, [int(window) for window in windows], "victim window")


@runner_under("vm.fig14")
class Adaptive(_Windows):
    """Figure 14: the adaptive window, which starts at 1 or 128, against the unlimited one."""

    STARTS = (1, LOG_BLOCKS[-1])

    @staticmethod
    def recorded() -> Recorded:
        """Single programs with many passes, because the window changes slowly."""
        return alone(PASSES_TO_ADAPT)

    def windows(self, _size: Size) -> list[str]:
        """Adaptive windows with several start values and steps of 4."""
        return [f"adaptive-{start}-4" for start in self.STARTS]

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge a row for each program and start value."""
        # Programs without a collection: the page cache or the log blocks hold all of their pages.
        idle = [
            name
            for name in programs()
            if (result := measured.results.get(f"{name} all")) and not collections(result)
        ]
        rows = [
            self._row(claim, measured, name, start)
            for name in programs()
            if name not in idle
            for start in self.STARTS
        ]
        notes = [f"{', '.join(idle)}: no collection"] if idle else []
        return conclude(claim, measured, rows, heading="program, first window", notes=notes)

    def _row(self, claim: Claim, measured: Measured, name: str, start: int) -> Row:
        low, high = claim.bounds

        def judge() -> tuple[Value, Judgement]:
            share = self.share(measured, name, f"adaptive-{start}-4")
            looked = self._weighed(measured, name, f"adaptive-{start}-4")
            most = self._weighed(measured, name, "all")
            verdict, why = verdicts.within(Value(share), low, high)
            if most:
                why += f"; {looked / most:.0%} of the log blocks weighed"
            return Value(share), Judgement(verdict, why)

        return row(f"{name}, {start}", f"{low:g} to {high:g}", judge, stand_in=STAND_IN)

    @staticmethod
    def _weighed(measured: Measured, name: str, window: str) -> float:
        merges = measured.result(f"{name} {window}").merges
        return merges.weighed / max(merges.picks, 1) if merges else 0.0
