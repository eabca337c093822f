"""Pictures of grids: points are the rows' figures, and nothing is averaged silently."""

from __future__ import annotations

import json
import math
import random
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

import flashgc
from conftest import Command
from flashgc import ConfigError, plot
from flashgc.reports.view import View, front, view
from flashgc.reports.wording import text, texts
from flashgc.results.intervals import half_width
from flashgc.store.table import rows_of
from pictures import grid_rows, rows_of_many

Row = dict[str, Any]

GRID: dict[str, Any] = {
    "drive": {"blocks": 64, "pages_per_block": 16, "spare": ["10%", "20%"]},
    "gc": {"victim": ["greedy", "fifo"]},
    "run": {"writes": "3x", "seed": [1, 2, 3]},
}


def seeded(*figures: float, **options: object) -> list[Row]:
    """A row for each figure, with seeds from 1."""
    return [
        {**options, "seed": seed + 1, "write_amplification": figure}
        for seed, figure in enumerate(figures)
    ]


def spares(victim: str = "fifo") -> list[Row]:
    return [
        *seeded(4.0, 5.0, 6.0, spare=0.1, victim=victim),
        *seeded(2.0, 2.5, 3.0, spare=0.2, victim=victim),
    ]


def test_a_line_is_the_mean_and_its_band_the_95_percent_interval_over_seeds() -> None:
    figure = plot.grid([*spares(), *seeded(9, 9, 9, spare=0.1, victim="greedy"),
                        *seeded(8, 8, 8, spare=0.2, victim="greedy")])  # fmt: skip
    (axes,) = figure.axes
    line = axes.lines[0]
    assert list(line.get_xdata()) == [10, 20], "in percent"
    assert list(line.get_ydata()) == [5, 2.5]
    # By hand: s = 1 and 0.5, t(0.975, 2) = 4.303, over the root of 3.
    half = [4.303 / math.sqrt(3), 0.5 * 4.303 / math.sqrt(3)]
    band = next(one for one in axes.collections if isinstance(one, PolyCollection))
    corners = band.get_paths()[0].vertices
    for x, y, far in zip((10, 20), (5, 2.5), half, strict=True):
        at = sorted(corners[corners[:, 0] == x][:, 1])
        assert at[0] == pytest.approx(y - far)
        assert at[-1] == pytest.approx(y + far)
    assert figure.texts[0].get_text() == "mean of 3 seeds; bands: 95% interval"


def test_the_interval_of_many_seeds_is_that_of_student() -> None:
    # From published tables: t(0.975, 60) = 2.0003, t(0.975, 40) = 2.0211. Our table ends at 29.
    for freedom, quantile in ((60, 2.0003), (40, 2.0211), (29, 2.045)):
        values = [float(one) for one in range(freedom + 1)]
        deviation = np.std(values, ddof=1)
        found = half_width(values)
        assert found is not None
        assert found * math.sqrt(len(values)) / deviation == pytest.approx(quantile, abs=2e-4)


def test_the_interval_of_one_seed_is_the_results_own() -> None:
    rows = [
        {"spare": spare, "write_amplification": 3.0, "write_amplification_ci95": 0.25, "erases": 7}
        for spare in (0.1, 0.2)
    ]
    (line,) = view(rows).panes[0].lines
    assert [(one.y, one.low, one.high) for one in line.points] == [(3.0, 2.75, 3.25)] * 2
    (line,) = view(rows, y="erases").panes[0].lines
    assert [(one.y, one.low) for one in line.points] == [(7.0, None)] * 2


def test_the_interval_of_seeds_that_give_the_same_is_the_results_own() -> None:
    """Greedy on a trace has no randomness, but a band of width 0 would claim an exact figure."""
    rows = [{**row, "write_amplification_ci95": 0.25} for row in seeded(4.0, 4.0, spare=0.1)]
    rows += [{**row, "write_amplification_ci95": 0.25} for row in seeded(2.0, 3.0, spare=0.2)]
    same, other = view(rows).panes[0].lines[0].points
    assert (same.low, same.high, same.count, same.same) == (3.75, 4.25, 1, 2)
    assert (other.count, other.same) == (2, 1)
    assert other.high == pytest.approx(2.5 + 12.706 * 0.5, rel=1e-4), "by hand"


