"""Ji and Shin's collections over page cache, log blocks and victim window: Figures 11 to 14."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import statistics
from typing import TYPE_CHECKING

from flashgc.described import Simulation
from flashgc_papers.claims import Claim
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import Reading, runner_under
from flashgc_papers.reproduce.runner import (
    Figure,
    Measured,
    NotMeasuredError,
    Outcome,
    Row,
    Size,
    Table,
    Task,
    conclude,
    row,
)
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.vm.drawings import over_sizes
from flashgc_papers.vm.experiment import (
    PASSES_TO_ADAPT,
    READINGS,
    SCHEMES,
    STAND_IN,
    collections,
    drive,
    io,
    programs,
    task,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

CACHES, LOG_BLOCKS = (1, 2, 4, 8, 16), (8, 16, 32, 64, 128)
WINDOWS = (1, 2, 4, 8, 16, 32, 64, 128)
#: Windows of the statement on Figure 13: from the second one on changes are marginal.
STATED = (1, 32, 128)
TIME, SAVED = "I/O time in s", "saved of DU-GC, %"
EXCLUDED = "N_dup, duplicates left out of a collection"


class _Sweep:
    """DU-GC and two of the schemes over a parameter, on every program."""

    COMPARED = ("DU-GC", "LDA-GC3", "LDA-GC5")

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def runs(self) -> dict[str, Simulation]:
        """Both sweeps: over the page cache, and over the log blocks."""
        made, reading = {}, self._reading
        for name, path in programs().items():
            for scheme in self.COMPARED:
                spec = SCHEMES[scheme]
                for cache in CACHES:
                    made[f"{name} {scheme} cache {cache}"] = drive(path, spec, reading, cache=cache)
                for logs in LOG_BLOCKS:
                    made[f"{name} {scheme} logs {logs}"] = drive(path, spec, reading, logs=logs)
        return made


@runner_under(READINGS, "vm.fig11-12")
class Sizes(_Sweep):
    """Figures 11 and 12: over the size of the page cache and the number of log blocks."""

    def task(self, _claim: Claim, _size: Size) -> Task:
        """A run a program, scheme and point."""
        return task(self.runs())

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge if the gain rises along each, and what N_dup does."""
        rows = [
            self._rises(measured, scheme, kind, points)
            for scheme in self.COMPARED[1:]
            for kind, points in (("cache", CACHES), ("logs", LOG_BLOCKS))
        ]
        for scheme in self.COMPARED[1:]:
            rows.append(self._better(measured, scheme))
            rows.append(self._faster(measured, scheme))
            rows.append(self._more_duplicates(measured, scheme))
            rows.append(self._peak(measured, scheme, claim.facts["peak"]))
        figures = [
            Figure(
                name,
                caption,
                self._table(measured, kind, points),
                functools.partial(self._draw, measured, kind, points),
            )
            for name, kind, points, caption in (
                ("vm.fig11", "cache", CACHES, "I/O time and N_dup over page cache, 32 log blocks"),
                (
                    "vm.fig12",
                    "logs",
                    LOG_BLOCKS,
                    "I/O time and N_dup over the log blocks, cache of 4 MiB",
                ),
            )
        ]
        notes = self._fitting(measured)
        return conclude(claim, measured, rows, heading="scheme, over", figures=figures, notes=notes)

    @staticmethod
    def _fitting(measured: Measured) -> list[str]:
        """Notes on programs that write nothing, because the page cache holds them whole."""
        said = []
        for cache in CACHES:
            runs = {
                name: measured.results.get(f"{name} DU-GC cache {cache}") for name in programs()
            }
            fitting = [name for name, result in runs.items() if result and not io(result)]
            if fitting:
                said.append(
                    f"a page cache of {cache} MiB holds all pages of {_listed(fitting)}: nothing "
                    "is written, and the mean is over the others"
                )
        return said

    def _gain(self, measured: Measured, scheme: str, kind: str, point: int) -> float:
        """The share of DU-GC's I/O time that a scheme saves, mean over the programs."""
        gains = []
        for name in programs():
            base = io(measured.result(f"{name} DU-GC {kind} {point}"))
            if base:
                gains.append(1 - io(measured.result(f"{name} {scheme} {kind} {point}")) / base)
        if not gains:
            raise NotMeasuredError("nothing was written")
        return statistics.fmean(gains)

    def _rises(self, measured: Measured, scheme: str, kind: str, points: tuple[int, ...]) -> Row:
        def judge() -> tuple[str, Judgement]:
            gains = [self._gain(measured, scheme, kind, point) for point in points]
            said = ", ".join(
                f"{gain * 100:+.1f}% at {point}" for gain, point in zip(gains, points, strict=True)
            )
            rises = all(b >= a for a, b in itertools.pairwise(gains))
            ends = gains[-1] > gains[0]
            text = f"{gains[0] * 100:.1f}% to {gains[-1] * 100:.1f}%"
            return text, verdicts.true(rises and ends, f"saved of DU-GC: {said}")

        over = "page cache in MiB" if kind == "cache" else "log blocks"
        return row(f"{scheme}, {over}", "the gain rises", judge, stand_in=STAND_IN)

    def _better(self, measured: Measured, scheme: str) -> Row:
        def judge() -> tuple[str, Judgement]:
            gains = [100 * self._gain(measured, scheme, "cache", point) for point in CACHES]
            least = min(gains)
            at = CACHES[gains.index(least)]
            return f"{least:.1f}%", verdicts.true(least > 0, f"the least gain, at {at} MiB")

        label = f"{scheme} below DU-GC at every size of the cache"
        return row(label, "less", judge, stand_in=STAND_IN)

    def _faster(self, measured: Measured, scheme: str) -> Row:
        def judge() -> tuple[str, Judgement]:
            times = [
                statistics.fmean(
                    io(measured.result(f"{name} {scheme} logs {point}")) for name in programs()
                )
                for point in LOG_BLOCKS
            ]
            series = [Value(time) for time in times]
            text = ", ".join(f"{time:.0f}" for time in times)
            return text, verdicts.falling(series, [str(point) for point in LOG_BLOCKS])

        return row(f"{scheme}, I/O time in s over log blocks", "falls", judge, stand_in=STAND_IN)

    def _duplicates(
        self, measured: Measured, scheme: str, kind: str, points: tuple[int, ...]
    ) -> tuple[list[float], list[str]]:
        """N_dup at each point, mean over the programs that collect at all of them, and which."""
        for name, point in itertools.product(programs(), points):
            measured.result(f"{name} {scheme} {kind} {point}")
        curves = {
            name: self._curve(measured, name, scheme, kind, points)[EXCLUDED] for name in programs()
        }
        known = {name: curve for name, curve in curves.items() if not any(map(math.isnan, curve))}
        if not known:
            raise NotMeasuredError("no program collects at every point")
        means = [statistics.fmean(values) for values in zip(*known.values(), strict=True)]
        return means, list(known)

    def _more_duplicates(self, measured: Measured, scheme: str) -> Row:
        def judge() -> tuple[str, Judgement]:
            means, on = self._duplicates(measured, scheme, "cache", CACHES)
            text = ", ".join(f"{mean:.1f}" for mean in means)
            judged = verdicts.rising(
                [Value(mean) for mean in means], [f"{at} MiB" for at in CACHES]
            )
            return text, Judgement(judged.verdict, f"on {_listed(on)}: {judged.why}")

        label = f"{scheme}, N_dup over page cache in MiB"
        return row(label, "rises", judge, stand_in=STAND_IN)

    def _peak(self, measured: Measured, scheme: str, published: int) -> Row:
        def judge() -> tuple[str, Judgement]:
            means, on = self._duplicates(measured, scheme, "logs", LOG_BLOCKS)
            peak = LOG_BLOCKS[means.index(max(means))]
            each = ", ".join(f"{mean:.1f}" for mean in means)
            curves = {
                name: self._curve(measured, name, scheme, "logs", LOG_BLOCKS)[EXCLUDED]
                for name in on
            }
            alone = ", ".join(
                f"{name} {LOG_BLOCKS[curve.index(max(curve))]}" for name, curve in curves.items()
            )
            why = f"{each} on the mean of {_listed(on)}; by themselves: {alone}"
            return f"{peak} log blocks", verdicts.true(peak == published, why)

        label = f"{scheme}, log blocks at which N_dup is largest"
        return row(label, f"{published} log blocks", judge, stand_in=STAND_IN)

    def _curve(
        self, measured: Measured, name: str, scheme: str, kind: str, points: tuple[int, ...]
    ) -> dict[str, list[float]]:
        """I/O time, what is saved of DU-GC's, and N_dup of one program; NaN where there is none."""
        curve: dict[str, list[float]] = {TIME: [], SAVED: [], EXCLUDED: []}
        for point in points:
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

    def _table(self, measured: Measured, kind: str, points: tuple[int, ...]) -> Table:
        rows: list[tuple[float | str | None, ...]] = []
        for name in programs():
            for scheme in self.COMPARED:
                curve = self._curve(measured, name, scheme, kind, points)
                rows += [(name, scheme, what, *curve[what]) for what in (TIME, EXCLUDED)]
        headings = (f"{kind} {point}" for point in points)
        return Table(("program", "scheme", "figure", *headings), tuple(rows))

    def _draw(self, measured: Measured, kind: str, points: tuple[int, ...]) -> Drawing:
        curves = {
            (scheme, name): self._curve(measured, name, scheme, kind, points)
            for scheme in self.COMPARED[1:]
            for name in programs()
        }
        parts = {
            f"{scheme}: {what}": {name: curves[scheme, name][what] for name in programs()}
            for what in (SAVED, EXCLUDED)
            for scheme in self.COMPARED[1:]
        }
        return over_sizes(parts, points, "page cache in MiB" if kind == "cache" else "log blocks")


