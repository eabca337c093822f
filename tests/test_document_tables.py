"""The tables of results in the documents agree with the files of results."""

from __future__ import annotations

import csv
import runpy
import shutil
from pathlib import Path

import pytest

import tables
from flashgc_papers.claims import claims


def test_documents_show_the_results_that_were_kept() -> None:
    found = tables.documents()
    assert [path.name for path in found] == [
        "bsgc.md", "exec.md", "gap.md", "hints.md", "nvme-tcp.md", "placement.md",
        "sprandom.md", "validation.md", "zombie-results.md",
    ]  # fmt: skip
    for path, text in found.items():
        assert tables.renewed(text) == text, f"{path.name}: run scripts/docs/tables.py"


def test_each_benchmark_has_a_place_on_the_page_of_speeds() -> None:
    page = runpy.run_path(str(Path(__file__).parents[1] / "scripts/bench/page.py"))
    text = page["PAGE"].read_text(encoding="utf-8")
    for name in ("machine", *page["BENCHMARKS"]):
        other = page["placed"](text, name, "of another day")
        assert other.count("of another day") == 1
        assert f"<!-- bench: {name} -->\n```text\nof another day\n```\n" in other
    with pytest.raises(SystemExit, match="no place for speeds"):
        page["placed"](text, "speeds", "")


def test_couples_become_a_table_of_ratios_and_one_of_speeds() -> None:
    page = runpy.run_path(str(Path(__file__).parents[1] / "scripts/bench/page.py"))
    rows = {"greedy": (0.4, 240.0), "d-choices, dac": (0.1, 50.5), "greedy, dac": (0.2, 9.0),
            "d-choices": (0.5, 339.6)}  # fmt: skip
    lines = [f"  {name:<34} {ratio:>6.2f} {speed:>14.1f} {600.0:>8.1f} {2.5:>7.3f}"
             for name, (ratio, speed) in rows.items()]  # fmt: skip
    text = "\n".join(["2^20 pages", "   ratio", *lines, "  bare loop, 0 words a page: 1 M"])
    assert [line.split() for line in page["crossed"](text).splitlines()] == [
        ["2^20", "pages"], [],
        ["share", "of", "limit", "none", "dac"],
        ["greedy", "0.40", "0.20"], ["d-choices", "0.50", "0.10"], [],
        ["M", "programs/s", "none", "dac"],
        ["greedy", "240.0", "9.0"], ["d-choices", "339.6", "50.5"],
    ]  # fmt: skip


def test_published_numbers_of_the_tables_are_the_claims() -> None:
    (figure,) = claims().select(("bsgc.fig7",))
    shown = {line[0]: line[1:] for line in tables.migrations()}
    for trace, ga, *others in figure.rows:
        assert ga == 100
        assert shown[f"{trace}, published"] == tuple(f"{value:.1f}" for value in others)
    (figure,) = claims().select(("zombie.fig5",))
    said = [line[1] for line in tables.statements()]
    assert [said[1], said[5]] == [f"{gain:g}, a gain, a gain" for gain in figure.facts["at_6"]]
    assert said[3] == said[7] == f"below {figure.facts['below_at_50']}"


def test_another_result_is_another_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tables.statements()
    for name in ("zombie.fig5.csv", "bsgc.fig7.csv"):
        shutil.copy(tables.RESULTS / name, tmp_path)
    path = tmp_path / "zombie.fig5.csv"
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    label = "ZGC-CB below GC-CB at h = 20, %"
    (row,) = (line for line in lines if (line["label"], line["reading"]) == (label, "idle"))
    row |= {"measured": "0.5", "measured_ci95": "0.6"}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    after = tables.statements()
    # A gain smaller than its interval does not count: the claim for h = 6, 10 and 20 fails.
    assert after[5][-1].endswith("0.5 ± 0.6: does not")
    assert before[5][-1].endswith("holds")
    assert [at for at, line in enumerate(before) if line != after[at]] == [5, 9]