def test_seeds_that_nothing_is_drawn_from_count_as_one() -> None:
    """Seeds count as one if their write amplification is equal. Other figures tie by chance."""
    rows = [{**row, "erases": 7} for row in seeded(4.0, 4.0, 4.0, spare=0.1)]
    rows += [{**row, "erases": 7} for row in seeded(2.0, 3.0, spare=0.2)]
    shown = view(rows)
    same, other = shown.panes[0].lines[0].points
    assert (same.y, same.low, same.count, same.same) == (4.0, None, 1, 3)
    assert shown.notes == (
        "also varies: seed (mean and 95% interval of 2)",
        "also varies: seed (1 of 2 points is exact: all its seeds give the same, and count once)",
    )
    same, other = view(rows, y="erases").panes[0].lines[0].points
    assert (same.low, same.count) == (None, 1)
    assert (other.low, other.count) == (7.0, 2)
    both = view(seeded(4.0, 4.0, spare=0.1) + seeded(3.0, 3.0, spare=0.2))
    assert both.notes == (
        "also varies: seed (exact: all their seeds give the same, and count once)",
    )


def test_axes_are_chosen_from_what_varies() -> None:
    rows = grid_rows()
    shown = view(rows)
    assert (shown.x, shown.y, shown.by, shown.panels) == (
        "spare", "write_amplification", "victim", "workload",
    )  # fmt: skip
    shown = view(rows, x="victim")
    assert (shown.x, shown.by, shown.panels) == ("victim", "spare", "workload")
    assert not shown.numeric
    shown = view([row for row in rows if row["victim"] == "greedy"])
    assert (shown.x, shown.by, shown.panels) == ("spare", "workload", None)
    shown = view(rows, kind="heatmap", panels="trace")
    assert (shown.x, shown.by, shown.panels) == ("spare", "victim", "workload")


def test_what_goes_with_another_option_is_not_an_axis_of_its_own() -> None:
    rows = [
        {"workload": trace, "capacity_bytes": size, "victim": victim, "write_amplification": 2.0}
        for trace, size in (("a.csv", 2**30), ("b.csv", 2**31))
        for victim in ("fifo", "greedy")
    ]
    shown = view(rows)
    assert (shown.x, shown.by, shown.panels) == ("victim", "workload", None)


def test_a_mean_over_what_nobody_named_is_refused() -> None:
    rows = [{**row, "blocks": blocks} for row in grid_rows() for blocks in (64, 128)]
    with pytest.raises(
        ConfigError, match=r"blocks varies as well, and a mean .* --where blocks=64"
    ):
        view(rows, x="spare", by="victim", panels="workload")
    # The advice of the hint works.
    assert view(rows_of(rows, ["blocks=64"]), x="spare", by="victim", panels="workload").panes


def test_equal_rows_are_refused_unless_another_build_made_them() -> None:
    twice = spares() + spares()
    with pytest.raises(ConfigError, match=r"differ in no option.*--kind distribution"):
        view(twice)
    known = [{**row, "command": f"run {row['spare']} {row['seed']}"} for row in spares()]
    newer = [{**row, "write_amplification": 9.0} for row in known]
    shown = view(known + newer)
    (line,) = shown.panes[0].lines
    assert [(point.y, point.same) for point in line.points] == [(9.0, 3)] * 2
    assert shown.notes[1:] == (
        "6 of 12 rows left out: a newer row has the same command, with another build or "
        "other content of a file",
    )


def test_what_failed_later_takes_no_result_away() -> None:
    known = [{**row, "command": f"run {row['spare']} {row['seed']}"} for row in spares()]
    failed = [
        {**row, "write_amplification": None, "status": "failed", "reason": "no such trace"}
        for row in known
    ]
    for rows in (known + failed, failed + known):
        shown = view(rows)
        (line,) = shown.panes[0].lines
        assert [point.y for point in line.points] == [5.0, 2.5]
        assert shown.notes[1].startswith("6 of 12 rows left out: ")
        assert len(shown.notes) == 2, "no cell is without a result"


def test_a_distribution_counts_what_was_run_twice_once() -> None:
    known = [{**row, "command": f"run {row['spare']} {row['seed']}"} for row in spares()]
    newer = [{**known[0], "write_amplification": 9.0}]
    shown = view(known + newer, kind="distribution")
    points = [point for line in shown.panes[0].lines for point in line.points]
    assert sorted(point.x for point in points) == [2.0, 2.5, 3.0, 5.0, 6.0, 9.0]


