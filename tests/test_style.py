"""Style that no tool checks: how comments open, words to avoid, lengths, paths that exist.

The same rules apply to documents and help texts: no sentence opens with a relative clause, and no
phrase hides who does what. `docs/reference` has the help of every command and option.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

#: Files that are generated from the declarations of options and of results.
MADE = {
    "python/flashgc/keywords.py",
    *(str(path.relative_to(ROOT)) for path in ROOT.glob("python/flashgc/results/parts/[a-z]*.py")),
}

#: The maximum number of lines of a file that people write.
LONGEST = 800

#: The maximum number of bytes of the two pages for newcomers. Recipes with code that a test
#: executes do not count.
SHORT = {"ARCHITECTURE.md": 12 << 10, "CONTRIBUTING.md": 12 << 10}

#: Phrases that hide the subject, wherever they stand: comments, texts of errors, documents.
PHRASES = ("comes to", "is of", "told of")

#: Further phrases that documents and help texts avoid.
REFUSED = (
    "came of", "comes of", "comes out", "come out", "come to",
    "are of", "is told", "are told", "hear of", "hears of",
    "so many", "so much as", "says nothing of", "say nothing of", "goes by", "go by",
    "what is asked", "in the place of", "where there are such",
)  # fmt: skip

#: Names that say how a value came about, and not what it is. No variable and no type has one.
HOW = {"one", "made", "told", "found", "said", "asked", "named", "served"}

OPENING = (
    r"(?:(?:What|Whether|Where|How|Who|Whose|Which|When|Why)(?:ever)?\b"
    r"|The same\b|Those\b|Of |That )"
)
CLAUSE = r"(?:What|Whether|Where|How|Who|Whose|Which)"
#: A paragraph, a list's item, a table's cell or a sentence that opens with such a clause.
SENTENCE = re.compile(
    rf"(?:^[ \t]*(?:(?:[-*>]|\d+\.) )?(?:\*\*)?|[.!;] +|\| ){CLAUSE}\b", re.MULTILINE
)
END = re.compile(r"[.?!](?:[\s*|)]|$)")
DOC = re.compile(r"\s*//(?:/(?!/)|!)")
RUST = re.compile(rf"\s*//[/!] ?{OPENING}")
DOCSTRING = re.compile(rf'^[ \t]*(?:[rR]?"""\s*|#: ){OPENING}', re.MULTILINE)
#: A recipe of CONTRIBUTING, and the mark of a block of it that a test executes.
RECIPE = re.compile(r"^### .*?(?=^##|\Z)", re.MULTILINE | re.DOTALL)
EXECUTED = re.compile(r"^<!-- (?:in|file): ", re.MULTILINE)
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
#: A file or folder in backticks, or as the target of a link; `{a,b}` and `*` stand for several.
NAME = re.compile(r"`([\w.{},/*-]+)`|\]\(([\w./-]+)(?:#[\w-]*)?\)")
FILE = re.compile(r"\.(?:rs|py|md|toml|json|yml|txt|lock)$")


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


def phrases(text: str, phrase: str) -> list[int]:
    """Return the lines of `text` where `phrase` begins; a comment may go on on the next line."""
    first, *rest = phrase.split()
    gap = r"\s+(?:(?://[/!]?|#:?|\*|>)\s+)?"
    # A pattern that begins with letters is searched ten times as fast as one that begins with \b.
    pattern = rf"{first}(?<!\w{first}){gap}{gap.join(rest)}\b"
    return [_line(text, match.start()) for match in re.finditer(pattern, text.lower())]


def names_of_no_thing(text: str) -> Iterator[str]:
    """Variables, parameters and types in Python with a name of :data:`HOW`, except fields."""
    fields: set[ast.expr] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            fields |= {part.target for part in node.body if isinstance(part, ast.AnnAssign)}
            if node.name.lower() in HOW:
                yield node.name
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            function = getattr(node, "name", "lambda")
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            every += filter(None, (node.args.vararg, node.args.kwarg))
            yield from (f"{function}({each.arg})" for each in every if each.arg in HOW)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in HOW:
            if node not in fields:
                yield node.id
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name in HOW:
            yield node.name


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


def test_no_comment_opens_with_a_relative_clause() -> None:
    found = [
        f"{path}:{line}"
        for path, text in sources().items()
        if path.split("/")[0] in ("crates", "python", "python-papers") and path not in MADE
        for line in (openings_in_rust if path.endswith(".rs") else openings_in_python)(text)
    ]
    assert not found, "the first line names a value, or begins with a verb (Returns ...)"


def test_no_phrase_hides_its_subject() -> None:
    found = [
        f"{path}:{line}: {phrase}"
        for path, text in sources().items()
        # What changed in a version stays as it was written; this file has the phrases themselves.
        if path not in ("CHANGELOG.md", "tests/test_style.py")
        for phrase in PHRASES
        for line in phrases(text, phrase)
    ]
    assert not found


