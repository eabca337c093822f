"""The documents show what happens: their commands and programs are run, in order.

`scripts/docs/documents.py` says how documents are written and which figures are not compared.
"""

from __future__ import annotations

import doctest
import re
import runpy
import sys
from pathlib import Path

import pytest

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

#: Pictures that a document shows and its commands and programs draw.
PICTURES = re.compile(r"\((?:\.\./)?figures/(plots/\S+|memory\.svg)\)")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def runs_something(document: Path) -> bool:
    return any(block.kind in ("console", "python") for block in blocks(document))


@pytest.mark.parametrize(
    "document",
    list(filter(runs_something, documents())),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_a_document_shows_what_happens(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    # Documents have files of the same name: none sees the module of another one.
    for name in {path.stem for path in map(Path, files(document))} & set(sys.modules):
        monkeypatch.delitem(sys.modules, name)
    names: dict[str, object] = {"__name__": "document"}
    for block in blocks(document):
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


def files(document: Path) -> list[str]:
    return [block.file for block in blocks(document) if block.file is not None]


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
