"""The arithmetic of `flashgc identify`: curves and fits, and Zipf's law on a small drive."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest

from flashgc.studies.identifying.curves import GRID, SIMULATION_ERROR, Curve
from flashgc.studies.identifying.fit import REJECTED, chi_squares, fit, goodness, within
from flashgc.studies.identifying.measurements import Point
from flashgc.studies.identifying.workloads import condition, harmonic, zipf

CAPACITY = 10**12
#: Write amplification as a function of the spare factor, one function per workload.
LAWS = (lambda s: 0.5 / s, lambda s: 0.7 / s + 0.1, lambda s: 0.4 / s + s)


def points(spare: float, scale: float = 1, error: float = 0.02) -> list[Point]:
    names = ("uniform", "80/20", "95/5")
    return [
        Point(condition(name, CAPACITY), scale * law(spare), error)
        for name, law in zip(names, LAWS, strict=True)
    ]


def logs_at(spare: float) -> np.ndarray:
    return np.log([[law(spare) for law in LAWS]])


#: Weights of points with a measurement error of 2%.
WEIGHTS = np.full(len(LAWS), 1 / (0.02**2 + SIMULATION_ERROR**2))


def curve(spares: tuple[float, ...] = GRID) -> Curve:
    return Curve(np.array(spares), np.log([[law(spare) for law in LAWS] for spare in spares]))


@pytest.mark.parametrize("spare", [0.05, 0.123, 0.31])
def test_a_fit_finds_the_spare_factor_between_simulated_ones(spare: float) -> None:
    made = fit(points(spare), curve(), relative=False)
    # Points of the fine grid are 0.35% apart; the fit by a parabola errs slightly more.
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
    # With one spare factor nothing is fitted. Points are off by 10%, -5% and 0%, with errors of 2%,
    # 1% and 4%.
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


def test_the_fit_has_the_least_chi_square_of_the_profile() -> None:
    for relative in (False, True):
        made = fit(points(0.123), curve(), relative=relative)
        (least,) = chi_squares(
            curve().fine()[1], logs_at(0.123), WEIGHTS, relative=relative
        ).min(axis=0)  # fmt: skip
        assert made.chi_square == pytest.approx(least, abs=1e-8)


def test_the_interval_of_the_spare_factor_is_where_chi_square_stays_within_the_limit() -> None:
    # At either end of the interval, an amplification is off by its law at the end over its law
    # at the true spare factor.
    made = within(points(0.12), curve(), 9.0, relative=False)
    assert made is not None
    for end in (made.low, made.high):
        off = [math.log(law(end) / law(0.12)) for law in LAWS]
        assert sum(WEIGHTS[0] * one**2 for one in off) == pytest.approx(9.0, rel=0.15)
    assert made.low < 0.12 < made.high
    assert not made.is_open_below
    assert not made.is_open_above
    # Ten times the error makes the interval about ten times as wide.
    wide = within(points(0.12, error=0.2), curve(), 9.0, relative=False)
    assert wide is not None
    assert (wide.high - wide.low) / (made.high - made.low) == pytest.approx(9, rel=0.3)
    assert within(points(0.12), curve((0.3, 0.4)), 9.0, relative=False) is None


def test_an_interval_at_the_end_of_what_was_simulated_is_open() -> None:
    low = within(points(0.05), curve((0.0505, 0.07, 0.1)), 9.0, relative=False)
    high = within(points(0.1), curve((0.0505, 0.07, 0.099)), 9.0, relative=False)
    assert low is not None
    assert high is not None
    assert (low.is_open_below, low.is_open_above) == (True, False)
    assert (high.is_open_below, high.is_open_above) == (False, True)


@pytest.mark.parametrize(("relative", "curves"), [(False, 3), (True, 1)])
def test_true_schemes_are_rejected_as_often_as_is_said(relative: bool, curves: int) -> None:
    # The curves differ by a tilt. The more curves there are, the better the best fits by chance.
    spares = np.array(GRID[3:7])
    tilts = np.linspace(-0.2, 0.2, curves) if curves > 1 else np.zeros(1)
    laws = np.log([[0.5 / s, 0.7 / s + 0.1, 0.4 / s + s, 0.3 / s + 0.4, 0.45 / s] for s in spares])
    tried = [Curve(spares, laws + tilt * np.arange(5)) for tilt in tilts]
    rng, rejected, drawn = np.random.default_rng(7), 0, 300
    names = ("uniform", "80/20", "90/10", "95/5", "99/1")
    true = tried[curves // 2].fine()[1][100]
    for _ in range(drawn):
        values = np.exp(true + rng.standard_normal(5) * math.hypot(0.02, SIMULATION_ERROR))
        measured = [
            Point(condition(name, CAPACITY), value, 0.02)
            for name, value in zip(names, values, strict=True)
        ]
        fits = [fit(measured, one, relative=relative) for one in tried]
        best = min(fits, key=lambda one: one.chi_square)
        made = goodness([measured], [best], [[one] for one in tried], relative=relative)
        assert made.is_explained == (best.chi_square <= made.limit) or made.chance < 0.06
        rejected += not made.is_explained
    assert rejected / drawn == pytest.approx(REJECTED, abs=0.035)


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
