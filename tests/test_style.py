"""Style that no tool checks: how comments open, words to avoid, sizes of files and structs.

Each bound is the number that the sources have today. A number above its bound fails. One below it
fails too, until the bound is lowered: nothing that was gained is lost again.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

#: Doc comments of each crate, docstrings of each package, that open with a relative clause.
OPENINGS = {
    "crates/base": 0,
    "crates/derive": 0,
    "crates/device": 0,
    "crates/drive": 0,
    "crates/experiment": 0,
    "crates/ftl": 0,
    "crates/hints": 0,
    "crates/host": 0,
    "crates/model": 0,
    "crates/python": 0,
    "crates/timed": 0,
    "crates/workload": 0,
    "python-papers/flashgc_papers": 0,
    "python/flashgc": 0,
}

#: Made from the help texts of options: no docstrings, and as long as there are options.
MADE = "python/flashgc/keywords.py"

#: The longest file of each folder, and its lines.
LONGEST = {
    "crates": (729, "crates/workload/tests/trace_errors.rs"),
    "python": (526, "python/flashgc/command/results.py"),
    "python-papers": (496, "python-papers/flashgc_papers/pgc/sweeps.py"),
    "tests": (845, "tests/test_sweep.py"),
}

#: Structs made of the declarations of options: as large as there are options.
DECLARED = "crates/experiment/src/options/"

#: The struct with the most named fields, and their number.
LARGEST = (39, "crates/experiment/src/result.rs: RunResult")

#: Phrases that hide the subject, wherever they stand: comments, texts of errors, documents.
PHRASES = {"comes to": 12, "is of": 27, "told of": 4}

OPENING = r"(?:(?:What|Whether|Where|How|Who|Whose|Which|When)(?:ever)?\b|The same\b|Of |That )"
DOC = re.compile(r"\s*//(?:/(?!/)|!)")
RUST = re.compile(rf"\s*//[/!] ?{OPENING}")
DOCSTRING = re.compile(rf'^[ \t]*(?:[rR]?"""\s*|#: ){OPENING}', re.MULTILINE)
STRUCT = re.compile(
    r"^( *)(?:pub(?:\([a-z: ]+\))? )?struct (\w+)[^;{(]*\{\n(.*?)^\1\}", re.MULTILINE | re.DOTALL
)


def openings_in_rust(text: str) -> list[int]:
    """Return the lines of `text` where a doc comment opens with a relative clause."""
    found, before = [], False
    for number, line in enumerate(text.splitlines(), 1):
        doc = DOC.match(line) is not None
        if doc and not before and RUST.match(line):
            found.append(number)
        before = doc
    return found


def openings_in_python(text: str) -> list[int]:
    """Return the lines of `text` where a docstring, or a comment `#:`, opens with such a clause."""
    return [_line(text, match.start()) for match in DOCSTRING.finditer(text)]


def structs(text: str) -> dict[str, int]:
    """Return the number of named fields of each struct in `text`, laid out as rustfmt does."""
    found: dict[str, int] = {}
    for indent, name, body in STRUCT.findall(text):
        field = re.compile(
            rf"^{indent}    (?:pub(?:\([a-z: ]+\))? )?(?:r#)?\w+:(?!:)", re.MULTILINE
        )
        found[name] = len(field.findall(body))
    return found


def phrases(text: str, phrase: str) -> list[int]:
    """Return the lines of `text` where `phrase` begins; a comment may go on on the next line."""
    first, *rest = phrase.split()
    gap = r"\s+(?:(?://[/!]?|#:?|\*|>)\s+)?"
    # A pattern that begins with letters is searched ten times as fast as one that begins with \b.
    pattern = rf"{first}(?<!\w{first}){gap}{gap.join(rest)}\b"
    return [_line(text, match.start()) for match in re.finditer(pattern, text.lower())]


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


@cache
def sources() -> dict[str, str]:
    """The text of every source file and document, by its path below the root."""
    found = [path for pattern in ("*.md", "docs/**/*.md") for path in ROOT.glob(pattern)]
    for folder in ("crates", "python", "python-papers", "tests"):
        found += [
            path for path in (ROOT / folder).rglob("*") if path.suffix in (".rs", ".py", ".pyi")
        ]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in sorted(found)}


def judge(found: dict[str, int], bounds: dict[str, int], where: dict[str, list[str]]) -> str:
    """Return what is wrong, a line for each number that is not its bound; empty if all are."""
    lines = []
    for name in sorted(found.keys() | bounds.keys()):
        now, bound = found.get(name, 0), bounds.get(name, 0)
        if now > bound:
            lines += [f"{name}: {now}, more than {bound}:", *where.get(name, [])]
        elif now < bound:
            lines.append(f"{name}: {now}, fewer than {bound}; put {now} in {Path(__file__).name}")
    return "\n".join(lines)


