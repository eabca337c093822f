"""The documents show real output: their commands and programs are run, in order.

`scripts/docs/documents.py` explains how documents are written and which figures are not compared.
"""

from __future__ import annotations

import dataclasses
import doctest
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

import flashgc
from documents import (
    ROOT,
    Block,
    agrees,
    agrees_in_words,
    blocks,
    can,
    documents,
    output,
    prepare,
    renewed,
    steady,
    steps,
)
from flashgc.plot.look import drawn

#: Pictures in documents that their own commands and programs draw.
PICTURES = re.compile(r"\((?:\.\./|docs/)?figures/(plots/\S+|doors/policy\.svg|memory\.svg)\)")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def runs_something(document: Path) -> bool:
    return any(block.kind in ("console", "python") for block in blocks(document))


def takes_long(document: Path) -> bool:
    return any(block.is_long for block in blocks(document))


def name_of(document: Path) -> str:
    return str(document.relative_to(ROOT))


@pytest.mark.parametrize("document", list(filter(runs_something, documents())), ids=name_of)
def test_a_document_shows_what_happens(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(document, [block for block in blocks(document) if not block.is_long], tmp_path, monkeypatch)


@pytest.mark.soak
@pytest.mark.parametrize("document", list(filter(takes_long, documents())), ids=name_of)
def test_a_document_shows_what_happens_in_long_runs(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(document, blocks(document), tmp_path, monkeypatch)


def run(
    document: Path, parts: list[Block], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    # Documents may use equal file names, so modules of other documents are forgotten.
    for name in {Path(part.file).stem for part in parts if part.file} & set(sys.modules):
        monkeypatch.delitem(sys.modules, name)
    names: dict[str, object] = {"__name__": "document"}
    for block in parts:
        place = f"{document.relative_to(ROOT)}:{block.line}"
        if block.file is not None:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
        elif block.kind == "console":
            run_console(block, place, tmp_path)
        elif block.kind == "python":
            run_python(block, place, names)
    for name in PICTURES.findall(document.read_text(encoding="utf-8")):
        shipped = ROOT / "docs" / "figures" / name
        drawn = (tmp_path / shipped.name).read_bytes()
        assert drawn == shipped.read_bytes(), f"{name}: make docs draws it anew, or copy it"


def run_console(block: Block, place: str, folder: Path) -> None:
    if not can(block.needs):
        return
    agree = agrees_in_words if block.needs else agrees
    for step in steps(block):
        found = output(step, folder)
        assert agree(step.printed, found), (
            f"{place}: {step.command}\nexpected:\n{step.printed}\nfound:\n{found}\n"
            "make docs writes the outputs anew"
        )


def run_python(block: Block, place: str, names: dict[str, object]) -> None:
    if ">>>" not in block.text:
        exec(compile(block.text, place, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.text, names, place, place, block.line)
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    failures: list[str] = []
    runner.run(test, out=failures.append, clear_globs=False)
    names.update(test.globs)
    assert not failures, "".join(failures)


def test_a_wrong_document_is_noticed(tmp_path: Path) -> None:
    wrong = Block("console", "$ echo one\ntwo\n", 1, None)
    with pytest.raises(AssertionError, match="expected"):
        run_console(wrong, "here", tmp_path)
    with pytest.raises(ValueError, match="line 7"):
        run_console(Block("console", "one\n$ echo one\n", 7, None), "here", tmp_path)
    with pytest.raises(AssertionError):
        run_python(Block("python", "assert 1 == 2\n", 1, None), "here", {})
    with pytest.raises(AssertionError, match="Expected"):
        run_python(Block("python", ">>> 1\n2\n", 1, None), "here", {})


def test_outputs_agree_but_for_lines_left_out_and_the_speed_of_the_machine() -> None:
    assert agrees("one\n...\nthree\n", "one\nthree\n")
    assert agrees("one\n...\nthree\n", "one\ntwo\ntwo\nthree\n")
    assert not agrees("one\n...\n", "two\n")
    assert not agrees("4.8...\n", "4.81\n"), "figures are written out"
    assert not agrees("one\n", "one\ntwo\n")
    assert agrees(
        "speed  31.6 M page programs/s a core, 60.8 MiB of memory\n",
        "speed  800 k page programs/s a core, 1.2 GiB of memory\n",
    )
    assert not agrees("spare  10% of the flash\n", "spare  11% of the flash\n")
    table = "#  policy  copies  prog/s\n1  fifo     1.117  {}\n\n2 below {}\n"
    assert agrees(table.format("8.46 M", "1"), table.format("532 k", "1"))
    assert not agrees(table.format("8.46 M", "1"), table.format("532 k", "2")), "below the table"
    assert not agrees(table.format("1 M", "1"), table.replace("1.117", "1.2").format("1 M", "1"))


def test_only_lines_of_the_page_cache_may_be_missing_where_a_machine_decides() -> None:
    reads, writes = "read latency   p50 7 us\n", "write latency  p50 1 us\n"
    assert agrees_in_words(writes, reads + writes)
    assert agrees_in_words(reads + writes, writes)
    assert not agrees_in_words(reads, writes), "a drive that was written has latencies of writes"
    assert not agrees_in_words(writes, writes + "trim latency  p50 1 us\n")


def test_an_output_is_renewed_with_the_same_lines_left_out() -> None:
    before = "write amplification  4.8... ±0.0...\n...\nsteady  yes\n"
    found = "write amplification  4.8836 ±0.0047\n\nworkload  uniform\nsteady  yes\n"
    assert renewed(before, found) == "write amplification  4.8836 ±0.0047\n...\nsteady  yes\n"
    assert renewed(before, "no such thing\n") == "no such thing\n"
    same_but_speed = "speed  1 M page programs/s a core, 2 MiB of memory\n"
    assert renewed(same_but_speed, same_but_speed.replace("1 M", "3 M")) == same_but_speed


def test_the_figure_of_the_first_screen_is_what_the_command_shows() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "figures" / "compare.py"))
    shipped = script["text"](script["FIGURE"].read_text(encoding="utf-8"))
    assert "flashgc compare" in shipped
    assert steady(shipped) == steady(script["text"](script["draw"]())), "make docs draws it anew"


@pytest.fixture(scope="module")
def doors() -> dict[str, Any]:
    """The script of the pictures of the README."""
    return runpy.run_path(str(ROOT / "docs" / "figures" / "doors.py"))


@pytest.mark.parametrize("name", ["spare", "database"])
def test_a_picture_of_the_doors_is_what_flashgc_finds(
    name: str, doors: dict[str, Any], tmp_path: Path
) -> None:
    prepare(tmp_path)
    figure = doors["spare"](tmp_path) if name == "spare" else doors["database"]()
    shipped = (doors["FOLDER"] / f"{name}.svg").read_bytes()
    assert drawn(figure, "svg") == shipped, "docs/figures/doors.py draws it anew"


def test_another_run_is_another_picture_of_the_doors(doors: dict[str, Any]) -> None:
    tried = [
        {"value": value, "holds": holds, "write_amplification": figure}
        for value, holds, figure in (("10%", False, 4.0), ("20%", True, 2.5))
    ]
    found = {"wanted": ["write_amplification < 3"], "value": "20%", "tried": tried}
    before = drawn(doors["draw_found"](found), "svg")
    tried[1]["write_amplification"] = 2.6
    assert drawn(doors["draw_found"](found), "svg") != before
    fill = {"workload": "uniform", "blocks": 64, "pages_per_block": 16, "runs": 1}
    one, other = (flashgc.run(victim=victim, **fill) for victim in ("greedy", "fifo"))
    replayed = flashgc.run(
        str(ROOT / "data" / "pgbench-ext4.csv.zst"), passes=2, pages_per_block=64
    ).trace
    bars = [dataclasses.replace(run, trace=replayed) for run in (one, other)]
    assert drawn(doors["draw_programmed"](bars), "svg") != drawn(
        doors["draw_programmed"](bars[:1] * 2), "svg"
    )
    # Bars are ordered by programmed bytes, whatever the order of the runs.
    assert drawn(doors["draw_programmed"](bars), "svg") == drawn(
        doors["draw_programmed"](bars[::-1]), "svg"
    )


def test_the_site_opens_on_the_doors() -> None:
    """The first page asks three questions, and the navigation has a group for each, in order."""
    first = (ROOT / "README.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*\?)$", first, re.M)
    assert len(headings) == 3
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    groups = re.findall(r'^  - "?(.*?)"?:$', nav, re.M)
    assert nav.startswith("  - README.md\n")
    assert groups[1:4] == headings
    links = re.findall(r"^- \[.*\]\(#(\S+)\): ", first, re.M)
    slugs = [re.sub(r"[^a-z0-9 -]", "", one.lower()).replace(" ", "-") for one in headings]
    assert links == slugs
