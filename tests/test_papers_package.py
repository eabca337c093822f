"""The papers are a package of their own, behind one door."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from conftest import COMMAND, ROOT, environment
from flashgc.command import papers

#: The command where the package is not installed: it has no entry points then.
WITHOUT = """
import importlib.metadata, sys
importlib.metadata.entry_points = lambda **_: ()
sys.modules["flashgc_papers"] = None
from flashgc.command import main
main()
"""


def without(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments],
        cwd=folder, env=environment(), text=True, capture_output=True,
    )  # fmt: skip


@pytest.mark.parametrize("command", ["reproduce", "device crash-test", "hints demo"])
def test_without_the_package_one_line_says_how_to_get_it(command: str, tmp_path: Path) -> None:
    *groups, last = command.split()
    for arguments in ((), ("--quick",), ("dchoices.fig1", "--out", "x"), ("--help",)):
        made = without(*groups, last, *arguments, folder=tmp_path)
        assert (made.returncode, made.stdout) == (2, "")
        assert made.stderr == (
            f"error: {last}: the package flashgc-papers is not installed; "
            "hint: pip install 'flashgc[papers]', or make dev in a clone\n"
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("group", [(), ("device",), ("hints",)])
def test_help_has_the_same_list_without_the_package(group: tuple[str, ...], tmp_path: Path) -> None:
    has_it = subprocess.run(
        [*COMMAND, *group, "--help"], env=environment(), text=True, capture_output=True
    )
    assert without(*group, "--help", folder=tmp_path).stdout == has_it.stdout


def test_the_package_has_the_commands_that_the_engine_asks_it_for() -> None:
    found = {point.name for point in entry_points(group=papers.GROUP)}
    assert found == set(papers.SUMMARIES)
    declared = tomllib.loads((ROOT / "python-papers" / "pyproject.toml").read_text())
    assert found == set(declared["project"]["entry-points"][papers.GROUP])


def test_nothing_of_the_engine_needs_the_package() -> None:
    package = ROOT / "python" / "flashgc"
    naming = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "flashgc_papers" in path.read_text(encoding="utf-8")
    }
    assert naming == set()
