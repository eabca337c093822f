"""Every file of Rust tests is run: it is a module of its crate's test program, or a program."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from conftest import ROOT

CRATES = [path.parent for path in sorted(ROOT.glob("crates/*/Cargo.toml"))]


@pytest.mark.parametrize("crate", CRATES, ids=lambda path: path.name)
def test_every_file_of_tests_is_compiled(crate: Path) -> None:
    manifest = tomllib.loads((crate / "Cargo.toml").read_text(encoding="utf-8"))
    if manifest["package"].get("autotests", True):
        return  # Cargo finds the test files itself
    programs = {test["name"] for test in manifest["test"]}
    # A test file that uses private names is a module of the sources, which name its path.
    sources = "".join(path.read_text(encoding="utf-8") for path in crate.glob("src/**/*.rs"))
    programs |= set(re.findall(r'#\[path = "[./]*/tests/(\w+)\.rs"\]', sources))
    lines = (crate / "tests/main.rs").read_text(encoding="utf-8").splitlines()
    files = {path.stem for path in crate.glob("tests/*.rs")} - {"main"}
    folders = {path.parent.name for path in crate.glob("tests/*/mod.rs")}
    left_out = sorted(name for name in (files | folders) - programs if f"mod {name};" not in lines)
    assert not left_out, f"write `mod NAME;` for these in {crate.name}/tests/main.rs"
