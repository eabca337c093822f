"""Drives under a limit of memory: the server of a file system never waits for its own writes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import COMMAND, environment
from tests.device.conftest import leftovers, mounts, needs, needs_mounts

from flashgc.device import memory

pytestmark = [needs_mounts, needs("fio"), pytest.mark.xdist_group(__name__)]

#: Seconds after which a command counts as hanging.
LONG = 240


def of_memory() -> Path | None:
    """The folder in which memory control groups are created, or ``None``."""
    for kind, sign in (("cgroup", "memory.limit_in_bytes"), ("cgroup2", "cgroup.subtree_control")):
        for _, place in mounts.mounted(kind):
            file = Path(place) / sign
            if file.exists() and (kind == "cgroup" or "memory" in file.read_text()):
                return Path(place)
    return None


class Group:
    """A control group with a limit of memory."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        name = "memory.limit_in_bytes"
        file = folder / (name if (folder / name).exists() else "memory.max")
        file.write_text(str(limit))

    def run(self, *words: object) -> subprocess.CompletedProcess[str]:
        """Runs a command in the group; lifts the limit if it hangs for :data:`LONG` seconds."""
        script = 'echo 0 >"$0"; exec "$@"'
        arguments = ("sh", "-c", script, self.folder / "cgroup.procs", *words)
        with subprocess.Popen(
            [*map(str, arguments)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**environment(), "TMPDIR": os.environ["TMPDIR"]},
        ) as process:  # fmt: skip
            try:
                out, said = process.communicate(timeout=LONG)
            except subprocess.TimeoutExpired:
                for _, place in mounts.mounted("fuse.flashgc"):
                    if place.startswith(os.environ["FLASHGC_STATE"]):
                        mounts.unmount_lazily(Path(place), force=True)
                process.communicate(timeout=LONG)
                pytest.fail(f"{words} has not ended after {LONG} s")
        return subprocess.CompletedProcess(arguments, process.returncode, out, said)


@pytest.fixture(params=[256, 1024], ids=lambda mib: f"{mib}MiB")
def limit(request: pytest.FixtureRequest) -> int:
    """The limit of memory in MiB."""
    mib: int = request.param
    return mib


@pytest.fixture
def group(
    limit: int,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Group]:
    """A control group with the limit; temporary files go below the test's folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    state = tmp_path_factory.mktemp("state") / "state"
    monkeypatch.setenv("FLASHGC_STATE", str(state))
    parent = of_memory()
    folder = Path("/nowhere") if parent is None else parent / f"flashgc-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no control group of memory can be made here: {error}")
    try:
        yield Group(folder, limit << 20)
    finally:
        until = time.monotonic() + 60
        while True:  # Ended processes stay in the group for a moment.
            try:
                folder.rmdir()
                break
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
    assert leftovers(state) == []
    assert leftovers(tmp_path) == []


def writes(limit: int, *more: str) -> list[str]:
    """A program that writes twice the limit at random places, with a sync at the end."""
    how = f"--rw=randwrite --bs=256k --size={limit * 1100 // 1024}m --loops=2 --end_fsync=1"
    return ["fio", "--name=w", *how.split(), "--output=/dev/null", *more]


def drive(limit: int) -> list[str]:
    """Options for a drive that is large enough for the program's file."""
    return ["--capacity", f"{2 * limit}MiB"]


@pytest.mark.parametrize("limit", [256, pytest.param(1024, marks=pytest.mark.soak)])
def test_a_command_that_writes_twice_the_limit_ends(group: Group, limit: int) -> None:
    done = group.run(*COMMAND, "device", "exec", *drive(limit), "--", *writes(limit))
    assert done.returncode == 0, done.stderr


#: Writes data, then twice as much; prints the page faults of the drive's server meanwhile.
FAULTS = """
import os, pathlib, subprocess, sys
def faults():
    found = 0
    for process in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            words = (process / 'cmdline').read_bytes()
            mine = b'TMPDIR=' + os.environ['TMPDIR'].encode() in (process / 'environ').read_bytes()
            if mine and b'_isolated.py' in words:
                found += int((process / 'stat').read_text().rpartition(')')[2].split()[7])
        except OSError:
            pass
    return found
subprocess.run(sys.argv[1:], check=True)
before = faults()
subprocess.run([*sys.argv[1:], '--loops=2'], check=True)
assert before > 1000, 'the server was not found'
print('taken', faults() - before, file=sys.stderr)
"""


