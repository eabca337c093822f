"""The recipes of CONTRIBUTING name files that exist. Their code compiles and passes its tests.

A block of a recipe has a comment on the line before it that says where it goes::

    <!-- file: PATH -->                    a new file
    <!-- in: PATH, after: TEXT -->         below the only line of the file that has this text
    <!-- in: PATH, instead of: TEXT -->    in its place

The blocks of all recipes go into one copy of the sources. The copy is kept in the target folder,
so that a second run compiles only what has changed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPE = re.compile(r"^### (?:A|An) (?P<name>.+?)$(?P<text>.*?)(?=^##|\Z)", re.M | re.S)
BLOCK = re.compile(
    r"^<!-- (?:file: (?P<new>\S+)|in: (?P<old>\S+), (?P<how>after|instead of): (?P<line>.+?)) -->\n"
    r"```\w+\n(?P<text>.*?)^```$",
    re.M | re.S,
)
#: A file or folder in backticks, as in `crates/ftl/src/dftl.rs`.
PATH = re.compile(r"`((?:crates|python|tests|docs|fuzz|data|scripts|experiments)/[\w./-]+)`")
KINDS = {
    "victim policy",
    "placement",
    "generator",
    "trace format",
    "mapping",
    "option",
    "count",
    "field of a recording, a log page",
    "paper's claim",
}
#: The crates that recipes change, with the test modules that try every registered entry.
TESTS = {
    "flashgc-ftl": ["against_reference::", "combinations::", "conformance::", "placement::"],
    "flashgc-workload": ["generate::"],
    "flashgc-experiment": ["input::", "timed_runs::overhead"],
}


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def recipes() -> dict[str, str]:
    # A header of Rust's attributes looks like one of Markdown only inside code.
    hidden = re.sub(
        r"^```.*?^```$", lambda code: code[0].replace("\n#", "\n\0#"), TEXT, flags=re.M | re.S
    )
    found = RECIPE.finditer(hidden)
    return {match["name"]: match["text"].replace("\0", "") for match in found}


@dataclass(frozen=True)
class Place:
    """The line of a file at which the block of a recipe is inserted."""

    lines: list[str]
    at: int


def place(path: Path, text: str) -> Place:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    found = [at for at, line in enumerate(lines) if text in line]
    assert len(found) == 1, f"{path}: {text!r} is in {len(found)} lines, expected one"
    return Place(lines, found[0])


def apply(recipe: str, root: Path) -> None:
    """Makes the edits of ``recipe`` in the sources at ``root``."""
    for block in BLOCK.finditer(recipe):
        if block["new"]:
            (root / block["new"]).write_text(block["text"], encoding="utf-8")
            continue
        path = root / block["old"]
        here = place(path, block["line"])
        first = here.at + (block["how"] == "after")
        here.lines[first : here.at + 1] = block["text"].splitlines(keepends=True)
        path.write_text("".join(here.lines), encoding="utf-8")


#: Marks the tests that use the copy. They run one at a time.
one_copy = pytest.mark.xdist_group("recipes")


@pytest.fixture
def copy() -> Path:
    """A copy of the sources to which every recipe has been applied; files keep their times."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not there")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    root = target / "recipes"
    root.mkdir(parents=True, exist_ok=True)
    for old in (root / "crates").rglob("*.rs"):
        if not (ROOT / old.relative_to(root)).exists():
            old.unlink()
    for name in (
        "Cargo.toml",
        "Cargo.lock",
        "rustfmt.toml",
        ".cargo",
        "crates",
        "fuzz",
        "docs",
        "python",
        "scripts",
    ):
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.so")
            shutil.copytree(source, root / name, dirs_exist_ok=True, ignore=ignored)
        else:
            shutil.copy2(source, root / name)
    for recipe in recipes().values():
        apply(recipe, root)
    return root


def done(root: Path, *words: str, **variables: str) -> None:
    # A separate target folder. Otherwise cargo would mistake packages of the copy for ours.
    environment = {**os.environ, "CARGO_TARGET_DIR": str(root / "target"), **variables}
    made = subprocess.run(words, cwd=root, env=environment, capture_output=True, text=True)
    assert made.returncode == 0, f"{made.stdout}\n{made.stderr}"


def cargo(root: Path, *arguments: str) -> None:
    done(root, "cargo", *arguments)


def test_there_is_a_recipe_for_each_kind_of_thing() -> None:
    assert set(recipes()) == KINDS


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_recipe_names_files_that_exist(name: str) -> None:
    recipe = recipes()[name]
    named = PATH.findall(without_code(recipe))
    assert named or BLOCK.search(recipe), "it names no file"
    missing = [path for path in named if not (ROOT / path).exists()]
    assert not missing
    for block in BLOCK.finditer(recipe):
        if block["new"]:
            assert not (ROOT / block["new"]).exists(), f"{block['new']} exists"
            assert (ROOT / block["new"]).parent.is_dir(), block["new"]
        else:
            place(ROOT / block["old"], block["line"])


@one_copy
def test_what_the_recipes_of_policies_show_compiles(copy: Path) -> None:
    # The generator's crate needs compression libraries in C: it is compiled in the test below.
    cargo(copy, "check", "--locked", "--offline", "--quiet", "--package=flashgc-ftl")


@one_copy
@pytest.mark.soak
def test_what_the_recipes_show_passes_the_tests_they_name(copy: Path) -> None:
    cargo(copy, "fmt", "--all", "--check")
    for package, modules in TESTS.items():
        test = ["test", "--locked", "--offline", "--quiet", "--profile=checks"]
        # The bytes of a state are recorded anew after the recipe of a count.
        cargo(copy, *test, f"--package={package}", "--lib", "--", "--skip=the_bytes_of_a_state")
        cargo(copy, *test, f"--package={package}", "--test=suite", "--", *modules)
    cargo(copy, *test, "--package=flashgc-ftl", "--test=memory")


@one_copy
@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="stored drives are there on Linux")
def test_a_count_is_wherever_counts_are_after_its_two_edits(copy: Path, tmp_path: Path) -> None:
    build = ["build", "--locked", "--offline", "--quiet", "--profile=checks", "--lib"]
    done(copy, "cargo", *build, "--package=flashgc-python", PYO3_BUILD_EXTENSION_MODULE="1")
    module = copy / "python/flashgc/_core.abi3.so"
    module.unlink(missing_ok=True)
    shutil.copy2(copy / "target/checks/lib_core.so", module)
    path = os.pathsep.join(str(copy / folder) for folder in ("python", "scripts/docs"))
    done(
        copy,
        sys.executable,
        str(ROOT / "tests/recipe_of_a_count.py"),
        str(tmp_path),
        PYTHONPATH=path,
    )
