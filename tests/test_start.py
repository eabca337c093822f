"""A command starts soon: it imports nothing that takes long and that it does not need."""

from __future__ import annotations

import subprocess
import sys

import pytest

from conftest import COMMAND, environment

TINY = ["run", "--blocks", "64", "--pages-per-block", "16", "--writes", "2x", "--quiet"]

#: What takes long to import, and only some commands need.
SLOW = {"matplotlib", "numpy", "jinja2", "sqlite3", "multiprocessing", "asyncio", "http", "hashlib"}
SLOW |= {"logging", "subprocess", "tomllib", "importlib.resources", "importlib.metadata", "html"}
#: Our own parts that are for other commands.
OTHERS = {"flashgc.postgres.clients", "flashgc.traces", "flashgc.keywords"}
OTHERS |= {"rich.progress", "rich.markdown", "flashgc.simulation", "flashgc.sweeps"}
#: What a command needs that shows nothing but a line.
SHOWING = {"rich", "dataclasses", "flashgc.options", "flashgc.registry", "flashgc.results", "json"}


def imported(*arguments: str) -> set[str]:
    """The modules that a command has imported at its end, in the form of Python's own list."""
    made = subprocess.run(
        [sys.executable, "-X", "importtime", *COMMAND[1:], *arguments],
        env=environment(), text=True, capture_output=True, check=True,
    )  # fmt: skip
    lines = [line for line in made.stderr.splitlines() if line.startswith("import time:")]
    names = {line.rpartition("|")[2].strip() for line in lines}
    assert "flashgc.command.entrance" in names
    return names


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["--version"], SLOW | OTHERS | SHOWING | {"pathlib", "traceback"}),
        (TINY, SLOW | OTHERS),
        ([*TINY, "--json"], SLOW | OTHERS),
        (["policies"], (SLOW | OTHERS | {"flashgc.results"}) - {"tomllib"}),
    ],
    ids=lambda part: part[0] if isinstance(part, list) else "",
)
def test_a_command_imports_nothing_that_it_does_not_need(
    arguments: list[str], unwanted: set[str]
) -> None:
    assert imported(*arguments) & unwanted == set()
