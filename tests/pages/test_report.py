"""``flashgc report``: the content of the page, and its errors. No browser is needed."""

from __future__ import annotations

import hashlib
import html
import os
import re
from base64 import b64encode
from collections import Counter
from pathlib import Path

import pytest

import flashgc
from conftest import Command
from flashgc.results.intervals import half_width
from pages.kept import document, make, rows_of, run, values


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("report") / "grid.results")


def test_all_values_of_all_rows_are_in_the_page(results: Path, tmp_path: Path) -> None:
    assert flashgc.report(results, tmp_path / "page.html") == 144
    columns = {one["name"]: values(one) for one in document(tmp_path / "page.html")["columns"]}
    rows = rows_of(results)
    assert {name for row in rows for name in row} <= columns.keys()
    for name, column in columns.items():
        if name not in ("made", "version", "engine"):
            assert column == [row.get(name) for row in rows], name


def test_the_head_says_what_was_asked_and_what_came_of_it(results: Path, tmp_path: Path) -> None:
    flashgc.report(results, tmp_path / "page.html")
    text = re.sub(r"<[^>]+>", " ", (tmp_path / "page.html").read_text("utf-8"))
    text = " ".join(html.unescape(text).partition("What was asked")[2].split())
    rows = rows_of(results)
    reasons = Counter(row["reason"] for row in rows if row["status"] == "cannot")
    assert reasons.total() == 36
    assert text.startswith(
        "workload uniform zipf:theta=0.9 spare factor 10% 15% 20% 25% victim greedy fifo "
        "d-choices:d=3 placement none sepbit seed 1 2 3 same for all "
        "blocks 64 pages per block 16 frontier pool writes 3x"
    )
    assert all(f"{count} cannot run : {reason}" in text for reason, count in reasons.items())
    assert f"144 cells flashgc {flashgc.version()}, engine" in text