def test_no_more_comments_open_with_a_relative_clause() -> None:
    found: dict[str, int] = {}
    where: dict[str, list[str]] = {}
    for path, text in sources().items():
        parts = path.split("/")
        if parts[0] not in ("crates", "python", "python-papers") or path == MADE:
            continue
        lines = openings_in_rust(text) if path.endswith(".rs") else openings_in_python(text)
        name = "/".join(parts[:2])
        found[name] = found.get(name, 0) + len(lines)
        where.setdefault(name, []).extend(f"  {path}:{line}" for line in lines)
    wrong = judge(found, OPENINGS, where)
    assert not wrong, "the first line names a value, or begins with a verb (Returns ...)\n" + wrong


def test_no_more_phrases_hide_their_subject() -> None:
    found: dict[str, int] = {}
    where: dict[str, list[str]] = {}
    for path, text in sources().items():
        # What changed in a version stays as it was written; this file has the phrases themselves.
        if path in ("CHANGELOG.md", "tests/test_style.py"):
            continue
        for phrase in PHRASES:
            lines = phrases(text, phrase)
            found[phrase] = found.get(phrase, 0) + len(lines)
            where.setdefault(phrase, []).extend(f"  {path}:{line}" for line in lines)
    assert not (wrong := judge(found, PHRASES, where)), wrong


def test_no_file_becomes_the_longest() -> None:
    found: dict[str, tuple[int, str]] = {}
    for path, text in sources().items():
        if (folder := path.split("/")[0]) in LONGEST and path != MADE:
            found[folder] = max(found.get(folder, (0, "")), (text.count("\n"), path))
    assert found == LONGEST, "split the longer file, or lower the bound to what is found"


def test_no_struct_becomes_the_largest() -> None:
    found = max(
        (fields, f"{path}: {name}")
        for path, text in sources().items()
        if path.endswith(".rs") and not path.startswith(DECLARED)
        for name, fields in structs(text).items()
    )
    assert found == LARGEST, "group fields that belong together, or lower the bound"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("/// Returns what it holds.\n", []),
        ("/// What it holds.\n/// Where it is.\n", [1]),
        ("//! How it works.\n", [1]),
        ("    /// The number.\n    a: u8,\n    /// That of `b`.\n", [3]),
        ("// Which one is a note.\n//// Which one is no doc comment.\n", []),
        ("#[doc(hidden)]\nfn what() {}\n/// The same.\n", [3]),
        ("/// Whole pages.\na\n/// The sameness.\nb\n/// Office hours.\n", []),
    ],
)
def test_openings_are_found_in_rust(text: str, lines: list[int]) -> None:
    assert openings_in_rust(text) == lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('"""Return what it holds."""\n', []),
        ('"""What it holds."""\n', [1]),
        ('def one() -> None:\n    r"""\n    Whether it is.\n    """\n', [2]),
        ('text = """What it holds."""\n', []),
        ("#: How many.\nMOST = 3\n# Which one is a note.\n#: Whole pages.\n", [1]),
    ],
)
def test_openings_are_found_in_python(text: str, lines: list[int]) -> None:
    assert openings_in_python(text) == lines


def test_phrases_are_found_across_lines_of_a_comment() -> None:
    assert phrases("// a\n// It comes\n    // to 3, comes to 4.\n", "comes to") == [2, 3]
    assert phrases('"""It is of\nuse."""\n# This is\n# of us.\n', "is of") == [1, 3]
    assert phrases("//! Told\n//! of it\n", "told of") == [1]
    assert phrases("becomes to, comes too, comes.\nTo", "comes to") == []


def test_fields_are_those_of_the_struct_itself() -> None:
    text = (
        "pub(crate) struct One<T: Copy>\nwhere\n    T: Send,\n{\n    /// a: b\n    pub a: [T; 2],\n"
        "    pub(super) r#type: std::io::Error,\n    c: fn(\n        d: u8,\n    ),\n}\n"
        "struct Two(u8);\nfn f() {\n    struct Three {\n        a: u8,\n    }\n}\n"
    )
    assert structs(text) == {"One": 3, "Three": 1}


def test_a_number_that_is_not_its_bound_is_told() -> None:
    places = {"new": ["  a.rs:1"]}
    assert judge({"a": 2, "new": 1}, {"a": 2, "new": 1}, places) == ""
    assert judge({"new": 1}, {}, places) == "new: 1, more than 0:\n  a.rs:1"
    assert judge({"a": 1}, {"a": 2}, {}) == "a: 1, fewer than 2; put 1 in test_style.py"
    assert judge({}, {"gone": 2}, {}) == "gone: 0, fewer than 2; put 0 in test_style.py"
