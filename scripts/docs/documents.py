"""The console blocks of the documents: commands, their printed output, and their output now.

    .venv/bin/python scripts/docs/documents.py [DOCUMENT...]

writes the output of every command in the documents again, as `make docs` does. The tests run the
same commands and fail if a document shows another output.

A block marked ``console`` has commands after ``$`` and their output: standard output and standard
error together. The output is real. A line ``...`` stands for left-out lines. The speed of the
machine and the memory of the process differ between runs, so only these figures are not compared.
Several blanks count as one. A block marked ``python`` is a program, or with ``>>>`` a doctest. A
block after ``<!-- file: NAME -->`` is written to that file. Each document has its own folder, in
which ``data``, ``docs`` and ``scripts`` are the repository's.

A block after ``<!-- mounts -->`` mounts drives, and one after ``<!-- hints -->`` follows the page
cache as well. Both run only on machines that allow it. A file system's writes differ slightly
between runs, so only the words at the beginning of each line are compared.

A block after ``<!-- long -->`` or ``<!-- hints, long -->`` takes at least ten seconds, or needs the
files of such a block. `make test` leaves it out, and `make soak` runs it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(
    r"^(?:<!-- (?:file: (?P<file>\S+)|(?P<needs>mounts|hints)?(?:, )?(?P<long>long)?) -->\n)?"
    r"```(?P<kind>\w+)\n(?P<text>.*?)^```$",
    re.M | re.S,
)
#: A line of a document that stands for any number of lines.
LEFT_OUT = "..."
#: Beginnings of lines that appear only if a read missed the kernel's page cache.
OF_THE_PAGE_CACHE = frozenset({"read latency"})
#: The most seconds that a command in a document may take.
LIMIT = 300
#: A figure that depends on the machine, with the words that name it.
VOLATILE = re.compile(
    r"(?P<amount>\d[\d.]*(?: [kMG])?)"
    r"(?P<name> page programs/s a core, | requests/s a core, | ?[kMG]?i?B of memory)"
)
#: The heading of the last column of a table, whose figures depend on the machine.
VOLATILE_COLUMN = re.compile(r"^\s*#.*prog/s\s*$")
AMOUNT_AT_END = re.compile(r"\s[\d.]+(?: [kMG])?\s*$")


def documents() -> list[Path]:
    """All documents of the project."""
    paths = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("data/*.md")]
    return sorted(path for path in paths if path.exists())


@dataclass(frozen=True)
class Block:
    """A fenced block of a document."""

    kind: str
    text: str
    line: int
    file: str | None
    #: Where its text begins and ends in the document.
    begin: int = 0
    end: int = 0
    #: The feature of the machine that its commands need: ``mounts`` or ``hints``.
    needs: str | None = None
    #: True for a long block, which `make test` leaves out.
    is_long: bool = False


@dataclass(frozen=True)
class Step:
    """A command in a console block, as written, and the output below it."""

    typed: str
    printed: str

    @property
    def command(self) -> str:
        """The command without its line breaks."""
        return self.typed.replace("\\\n", "")


def blocks(document: Path) -> list[Block]:
    """The fenced blocks of a document, in order."""
    text = document.read_text(encoding="utf-8")
    return [
        Block(
            match["kind"],
            match["text"],
            text.count("\n", 0, match.start("text")) + 1,
            match["file"],
            *match.span("text"),
            needs=match["needs"],
            is_long=match["long"] is not None,
        )
        for match in BLOCK.finditer(text)
    ]


def steps(block: Block) -> list[Step]:
    """The commands of a console block.

    Raises:
        ValueError: The block does not begin with a command.

    """
    before, *sessions = re.split(r"^\$ ", block.text, flags=re.M)
    if before:
        raise ValueError(f"line {block.line}: a console block begins with a command after '$ '")
    parsed = []
    for session in sessions:
        typed = re.match(r"(?:.*\\\n)*.*\n", session)
        assert typed is not None
        parsed.append(Step(typed[0].rstrip("\n"), session[typed.end() :]))
    return parsed


def environment() -> dict[str, str]:
    """The environment of commands: 80 columns, no colour, messages in English."""
    kept = {key: os.environ[key] for key in ("HOME", "TMPDIR") if key in os.environ}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {
        **kept,
        "PATH": path,
        "COLUMNS": "80",
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(ROOT / "python"),
    }


def output(step: Step, folder: Path) -> str:
    """Runs the command in ``folder``, and returns its output."""
    process = subprocess.run(
        step.command,
        shell=True,
        executable="/bin/bash",
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
    )
    return process.stdout


def steady(text: str) -> list[str]:
    """The lines of an output without the figures that depend on the machine."""
    lines, in_table = [], False
    for line in text.splitlines():
        in_table = bool(VOLATILE_COLUMN.match(line)) or (in_table and line.strip() != "")
        kept = VOLATILE.sub(r"#\g<name>", line)
        kept = re.sub(r"# [kMG]?i?B of memory", "# of memory", kept)
        if in_table:
            kept = AMOUNT_AT_END.sub(" #", kept)
        lines.append(" ".join(kept.split()))
    return lines


def agrees(printed: str, now: str) -> bool:
    """Returns `True` if a document shows the present output, apart from left-out lines."""
    return _placed(steady(printed), steady(now), lambda a, b: a == b) is not None


def agrees_in_words(printed: str, now: str) -> bool:
    """Returns `True` if the lines of a document begin with the words of the present output.

    A line that depends on the kernel's page cache may be missing from either.
    """

    def words(text: str) -> list[str]:
        first = (re.split(r"\s{2,}", line.strip())[0] for line in text.splitlines())
        first = (word for word in first if word not in OF_THE_PAGE_CACHE)
        return [word if word == LEFT_OUT else _words(word) for word in first]

    return _placed(words(printed), words(now), lambda a, b: a == b) is not None


@cache
def can(needs: str | None) -> bool:
    """Returns `True` if this machine has the feature ``needs`` of a block."""
    from flashgc import DriveError
    from flashgc.device import mounts
    from flashgc.device.live import demo

    try:
        if needs == "mounts":
            mounts.check("a document", "ext4")
        elif needs == "hints":
            demo.check()
    except DriveError:
        return False
    return True


def renewed(printed: str, now: str) -> str:
    """The present output, with the same lines left out as before.

    Lines are recognised by their words without figures. If that fails, nothing is left out.
    """
    before, after = printed.splitlines(), now.splitlines()
    if agrees(printed, now):
        return printed
    places = _placed(steady(printed), steady(now), lambda a, b: _words(a) == _words(b))
    if places is None:
        return now
    lines = [LEFT_OUT if place is None else after[place] for place in places]
    assert len(lines) == len(before)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _words(line: str) -> str:
    """A line without its figures, its bars and the names of temporary folders."""
    line = re.sub(r"/tmp/\w+", "/tmp", line)
    return re.sub(
        r"[\d.]+|[0-9a-f]{16}|≈|\.\.\.|[▁-█]+", "#", re.sub(r"(\d) (?=\d{3}\b)", r"\1", line)
    )


def _placed(before, now, same) -> list[int | None] | None:  # type: ignore[no-untyped-def]
    """For each line of ``before``, the index of its line in ``now``, or `None` for `...`.

    Returns `None` if the lines do not match.
    """

    @cache
    def follow(i: int, j: int) -> tuple[int | None, ...] | None:
        if i == len(before):
            return () if j == len(now) else None
        if before[i] == LEFT_OUT:
            for k in range(j, len(now) + 1):
                rest = follow(i + 1, k)
                if rest is not None:
                    return (None, *rest)
            return None
        if j < len(now) and same(before[i], now[j]):
            rest = follow(i + 1, j + 1)
            return None if rest is None else (j, *rest)
        return None

    place = follow(0, 0)
    return None if place is None else list(place)


def prepare(folder: Path) -> None:
    """Prepares ``folder`` for the commands of a document."""
    for name in ("data", "docs", "scripts"):
        (folder / name).symlink_to(ROOT / name)


def run_python(text: str, place: str, names: dict[str, object]) -> None:
    """Runs a program of a document, which is not a doctest."""
    exec(compile(text, place, "exec"), names)


def is_of(module: ModuleType, folder: str) -> bool:
    """True if the module was read from a file in the folder."""
    return (getattr(module, "__file__", None) or "").startswith(folder)


def rewrite(document: Path) -> bool:
    """Writes the outputs in a document again, and returns whether any changed."""
    text = document.read_text(encoding="utf-8")
    pieces, last = [], 0
    names: dict[str, object] = {"__name__": "document"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        os.chdir(folder)
        sys.path.insert(0, name)
        for block in blocks(document):
            if block.file is not None:
                (folder / block.file).write_text(block.text, encoding="utf-8")
            elif block.kind == "python" and ">>>" not in block.text:
                run_python(block.text, document.name, names)
            elif block.kind == "console" and can(block.needs):
                answers = [
                    (step, renewed(step.printed, output(step, folder))) for step in steps(block)
                ]
                pieces += [text[last : block.begin]]
                pieces += [f"$ {step.typed}\n{printed}" for step, printed in answers]
                last = block.end
        sys.path.remove(name)
        os.chdir(ROOT)
        # Another document may have a file with the same name.
        for module in [key for key, it in sys.modules.items() if is_of(it, name)]:
            del sys.modules[module]
    written = "".join(pieces) + text[last:]
    if written == text:
        return False
    document.write_text(written, encoding="utf-8")
    return True


def main() -> None:
    """Writes the outputs in the named documents, or in all of them, again."""
    parser = argparse.ArgumentParser(description="write the outputs in the documents anew")
    parser.add_argument("document", nargs="*", type=Path, help="documents (default: all)")
    for document in [path.resolve() for path in parser.parse_args().document] or documents():
        if any(block.kind == "console" for block in blocks(document)) and rewrite(document):
            print(document.relative_to(ROOT))


if __name__ == "__main__":
    main()
