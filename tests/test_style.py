"""Style that no tool checks: how comments open, words to avoid, sizes of files and structs.

Documents and help texts are held to it as comments are: no sentence opens with a relative clause,
and the phrases that hide who does what are counted. The help of every command and option is in
`docs/reference`, which is made from it.

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
    "crates/front": 0,
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

#: Made from the declarations of options and of counts, as long as there are any.
MADE = {"python/flashgc/keywords.py", "python/flashgc/results/counts.py"}

#: The lines of the longest file that each folder may have.
LONGEST = {"crates": 730, "python": 540, "python-papers": 430, "tests": 840}

#: Structs made of the declarations of options: as large as there are options.
DECLARED = "crates/experiment/src/options/"

#: The struct with the most named fields, and their number.
LARGEST = (36, "crates/experiment/src/result.rs: RunResult")

#: Phrases that hide the subject, wherever they stand: comments, texts of errors, documents.
PHRASES = {"comes to": 0, "is of": 0, "told of": 0}

#: Phrases that documents and help texts avoid besides: who does what is said in that order.
REFUSED = (
    "came of", "comes of", "comes out", "come out", "come to",
    "are of", "is told", "are told", "hear of", "hears of",
    "so many", "so much as", "says nothing of", "say nothing of", "goes by", "go by",
    "what is asked", "in the place of", "where there are such",
)  # fmt: skip

#: Refused phrases of each group of documents, those of `PHRASES` too.
REFUSED_IN = {"ARCHITECTURE.md": 0, "docs": 0, "docs/reference": 0}

#: Sentences of each group of documents that open with a relative clause and are no question.
SENTENCES = {"ARCHITECTURE.md": 0, "README.md": 0, "docs": 0, "docs/reference": 0}

OPENING = r"(?:(?:What|Whether|Where|How|Who|Whose|Which|When)(?:ever)?\b|The same\b|Of |That )"
CLAUSE = r"(?:What|Whether|Where|How|Who|Whose|Which)"
#: A paragraph, a list's item, a table's cell or a sentence that opens with such a clause.
SENTENCE = re.compile(
    rf"(?:^[ \t]*(?:(?:[-*>]|\d+\.) )?(?:\*\*)?|[.!;] +|\| ){CLAUSE}\b", re.MULTILINE
)
END = re.compile(r"[.?!](?:[\s*|)]|$)")
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


def prose(text: str) -> str:
    """Return a document without its headings and blocks of code, every line where it was."""
    lines, in_block = [], False
    for line in text.splitlines():
        edge = line.lstrip().startswith("```")
        in_block ^= edge
        lines.append("" if edge or in_block or line.startswith("#") else line)
    return "\n".join(lines)


def sentences(text: str) -> list[int]:
    """Return the lines of `text` where a sentence opens with a relative clause; no questions."""
    found = []
    for match in SENTENCE.finditer(text):
        end = END.search(text, match.end())
        if end is None or end.group()[0] != "?":
            found.append(_line(text, match.end()))
    return found


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
        if parts[0] not in ("crates", "python", "python-papers") or path in MADE:
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


def documents() -> dict[str, tuple[str, str]]:
    """The group and the prose of every document; help texts are blocks of `command.md`."""
    found = {}
    for path, text in sources().items():
        # What changed in a version stays as it was written.
        if not path.endswith(".md") or path == "CHANGELOG.md":
            continue
        folder = path.rpartition("/")[0]
        group = "docs" if folder == "docs/tutorial" else folder or path
        whole = path == "docs/reference/command.md"
        found[path] = (group, text if whole else prose(text))
    return found


def test_no_more_phrases_of_documents_hide_their_subject() -> None:
    found: dict[str, int] = {}
    where: dict[str, list[str]] = {}
    for path, (group, text) in documents().items():
        for phrase in (*REFUSED, *PHRASES):
            lines = phrases(text, phrase)
            found[group] = found.get(group, 0) + len(lines)
            where.setdefault(group, []).extend(f"  {path}:{line}: {phrase}" for line in lines)
    wrong = judge(found, REFUSED_IN, where)
    assert not wrong, "say who does what, in that order\n" + wrong


def test_no_more_sentences_of_documents_open_with_a_relative_clause() -> None:
    found: dict[str, int] = {}
    where: dict[str, list[str]] = {}
    for path, (group, text) in documents().items():
        lines = sentences(text)
        found[group] = found.get(group, 0) + len(lines)
        where.setdefault(group, []).extend(f"  {path}:{line}" for line in lines)
    wrong = judge(found, SENTENCES, where)
    assert not wrong, "begin with the subject, or with `If`\n" + wrong


def test_no_file_becomes_the_longest() -> None:
    longer = [
        f"{path}: {lines} lines"
        for path, text in sources().items()
        if (folder := path.split("/")[0]) in LONGEST and path not in MADE
        if (lines := text.count("\n")) > LONGEST[folder]
    ]
    assert not longer, "split it"


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


def test_prose_has_neither_headings_nor_blocks() -> None:
    assert prose("# How\na\n```sh\n# Where\n```\n  ```\n  What\n  ```\nb") == "\na\n\n\n\n\n\n\nb"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("What it holds is kept.", [1]),
        ("What does it hold?\nIt keeps it.", []),
        ("It says what. Where it ends,\nit stops. Nowhere.", [1]),
        ("- **Which is next.** It is.\n1. Who asks, gets.\n", [1, 2]),
        ("| a | How many |\n", [1]),
        ("  --to N  Last one; Whatever. Whoever asks.\nIf so, how?", []),
    ],
)
def test_openings_of_sentences_are_found(text: str, lines: list[int]) -> None:
    assert sentences(text) == lines


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
