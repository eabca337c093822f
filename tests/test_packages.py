"""Packages above the engine's: each behind one door, and what is said where one is absent."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import traceback
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import flashgc
import flashgc_studies
from conftest import COMMAND, ROOT, environment
from flashgc._siblings import COMMANDS, FUNCTIONS, PACKAGES, SUMMARIES
from flashgc._tracebacks import theirs

#: A process where no package is installed but the engine's.
WITHOUT = """
import importlib.metadata, sys
def distribution(name):
    raise importlib.metadata.PackageNotFoundError(name)
importlib.metadata.distribution = distribution
sys.modules |= dict.fromkeys(("flashgc_studies", "flashgc_trials", "flashgc_papers"))
"""
#: The command in such a process.
MAIN = """
from flashgc.command import main
main()
"""


def without(
    *arguments: str, program: str = MAIN, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + program, *arguments],
        cwd=folder, env=environment(), text=True, capture_output=True,
    )  # fmt: skip


def hint(package: str) -> str:
    return (
        f"the package flashgc-{package} is not installed; "
        f"hint: pip install 'flashgc[{package}]', or make dev in a clone"
    )


@pytest.mark.parametrize(
    ("command", "package"),
    [
        ("reproduce", "papers"),
        ("device crash-test", "papers"),
        ("device bench", "trials"),
        ("device cut-test", "trials"),
        ("hints demo", "papers"),
        ("find", "studies"),
        ("fleet", "studies"),
        ("tune", "studies"),
        ("gap", "studies"),
        ("identify", "studies"),
    ],
)
def test_without_the_package_one_line_says_how_to_get_it(
    command: str, package: str, tmp_path: Path
) -> None:
    *groups, last = command.split()
    for arguments in ((), ("--quick",), ("dchoices.fig1", "--out", "x"), ("--help",)):
        made = without(*groups, last, *arguments, folder=tmp_path)
        assert (made.returncode, made.stdout) == (2, "")
        assert made.stderr == f"error: {last}: {hint(package)}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("group", [(), ("device",), ("hints",)])
def test_help_has_the_same_list_without_the_packages(
    group: tuple[str, ...], tmp_path: Path
) -> None:
    has_them = subprocess.run(
        [*COMMAND, *group, "--help"], env=environment(), text=True, capture_output=True
    )
    assert without(*group, "--help", folder=tmp_path).stdout == has_them.stdout


def test_words_are_completed_without_the_packages(tmp_path: Path) -> None:
    program = (
        "import os\n"
        "os.environ |= {'_FLASHGC_COMPLETE': 'bash_complete', 'COMP_CWORD': '1', "
        "'COMP_WORDS': 'flashgc ' + sys.argv.pop()}\n"
        "sys.argv[0] = 'flashgc'\n"
    )
    found = {word: without(word, program=program + MAIN, folder=tmp_path) for word in ("fl", "t")}
    assert found["fl"].stdout.split() == ["plain,fleet"], found["fl"].stderr
    assert found["t"].stdout.split() == ["plain,tune", "plain,trace"]


def test_a_function_is_found_by_the_name_of_its_command(tmp_path: Path) -> None:
    for name in SUMMARIES["studies"]:
        assert getattr(flashgc, name) is getattr(flashgc_studies, name)
        made = without(program=f"import flashgc\nflashgc.{name}", folder=tmp_path)
        assert made.stderr.splitlines()[-1] == (
            f"AttributeError: module 'flashgc' has no attribute '{name}': {hint('studies')}"
        )
    for name in ("reproduce", "device.crash-test", "finds"):
        with pytest.raises(AttributeError, match=rf"module 'flashgc' has no attribute '{name}'$"):
            getattr(flashgc, name)


def test_each_package_has_the_commands_that_the_engine_asks_it_for() -> None:
    found = {point.name: point.value for point in entry_points(group=COMMANDS)}
    assert {name: value.partition(".")[0] for name, value in found.items()} == {
        name: f"flashgc_{package}" for name, package in PACKAGES.items()
    }
    for package, summaries in SUMMARIES.items():
        file = ROOT / f"python-{package}" / "pyproject.toml"
        declared = tomllib.loads(file.read_text(encoding="utf-8"))["project"]["entry-points"]
        assert set(declared[COMMANDS]) == set(summaries)
        assert set(declared.get(FUNCTIONS, {})) == (
            set(summaries) if package == "studies" else set()
        )


@pytest.mark.parametrize(
    ("package", "above"),
    [
        ("python", ("flashgc_studies", "flashgc_trials", "flashgc_papers")),
        ("python-studies", ("flashgc_trials", "flashgc_papers")),
        ("python-trials", ("flashgc_studies", "flashgc_papers")),
    ],
)
def test_nothing_needs_the_packages_above_it(package: str, above: tuple[str, ...]) -> None:
    naming = {
        path.as_posix()
        for path in (ROOT / package).rglob("*.py")
        if any(name in path.read_text(encoding="utf-8") for name in above)
    }
    assert naming == set()


def test_an_error_of_a_study_ends_at_the_readers_own_line() -> None:
    with pytest.raises(flashgc.ConfigError) as caught:
        flashgc_studies.find("spares", "WA<3")
    frames = traceback.extract_tb(theirs(caught.tb))
    assert [frame.filename for frame in frames] == [__file__]
