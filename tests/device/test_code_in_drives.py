"""The file of a drive is data: code that it names runs only with permission."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.device.conftest import needs_mounts

from conftest import COMMAND, Command, environment
from flashgc import ConfigError, Device, DriveError
from flashgc.device import code, making

#: A policy that leaves a mark as soon as it is loaded.
EVIL = """
from pathlib import Path

Path({mark!r}).touch()


def pick(blocks):
    return min(blocks.draw(5), key=blocks.count)


class Odd:
    classes = 2

    def host(self, page, stream, old, now):
        return page % 2

    def copy(self, page, from_, zombie, now):
        return page % 2
"""
SHAPE = {"blocks": 300, "pages_per_block": 64, "journal": "1MiB", "spare": "20%"}
POLICIES = [("victim", "pick"), ("placement", "Odd")]


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "mark"


def planted(folder: Path, mark: Path, key: str, name: str) -> Path:
    """A drive whose file names code; the code's mark is removed."""
    evil = folder / "evil.py"
    evil.write_text(EVIL.format(mark=str(mark)))
    evil.chmod(0o644)
    drive = folder / "d.flash"
    Device.create(drive, **{**SHAPE, key: f"python:{evil}:{name}"}).close()
    mark.unlink()
    return drive


@pytest.mark.parametrize(("key", "name"), POLICIES)
def test_code_runs_with_permission_alone(key: str, name: str, tmp_path: Path, mark: Path) -> None:
    drive = planted(tmp_path, mark, key, name)
    with pytest.raises(ConfigError, match=r"evil\.py .*hint: --allow-python"):
        Device.open(drive)
    assert not mark.exists()
    with Device.open(drive, allow_python=True) as opened:
        opened.write(0, b"x" * 4096)
    assert mark.exists()


@pytest.mark.parametrize(("key", "name"), POLICIES)
def test_no_command_runs_the_code_of_a_drive(
    key: str, name: str, command: Command, tmp_path: Path, mark: Path
) -> None:
    planted(tmp_path, mark, key, name)
    serve = ("device", "serve", "d.flash", "--nbd", "unix:s")
    for arguments in (serve, ("device", "up", "d.flash", "--mount", "m")):
        made = command(*arguments)
        assert made.returncode == 2
        [line] = made.stderr.splitlines()
        assert "evil.py" in line
        assert "hint: --allow-python" in line
    for arguments in (
        ("device", "check", "d.flash"),
        ("device", "check", "d.flash", "--from-oob"),
        ("device", "record", "d.flash", "t.flashgc"),
        ("device", "hint", "d.flash", "0+4KiB"),
        ("device", "trim", "d.flash", "0+4KiB"),
        ("device", "flush", "d.flash"),
    ):
        made = command(*arguments)
        assert (made.returncode == 0) == (arguments[1] == "check"), made.stderr
        assert len(made.stderr.splitlines()) == (arguments[1] != "check")
    made = command("device", "stat", "d.flash", "--json")
    if key == "victim":
        assert json.loads(made.stdout)["victim"].endswith(":pick")
    else:
        # The classes are known only to the placement, which is not loaded.
        assert made.returncode == 2
        assert "hint: flashgc device check d.flash" in made.stderr
        assert made.stderr.count("\n") == 1
    assert not mark.exists()


