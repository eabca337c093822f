"""The measure of docs/sprandom.md finds known lengths, and its writes are SPRandom's."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest
from experiments.sprandom.preconditioning import validities, writes
from experiments.sprandom.settling import STEP, WIDTH, Series, behind, is_told, settled, windows
from experiments.sprandom.study import FILLS, FIO, TOLERANCE, Size, rows

import flashgc
import sprandom_tables

ROOT = Path(__file__).parents[1]


def fading(
    excess: float, time: float, length: float = 10, noise: float = 0, seed: int = 0
) -> Series:
    """A run whose amplification is 4 (1 + excess e^(-t/time)), as means of slices of 0.05."""
    draw, slice_ = random.Random(seed), 0.05
    points = []
    for at in range(round(length / slice_)):
        begin, end = at * slice_, (at + 1) * slice_
        mean = time / slice_ * (math.exp(-begin / time) - math.exp(-end / time))
        points.append((end, 4 * (1 + excess * mean) + draw.gauss(0, noise)))
    return points


@pytest.mark.parametrize(("excess", "time"), [(0.3, 1), (-0.5, 0.8), (0.1, 2), (0.05, 0.3)])
def test_a_known_length_is_found_within_a_step(excess: float, time: float) -> None:
    # The mean of the window that begins at t is off by excess * share * e^(-t/time).
    share = time / WIDTH * (1 - math.exp(-WIDTH / time))
    known = time * math.log(abs(excess) * share / TOLERANCE)
    runs = [windows(fading(excess, time, noise=0.02, seed=seed)) for seed in range(6)]
    found = settled(runs, 4, 0.002, TOLERANCE)
    assert found.after is not None
    assert found.low is not None
    assert found.high is not None
    # One standard deviation of a window of ten slices and six runs moves a slow fall by 0.1.
    slack = STEP + 3 * 0.02 / 4 / math.sqrt(60) / (TOLERANCE / time)
    assert abs(found.after - known) <= slack
    assert found.low - STEP <= known <= found.high + STEP


def test_a_run_that_passes_its_level_has_not_settled() -> None:
    # From 20% below to 10% above within two drive writes, and back after six.
    def at(end: float) -> float:
        return 4 * (1 - 0.2 + 0.15 * end if end < 2 else 1.1 if end < 6 else 1)

    slices = [0.05 * (at_ + 1) for at_ in range(200)]
    runs = [windows([(end, at(end)) for end in slices])] * 3
    assert settled(runs, 4, 0, TOLERANCE).after == pytest.approx(5.9, abs=STEP)


def test_a_run_that_never_settles_says_so_and_chance_is_not_judged() -> None:
    off = [windows([(1.0 * end, 4.2) for end in range(1, 11)])] * 3
    assert settled(off, 4, 0, TOLERANCE).after is None
    assert settled(off, 4, 0, 0.06).after == 0
    noisy = [windows(fading(0.3, 1, noise=0.5, seed=seed)) for seed in range(4)]
    found = settled(noisy, 4, 0, TOLERANCE)
    assert found.after is found.low is found.high is None
    assert not is_told(found.noise, 0, TOLERANCE)
    # A level that is itself known to 1.5% alone hides a tolerance of 2%.
    assert is_told(0, 0.009, TOLERANCE)
    assert not is_told(0, 0.015, TOLERANCE)


def test_windows_are_means_of_the_slices_below_them() -> None:
    assert windows([(0.5, 2.0), (1.0, 4.0)])[0] == 2
    assert windows([(0.5, 2.0), (1.0, 4.0)])[-1] == pytest.approx(4)
    assert windows([(0.25, 2.0), (1.0, 4.0)])[0] == pytest.approx(3)


def test_first_writes_are_cut_off_within_a_slice() -> None:
    # 1.15 drive writes of one program each, then an amplification of 5: the second slice has both.
    series = [(1.0, 1.0), (2.0, 0.15 + 0.85 * 5), (3.0, 5.0)]
    assert behind(series, 1.15) == [pytest.approx((0.85, 5.0)), pytest.approx((1.85, 5.0))]
    with pytest.raises(ValueError, match="have copies"):
        behind([(1.0, 1.1), (2.0, 5.0)], 1.15)


@pytest.mark.parametrize("overprovision", [0.07, 0.15, 0.28])
def test_sprandom_leaves_regions_as_valid_as_it_plans(overprovision: float) -> None:
    pages, regions = 200_000, 100
    order = writes(pages, overprovision, seed=1)
    assert set(order.tolist()) == set(range(pages))
    assert len(order) == pytest.approx(pages * (1 + overprovision), rel=0.01)
    # By hand: victims have 1 - 1 / (0.5 / op + 0.7) of their pages, new blocks all of them.
    planned = validities(overprovision)
    assert planned[0] == pytest.approx(1 - 1 / (0.5 / overprovision + 0.7))
    assert planned[-1] == 1
    last = np.zeros(pages, np.int64)
    last[order] = np.arange(len(order))
    size = int(pages * (1 + overprovision)) // regions
    valid = np.bincount(last // size, minlength=regions)[: regions - 3] / size
    # A share of 2,000 pages and more has a standard deviation of 1% at most.
    assert np.abs(valid - planned[: regions - 3]).max() < 0.04


def test_the_study_runs_in_a_small_size() -> None:
    found = list(rows(Size(256, 32, 2, 2), ["greedy"], ["15%"], ["uniform"]))
    assert [row["fill"] for row in found] == [*FILLS, FIO]
    sequential, _, steady, by_fio = (float(str(row["first"])) for row in found)
    level = float(str(found[0]["level"]))
    assert sequential < 0.9 * level
    for first in (steady, by_fio):
        assert first == pytest.approx(level, rel=0.03)


def test_the_kept_rows_have_every_policy_and_say_nothing_that_chance_hides() -> None:
    kept = sprandom_tables.rows(ROOT / "docs" / "results" / sprandom_tables.FILE)
    assert kept.victims == [entry.name for entry in flashgc.policies()]
    assert {line["steady"] for line in kept.lines} == {"yes"}
    for line in kept.lines:
        half = float(line["level_half"]) / float(line["level"])
        if not is_told(float(line["noise"]), half, TOLERANCE):
            assert line["after"] == line["low"] == line["high"] == ""
