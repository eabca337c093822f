"""Pictures of wear show the figures of results, and the command chooses the right picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import flashgc
from conftest import Command
from flashgc import ConfigError, plot

DRIVE = {"blocks": 200, "pages_per_block": 16, "spare": 0.15, "frontier": "pool:low=10"}
TYPED = ("--blocks", 200, "--pages-per-block", 16, "--spare", "15%", "--frontier", "pool:low=10")


@pytest.fixture(scope="module")
def lives() -> flashgc.Comparison:
    """Two allocations until the drive's end, on hot and cold data."""
    return flashgc.compare(
        "greedy", "hotcold:f=0.1,r=0.9", allocation=["fifo", "sfl"],
        endurance="normal:mean=40,cv=0.1", until="system-failure", runs=3, **DRIVE,
    )  # fmt: skip


def test_a_line_falls_at_each_failure_and_points_are_those_of_every_run(
    lives: flashgc.Comparison,
) -> None:
    (axes,) = plot.survival(lives).axes
    for rank, line, points in zip(lives, axes.lines[0::2], axes.containers, strict=False):
        life = rank.result.lifetime
        assert life is not None
        x, y = np.array(line.get_xdata()), np.array(line.get_ydata())
        for writes, bad in dict(life.failures).items():
            # Several blocks may fail at one write; the last counts. One of 200 blocks is 0.5%.
            assert y[x == writes].min() == 100 - bad / 2
        assert (y[0], y[-1]) == (100, 100 - life.failures[-1][1] / 2)
        shown = sorted(points.lines[0].get_xdata())
        ends = [life.first_failure, life.system_failure]
        assert shown == sorted(one for end in ends for one in end.run_values)
        # A reserve of 18 blocks, and the block that exceeds it: 19 of 200 failed.
        assert set(points.lines[0].get_ydata()) == {99.5, 90.5}


def test_a_histogram_has_every_block_in_a_row_of_its_own(lives: flashgc.Comparison) -> None:
    figure = plot.wear_histogram(lives)
    assert len(figure.axes) == 2
    for axes, rank in zip(figure.axes, lives, strict=True):
        wear = rank.result.wear
        assert wear is not None
        (stairs,) = axes.patches
        values, edges, _ = stairs.get_data()
        assert [(edge + 0.5, blocks) for edge, blocks in zip(edges[:-1], values, strict=True)] == [
            tuple(one) for one in wear.histogram
        ]
        assert values.sum() == 200 * len(rank.result.run_values)
        assert axes.lines[0].get_xdata()[0] == wear.mean
        assert f"cv {wear.cv:.4f}, Gini {wear.gini:.4f}" == axes.get_title(loc="right")


def test_an_evolution_has_the_mean_between_the_least_and_the_most_worn_block(
    lives: flashgc.Comparison,
) -> None:
    result = lives.best
    above, below = plot.wear_evolution(result).axes
    assert result.wear is not None
    assert result.lifetime is not None
    series = result.wear.series
    for axes, key in ((above, "mean"), (below, "deviation")):
        assert list(axes.lines[0].get_ydata()) == [getattr(point, key) for point in series]
        marks = [line.get_xdata()[0] for line in axes.lines[1:]]
        first, last = result.lifetime.failures[0], result.lifetime.failures[-1]
        assert marks == [first[0], last[0]]
    widest, middle = (band.get_paths()[0].get_extents() for band in above.collections)
    assert (widest.y0, widest.y1) == (0, max(point.deciles[10] for point in series))
    assert middle.y1 == max(point.deciles[9] for point in series)
    deviation, gini = plot.wear_evolution(lives).axes
    for lines, key in ((deviation.lines, "deviation"), (gini.lines, "gini")):
        for line, rank in zip(lines, lives, strict=True):
            assert rank.result.wear is not None
            values = [getattr(point, key) for point in rank.result.wear.series]
            shown = [value for value in values if value is not None]
            assert [y for y in line.get_ydata() if not np.isnan(y)] == shown


