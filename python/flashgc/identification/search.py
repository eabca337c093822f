"""Which simulations it takes to find the best fits: few spare factors first, more where needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flashgc.identification.curves import GRID, Ask, Curves
from flashgc.identification.fit import TOLD_APART, Fit, distance, fit, freedom, together
from flashgc.identification.measurements import Drive
from flashgc.identification.schemes import Scheme

#: Schemes so far behind the best are not looked at more closely.
_CONTENDER = 4 * TOLD_APART
#: So many of the best are simulated at their own spare factor in the end.
_REFINED = 3
#: Rounds of simulations; each adds neighbours to the spare factors.
_ROUNDS = len(GRID)


@dataclass(frozen=True)
class Explanation:
    """One scheme, fitted to one drive or to several of one hardware."""

    scheme: Scheme
    #: One a drive.
    fits: tuple[Fit, ...]

    @property
    def chi_square(self) -> float:
        """Of all drives."""
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
        """The largest relative error, without its sign."""
        return max(map(abs, self.errors))


class Search:
    """Simulates and fits schemes to groups of drives; a group has one scheme."""

    def __init__(
        self,
        groups: Sequence[tuple[Drive, ...]],
        schemes: Sequence[Scheme],
        curves: Curves,
        *,
        relative: bool,
    ) -> None:
        self.groups = groups
        self.curves = curves
        self.relative = relative
        self._schemes = schemes
        self._spares: dict[tuple[Scheme, Drive], set[float]] = {
            (scheme, drive): set(_first(drive, curves.size.pages_per_block, relative))
            for group in groups
            for drive in group
            for scheme in schemes
        }

    def perform(self) -> None:
        """Simulates until no best fit is at an end, and the best are simulated where they are."""
        before = -1
        for number in range(1, _ROUNDS + 1):
            if before == (before := sum(map(len, self._spares.values()))):
                break
            self._simulate(f"curves, round {number}")
            if self.curves.interrupted:
                return
            for group in self.groups:
                self._extend(group)
        for group in self.groups:
            self._refine(group)
        self._simulate("the best curves")

    def explanations(self, group: tuple[Drive, ...]) -> list[Explanation]:
        """Every scheme that could be simulated, the best first."""
        found = []
        for scheme in self._schemes:
            fits = [self._fit(scheme, drive) for drive in group]
            whole = tuple(one for one in fits if one is not None)
            if len(whole) == len(group):
                found.append(Explanation(scheme, whole))
        return sorted(found, key=lambda one: one.chi_square)

    def held_out(self, drive: Drive, index: int) -> tuple[Scheme, float] | None:
        """The best scheme without a point, and what it predicts there."""
        best: tuple[float, Scheme, float] | None = None
        for scheme in self._schemes:
            conditions = [point.condition for point in drive.points]
            curve = self.curves.curve(scheme, conditions, self._spares[scheme, drive])
            if curve is None:
                continue
            made = fit(drive.points, curve, relative=self.relative, left_out=index)
            if best is None or made.chi_square < best[0]:
                best = (made.chi_square, scheme, made.predicted[index])
        return None if best is None else best[1:]

    def _fit(self, scheme: Scheme, drive: Drive) -> Fit | None:
        conditions = [point.condition for point in drive.points]
        curve = self.curves.curve(scheme, conditions, self._spares[scheme, drive])
        return None if curve is None else fit(drive.points, curve, relative=self.relative)

    def _simulate(self, what: str) -> None:
        asks = [
            Ask(scheme, point.condition, spare)
            for (scheme, drive), spares in self._spares.items()
            for spare in sorted(spares)
            for point in drive.points
        ]
        self.curves.simulate(asks, what)

    def _contenders(self, group: tuple[Drive, ...]) -> list[Explanation]:
        found = self.explanations(group)
        points = sum(len(drive.points) for drive in group)
        degrees = freedom(points, len(group), relative=self.relative)
        return [
            one
            for one in found
            if distance(one.chi_square, found[0].chi_square, degrees) <= _CONTENDER
        ]

    def _extend(self, group: tuple[Drive, ...]) -> None:
        """Adds the next of the grid where a fit is at an end, and neighbours of the best fits."""
        for one in self.explanations(group):
            for drive, made in zip(group, one.fits, strict=True):
                spares = self._spares[one.scheme, drive]
                known = [spare for spare in spares if spare in GRID]
                low, high = GRID.index(min(known)), GRID.index(max(known))
                if made.at_least and low > 0:
                    spares.add(GRID[low - 1])
                if made.at_most and high + 1 < len(GRID):
                    spares.add(GRID[high + 1])
        for one in self._contenders(group):
            for drive, made in zip(group, one.fits, strict=True):
                below = max((s for s in GRID if s <= made.spare), default=GRID[0])
                above = min((s for s in GRID if s >= made.spare), default=GRID[-1])
                self._spares[one.scheme, drive] |= {below, above}

    def _refine(self, group: tuple[Drive, ...]) -> None:
        for one in self.explanations(group)[:_REFINED]:
            for drive, made in zip(group, one.fits, strict=True):
                self._spares[one.scheme, drive].add(round(made.spare, 4))


def _first(drive: Drive, pages_per_block: int, relative: bool) -> tuple[float, ...]:
    """Where the search begins: around what greedy needs for the least measured value."""
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
