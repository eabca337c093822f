"""Ji and Shin's collections over page cache, log blocks and victim window: Figures 11 to 14."""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from typing import TYPE_CHECKING

from flashgc.described import Simulation
from flashgc_papers.claims import Claim
from flashgc_papers.reproduce import verdicts
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
    runner,
)
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.vm.drawings import over_sizes
from flashgc_papers.vm.experiment import (
    LOGS,
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
TIME, SAVED = "I/O time in s", "saved of DU-GC, %"
EXCLUDED = "N_dup, duplicates left out of a collection"


class _Sweep:
    """DU-GC and two of the schemes over a parameter, on every program."""

    COMPARED = ("DU-GC", "LDA-GC3", "LDA-GC5")

    def runs(self, size: Size) -> dict[str, Simulation]:
        """Both sweeps: over the page cache, and over the log blocks."""
        made = {}
        for name, path in programs().items():
            for scheme in self.COMPARED:
                spec = SCHEMES[scheme]
                for cache in CACHES:
                    made[f"{name} {scheme} cache {cache}"] = drive(path, spec, size, cache=cache)
                for logs in LOG_BLOCKS:
                    made[f"{name} {scheme} logs {logs}"] = drive(path, spec, size, logs=logs)
        return made


@runner("vm.fig11-12")
class Sizes(_Sweep):
    """Figures 11 and 12: over the size of the page cache and the number of log blocks."""

    def task(self, _claim: Claim, size: Size) -> Task:
        """A run a program, scheme and point."""
        return task(size, self.runs(size))

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
                ("fig11", "cache", CACHES, "I/O time and N_dup over the page cache, 32 log blocks"),
                (
                    "fig12",
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


@runner("vm.fig13-14")
class VictimWindow:
    """Figures 13 and 14: how many log blocks are weighed, fixed and adaptive."""

    def task(self, _claim: Claim, size: Size) -> Task:
        """A run a program and window."""
        logs = self._logs(size)
        windows = [*self._fixed(size), "all", *(f"adaptive-{start}-4" for start in (1, logs))]
        return task(
            size,
            {
                f"{name} {window}": drive(path, SCHEMES["LDA-GC5"], size, logs=logs, window=window)
                for name, path in programs().items()
                for window in windows
            },
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """The adaptive window against the unlimited one, from both starts."""
        starts = (1, self._logs(measured.size))
        idle = [name for name in programs() if self._idle(measured, name)]
        rows = [
            self._row(claim, measured, name, start)
            for name in programs()
            if name not in idle
            for start in starts
        ]
        figure = Figure(
            "fig13",
            "I/O time over the victim window, of the unlimited one's",
            self._table(measured),
            lambda: self._draw(measured),
        )
        notes = [f"{', '.join(idle)}: no collection"] if idle else []
        return conclude(
            claim, measured, rows, heading="program, first window", figures=[figure], notes=notes
        )

    @staticmethod
    def _idle(measured: Measured, name: str) -> bool:
        """True if a program needs no collection: the page cache or the log blocks hold it whole."""
        result = measured.results.get(f"{name} all")
        return result is not None and not collections(result)

    @staticmethod
    def _logs(size: Size) -> int:
        """Log blocks: those of the paper, but in a short run few programs fill so many."""
        return LOGS if size is Size.QUICK else LOG_BLOCKS[-1]

    def _fixed(self, size: Size) -> list[str]:
        return [str(window) for window in WINDOWS if window <= self._logs(size)]

    @staticmethod
    def _share(measured: Measured, name: str, window: str) -> float:
        whole = io(measured.result(f"{name} all"))
        if not collections(measured.result(f"{name} all")):
            raise NotMeasuredError("there was no collection")
        return io(measured.result(f"{name} {window}")) / whole

    def _row(self, claim: Claim, measured: Measured, name: str, start: int) -> Row:
        assert claim.lo is not None
        assert claim.hi is not None
        low, high = claim.lo, claim.hi

        def judge() -> tuple[Value, Judgement]:
            share = self._share(measured, name, f"adaptive-{start}-4")
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

    def _table(self, measured: Measured) -> Table:
        rows: list[tuple[float | str | None, ...]] = []
        for name in programs():
            starts = (1, self._logs(measured.size))
            adaptive = (f"adaptive-{start}-4" for start in starts)
            for window in (*self._fixed(measured.size), *adaptive):
                try:
                    rows.append((name, window, self._share(measured, name, window)))
                except NotMeasuredError:
                    rows.append((name, window, None))
        return Table(("program", "window", "of unlimited"), tuple(rows), keys=2)

    def _draw(self, measured: Measured) -> Drawing:
        windows = self._fixed(measured.size)

        def known(name: str, window: str) -> float:
            try:
                return self._share(measured, name, window)
            except NotMeasuredError:
                return math.nan

        shares = {name: [known(name, window) for window in windows] for name in programs()}
        label = "I/O time, unlimited = 1"
        return over_sizes({label: shares}, [int(window) for window in windows], "victim window")


def _listed(names: list[str]) -> str:
    """Names as a sentence has them.

    >>> _listed(["sqlite"]), _listed(["a", "b", "c"])
    ('sqlite', 'a, b and c')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
