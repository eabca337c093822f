"""A command starts fast: it imports no slow module that it does not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import flashgc
from conftest import COMMAND, environment

TINY = ["run", "--blocks", "64", "--pages-per-block", "16", "--writes", "2x", "--quiet"]

PACKAGE = Path(flashgc.__file__).parent
#: Modules that take long to import, and that only some commands need.
SLOW = {"matplotlib", "numpy", "jinja2", "sqlite3", "multiprocessing", "asyncio", "http", "hashlib"}
SLOW |= {"logging", "subprocess", "tomllib", "importlib.resources", "importlib.metadata", "html"}
SLOW |= {"rich", "pathlib", "tempfile", "shutil", "textwrap", "traceback", "click.shell_completion"}
#: Our own modules that only other commands need.
OTHERS = {"flashgc.device.mounts", "flashgc.traces", "flashgc.keywords"}
OTHERS |= {"flashgc.simulation", "flashgc.terminal.screen"}
#: The folders of studies and of stored drives, each for commands of its own.
OTHERS |= {
    f"flashgc.{path.parent.relative_to(PACKAGE).as_posix().replace('/', '.')}"
    for above in ("studies", "device")
    for path in (PACKAGE / above).glob("*/__init__.py")
}
#: Parts of results that a drive without a clock, a host or an endurance does not have.
PARTS = {f"flashgc.results.{name}" for name in ("comparison", "flash", "timing", "trace")}
PARTS |= {f"flashgc.results.parts.{name}" for name in ("clock", "host", "life", "trace")}
PARTS |= {"flashgc.registry"}
#: Modules that a command which prints only a line does not need.
SHOWING = {"click", "dataclasses", "flashgc.options", "flashgc.registry", "flashgc.results", "json"}

#: Runs the command, and lists what it has imported at its end.
LISTING = """
import sys
from flashgc.command import main
try:
    main()
finally:
    print(*sys.modules, sep="\\n", file=sys.stderr)
"""


def imported(*arguments: str) -> set[str]:
    """The modules that a command has imported when it ends."""
    made = subprocess.run(
        [sys.executable, "-c", LISTING, *arguments],
        env=environment(), text=True, capture_output=True, check=True,
    )  # fmt: skip
    names = set(made.stderr.splitlines())
    assert "flashgc.command" in names
    return names


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["--version"], SLOW | OTHERS | SHOWING),
        (TINY, SLOW | OTHERS | PARTS),
        ([*TINY, "--json"], SLOW | OTHERS | PARTS),
        (["policies"], (SLOW | OTHERS | {"flashgc.results"}) - {"tomllib"}),
    ],
    ids=lambda part: part[0] if isinstance(part, list) else "",
)
def test_a_command_imports_nothing_that_it_does_not_need(
    arguments: list[str], unwanted: set[str]
) -> None:
    assert imported(*arguments) & unwanted == set()


def test_the_version_cannot_be_written_and_that_is_said() -> None:
    with open("/dev/full", "w") as full:
        made = subprocess.run(
            [*COMMAND, "--version"],
            env=environment(),
            text=True,
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert (made.returncode, made.stderr) == (1, "error: No space left on device\n")