def test_the_mean_of_runs_of_unequal_lengths_begins_where_the_first_one_was_measured() -> None:
    result = flashgc.run(
        victim="greedy", endurance=40, until="system-failure", warmup="2x", runs=3, **DRIVE
    )
    (axes,) = plot.run(result).axes
    _, mean = axes.lines
    assert mean.get_xdata()[0] == result.measured_from == 2
    assert result.lifetime is not None
    lengths = result.lifetime.system_failure.run_values
    assert len(set(lengths)) > 1
    assert mean.get_xdata()[1] == lengths[0]


def test_wear_that_is_not_there_is_not_drawn() -> None:
    endless = flashgc.run(victim="greedy", writes="4x", **DRIVE)
    new = flashgc.run(victim="greedy", writes="0.01x", fill="empty", warmup="0", **DRIVE)
    with pytest.raises(ConfigError, match=r"found no bad block, expected at least one; hint: --en"):
        plot.survival(endless)
    with pytest.raises(ConfigError, match=r"found no wear over time, expected some; hint: give"):
        plot.wear_evolution([endless])
    with pytest.raises(ConfigError, match=r"result of greedy:ties=latest: no block was erased"):
        plot.wear_histogram(new)
    with pytest.raises(ConfigError, match=r"results: found none, expected at least one"):
        plot.survival([])


@pytest.mark.parametrize(
    ("name", "typed", "shown"),
    [
        ("run", ("--endurance", 20, "--until", "system-failure"), "erases of a block"),
        ("compare", ("--endurance", 20, "--until", "first-failure"), "blocks that are not bad (%)"),
        ("run", ("--writes", "4x", "--plot-kind", "histogram"), "erases of a block"),
        ("compare", ("--writes", "4x"), "write amplification"),
        ("run", ("--writes", "4x", "--endurance", 9999, "--plot-kind", "evolution"), "deviation"),
    ],
)
def test_the_command_draws_what_fits_or_what_was_asked_for(
    command: Command, tmp_path: Path, name: str, typed: tuple[object, ...], shown: str
) -> None:
    made = command(name, *TYPED, "--victim", "greedy", "--runs", 2, *typed, "--plot", "a.svg")
    assert made.returncode == 0, made.stderr
    # Small drives and short runs cause warnings.
    assert all(line.startswith("warning: ") for line in made.stderr.splitlines())
    # Texts are drawn as outlines; comments beside them hold the words.
    assert f"<!-- {shown} -->" in (tmp_path / "a.svg").read_text()


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (("--plot-kind", "survivl"), "unknown kind 'survivl'; hint: did you mean 'survival'?"),
        (("--plot-kind", "survival"), "survival needs an endurance, found none; hint: give"),
    ],
)
def test_a_kind_that_cannot_be_is_refused_before_the_work(
    command: Command, tmp_path: Path, typed: tuple[object, ...], message: str
) -> None:
    for name in ("run", "compare"):
        made = command(name, "--writes", "1000000000x", *typed, "--plot", "a.svg")
        assert (made.returncode, made.stdout) == (2, "")
        assert made.stderr.startswith(f"error: --plot-kind: {message}")
        made = command(name, "--writes", "1000000000x", "--plot-kind", "histogram")
        assert made.returncode == 2
        assert made.stderr.startswith("error: --plot-kind: there is no picture; hint: give --plot")
    assert not list(tmp_path.iterdir())


def test_blocks_that_all_survive_are_not_drawn_and_the_result_is_there(
    command: Command, tmp_path: Path
) -> None:
    typed = ("--victim", "greedy", "--writes", "4x", "--endurance", 9999)
    made = command("run", *TYPED, *typed, "--plot", "a.svg", "--plot-kind", "survival")
    assert made.returncode == 0
    assert made.stdout.startswith("write amplification ")
    assert "a.svg was not drawn: result of greedy:ties=latest: found no bad block" in made.stderr
    assert not list(tmp_path.iterdir())
