"""A small version of the campaign of intervals and verdicts of ``make coverage``."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.coverage import differences, hints, intervals


@pytest.mark.parametrize(
    ("cells", "seeds", "times"), [(2, 3, 3), pytest.param(3, 8, 5, marks=pytest.mark.soak)]
)
def test_intervals_of_steady_results_hold_the_truth(cells: int, seeds: int, times: int) -> None:
    """These policies learn slowly. With one fixed length for all, no interval held the truth."""
    some = [
        ("greedy", "none", "hotcold:f=0.05,r=0.95", "pool", "15%", 150, 32),
        ("cost-benefit", "sfs", "hotcold:f=0.2,r=0.8", "pool", "15%", 150, 32),
        ("cost-benefit", "warcip", "zipf:theta=0.99", "pool", "15%", 150, 32),
    ]
    outcomes = [intervals.outcome(cell, seeds, times=times) for cell in some[:cells]]
    results, steady, missed, far = map(sum, zip(*intervals.counted(outcomes).values(), strict=True))
    assert results == cells * seeds
    assert steady >= results * 5 / 6
    # More than 4 of 24 intervals of 95%, or 1 of 6, miss in one of 200 or of 30 campaigns.
    assert missed <= results / 6
    assert far == 0


def test_a_campaign_goes_on_where_it_was(tmp_path: Path) -> None:
    file = tmp_path / "intervals.jsonl"
    for most in (1, 2):
        intervals.campaign("small", 1, file, 1, most)
    cells = [tuple(line["cell"]) for line in intervals.lines(file)]
    assert cells == intervals.cells("small")[:3]


def test_a_wrong_interval_is_counted() -> None:
    """Counts four results: one holds the truth, one misses, one is far off, one is unsteady."""
    found = [(2.0, 0.1, True), (2.2, 0.1, True), (2.4, 0.1, True), (3.0, 0.1, False)]
    cell = ("greedy", "none", "uniform", "pool", "15%", 300, 32)
    line = {"cell": cell, "found": found, "truth": 2.05, "truth_half": 0.0}
    assert intervals.counted([line]) == {"greedy": [4, 3, 2, 1]}
    large = {**line, "cell": (*cell[:5], 1000, 64), "found": found[:1]}
    rows, bad = intervals.table([line, large])
    assert rows[2] == "| greedy | 3 of 4 | 33.3% | 1 of 1 | 100.0% | 1 |"
    assert bad == ["greedy"]
    assert intervals.table([large])[1] == []


@pytest.mark.parametrize("count", [1, pytest.param(3, marks=pytest.mark.soak)])
def test_differences_and_brackets_are_judged(count: int) -> None:
    assert differences.equal(count) == (count, 0)
    judged, wrong = differences.pairs(count)
    assert judged >= count * 2 / 3
    assert wrong == 0
    assert differences.found(count, writes=f"{200 * count}x") == (count, 0)


@pytest.mark.parametrize(
    ("configurations", "least"), [(9, 20), pytest.param(12, 25, marks=pytest.mark.soak)]
)
def test_hints_that_are_followed_cure(configurations: int, least: int) -> None:
    said, cured, left = hints.campaign(range(1, configurations + 1))
    assert said.total() >= least
    assert cured.total() >= 0.9 * said.total(), left
    assert cured["spare-kept-erased"] == said["spare-kept-erased"] > 0
    assert cured["starved"] == said["starved"] > 0