@contextlib.contextmanager
def readable() -> Iterator[tuple[Path, Path]]:
    """A folder that the user of root's server can read, and a mark that this user can make."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "open").mkdir()
        (place / "open").chmod(0o777)
        yield place, place / "open" / "mark"


@needs_mounts
def test_exec_runs_a_policy_that_is_typed(command: Command) -> None:
    with readable() as (place, mark):
        (place / "evil.py").write_text(EVIL.format(mark=str(mark)))
        mark.touch()  # Root and the server's user both load the policy.
        mark.chmod(0o666)
        small = ("--blocks", "300", "--pages-per-block", "64")
        policy = ("--victim", f"python:{place}/evil.py:pick")
        made = command("device", "exec", *small, *policy, "--", "true")
        assert made.returncode == 0, made.stderr


def test_the_commands_that_stat_names_work(command: Command) -> None:
    with readable() as (place, mark):
        drive = planted(place, mark, "placement", "Odd")
        said = command("device", "stat", drive).stderr.partition("; hint: ")[2]
        check, serve = re.findall(rf"flashgc ((?:\S+ ){{2}}{drive}(?: --\S+)?)", said)
        assert "0 pages have data" in command(*check.split()).stdout
        assert not mark.exists()
        server = subprocess.Popen(
            [*COMMAND, *serve.split()], env=environment(), text=True, stderr=subprocess.PIPE
        )
        try:
            assert server.stderr is not None
            assert server.stderr.readline().startswith("serving")
            stat = json.loads(command("device", "stat", drive, "--json").stdout)
            assert stat["placement"].endswith(":Odd")
        finally:
            server.terminate()
            server.communicate(timeout=60)
        assert mark.exists()


def test_a_drive_that_was_looked_at_is_as_it_was(tmp_path: Path, mark: Path) -> None:
    drive = planted(tmp_path, mark, "victim", "pick")
    with Device.open(drive, allow_python=True) as opened:
        opened.write(4096, b"y" * 4096)
        before = opened.stat()
    with Device.look(drive) as looked:
        for name in ("host_pages_written", "copied_pages", "erases"):
            assert looked.stat()["counters"][name] == before["counters"][name]
        assert looked.stat()["victim"] == before["victim"]
    with Device.open(drive, allow_python=True) as opened:
        assert opened.read(4096, 4096) == b"y" * 4096


def test_a_stand_in_that_is_asked_is_an_error(tmp_path: Path, mark: Path) -> None:
    drive = planted(tmp_path, mark, "victim", "pick")
    looked = Device.look(drive)
    chunk = bytes(1 << 20)

    def overwrite() -> None:
        for number in range(3 * looked.size // len(chunk)):
            looked.write(number * len(chunk) % (looked.size - len(chunk)), chunk)

    with pytest.raises(RuntimeError, match="a stand-in for a policy was asked"):
        overwrite()
    with pytest.raises(DriveError, match="read-only"):
        looked.close()


@pytest.mark.parametrize("mode", [0o664, 0o646])
def test_code_that_others_can_write_is_refused(tmp_path: Path, mark: Path, mode: int) -> None:
    drive = planted(tmp_path, mark, "victim", "pick")
    (tmp_path / "evil.py").chmod(mode)
    with pytest.raises(ConfigError, match=rf"by others \(mode {mode:04o}\).*hint: chmod go-w"):
        Device.open(drive, allow_python=True)
    assert not mark.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a file of another user")
def test_code_of_another_user_is_refused(tmp_path: Path, mark: Path) -> None:
    drive = planted(tmp_path, mark, "victim", "pick")
    os.chown(tmp_path / "evil.py", 65534, -1)
    with pytest.raises(ConfigError, match="belongs to user 65534, expected you or root"):
        Device.open(drive, allow_python=True)
    assert not mark.exists()


def test_a_stale_cache_of_the_interpreter_does_not_run(tmp_path: Path, mark: Path) -> None:
    import py_compile

    drive = planted(tmp_path, mark, "victim", "pick")
    evil, other = tmp_path / "evil.py", tmp_path / "other.py"
    text = evil.read_text()
    # An attacker who can write in __pycache__ forges bytecode for a source of this size and time.
    py_compile.compile(str(evil), doraise=True)
    os.utime(evil, ns=(0, 0))
    other.write_text(text.replace("touch()", "mkdir()"))
    os.utime(other, ns=(0, 0))
    shutil.copy(
        py_compile.compile(str(other)) or "", Path(str(py_compile.compile(str(evil)) or ""))
    )
    Device.open(drive, allow_python=True).close()
    assert mark.is_file()


def test_a_path_that_depends_on_the_folder_is_refused(tmp_path: Path, mark: Path) -> None:
    drive = planted(tmp_path, mark, "victim", "pick")
    read = making.configuration(drive)
    read["outside"]["victim"] = "python:evil.py:pick"
    with pytest.raises(ConfigError, match="expected a whole path"):
        code.loaded(drive, read, allowed=True)
    assert not mark.exists()


def test_permission_that_nothing_needs_is_refused(tmp_path: Path) -> None:
    drive = tmp_path / "d.flash"
    Device.create(drive, **SHAPE).close()
    with pytest.raises(ConfigError, match=r"--allow-python: .*names no code; hint: leave it out"):
        Device.open(drive, allow_python=True)


def test_exec_asks_for_permission_of_what_an_experiment_names(
    command: Command, tmp_path: Path, mark: Path
) -> None:
    evil = tmp_path / "evil.py"
    evil.write_text(EVIL.format(mark=str(mark)))
    (tmp_path / "e.toml").write_text(f'[gc]\nvictim = "python:{evil}:pick"\n')
    made = command("device", "exec", "--experiment", "e.toml", "--", "true")
    assert made.returncode == 2
    [line] = made.stderr.splitlines()
    assert "e.toml:2:1: e.toml names code: " in line
    assert "hint: --allow-python" in line
    assert not mark.exists()
    made = command("device", "exec", "--allow-python", "--", "true")
    assert made.returncode == 2
    assert "--allow-python: no experiment names code; hint: leave it out" in made.stderr
