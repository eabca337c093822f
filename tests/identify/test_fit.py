"""The arithmetic of `flashgc identify`: curves, fits, Zipf's law on a small drive."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest

from flashgc.studies.identify.curves import GRID, SIMULATION_ERROR, Curve
from flashgc.studies.identify.fit import fit
from flashgc.studies.identify.measurements import Point
from flashgc.studies.identify.workloads import condition, harmonic, zipf

CAPACITY = 10**12
#: How write amplification follows the spare factor, for one workload each.
LAWS = (lambda s: 0.5 / s, lambda s: 0.7 / s + 0.1, lambda s: 0.4 / s + s)


def points(spare: float, scale: float = 1, error: float = 0.02) -> list[Point]:
    names = ("uniform", "80/20", "95/5")
    return [
        Point(condition(name, CAPACITY), scale * law(spare), error)
        for name, law in zip(names, LAWS, strict=True)
    ]


def curve(spares: tuple[float, ...] = GRID) -> Curve:
    return Curve(np.array(spares), np.log([[law(spare) for law in LAWS] for spare in spares]))


@pytest.mark.parametrize("spare", [0.05, 0.123, 0.31])
def test_a_fit_finds_the_spare_factor_between_simulated_ones(spare: float) -> None:
    made = fit(points(spare), curve(), relative=False)
    # Neighbours of the fine grid are 0.35% apart; the parabola is off by a little more.
    assert made.spare == pytest.approx(spare, rel=0.004)
    assert max(map(abs, made.errors)) < 0.01
    assert made.scale == 1


def test_a_fit_of_the_shape_finds_the_factor() -> None:
    made = fit(points(0.12, scale=3.0), curve(), relative=True)
    assert made.spare == pytest.approx(0.12, rel=0.02)
    assert made.scale == pytest.approx(3.0, rel=0.02)
    absolute = fit(points(0.12, scale=3.0), curve(), relative=False)
    assert absolute.chi_square > 20 * made.chi_square


def test_chi_square_is_the_sum_of_squared_errors_over_their_variances() -> None:
    # One spare factor leaves nothing to fit: 10%, -5% and 0% off, measured to 2%, 1% and 4%.
    known = Curve(np.array([0.1]), np.log([[2.2, 1.9, 4.0]]))
    names, errors = ("uniform", "80/20", "95/5"), (0.02, 0.01, 0.04)
    measured = [
        Point(condition(name, CAPACITY), value, error)
        for name, value, error in zip(names, (2.0, 2.0, 4.0), errors, strict=True)
    ]
    made = fit(measured, known, relative=False)
    by_hand = math.log(1.1) ** 2 / (0.02**2 + SIMULATION_ERROR**2)
    by_hand += math.log(0.95) ** 2 / (0.01**2 + SIMULATION_ERROR**2)
    assert made.chi_square == pytest.approx(by_hand)
    assert made.errors == pytest.approx([0.1, -0.05, 0.0])


def test_a_fit_at_an_end_says_so() -> None:
    low = fit(points(0.05), curve((0.1, 0.2, 0.3)), relative=False)
    high = fit(points(0.4), curve((0.1, 0.2, 0.3)), relative=False)
    inside = fit(points(0.15), curve((0.1, 0.2, 0.3)), relative=False)
    ends = [(one.at_least, one.at_most) for one in (low, high, inside)]
    assert ends == [(True, False), (False, True), (False, False)]


def test_a_point_that_is_left_out_changes_nothing() -> None:
    right = points(0.12)
    wrong = [right[0], Point(right[1].condition, 99.0, 0.02), right[2]]
    made = [fit(some, curve(), relative=False, left_out=1) for some in (right, wrong)]
    assert made[0].predicted == made[1].predicted
    assert made[0].chi_square == made[1].chi_square


@pytest.mark.parametrize("theta", [0.2, 0.8, 1.0, 1.3])
def test_sums_of_popularities_are_those_of_the_naive_sum(theta: float) -> None:
    naive = np.cumsum(np.arange(1, 100_001) ** -theta)
    ranks = np.array([1, 2, 999, 1000, 1001, 5000, 100_000])
    assert harmonic(theta, ranks.astype(float)) == pytest.approx(naive[ranks - 1], rel=1e-7)


def test_a_simulated_page_has_the_writes_of_the_pages_that_it_stands_for() -> None:
    spec = zipf(0.9, 1000, 50_000)
    pages, shares = (
        [float(one) for one in re.search(rf"{name}=([\d./e-]+)", spec)[1].split("/")]  # type: ignore[index]
        for name in ("pages", "shares")
    )
    assert sum(pages) == 1000
    popularity = np.arange(1, 50_001) ** -0.9
    assert condition("zipf:theta=0.9", 50_000 * 4096).source(1000) == spec
    ends = np.cumsum([0, *pages]).astype(int) * 50
    naive = [popularity[a:b].sum() / popularity.sum() for a, b in itertools.pairwise(ends)]
    assert shares == pytest.approx(naive, abs=1e-8)