def test_rows_of_dots_are_in_the_order_of_the_grid() -> None:
    figure = plot.grid([*seeded(4, 6, victim="greedy"), *seeded(3, 3, victim="fifo")])
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["greedy", "fifo"]
    assert list(axes.containers[0].lines[0].get_xdata()) == [5, 3]
    assert list(axes.containers[0].lines[0].get_ydata()) == [0, 1]
    low, high = axes.get_ylim()
    assert low > high, "the first is on top"


def test_panels_share_their_axes_and_have_names_without_ambiguity() -> None:
    rows = [
        {"workload": trace, "spare": spare, "write_amplification": most * spare}
        for trace, most in (("x/vol.csv.zst", 10), ("y/vol.csv.zst", 90), ("z/other.csv", 3))
        for spare in (0.1, 0.2)
    ]
    figure = plot.grid(rows, panels="trace")
    figure.draw_without_rendering()
    assert [one.get_title(loc="left") for one in figure.axes] == ["x/vol", "y/vol", "other"]
    assert len({one.get_ylim() for one in figure.axes}) == 1
    drawn = {one.get_title(loc="left"): list(one.lines[0].get_ydata()) for one in figure.axes}
    assert drawn["y/vol"] == [9, 18]


def test_names_of_files_are_as_short_as_tells_them_apart() -> None:
    assert texts("workload", ["a/b/v.csv", "c/b/v.csv", "w.csv"]) == ["a/b/v", "c/b/v", "w"]
    assert texts("workload", ["v.csv", "v.csv.zst"]) == ["v.csv", "v.csv.zst"]
    assert texts("workload", ["zipf:theta=0.99"]) == ["zipf:theta=0.99"]
    assert text("spare", 0.125) == "12.5%"


def ten_lines() -> Figure:
    figure = plot.grid(rows_of_many())
    figure.draw_without_rendering()
    return figure


def test_labels_of_ten_lines_that_end_together_do_not_overlap() -> None:
    (axes,) = ten_lines().axes
    boxes = [Text.get_window_extent(one) for one in axes.texts]
    assert len(boxes) == 10
    for a, b in combinations(boxes, 2):
        both = Bbox.intersection(a, b)
        assert both is None or both.height < 1
    # Labels are in the order of the lines' ends, so the smallest d is at the bottom.
    order = sorted(axes.texts, key=lambda one: Text.get_window_extent(one).y0)
    assert [one.get_text() for one in order] == [f"d-choices:d={d}" for d in range(11, 1, -1)]
    inside = axes.get_window_extent()
    assert all(inside.y0 - 1 <= box.y0 and box.y1 <= inside.y1 + 1 for box in boxes)
    # From 1% to 40% the horizontal axis is logarithmic.
    assert axes.get_xscale() == "log"


def test_each_label_leads_to_the_end_of_its_own_line() -> None:
    (axes,) = ten_lines().axes
    for label, line in zip(axes.texts, axes.lines, strict=True):
        assert label.xy == (line.get_xdata()[-1], line.get_ydata()[-1])


def points_of(shown: View) -> list[tuple[float, float]]:
    return [(p.x, p.y) for line in shown.panes[0].lines for p in line.points if p.y is not None]


@pytest.mark.parametrize(("y", "sign"), [("wear_cv", 1), ("requests_per_second", -1)])
def test_the_front_is_what_nothing_betters(y: str, sign: int) -> None:
    rng = random.Random(5)
    for _ in range(50):
        rows = [
            {"victim": rng.choice(["fifo", "greedy"]), "blocks": n,
             "write_amplification": float(rng.randint(1, 9)), y: float(rng.randint(1, 9))}
            for n in range(12)
        ]  # fmt: skip
        shown = view(rows, kind="pareto", y=y)
        every = points_of(shown)
        assert len(every) == 12
        # Naive form: a point is dominated if another is as good in both figures and better in one.
        wanted = [
            (a, b)
            for a, b in every
            if not any(
                c <= a and sign * d <= sign * b and (c < a or sign * d < sign * b) for c, d in every
            )
        ]
        assert sorted((p.x, p.y) for p in front(shown, shown.panes[0])) == sorted(wanted)


