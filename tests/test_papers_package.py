"""The papers are a package of their own, behind one door."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import ROOT, environment

#: The command where the package is not installed.
WITHOUT = (
    "import sys; sys.modules['flashgc_papers'] = None\nfrom flashgc.command import main; main()"
)


def without(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments],
        cwd=folder, env=environment(), text=True, capture_output=True,
    )  # fmt: skip


def test_without_the_package_one_line_says_how_to_get_it(tmp_path: Path) -> None:
    for arguments in ((), ("--quick",), ("dchoices.fig1", "--out", "x"), ("--help",)):
        made = without("reproduce", *arguments, folder=tmp_path)
        assert (made.returncode, made.stdout) == (2, "")
        assert made.stderr.startswith("error: reproduce: the papers are not installed; hint: pip ")
        assert made.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    assert (
        "reproduce   Run what papers published again" in without("--help", folder=tmp_path).stdout
    )


def test_nothing_but_the_door_needs_the_package() -> None:
    package = ROOT / "python" / "flashgc"
    naming = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "flashgc_papers" in path.read_text(encoding="utf-8")
    }
    assert naming == {"command/reproduce.py"}
