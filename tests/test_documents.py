"""What the documents show is what happens: their commands and programs are run, in order.

In a document, a block marked

- ``console`` has commands after ``$``, and what they print (standard output and standard error
  together). ``...`` in a line stands for anything, on a line of its own for any number of lines;
  blanks count as one blank;
- ``python`` is a program, run in the same process as the document's other ones; with ``>>>`` it is
  a doctest;
- with ``<!-- file: NAME -->`` on the line before is written to that file.

Each document has a folder of its own, in which ``data`` is the repository's.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import ROOT, environment

DOCUMENTS = sorted(
    path
    for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("data/*.md")]
    if path.exists()
)
BLOCK = re.compile(
    r"^(?:<!-- file: (?P<file>\S+) -->\n)?```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.M | re.S
)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block of a document."""

    kind: str
    text: str
    line: int
    file: str | None


def blocks(document: Path) -> list[Block]:
    text = document.read_text(encoding="utf-8")
    return [
        Block(
            match["kind"],
            match["text"],
            text.count("\n", 0, match.start("text")) + 1,
            match["file"],
        )
        for match in BLOCK.finditer(text)
    ]


def runs_something(document: Path) -> bool:
    return any(block.kind in ("console", "python") for block in blocks(document))


@pytest.mark.parametrize(
    "document",
    list(filter(runs_something, DOCUMENTS)),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_a_document_shows_what_happens(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, object] = {"__name__": "document"}
    for block in blocks(document):
        place = f"{document.relative_to(ROOT)}:{block.line}"
        if block.file is not None:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
        elif block.kind == "console":
            run_console(block, place, tmp_path)
        elif block.kind == "python":
            run_python(block, place, names)


def run_console(block: Block, place: str, folder: Path) -> None:
    session = re.split(r"^\$ ", block.text.replace("\\\n", ""), flags=re.M)
    assert session[0] == "", f"{place}: a console block begins with a command after '$ '"
    for step in session[1:]:
        typed, _, expected = step.partition("\n")
        made = subprocess.run(
            typed,
            shell=True,
            executable="/bin/bash",
            cwd=folder,
            env={
                **environment(),
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        assert agrees(expected, made.stdout), (
            f"{place}: {typed}\nexpected:\n{expected}\nfound:\n{made.stdout}"
        )


def agrees(expected: str, found: str) -> bool:
    """Whether ``found`` is what a document expects."""
    pattern = ""
    for line in expected.splitlines():
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
            continue
        parts = [re.sub(r"(?:\\ )+", " +", re.escape(part)) for part in line.rstrip().split("...")]
        pattern += "[^\\n]*".join(parts) + r" *\n"
    return re.fullmatch(pattern, found) is not None


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
    with pytest.raises(AssertionError):
        run_python(Block("python", "assert 1 == 2\n", 1, None), "here", {})
    with pytest.raises(AssertionError, match="Expected"):
        run_python(Block("python", ">>> 1\n2\n", 1, None), "here", {})
    run_console(Block("console", "$ echo one 2 three\none ... three\n", 1, None), "here", tmp_path)
    assert agrees("one\n...\nthree\n", "one\nthree\n")
    assert agrees("one\n...\nthree\n", "one\ntwo\ntwo\nthree\n")
    assert not agrees("one...\nthree\n", "one\ntwo\nthree\n")
    assert not agrees("one\n", "one\ntwo\n")
