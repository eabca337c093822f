"""What the package needs of the system: nothing that Windows has not, when it is imported."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import flashgc

#: Modules of the standard library that Windows lacks.
UNIX_ONLY = {
    "curses",
    "fcntl",
    "grp",
    "posix",
    "pty",
    "pwd",
    "resource",
    "syslog",
    "termios",
    "tty",
}
#: The beginning of a program in which there is no ``resource``, as on Windows.
WITHOUT = "import sys\nsys.modules['resource'] = None\n"


def run(program: str) -> str:
    made = subprocess.run(
        [sys.executable, "-c", WITHOUT + program], capture_output=True, text=True, check=True
    )
    return made.stdout


def test_no_module_needs_unix_when_it_is_imported() -> None:
    package = Path(flashgc.__file__).parent
    for path in package.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for statement in tree.body:
            names = []
            if isinstance(statement, ast.Import):
                names = [alias.name for alias in statement.names]
            elif isinstance(statement, ast.ImportFrom):
                names = [statement.module or ""]
            assert UNIX_ONLY.isdisjoint(names), path


def test_a_system_that_does_not_tell_the_memory_makes_results_without_it() -> None:
    program = """
import flashgc
result = flashgc.run(blocks=100, pages_per_block=16, writes="2x")
assert result.peak_memory_bytes is None
print(result.to_json())
"""
    document = json.loads(run(program))
    assert document["peak_memory_bytes"] is None
    assert document["host_pages"] > 0


def test_the_command_leaves_the_memory_out_where_it_is_not_told() -> None:
    options = "run --blocks 100 --pages-per-block 16 --writes 2x"
    arguments = ["flashgc", *options.split()]
    shown = run(f"sys.argv = {arguments}\nfrom flashgc.command import main\nmain()")
    (speed,) = [line for line in shown.splitlines() if line.startswith("speed")]
    assert speed.endswith("a core")