@pytest.mark.parametrize("limit", [256])
def test_a_server_takes_no_memory_while_it_writes_back(group: Group, limit: int) -> None:
    program = (sys.executable, "-c", FAULTS, *writes(limit, "--loops=1"))
    done = group.run(*COMMAND, "device", "exec", *drive(limit), "--", *program)
    assert done.returncode == 0, done.stderr
    # The program has written 140,000 pages.
    assert int(done.stderr.rpartition("taken ")[2].split()[0]) < 100


@pytest.mark.soak
def test_what_a_command_did_is_recorded_below_the_limit(
    group: Group, limit: int, tmp_path: Path
) -> None:
    """Recording, file names and comparison use the page cache, and nothing hangs."""
    more = ("--record", tmp_path / "run.flashgc.zst", "--by-file", "--compare", "greedy")
    done = group.run(
        *COMMAND, "device", "exec", *drive(limit), *more, "--", *writes(limit, "--bs=4k")
    )
    assert done.returncode == 0, done.stderr
    assert "greedy" in done.stdout


@pytest.mark.soak
def test_a_drive_that_is_up_takes_twice_the_limit(group: Group, limit: int, tmp_path: Path) -> None:
    file, mount = tmp_path / "d.flash", tmp_path / "mount"
    for words in (
        [*COMMAND, "device", "create", file, *drive(limit)],
        [*COMMAND, "device", "up", file, "--mount", mount],
        writes(limit, f"--directory={mount}"),
        [*COMMAND, "device", "down", file],
    ):
        done = group.run(*words)
        assert done.returncode == 0, done.stderr


@pytest.mark.soak
def test_a_bench_that_writes_twice_the_limit_ends(group: Group, limit: int, tmp_path: Path) -> None:
    file = tmp_path / "bench.toml"
    file.write_text(
        f"""[bench]
command = "{" ".join(writes(limit))} && echo wrote 1000"
unit = "writes"
count = 'wrote ([0-9]+)'
repeats = 1

[drive]
capacity = "{2 * limit}MiB"
"""
    )
    done = group.run(*COMMAND, "device", "bench", file, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr


@pytest.mark.soak
def test_power_cuts_for_a_program_that_writes_twice_the_limit(group: Group, limit: int) -> None:
    words = ["device", "cut-test", *drive(limit), "--cuts", "2", "--check", "true"]
    done = group.run(*COMMAND, *words, "--", *writes(limit))
    assert done.returncode == 0, done.stderr


def test_limits_are_found_in_the_group_and_above_it(tmp_path: Path) -> None:
    """Control groups of both versions, a group hidden from a container, and no group."""
    groups = tmp_path / "cgroup"
    inner = tmp_path / "a/b"
    inner.mkdir(parents=True)

    def found(line: str) -> int | None:
        groups.write_text(f"{line}\n")
        return memory.limit(groups, tmp_path)

    assert found("0::/a/b") is None
    (inner / "memory.max").write_text("max\n")
    assert found("0::/a/b") is None
    (tmp_path / "a/memory.max").write_text("1000\n")
    assert found("0::/a/b") == 1000
    (inner / "memory.high").write_text("500\n")
    assert found("0::/a/b") == 500
    assert found("7:cpu,cpuacct:/a/b") is None
    (tmp_path / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    assert found("5:memory:/not/seen") is None
    (tmp_path / "memory.limit_in_bytes").write_text("700\n")
    assert found("5:memory:/not/seen") == 700
    assert found("5:memory:/a/b") == 500


#: Locks its memory, becomes another user, and then needs more stack, also while it locks again.
GROWS = """
import json, os, sys
from flashgc.device import memory
memory.is_limited = lambda: True
memory.prepare()
memory.lock()
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
sys.setrecursionlimit(1_000_000)
depth = int(sys.argv[1])
json.loads("[" * depth + "]" * depth)
def below(count):
    if count:
        return list(map(below, [count - 1]))
    memory.reserve()
for count in range(40):
    below(count)
print("grown")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="locks memory, and becomes another user")
def test_the_stack_of_a_server_that_was_locked_may_grow() -> None:
    done = subprocess.run(
        (sys.executable, "-c", GROWS, "5000"), capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "grown\n"), done.stderr
