"""The package can be imported on Windows: it needs no modules of Unix or Linux alone."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import flashgc
from conftest import ROOT

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
#: Parts of the engine that exist only on Linux.
LINUX_ONLY = (
    "AllocationFollower",
    "DeviceClient",
    "DeviceListener",
    "DeviceMount",
    "DeviceReplay",
    "DriveFile",
    "FileRings",
    "PageCacheFollower",
    "PostgresFollower",
    "RecordedDrive",
    "StoredDrive",
    "WalDecoder",
    "WriteFollower",
    "device_age",
    "device_check",
    "device_configuration",
    "device_counts",
    "device_create",
    "device_log",
    "device_fuzz",
    "device_owners",
    "device_repeat",
    "device_sweep",
    "has_tracepoint",
    "take_stack",
    "trace_tag",
)
#: The head of a program that imitates Windows: it has neither these modules nor these parts of the
#: engine. ``posix`` stays, because the standard library imports it here.
WITHOUT = f"""
import sys
for name in {sorted(UNIX_ONLY - {"posix"})}:
    sys.modules[name] = None
import flashgc._core
for name in {LINUX_ONLY}:
    delattr(flashgc._core, name)
"""


def run(program: str) -> str:
    made = subprocess.run(
        [sys.executable, "-c", WITHOUT + program], capture_output=True, text=True, check=True
    )
    return made.stdout


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command on the imitated system."""
    program = f"sys.argv = {['flashgc', *arguments]}\nfrom flashgc.command import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + program], capture_output=True, text=True, check=False
    )


def test_the_engine_has_on_linux_only_what_is_listed_here() -> None:
    library = (ROOT / "crates" / "python" / "src" / "lib.rs").read_text(encoding="utf-8")
    exports = re.findall(
        r'#\[cfg\(target_os = "linux"\)\]\s+#\[pymodule_export\]\s+use [\w:]+::\{?([^;{}]+)',
        library,
    )
    assert sorted(re.findall(r"\w+", " ".join(exports))) == sorted(LINUX_ONLY)


@pytest.mark.parametrize("arguments", [(), ("device",), ("hints",), ("run",)])
def test_help_is_there(arguments: tuple[str, ...]) -> None:
    made = command(*arguments, "--help")
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("Usage: flashgc")


@pytest.mark.parametrize(
    "arguments",
    [
        ("device", "create", "drive.flash"),
        ("device", "stat", "drive.flash"),
        ("device", "exec", "--", "true"),
        ("device", "crash-test"),
        ("device", "bench", "file.toml"),
        ("device", "cut-test", "--check", "true", "--", "true"),
        ("hints", "demo"),
        ("hints", "postgres", "--dsn", "dbname=a", "--device", "drive.flash"),
        ("hints", "page-cache", "--mount", "here", "--device", "drive.flash"),
    ],
)
def test_what_needs_linux_is_refused_in_one_line(arguments: tuple[str, ...]) -> None:
    made = command(*arguments)
    assert made.returncode != 0
    assert made.stdout == ""
    (line,) = made.stderr.splitlines()
    assert line == "error: the stored drive needs Linux; hint: flashgc run simulates drives here"


def test_no_module_needs_unix_when_it_is_imported() -> None:
    for path in Path(flashgc.__file__).parent.rglob("*.py"):
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
    size = ("--blocks", "100", "--pages-per-block", "16")
    shown = command("run", *size, "--writes", "2x").stdout
    (speed,) = [line for line in shown.splitlines() if line.startswith("speed")]
    assert speed.endswith("a core")