def test_variables_and_types_are_named_after_what_they_are() -> None:
    found = [
        f"{path}: {name}"
        for path, text in sources().items()
        if path.startswith(("python/", "python-papers/")) and path.endswith(".py")
        for name in names_of_no_thing(text)
    ]
    assert not found, "a noun is needed: result, point, row, warning ..."


def documents() -> dict[str, str]:
    """The prose of every document; help texts are blocks of `command.md`."""
    return {
        path: text if path == "docs/reference/command.md" else prose(text)
        for path, text in sources().items()
        # What changed in a version stays as it was written.
        if path.endswith(".md") and path != "CHANGELOG.md"
    }


def test_no_phrase_of_a_document_hides_its_subject() -> None:
    found = [
        f"{path}:{line}: {phrase}"
        for path, text in documents().items()
        for phrase in (*REFUSED, *PHRASES)
        for line in phrases(text, phrase)
    ]
    assert not found, "say who does what, in that order"


def test_no_sentence_of_a_document_opens_with_a_relative_clause() -> None:
    found = [f"{path}:{line}" for path, text in documents().items() for line in sentences(text)]
    assert not found, "begin with the subject, or with `If`"


def test_no_document_has_a_mark_of_an_option() -> None:
    """Messages mark names of options by control characters, which printing must replace."""
    marked = [
        path for path in ROOT.glob("docs/**/*.md") if set("\x01\x02\x03") & set(path.read_text())
    ]
    assert not marked, marked


def test_no_file_is_long() -> None:
    longer = [
        f"{path}: {lines} lines"
        for path, text in sources().items()
        if path.endswith((".rs", ".py", ".pyi")) and path not in MADE
        if (lines := text.count("\n")) > LONGEST
    ]
    assert not longer, "split it"


def without_executed_recipes(text: str) -> str:
    """Return a document without the recipes that have a block which a test executes."""
    # A header of Rust's attributes looks like one of Markdown only inside code.
    hidden = CODE.sub(lambda code: code[0].replace("\n#", "\n\0#"), text)
    return RECIPE.sub(lambda recipe: "" if EXECUTED.search(recipe[0]) else recipe[0], hidden)


@pytest.mark.parametrize("name", SHORT)
def test_the_pages_for_newcomers_are_short(name: str) -> None:
    assert len(without_executed_recipes(sources()[name]).encode()) <= SHORT[name]


def paths(text: str) -> list[str]:
    """Return the names of files and folders in a document, `{a,b}` as one name each."""
    found = []
    for code, link in NAME.findall(CODE.sub("", text)):
        name = code or link
        if "/" not in name and not FILE.search(name):
            continue
        before, brace, rest = name.partition("{")
        inside, _, after = rest.partition("}")
        found += [before + one + after for one in inside.split(",")] if brace else [name]
    return found


def is_there(name: str) -> bool:
    """Return whether a path is in the repository; a bare name of a file may be in any folder."""
    if "/" in name or (ROOT / name).exists():
        return any(ROOT.glob(name.rstrip("/")))
    folders = (
        "crates",
        "python",
        "python-papers",
        "tests",
        "scripts",
        "experiments",
        "docs",
        "fuzz",
        "data",
    )
    return any(next((ROOT / folder).rglob(name), None) for folder in folders)


@pytest.mark.parametrize("name", SHORT)
def test_the_pages_for_newcomers_name_what_exists(name: str) -> None:
    named = paths(sources()[name])
    assert len(named) > 20
    assert [path for path in named if not is_there(path)] == []


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


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("for one in rows: pass", ["one"]),
        ("[one for one in rows]", ["one"]),
        ("made, row = [], 1", ["made"]),
        ("with open(path) as found: pass", ["found"]),
        ("try: pass\nexcept OSError as told: pass", ["told"]),
        ("def show(said, *asked, found=1): pass", ["show(said)", "show(found)", "show(asked)"]),
        ("key = lambda one: one.x", ["lambda(one)"]),
        ("class Told:\n    found: int", ["Told"]),
        ("if (named := row): served: int = 1", ["named", "served"]),
        ("match row:\n    case int() as one: pass", ["one"]),
        ("row.found = rule.made(told=row)", []),
    ],
)
def test_names_that_say_how_a_value_came_about_are_found(text: str, names: list[str]) -> None:
    assert sorted(names_of_no_thing(text)) == sorted(names)


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


def test_paths_are_found_in_code_and_in_links() -> None:
    text = "`a/{b,c}.rs` `x::y` [t](d.md#e) [u](https://f/g) `main.rs` `--h`\n```\n`i/j`\n```\n"
    assert paths(text) == ["a/b.rs", "a/c.rs", "d.md", "main.rs"]
    assert is_there("crates/*/tests")
    assert is_there("main.rs")
    assert not is_there("crates/gone.rs")
    assert not is_there("gone.rs")


def test_only_recipes_with_executed_blocks_are_left_out() -> None:
    block = "<!-- in: a.rs, after: b -->\n```rust\n#[c]\n```\n"
    text = f"# A\n### B\n{block}d\n### E\n```rust\nf\n```\n## G\n"
    assert without_executed_recipes(text) == "# A\n### E\n```rust\nf\n```\n## G\n"
