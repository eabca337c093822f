"""Tables for papers: means, intervals, ratios, ties and forms, against figures by hand."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import flashgc
from conftest import Command
from flashgc import ConfigError, PaperTable, paper_table
from flashgc.reports.printed import FORMS, to_markdown, to_tex, to_text

#: Seeds 1 to 3: greedy 4.0, 4.2, 4.4 and fifo 5.0, 5.2, 5.4, always 1.0 more; lru is as good as
#: greedy on average, in another order of seeds.
VALUES = {
    "greedy": (4.0, 4.2, 4.4),
    "fifo": (5.0, 5.2, 5.4),
    "lru": (4.4, 4.2, 4.0),
}
#: Student's quantile for three values is 4.303, and the deviation of 4.0, 4.2, 4.4 is 0.2.
HALF = 4.303 * 0.2 / math.sqrt(3)


def rows(**more: Any) -> list[dict[str, Any]]:
    return [
        {"victim": victim, "seed": seed, "write_amplification": value, "erases": 100 * value} | more
        for victim, values in VALUES.items()
        for seed, value in enumerate(values, 1)
    ]


def cell(table: PaperTable, *names: str, at: int = 0) -> Any:
    return table.cells[table.names.index(names)][at]


def test_a_cell_is_the_mean_over_seeds_with_students_interval() -> None:
    table = paper_table(rows())
    assert table.options == ("victim",)
    assert table.names == (("greedy",), ("fifo",), ("lru",))
    assert cell(table, "greedy").mean == pytest.approx(4.2)
    assert cell(table, "fifo").mean == pytest.approx(5.2)
    assert cell(table, "greedy").half == pytest.approx(HALF)


def test_a_tie_is_what_the_paired_differences_cannot_tell_from_the_best() -> None:
    table = paper_table(rows())
    # greedy and lru differ by -0.4, 0 and 0.4; fifo is 1.0 above greedy in every seed.
    assert [row[0].is_best for row in table.cells] == [True, False, True]
    assert [row[0].is_tie for row in table.cells] == [True, False, True]
    # Apart, fifo's interval (5.2 +- 0.5) overlaps that of greedy: only pairs tell them apart.
    two = [row for row in rows() if row["victim"] != "lru"]
    close = [
        row | {"write_amplification": row["write_amplification"] - 0.9 * (row["victim"] == "fifo")}
        for row in two
    ]
    assert [row[0].is_best for row in paper_table(close).cells] == [True, False]
    # Other workloads have other writes, so there are no pairs, and Welch's test sees no difference.
    apart = [
        {key: value for key, value in row.items() if key != "victim"} | {"workload": row["victim"]}
        for row in close
    ]
    table = paper_table(apart, rows=["workload"])
    assert [row[0].is_best for row in table.cells] == [True, True]


def test_a_ratio_is_paired_if_the_writes_are_the_same() -> None:
    table = paper_table(rows(), baseline=["victim=greedy"])
    ratios = [5.0 / 4.0, 5.2 / 4.2, 5.4 / 4.4]
    mean = sum(ratios) / 3
    deviation = math.sqrt(sum((ratio - mean) ** 2 for ratio in ratios) / 2)
    assert cell(table, "greedy").mean == 1.0
    assert cell(table, "greedy").half is None
    assert cell(table, "fifo").mean == pytest.approx(mean)
    assert cell(table, "fifo").half == pytest.approx(4.303 * deviation / math.sqrt(3))
    assert table.baseline == ("greedy",)


def test_a_ratio_of_other_writes_has_the_intervals_of_both() -> None:
    every = [
        {"workload": row["victim"], "seed": row["seed"], "write_amplification": value}
        for row in rows()
        if (value := row["write_amplification"]) and row["victim"] != "lru"
    ]
    table = paper_table(every, rows=["workload"], baseline=["workload=greedy"])
    half = 5.2 / 4.2 * math.hypot(HALF / 4.2, HALF / 5.2)
    assert cell(table, "fifo").mean == pytest.approx(5.2 / 4.2)
    assert cell(table, "fifo").half == pytest.approx(half)


def test_a_mean_over_an_option_is_refused_and_the_hint_works() -> None:
    every = rows(spare=0.1) + rows(spare=0.2)
    placed = [row | {"placement": name} for row in every for name in ("none", "dac")]
    with pytest.raises(ConfigError, match=r"spare varies as well.*--where spare=0.1, or --rows"):
        paper_table(placed, rows=["victim"], columns="placement")
    assert len(paper_table(every).heads) == 2
    assert len(paper_table(every, rows=["victim"], where=["spare=0.1"]).heads) == 1
    assert len(paper_table(every, rows=["victim", "spare"]).names) == 6
    with pytest.raises(ConfigError, match="differ in no option"):
        paper_table(rows() + rows())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"cells": ["victim"]}, "'victim' is no figure"),
        ({"rows": ["erases"]}, "'erases' is a figure, expected an option; hint: --cells erases"),
        ({"rows": ["victims"]}, "did you mean 'victim'"),
        ({"rows": ["victim"], "columns": "victim"}, "both are 'victim'"),
        ({"baseline": ["victim=best"]}, "no row has victim=best"),
        ({"baseline": ["victim!=greedy"]}, "expected COLUMN=VALUE"),
        ({"baseline": ["seed=1"]}, "seed is in no row, expected victim"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        paper_table(rows(), **options)


def test_more_is_better_for_some_figures() -> None:
    every = [row | {"requests_per_second": row["erases"]} for row in rows()]
    table = paper_table(every, cells=["requests_per_second"])
    assert [row[0].is_best for row in table.cells] == [False, True, False]


def test_a_cell_without_a_result_has_a_reason() -> None:
    every: list[dict[str, Any]] = [row | {"spare": 0.1} for row in rows()]
    every.append({"victim": "fifo", "spare": 0.2, "status": "cannot", "reason": "no room"})
    every.append({"victim": "greedy", "spare": 0.2, "seed": 1, "write_amplification": 2.0})
    table = paper_table(every)
    assert cell(table, "fifo", at=1).mean is None
    assert "no result: no room" in table.notes
    assert " -" in to_text(table)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    grid = {
        "drive": {"blocks": 200, "pages_per_block": 16, "spare": ["10%", "20%"]},
        "gc": {"victim": ["fifo", "greedy", "d-choices:d=10"]},
        "run": {"writes": "2x", "runs": 3},
    }
    flashgc.sweep(grid, results=tmp_path / "grid.results")
    return tmp_path / "grid.results"


def test_kept_runs_are_pairs_as_those_of_a_comparison(kept: Path) -> None:
    table = paper_table(kept, where=["spare=10%"], baseline=["victim=greedy"])
    ranking = flashgc.compare(
        ["fifo", "greedy", "d-choices:d=10"], blocks=200, pages_per_block=16, writes="2x", runs=3,
        spare="10%",
    )  # fmt: skip
    by_name = {rank.result.config.victim.partition(":")[0]: rank for rank in ranking}
    base = by_name["greedy"].result.run_values
    for names, cells in zip(table.names, table.cells, strict=True):
        rank = by_name[names[0]]
        ratios = [a / b for a, b in zip(rank.result.run_values, base, strict=True)]
        assert cells[0].mean == pytest.approx(sum(ratios) / 3)
        assert cells[0].is_best == (rank.place == 1 or rank.inside_noise)


def test_every_form_has_every_row(kept: Path, tmp_path: Path) -> None:
    table = paper_table(kept)
    for ending in FORMS:
        table.save(str(tmp_path / f"table{ending}"), caption="A & B", label="tab:a")
        text = (tmp_path / f"table{ending}").read_text()
        assert all(name in text for (name,) in table.names), ending
    assert len(json.loads((tmp_path / "table.json").read_text())) == 6
    assert str(table) == to_text(table)
    assert "**" in to_markdown(table)
    assert r"\caption{A \& B. " in to_tex(table, "A & B")
    with pytest.raises(ConfigError, match="ends in no form of a table"):
        table.save("table.doc")


def test_latex_takes_it(kept: Path, tmp_path: Path) -> None:
    if shutil.which("pdflatex") is None:
        pytest.skip("no LaTeX")
    paper_table(kept, cells=["WA", "erases"]).save(str(tmp_path / "a.tex"), caption="Two figures")
    paper_table(kept, rows=["spare", "victim"], baseline=["spare=10%", "victim=fifo"]).save(
        str(tmp_path / "b.tex")
    )
    (tmp_path / "paper.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs,siunitx}\begin{document}"
        r"\input{a}\input{b}\end{document}"
    )
    made = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout[-2000:]


def test_the_command_prints_and_writes(kept: Path, tmp_path: Path, command: Command) -> None:
    printed = command("table", str(kept))
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout == to_text(paper_table(kept))
    written = command("table", str(kept), "--out", "t.md")
    assert (written.returncode, written.stdout) == (0, "")
    assert (tmp_path / "t.md").read_text() == to_markdown(paper_table(kept))
    for arguments in (("--out", "t.doc"), ("--caption", "x"), ("--out", "no/t.md")):
        refused = command("table", str(kept), *arguments)
        assert refused.returncode == 2, refused.stderr
        assert refused.stderr.count("\n") == 1
