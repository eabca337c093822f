"""Decides which simulations the best fits need: few spare factors first, more where needed."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from flashgc.studies.identifying.curves import GRID, Ask, Curve, Curves
from flashgc.studies.identifying.fit import (
    TOLD_APART,
    Fit,
    Goodness,
    Interval,
    distance,
    fit,
    freedom,
    goodness,
    together,
    within,
)
from flashgc.studies.identifying.measurements import Drive
from flashgc.studies.identifying.schemes import Scheme

#: Schemes whose chi-square is further from the best than this are not refined.
_CONTENDER = 4 * TOLD_APART
#: The number of best schemes that are finally simulated at their fitted spare factor.
_REFINED = 3
#: The number of schemes near the best that are also simulated with other numbers of blocks; those
#: are the default number times ``_BLOCKS``.
_VARIED = 8
_BLOCKS = (0.5, 2, 4)
#: The maximum number of rounds of simulations; each adds neighbouring spare factors.
_ROUNDS = len(GRID)


@dataclass(frozen=True)
class Explanation:
    """One scheme, fitted to one drive or to several drives with the same hardware."""

    scheme: Scheme
    #: The fit to each drive.
    fits: tuple[Fit, ...]
    #: The number of blocks of the simulated drive, and other numbers that fit as well.
    blocks: int = 0
    blocks_alike: tuple[int, ...] = ()
    #: For each drive: the interval of spare factors with which the scheme does not differ
    #: significantly from the best explanation, with any number of blocks; ``None`` if there are
    #: none.
    intervals: tuple[Interval | None, ...] = ()

    @property
    def chi_square(self) -> float:
        """The chi-square of all drives."""
        return sum(fit.chi_square for fit in self.fits)

    @property
    def errors(self) -> tuple[float, ...]:
        """Relative errors of all points."""
        return tuple(error for fit in self.fits for error in fit.errors)

    @property
    def rms(self) -> float:
        """Root mean square of the relative errors."""
        return together(self.errors)

    @property
    def largest(self) -> float:
        """The largest absolute value of the relative errors."""
        return max(map(abs, self.errors))


class Search:
    """Simulates schemes and fits them to groups of drives; the drives of a group share a scheme."""

    def __init__(
        self,
        groups: Sequence[tuple[Drive, ...]],
        schemes: Sequence[Scheme],
        curves: Curves,
        *,
        relative: bool,
        varied: bool = False,
    ) -> None:
        self.varied = varied
        self.groups = groups
        self.curves = curves
        self.relative = relative
        self._schemes = [*schemes]
        self._spares: dict[tuple[Scheme, Drive], set[float]] = {
            (scheme, drive): set(_first(drive, curves.size.pages_per_block, relative))
            for group in groups
            for drive in group
            for scheme in schemes
        }

    def perform(self) -> None:
        """Simulate until no best fit is at an end of the simulated range of spare factors.

        If ``varied``, the best schemes are then simulated with other numbers of blocks. At last,
        the best schemes are simulated at their fitted spare factors.
        """
        self._settle("curves")
        if self.varied and not self.curves.interrupted:
            for group in self.groups:
                self._vary(group)
            self._settle("numbers of blocks")
        if not self.curves.interrupted:
            for group in self.groups:
                self._refine(group)
            self._simulate("the best curves")

    def degrees(self, group: tuple[Drive, ...]) -> int:
        """The degrees of freedom of a fit to these drives."""
        points = sum(len(drive.points) for drive in group)
        return freedom(points, len(group), relative=self.relative, varied=self.varied)

    def _settle(self, what: str) -> None:
        before = -1
        for number in range(1, _ROUNDS + 1):
            if before == (before := sum(map(len, self._spares.values()))):
                break
            self._simulate(f"{what}, round {number}")
            if self.curves.interrupted:
                return
            for group in self.groups:
                self._extend(group)

    def _vary(self, group: tuple[Drive, ...]) -> None:
        for contender in self._contenders(group, TOLD_APART)[:_VARIED]:
            for factor in _BLOCKS:
                blocks = int(self.curves.size.blocks * factor)
                other = replace(contender.scheme, blocks=blocks)
                if other not in self._schemes:
                    self._schemes.append(other)
                for drive, best_fit in zip(group, contender.fits, strict=True):
                    near = sorted(GRID, key=lambda spare: abs(math.log(spare / best_fit.spare)))[:3]
                    self._spares.setdefault((other, drive), set()).update(near)

    def explanations(self, group: tuple[Drive, ...]) -> list[Explanation]:
        """Every scheme that could be simulated, with its best number of blocks; best first."""
        usual = self.curves.size.blocks
        by_scheme: dict[Scheme, list[Explanation]] = {}
        for explanation in self._all(group):
            by_scheme.setdefault(replace(explanation.scheme, blocks=None), []).append(explanation)
        limit = self._limit(group)
        return [
            replace(
                some[0],
                blocks=some[0].scheme.blocks or usual,
                blocks_alike=tuple(
                    sorted(
                        explanation.scheme.blocks or usual
                        for explanation in some[1:]
                        if explanation.chi_square - some[0].chi_square <= limit.beyond
                    )
                ),
                intervals=tuple(
                    joined(self._interval(explanation, drive, index, limit) for explanation in some)
                    for index, drive in enumerate(group)
                ),
            )
            for some in by_scheme.values()
        ]

    def goodness(self, group: tuple[Drive, ...]) -> Goodness:
        """The quality of the best explanation's fit, compared with fits by chance."""
        explanations = self._all(group)
        curves = [
            [self.curve(explanation.scheme, drive) for drive in group]
            for explanation in explanations
        ]
        return goodness(
            [drive.points for drive in group],
            explanations[0].fits,
            [[curve for curve in some if curve is not None] for some in curves],
            relative=self.relative,
        )

    def curve(self, scheme: Scheme, drive: Drive) -> Curve | None:
        """The simulated curve of a scheme under the workloads of a drive."""
        conditions = [point.condition for point in drive.points]
        return self.curves.curve(scheme, conditions, self._spares.get((scheme, drive), ()))

    def _interval(
        self, explanation: Explanation, drive: Drive, index: int, limit: _Limit
    ) -> Interval | None:
        """The spare factors of one drive with which all drives together stay within the limit."""
        curve = self.curve(explanation.scheme, drive)
        if curve is None:
            return None
        others = explanation.chi_square - explanation.fits[index].chi_square
        return within(drive.points, curve, limit.total - others, relative=self.relative)

    def _limit(self, group: tuple[Drive, ...]) -> _Limit:
        explanations, degrees = self._all(group), self.degrees(group)
        least = explanations[0].chi_square if explanations else 0.0
        beyond = TOLD_APART * max(1.0, least / degrees)
        return _Limit(beyond, least + beyond)

    def _all(self, group: tuple[Drive, ...]) -> list[Explanation]:
        explanations = []
        for scheme in self._schemes:
            if any((scheme, drive) not in self._spares for drive in group):
                continue
            fits = [self._fit(scheme, drive) for drive in group]
            whole = tuple(fit for fit in fits if fit is not None)
            if len(whole) == len(group):
                explanations.append(Explanation(scheme, whole))
        return sorted(explanations, key=lambda explanation: explanation.chi_square)

    def held_out(self, drive: Drive, index: int) -> tuple[Scheme, float] | None:
        """The best scheme fitted without a point, and its prediction for that point."""
        best: tuple[float, Scheme, float] | None = None
        for scheme in self._schemes:
            curve = self.curve(scheme, drive)
            if curve is None:
                continue
            refit = fit(drive.points, curve, relative=self.relative, left_out=index)
            if best is None or refit.chi_square < best[0]:
                best = (refit.chi_square, scheme, refit.predicted[index])
        return None if best is None else best[1:]

    def _fit(self, scheme: Scheme, drive: Drive) -> Fit | None:
        curve = self.curve(scheme, drive)
        return None if curve is None else fit(drive.points, curve, relative=self.relative)

    def _simulate(self, what: str) -> None:
        asks = [
            Ask(scheme, point.condition, spare)
            for (scheme, drive), spares in self._spares.items()
            for spare in sorted(spares)
            for point in drive.points
        ]
        self.curves.simulate(asks, what)

    def _contenders(
        self, group: tuple[Drive, ...], within: float = _CONTENDER
    ) -> list[Explanation]:
        explanations = self._all(group)
        degrees = self.degrees(group)
        return [
            explanation
            for explanation in explanations
            if distance(explanation.chi_square, explanations[0].chi_square, degrees) <= within
        ]

    def _extend(self, group: tuple[Drive, ...]) -> None:
        """Add spare factors: beyond fits at an end of the range, and next to the best fits."""
        for explanation in self._all(group):
            for drive, best_fit in zip(group, explanation.fits, strict=True):
                spares = self._spares[explanation.scheme, drive]
                known = [spare for spare in spares if spare in GRID]
                low, high = GRID.index(min(known)), GRID.index(max(known))
                if best_fit.at_least and low > 0:
                    spares.add(GRID[low - 1])
                if best_fit.at_most and high + 1 < len(GRID):
                    spares.add(GRID[high + 1])
        limit = self._limit(group)
        for contender in self._contenders(group):
            for index, (drive, best_fit) in enumerate(zip(group, contender.fits, strict=True)):
                self._widen(drive, contender, self._interval(contender, drive, index, limit))
                below = max((s for s in GRID if s <= best_fit.spare), default=GRID[0])
                above = min((s for s in GRID if s >= best_fit.spare), default=GRID[-1])
                self._spares[contender.scheme, drive] |= {below, above}

    def _widen(self, drive: Drive, explanation: Explanation, fits: Interval | None) -> None:
        """Add the next spare factor of the grid if a fit's interval reaches the curve's end."""
        spares = self._spares[explanation.scheme, drive]
        known = [spare for spare in spares if spare in GRID]
        if fits is not None and fits.is_open_below and min(known) > GRID[0]:
            spares.add(GRID[GRID.index(min(known)) - 1])
        if fits is not None and fits.is_open_above and max(known) < GRID[-1]:
            spares.add(GRID[GRID.index(max(known)) + 1])

    def _refine(self, group: tuple[Drive, ...]) -> None:
        for explanation in self._all(group)[:_REFINED]:
            for drive, best_fit in zip(group, explanation.fits, strict=True):
                self._spares[explanation.scheme, drive].add(round(best_fit.spare, 4))


@dataclass(frozen=True)
class _Limit:
    """The largest chi-square of explanations that do not differ significantly from the best."""

    #: The limit relative to the best chi-square, and the absolute limit.
    beyond: float
    total: float


def joined(intervals: Iterable[Interval | None]) -> Interval | None:
    """The smallest interval that contains all of them."""
    known = [interval for interval in intervals if interval is not None]
    return functools.reduce(Interval.joined, known) if known else None


def _first(drive: Drive, pages_per_block: int, relative: bool) -> tuple[float, ...]:
    """Return the first spare factors: near the one where greedy has the least measured value."""
    from flashgc import model

    if relative:
        return GRID[2::3]
    least = min(point.write_amplification for point in drive.points)
    spares = [
        spare for spare in GRID if model.greedy(spare, pages_per_block=pages_per_block) >= least
    ]
    low = max(GRID.index(spares[-1]) if spares else 0, 0)
    low = min(low, len(GRID) - 3)
    return GRID[low : low + 3]