def test_points_of_the_front_are_full_joined_and_named() -> None:
    rows = [
        {"victim": "greedy", "spare": spare, "write_amplification": wa, "wear_cv": cv}
        for spare, wa, cv in ((0.1, 1.0, 5.0), (0.2, 2.0, 3.0), (0.3, 3.0, 4.0), (0.4, 4.0, 1.0))
    ]
    figure = plot.grid(rows, kind="pareto", y="wear_cv")
    (axes,) = figure.axes
    step = next(line for line in axes.lines if line.get_label() == "front")
    assert [*zip(step.get_xdata(), step.get_ydata(), strict=True)] == [
        (1, 5), (2, 5), (2, 3), (4, 3), (4, 1),
    ]  # fmt: skip
    alpha = {one.lines[0].get_xdata()[0]: one.lines[0].get_alpha() for one in axes.containers}
    assert alpha == {1: 1, 2: 1, 3: pytest.approx(0.35), 4: 1}
    assert {one.get_text() for one in axes.texts} == {"10%", "20%", "40%"}


def test_a_heat_map_has_the_mean_in_each_cell_and_hatches_what_cannot_be() -> None:
    rows: list[Row] = [
        *seeded(4, 6, spare=0.1, blocks=64),
        *seeded(2, 3, spare=0.2, blocks=64),
        *seeded(1, 2, spare=0.2, blocks=128),
        {
            "spare": 0.1,
            "blocks": 128,
            "seed": 1,
            "status": "cannot",
            "reason": "too small; hint: x",
        },
    ]
    figure = plot.grid(rows, kind="heatmap", x="spare", by="blocks")
    axes = figure.axes[0]
    found = np.ma.filled(axes.collections[0].get_array(), np.nan)
    assert np.array_equal(found, [[math.nan, 1.5], [5, 2.5]], equal_nan=True), "128 is on top"
    assert [one.get_text() for one in axes.texts] == ["1.50", "5.00", "2.50"]
    (hatched,) = axes.patches
    assert (hatched.get_x() + 0.5, hatched.get_y() + 0.5) == (0, 0)
    assert figure.texts[0].get_text() == "mean of 2 seeds; hatched: no result: too small"


def test_a_distribution_is_the_share_of_rows_up_to_each_value() -> None:
    rows = [{"tenant": "a", "write_amplification": one} for one in (3.0, 1.0, 2.0, 2.0)]
    rows += [{"tenant": "b", "write_amplification": float(one)} for one in range(1, 101)]
    figure = plot.grid(rows, kind="distribution", by="tenant")
    (axes,) = figure.axes
    first = axes.lines[0]
    corners = [*zip(first.get_xdata(), first.get_ydata(), strict=True)]
    # By hand: each value is a quarter, and the two values of 2 make one step of two quarters.
    assert corners == [(1, 0), (1, 25), (2, 25), (2, 50), (2, 50), (2, 75), (3, 75), (3, 100)]
    marks = [
        (line.get_xdata()[0], line.get_ydata()[0])
        for line in axes.lines
        if len(line.get_xdata()) == 1
    ]
    # A percentile is the least value that this share of the values does not exceed: 2 and 4 of 4
    # values, 50 and 95 of 100 values.
    assert marks == [(2, 50), (3, 95), (50, 50), (95, 95)]
    assert [one.get_text() for one in axes.texts] == ["a", "b"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": "spar"}, "--x: there is no column 'spar'; hint: did you mean 'spare'"),
        ({"y": "victim"}, "--y: no result has a number in 'victim'; hint: --y write_ampl"),
        ({"x": "spare", "by": "spare"}, "--x and --by: both are 'spare'"),
        ({"kind": "heat"}, "--kind: unknown kind 'heat'; hint: known: lines, pareto, heatmap"),
        ({"by": "WA"}, "--by: 'write_amplification' is a figure, expected an option"),
        ({"kind": "pareto"}, "no result has a latency; hint: --y wear_cv"),
        ({"kind": "pareto", "y": "WA"}, "--x and --y: both are 'write_amplification'"),
        ({"kind": "distribution", "x": "WA"}, "--x: a distribution .* hint: --y WA"),
        ({"where": ["victim=greedy"], "x": "victim"}, "victim has one value, greedy; hint: --x "),
        ({"where": ["victim=gredy"]}, "no row has victim=gredy; hint: victim is greedy"),
        ({"where": ["victim"]}, "'victim' is not understood; hint: write victim=greedy"),
        ({"where": ["spare<many"]}, "share"),
        ({"where": ["victim<3"]}, "victim is no number"),
        ({"where": "spare=0.1"}, "where: found a text, expected a list"),
    ],
)
def test_what_cannot_be_drawn_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        plot.grid(grid_rows(), **changes)


