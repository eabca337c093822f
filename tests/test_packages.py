"""``flashgc`` alone has every command; ``reproduce`` then says how to install the papers."""

from __future__ import annotations

import subprocess
import sys
import traceback
from pathlib import Path

import pytest

import flashgc
from conftest import COMMAND, environment
from flashgc._tracebacks import theirs

#: The head of a program that runs as if the papers were not installed.
WITHOUT = """
import importlib.metadata, sys
def distribution(name):
    raise importlib.metadata.PackageNotFoundError(name)
importlib.metadata.distribution = distribution
sys.modules["flashgc_papers"] = None
"""
#: A program that runs the command; it may follow ``WITHOUT``.
MAIN = """
from flashgc.command import main
main()
"""
#: Prints the name, module and help of each command.
EVERY = """
import click
from flashgc.command.entrance import cli

def walk(command, path):
    context = click.Context(command, info_name=path[-1], **command.context_settings)
    assert command.get_help(context)
    if not isinstance(command, click.Group):
        print(*path, command.callback.__module__.partition(".")[0])
        return
    for name in command.list_commands(context):
        walk(command.get_command(context, name), (*path, name))

walk(cli, ("flashgc",))
"""
HINT = (
    "the package flashgc-papers is not installed; "
    "hint: pip install 'flashgc[papers]', or make dev in a clone"
)


def python(
    *arguments: str, program: str = MAIN, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder, env=environment(), text=True, capture_output=True,
    )  # fmt: skip


def without(
    *arguments: str, program: str = MAIN, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return python(*arguments, program=WITHOUT + program, folder=folder)


@pytest.mark.parametrize("arguments", [(), ("--quick",), ("dchoices.fig1", "-o", "x"), ("--help",)])
def test_without_the_papers_one_line_says_how_to_get_them(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    made = without("reproduce", *arguments, folder=tmp_path)
    assert (made.returncode, made.stdout) == (2, "")
    assert made.stderr == f"error: reproduce: {HINT}\n"
    assert list(tmp_path.iterdir()) == []


def test_every_command_but_that_of_the_papers_is_there_without_them(tmp_path: Path) -> None:
    complete = python(program=EVERY, folder=tmp_path)
    alone = without(program=EVERY, folder=tmp_path)
    assert (complete.stderr, alone.stderr) == ("", "")
    commands = alone.stdout.splitlines()
    assert {line.rpartition(" ")[2] for line in commands} == {"flashgc"}
    assert len(commands) > 30
    papers = [line for line in complete.stdout.splitlines() if line not in commands]
    assert papers == ["flashgc reproduce flashgc_papers"]
    assert len(complete.stdout.splitlines()) == len(commands)


def test_help_has_the_same_list_without_the_papers(tmp_path: Path) -> None:
    complete = subprocess.run(
        [*COMMAND, "--help"], env=environment(), text=True, capture_output=True
    )
    assert without("--help", folder=tmp_path).stdout == complete.stdout


def test_words_are_completed_without_the_papers(tmp_path: Path) -> None:
    program = (
        "import os\n"
        "os.environ |= {'_FLASHGC_COMPLETE': 'bash_complete', 'COMP_CWORD': '1', "
        "'COMP_WORDS': 'flashgc ' + sys.argv.pop()}\n"
        "sys.argv[0] = 'flashgc'\n"
    )
    found = without("rep", program=program + MAIN, folder=tmp_path)
    assert found.stdout.split() == ["plain,report", "plain,reproduce"], found.stderr


def test_an_error_of_a_study_ends_at_the_readers_own_line() -> None:
    with pytest.raises(flashgc.ConfigError) as caught:
        flashgc.find("spares", "WA<3")
    frames = traceback.extract_tb(theirs(caught.tb))
    assert [frame.filename for frame in frames] == [__file__]