def test_the_head_says_what_is_wrong_with_the_figures(tmp_path: Path) -> None:
    kept = tmp_path / "grid.results"
    grid = {"drive": {"blocks": [40, 200], "pages_per_block": 16}, "run": {"writes": "20x"}}
    flashgc.sweep(grid, results=kept)
    assert [row["findings"] for row in rows_of(kept)] == ["few-blocks", None]
    flashgc.report(kept, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    claim = (
        "The drive has so few blocks that amplification may be another than that of a large one."
    )
    assert f"<b>1 of 2</b>: {claim} <code>few-blocks</code>" in text
    flashgc.report(kept, tmp_path / "page.html", where=["blocks=200"])
    assert "Before you use the figures" not in (tmp_path / "page.html").read_text("utf-8")


def test_options_are_counted_where_their_combinations_are_not_all_there(tmp_path: Path) -> None:
    made = make(
        tmp_path / "some.results",
        [
            {"drive.spare": "10%", "gc.victim": "greedy"},
            {"drive.spare": "20%", "gc.victim": "greedy"},
            {"drive.spare": "20%", "gc.victim": "fifo"},
        ],
    )
    flashgc.report(made, tmp_path / "page.html")
    assert "1 of the 4 combinations of these values are not here" in (
        tmp_path / "page.html"
    ).read_text("utf-8")


def test_the_quantiles_are_those_of_the_intervals(results: Path, tmp_path: Path) -> None:
    flashgc.report(results, tmp_path / "page.html")
    two, three = document(tmp_path / "page.html")["quantiles"]
    # The deviation of two values that differ by 1 is 0.5 ** 0.5; that of 0, 1, 2 is 1.
    assert two == pytest.approx((half_width([0.0, 1.0]) or 0) / 0.5, rel=1e-12)
    assert three == pytest.approx((half_width([0.0, 1.0, 2.0]) or 0) * 3**0.5, rel=1e-12)


def test_a_sweep_has_its_own_cells_those_that_were_not_run_as_well(tmp_path: Path) -> None:
    kept = tmp_path / "two.results"
    drive = {"blocks": 64, "pages_per_block": 16}
    flashgc.sweep(
        {"drive": {**drive, "spare": ["10%", "20%"]}, "run": {"writes": "2x"}}, results=kept
    )
    stopped = flashgc.Control()
    stopped.cancel()
    grid = {"drive": {**drive, "spare": ["20%", "30%"]}, "run": {"writes": "2x"}}
    swept = flashgc.sweep(grid, results=kept, control=stopped)
    assert flashgc.report(swept, tmp_path / "page.html") == 2
    columns = {one["name"]: values(one) for one in document(tmp_path / "page.html")["columns"]}
    assert columns["status"] == ["result", "missing"]
    assert columns["spare"] == [0.2, 0.3]
    assert "<b>1</b> result, <b>1</b> not run" in (tmp_path / "page.html").read_text("utf-8")
    with pytest.raises(flashgc.ConfigError, match="a sweep has no conditions"):
        flashgc.report(swept, tmp_path / "page.html", where=["spare=20%"])


def test_conditions_leave_the_others_out_and_the_page_says_so(
    results: Path, tmp_path: Path
) -> None:
    where = ["victim=greedy", "spare<20%", "status=result"]
    count = flashgc.report(results, tmp_path / "page.html", where=where)
    rows = [row for row in rows_of(results) if row["status"] == "result"]
    assert count == sum(row["victim"] == "greedy" and row["spare"] < 0.2 for row in rows) > 0
    assert "<code>spare&lt;20%</code>" in (tmp_path / "page.html").read_text("utf-8")


def test_nothing_comes_from_elsewhere_and_only_its_own_program_may_run(
    results: Path, tmp_path: Path
) -> None:
    flashgc.report(results, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    program = re.findall(r"<script>(.*?)</script>", text, re.S)
    assert len(program) == 1
    digest = b64encode(hashlib.sha256(program[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in html.unescape(text)
    assert "default-src 'none'" in html.unescape(text)
    assert "unsafe" not in text.partition("<style>")[0]
    assert all(
        address.startswith(("data:", "#"))
        for address in re.findall(r"""<[^>]+(?:src|href)=["']?([^"' >]+)""", text)
    )
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids)), "each id once"
    # People mail the page, so it must be small apart from its data.
    assert len(text) - len(re.findall(r"json\">(.*?)</script>", text, re.S)[0]) < 150_000


def test_the_same_results_make_the_same_bytes(results: Path, tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        flashgc.report(results, tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>&quot;'\"<!--"


def test_names_that_look_like_markup_are_text(tmp_path: Path) -> None:
    names = [HOSTILE, "Grüße/日本語.csv", "x" * 3000]
    made = make(tmp_path / "odd.results", [{"workload.source": name} for name in names])
    flashgc.report(made, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert "<img" not in text
    assert text.count("<script") == text.count("</script>") == 2
    columns = {one["name"]: values(one) for one in document(tmp_path / "page.html")["columns"]}
    assert columns["workload"] == names


def test_what_is_no_number_is_nothing(tmp_path: Path) -> None:
    made = make(
        tmp_path / "nan.results", [{"figure": float("nan")}, {"figure": None}, {"figure": 2}]
    )
    flashgc.report(made, tmp_path / "page.html")
    columns = {one["name"]: values(one) for one in document(tmp_path / "page.html")["columns"]}
    assert columns["write_amplification"] == [None, None, 2]


def test_the_command_makes_the_page_and_says_how_much_is_on_it(
    results: Path, tmp_path: Path, command: Command
) -> None:
    kept = tmp_path / "my.results"
    kept.write_bytes(results.read_bytes())
    done = command("report", "my.results")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "my.html: 144 cells\n")
    assert command("report", "my.results", "--quiet").stderr == ""
    done = command("report", "my.results", "-q", "-o", "/dev/stdout", "--where", "victim=fifo")
    assert done.stdout.startswith("<!doctype html>")
    assert done.stdout.endswith("</html>\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing.results"], "RESULTS: nothing.results: no such file; hint: flashgc sweep makes"),
        (["my.results", "-o", "my.results"], "-o: my.results is the file of results; hint: give"),
        (["my.results", "-o", "-"], "-o: found '-', expected a file; hint: /dev/stdout is"),
        (
            ["my.results", "-o", "g.toml"],
            "-o: g.toml: found '.toml', expected .html; hint: name it",
        ),
        (["my.results", "-o", "no/page.html"], "-o: no/page.html: there is no such folder; hint:"),
        (["my.results", "--where", "spare=77%"], "my.results: no result has spare=77%; hint: "),
        (["my.results", "--where", "spar=7%"], "--where: unknown column 'spar'; hint: did you"),
        (["empty.results"], "empty.results: it has no results; hint: flashgc sweep grid.toml"),
        (["words.results"], "RESULTS: words.results: is not a file of results; hint: give"),
        ([], "flashgc report: RESULTS is missing; hint: flashgc report --help"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    results: Path, tmp_path: Path, command: Command, arguments: list[str], said: str
) -> None:
    (tmp_path / "my.results").write_bytes(results.read_bytes())
    (tmp_path / "words.results").write_text("not a database, but long enough to be one" * 10)
    make(tmp_path / "empty.results", [])
    before = {path.name for path in tmp_path.iterdir()}
    done = command("report", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {said}")
    assert done.stderr.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == before


def test_a_page_that_cannot_be_written_leaves_the_old_one(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.html"
    page.write_text("the old one")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match=re.escape(str(page))):
        flashgc.report(results, page)
    assert page.read_text() == "the old one"
    assert list(tmp_path.iterdir()) == [page]