def test_what_is_too_much_for_eyes_is_refused() -> None:
    rows = [
        {"spare": spare, "victim": f"d-choices:d={d}", "write_amplification": 2.0}
        for d in range(13)
        for spare in (0.1, 0.2)
    ]
    with pytest.raises(ConfigError, match=r"13 values, more than the 12 .* --where victim="):
        plot.grid(rows, x="spare", by="victim")
    many = [{"volume": f"v{n}", "write_amplification": 2.0 + n} for n in range(41)]
    with pytest.raises(ConfigError, match=r"volume has 41 values.*--kind distribution"):
        plot.grid(many)
    assert plot.grid(many, kind="distribution").axes


def test_without_a_result_nothing_is_drawn() -> None:
    with pytest.raises(ConfigError, match="there is no result to draw"):
        plot.grid([])
    cannot = {"spare": 0.1, "status": "cannot", "reason": "too small"}
    with pytest.raises(ConfigError, match="there is no result to draw: too small"):
        plot.grid([cannot])
    rows = [{"spare": spare, "write_amplification": math.nan} for spare in (0.1, 0.2)]
    with pytest.raises(ConfigError, match="no result has a number in 'write_amplification'"):
        plot.grid(rows)
    with pytest.raises(ConfigError, match="no option varies"):
        plot.grid(seeded(1.0, 2.0, spare=0.1))


def test_rows_with_lists_are_refused(tmp_path: Path) -> None:
    rows = [{"spare": [1], "write_amplification": 2.0}]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    for source, said in ((rows, "rows"), (tmp_path / "t.json", "RESULTS: .*json")):
        with pytest.raises(
            ConfigError, match=rf"{said}: found \[1\] as 'spare' of row 1, expected"
        ):
            plot.grid(source)


def test_what_is_no_number_is_left_out_and_said() -> None:
    rows = spares()
    rows[0]["write_amplification"] = math.nan
    shown = view(rows)
    assert [point.y for point in shown.panes[0].lines[0].points] == [5.5, 2.5]
    assert shown.notes == (
        "also varies: seed (mean and 95% interval of 2 to 3)",
        "1 of 6 results have no number in write_amplification",
    )


def test_a_sweep_its_file_and_its_tables_give_the_same_picture(tmp_path: Path) -> None:
    swept = flashgc.sweep(GRID, results=tmp_path / "grid.results")
    pictures = [swept.plot(), plot.grid(tmp_path / "grid.results")]
    for ending in ("csv", "json"):
        table = tmp_path / f"table.{ending}"
        flashgc.tables.save(swept.rows(), str(table))
        pictures.append(plot.grid(table))
    drawn = [
        [(list(line.get_xdata()), list(line.get_ydata())) for line in figure.axes[0].lines]
        for figure in pictures
    ]
    assert drawn == [drawn[0]] * 4
    wanted = [row["write_amplification"] for row in swept.rows()][:3]
    assert drawn[0][0][1][0] == pytest.approx(np.mean(wanted))


def test_conditions_take_units_and_bare_names(tmp_path: Path) -> None:
    flashgc.sweep(GRID, results=tmp_path / "grid.results")
    kept = tmp_path / "grid.results"
    assert len(rows_of(kept)) == 12
    assert len(rows_of(kept, ["spare<15%", "victim!=fifo"])) == 3
    # The file has this column, but the table does not.
    assert len(rows_of(kept, ["frontier=single"])) == 12
    assert len(rows_of(grid_rows(), ["victim=d-choices", "seed=2"])) == 6


def test_the_command_draws_and_says_what_was_averaged(command: Command, tmp_path: Path) -> None:
    flashgc.sweep(GRID, results=tmp_path / "grid.results")
    done = command("plot", "grid.results", "--x", "spare", "--by", "victim", "--out", "a.svg")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "note: also varies: seed (mean and 95% interval of 3)\n"
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    done = command("plot", "grid.results", "--panels", "sed", "--out", "b.svg")
    assert done.returncode == 2
    assert done.stderr == "error: --panels: there is no column 'sed'; hint: did you mean 'seed'?\n"
    done = command("plot", "none.results", "--out", "b.svg")
    assert done.stderr.startswith("error: RESULTS: none.results: no such file")
    (tmp_path / "bad.csv").write_text("spare,write_amplification\n0.1,2\n0.1,2,3\n")
    done = command("plot", "bad.csv", "--out", "b.svg")
    assert "bad.csv:3: found 3 values, expected 2" in done.stderr
    assert not (tmp_path / "b.svg").exists()