class _Windows:
    """LDA-GC5 on every program, with 128 log blocks and a window of so many of them."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def windows(self, size: Size) -> list[str]:
        """The windows that are compared with the unlimited one."""
        raise NotImplementedError

    def task(self, _claim: Claim, size: Size) -> Task:
        """A run a program and window."""
        made = task(
            {
                f"{name} {window}": drive(
                    path,
                    SCHEMES["LDA-GC5"],
                    self._reading,
                    logs=LOG_BLOCKS[-1],
                    window=window,
                    passes=PASSES_TO_ADAPT,
                )
                for name, path in programs().items()
                for window in ("all", *self.windows(size))
            }
        )
        few = "" if size is not Size.QUICK or made.not_run else "most sizes of the window"
        return dataclasses.replace(made, left_out=few)

    @staticmethod
    def idle(measured: Measured) -> list[str]:
        """The programs that need no collection: page cache or log blocks hold them whole."""
        return [
            name
            for name in programs()
            if (result := measured.results.get(f"{name} all")) and not collections(result)
        ]

    @staticmethod
    def share(measured: Measured, name: str, window: str) -> float:
        whole = io(measured.result(f"{name} all"))
        if not collections(measured.result(f"{name} all")):
            raise NotMeasuredError("there was no collection")
        return io(measured.result(f"{name} {window}")) / whole


@runner_under(READINGS, "vm.fig13")
class VictimWindow(_Windows):
    """Figure 13: I/O time over windows of fixed size."""

    def windows(self, size: Size) -> list[str]:
        """Windows of the statement alone at the quick size, all of the paper's at the others."""
        return [str(one) for one in (WINDOWS if size is not Size.QUICK else STATED)]

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
        """I/O time of that of the unlimited window, mean over the programs that collect."""
        idle = self.idle(measured)
        names = [name for name in programs() if name not in idle]
        return Value(statistics.fmean(self.share(measured, name, str(window)) for name in names))

    def _falls(self, measured: Measured) -> Row:
        windows = [int(one) for one in self.windows(measured.size) if int(one) <= STATED[1]]

        def judge() -> tuple[str, Judgement]:
            series = [self._mean(measured, window) for window in windows]
            text = ", ".join(f"{value.mean:.3f}" for value in series)
            return text, verdicts.falling(series, [str(window) for window in windows])

        label = f"I/O time over a window of {', '.join(map(str, windows))}, unlimited = 1"
        return row(label, "falls", judge, stand_in=STAND_IN)

    def _flat(self, measured: Measured) -> Row:
        first, middle, last = STATED

        def judge() -> tuple[str, Judgement]:
            one, two, three = (self._mean(measured, window).mean for window in STATED)
            text = f"{one - two:.3f} and {abs(two - three):.3f}"
            return text, verdicts.true(abs(two - three) < one - two, "of the unlimited one's time")

        label = f"change from {first} to {middle}, and from {middle} to {last}"
        return row(label, "marginal from 32 on", judge, stand_in=STAND_IN)

    def _table(self, measured: Measured) -> Table:
        rows: list[tuple[float | str | None, ...]] = []
        for name in programs():
            for window in self.windows(measured.size):
                try:
                    rows.append((name, window, self.share(measured, name, window)))
                except NotMeasuredError:
                    rows.append((name, window, None))
        return Table(("program", "window", "of unlimited"), tuple(rows), keys=2)

    def _draw(self, measured: Measured) -> Drawing:
        windows = self.windows(measured.size)

        def known(name: str, window: str) -> float:
            try:
                return self.share(measured, name, window)
            except NotMeasuredError:
                return math.nan

        shares = {name: [known(name, window) for window in windows] for name in programs()}
        label = "I/O time, unlimited = 1"
        return over_sizes({label: shares}, [int(window) for window in windows], "victim window")


@runner_under(READINGS, "vm.fig14")
class Adaptive(_Windows):
    """Figure 14: the adaptive window against the unlimited one, from both ends."""

    STARTS = (1, LOG_BLOCKS[-1])

    def windows(self, _size: Size) -> list[str]:
        """Adaptive ones, in steps of 4."""
        return [f"adaptive-{start}-4" for start in self.STARTS]

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """A row a program and first window."""
        idle = self.idle(measured)
        rows = [
            self._row(claim, measured, name, start)
            for name in programs()
            if name not in idle
            for start in self.STARTS
        ]
        notes = [f"{', '.join(idle)}: no collection"] if idle else []
        return conclude(claim, measured, rows, heading="program, first window", notes=notes)

    def _row(self, claim: Claim, measured: Measured, name: str, start: int) -> Row:
        assert claim.lo is not None
        assert claim.hi is not None
        low, high = claim.lo, claim.hi

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


def _listed(names: list[str]) -> str:
    """Names as a sentence has them.

    >>> _listed(["sqlite"]), _listed(["a", "b", "c"])
    ('sqlite', 'a, b and c')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
