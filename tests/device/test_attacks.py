"""Attacks of another user of the machine on root's ``flashgc``: none succeeds."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import COMMAND, environment
from tests.device.conftest import mounts, needs_mounts

from flashgc import ConfigError, Device, _isolated
from flashgc.device import privileges, processes, scratch, state, trust
from flashgc.device import up as upping

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="root is attacked"),
    pytest.mark.xdist_group(__name__),
]

NOBODY = 65534

#: The number of attempts at each race; a soak run makes more.
TRIES = int(os.environ.get("FLASHGC_ATTACKS", "1000"))


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary directory that everybody may write, and a state folder for root alone."""
    with tempfile.TemporaryDirectory(prefix="fga-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o711)
        work = Path(folder) / "tmp"
        work.mkdir()
        work.chmod(0o1777)
        monkeypatch.setenv("FLASHGC_STATE", f"{folder}/state")
        monkeypatch.setenv("TMPDIR", str(work))
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield work


@pytest.fixture
def treasure(place: Path) -> Path:
    """A folder of root that must stay unchanged, and that nobody else may read."""
    folder = place.parent / "treasure"
    folder.mkdir(0o700)
    (folder / "gold").write_text("gold")
    return folder


def mounted(place: Path) -> list[tuple[str, str]]:
    """The mounts below the test's folder."""
    return [row for row in mounts.mounted() if row[1].startswith(str(place.parent))]


def is_whole(treasure: Path) -> bool:
    return (treasure / "gold").read_text() == "gold" and list(treasure.iterdir()) == [
        treasure / "gold"
    ]


@contextlib.contextmanager
def as_nobody(attack: Callable[..., None], *arguments: Any) -> Iterator[None]:
    """Repeats an attack from a process of another user until the block ends."""

    def run() -> None:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        while True:
            with contextlib.suppress(OSError):
                attack(*arguments)

    process = multiprocessing.get_context("fork").Process(target=run, daemon=True)
    process.start()
    try:
        yield
    finally:
        assert process.is_alive()
        process.kill()
        process.join()


def owned(path: Path) -> Path:
    """Gives a file to the attacker."""
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    return path


@contextlib.contextmanager
def victim() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(("sleep", "100"))
    try:
        yield process
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def run(*arguments: object, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        # `-P` keeps the working folder off the import path, as with an installed script.
        [COMMAND[0], "-P", *COMMAND[1:], *map(str, arguments)],
        cwd=cwd,
        env={**environment(), **more},
        text=True,
        capture_output=True,
        timeout=60,
    )


def test_planted_scratch_folders_are_nobodys_business(place: Path, treasure: Path) -> None:
    with victim() as process:
        planted = place / "flashgc-crash-test-planted"
        planted.mkdir()
        (planted / "owner").write_text("1 1")
        since = processes.began(process.pid)
        (planted / "processes").write_text(f"{process.pid} {since}\n")
        told = {"mount": str(treasure), "fuse": str(treasure), "filesystem": "ext4"}
        (planted / "x.up").write_text(json.dumps(told))
        for path in (*planted.iterdir(), planted):
            owned(path)
        # If the command opened the pipe, it would block, and the attacker could replace the folder.
        piped = place / "flashgc-crash-test-piped"
        piped.mkdir()
        os.mkfifo(piped / "owner", 0o666)
        owned(piped)
        linked = place / "flashgc-crash-test-linked"
        linked.symlink_to(treasure)
        before = mounted(place)
        done = run("device", "crash-test", "--level", "kill", "--kills", 0, cwd=place)
        assert done.returncode == 0, done.stderr
        assert mounted(place) == before
    assert is_whole(treasure)
    assert (planted / "owner").exists()
    assert (piped / "owner").exists()


def test_what_is_cleaned_is_what_was_noted(place: Path, treasure: Path) -> None:
    """While root removes a folder, an attacker replaces it by a link or by another folder."""
    home = place / "home"  # The attacker owns it: the worst case, which check_folder refuses.
    home.mkdir()
    owned(home)
    name, link, aside = home / "folder", home / "link", home / "aside"

    def swap() -> None:
        if aside.exists():
            os.rename(aside, home / f"old{time.monotonic_ns()}")
        with contextlib.suppress(FileExistsError):
            os.symlink(treasure, link)
        os.rename(name, aside)
        os.rename(link, name)
        os.unlink(name)
        os.rename(aside, name)

    removed = 0
    with as_nobody(swap):
        for _ in range(TRIES):
            with contextlib.suppress(OSError):
                with contextlib.suppress(FileExistsError):
                    name.mkdir()
                found = os.lstat(name)
                if stat.S_ISDIR(found.st_mode):
                    (name / "file").touch()
                    removed += scratch.remove(name, [found.st_dev, found.st_ino])
            assert (treasure / "gold").exists()
    # This test itself has written through the link.
    (treasure / "file").unlink(missing_ok=True)
    assert is_whole(treasure)
    assert removed > 0


def test_another_folder_of_the_same_name_stays(place: Path, treasure: Path) -> None:
    folder, aside = place / "folder", place / "aside"
    folder.mkdir()
    found = os.lstat(folder)
    inode = [found.st_dev, found.st_ino]
    folder.rename(aside)
    for make in (lambda: treasure.rename(folder), lambda: folder.symlink_to(aside)):
        make()
        assert not scratch.remove(folder, inode)
        if folder.is_symlink():
            assert aside.exists()
        else:
            folder.rename(treasure)
            assert is_whole(treasure)
    owned(aside)
    folder.unlink()
    aside.rename(folder)
    assert not scratch.remove(folder, inode)  # The folder belongs to somebody else by now.


def test_a_folder_that_becomes_a_link_while_it_is_removed(
    place: Path, treasure: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exchange comes right after the check of the folder, or of an entry in the folder."""
    folder = place / "folder"

    class System:
        """System calls; after one of them, a name becomes a link to the treasure."""

        def __init__(self, call: str, name: Path) -> None:
            self._call, self._name, self.is_done = call, name, False

        def __getattr__(self, name: str) -> Any:
            call = getattr(os, name)
            if name != self._call:
                return call

            def swapping(*arguments: Any, **more: Any) -> Any:
                found = call(*arguments, **more)
                if not self.is_done and self._name.is_dir():
                    self.is_done = True
                    self._name.rename(place / f"aside{time.monotonic_ns()}")
                    self._name.symlink_to(treasure)
                return found

            return swapping

    for call, name in (("fstat", folder), ("lstat", folder / "inner")):
        (folder / "inner").mkdir(parents=True)
        found = os.lstat(folder)
        system = System(call, name)
        monkeypatch.setattr(scratch, "os", system)
        scratch.remove(folder, [found.st_dev, found.st_ino])
        monkeypatch.setattr(scratch, "os", os)
        assert system.is_done
        assert is_whole(treasure)
        if folder.is_symlink():
            folder.unlink()


def test_links_inside_are_removed_and_not_followed(place: Path, treasure: Path) -> None:
    """An inner folder that another user may write becomes a link while root empties it."""
    folder = place / "folder"
    folder.mkdir()
    found = os.lstat(folder)
    folder.chmod(0o777)
    inner, link = folder / "inner", place / "link"

    def swap() -> None:
        with contextlib.suppress(FileExistsError):
            os.mkdir(inner)
        with contextlib.suppress(FileExistsError):
            os.symlink(treasure, link)
        os.rename(inner, place / "aside")
        os.rename(link, inner)
        os.unlink(inner)
        os.rmdir(place / "aside")

    with as_nobody(swap):
        for _ in range(TRIES):
            scratch.remove(folder, [found.st_dev, found.st_ino])
            with contextlib.suppress(FileExistsError):
                folder.mkdir()
                folder.chmod(0o777)
                found = os.lstat(folder)
    assert is_whole(treasure)


def test_a_process_that_has_the_number_of_another_is_left_alone() -> None:
    with victim() as process:
        since = processes.began(process.pid)
        assert since
        for other in (str(int(since) - 1), str(int(since) + 1), "", "0"):
            assert not processes.send(process.pid, other, signal.SIGKILL)
        assert not processes.send(process.pid, since, signal.SIGKILL, users=(NOBODY,))
    with subprocess.Popen(("sleep", "100")) as process:
        since = processes.began(process.pid)
        assert processes.send(process.pid, since, signal.SIGKILL, users=(0,))
        assert process.wait() == -signal.SIGKILL
        assert not processes.send(process.pid, since, signal.SIGKILL)


EVIL = "import os\nopen({!r}, 'a').write('ran')\n"


@needs_mounts
@pytest.mark.parametrize("how", ["folder", "variable"])
def test_code_in_the_working_folder_or_the_environment_is_not_run(place: Path, how: str) -> None:
    trap, spoil = place / "trap", place / "spoil"
    trap.mkdir()
    file = place / "drive.flash"
    Device.create(file, blocks=64, pages_per_block=32, victim="greedy").close()
    for name in ("argparse", "queue", "sitecustomize", "usercustomize", "ctypes", "resource"):
        (trap / f"{name}.py").write_text(EVIL.format(str(spoil)))
    (trap / "flashgc").mkdir()
    (trap / "flashgc" / "__init__.py").write_text(EVIL.format(str(spoil)))
    for function, arguments in (
        (upping.SERVER, ("--help",)),
        ("flashgc.device.campaign.databases:main", ("lmdb", "x", "1", "surplus")),
        ("flashgc.device.logged:main", ()),
        ("flashgc.command:main", ("--version",)),
    ):
        more = {"PYTHONPATH": str(trap), "PYTHONSTARTUP": str(trap / "queue.py")}
        env = {**environment(), **(more if how == "variable" else {})}
        if how == "folder":
            env.pop("PYTHONPATH")
        subprocess.run(
            _isolated.command(function, *arguments), cwd=trap, env=env, capture_output=True
        )
        assert not spoil.exists(), function
    if how == "folder":
        done = run("device", "up", file, "--mount", place / "mount", cwd=trap)
        assert (done.returncode, done.stderr) == (0, "")
        done = run("device", "down", file, cwd=trap)
        assert (done.returncode, done.stderr) == (0, "")
        done = run("device", "crash-test", "--level", "kill", "--kills", 1, cwd=trap)
        assert done.returncode == 0, done.stderr
    assert not spoil.exists()


def test_programs_are_not_those_of_a_folder_that_others_write(place: Path) -> None:
    from flashgc.device import programs

    trap = place / "bin"
    trap.mkdir()
    for name in ("mount", "losetup"):
        (trap / name).write_text("#!/bin/sh\n")
        (trap / name).chmod(0o755)
    before = os.environ["PATH"]
    try:
        owned(trap / "mount")
        os.environ["PATH"] = f"{trap}:.:{before}"
        found = programs.find("mount")
        assert found is not None
        assert not found.startswith(str(place))
        # Root's program in root's folder is found, but not if others may write the folder.
        assert programs.find("losetup") == str(trap / "losetup")
        trap.chmod(0o777)
        assert programs.find("losetup") != str(trap / "losetup")
    finally:
        os.environ["PATH"] = before


@needs_mounts
def test_planted_notes_and_logs_beside_a_file_are_not_touched(place: Path, treasure: Path) -> None:
    file, mount = place / "drive.flash", place / "mount"
    Device.create(file, blocks=64, pages_per_block=32, victim="greedy").close()
    kept = mounted(place)
    target = place.parent / "target"
    target.mkdir()
    subprocess.run(("mount", "-t", "tmpfs", "tmpfs", str(target)), check=True)
    try:
        told = {"mount": str(target), "fuse": str(target), "filesystem": "ext4"}
        (place / "drive.flash.up").write_text(json.dumps(told))
        owned(place / "drive.flash.up")
        for ending in ("log", "sock", "up.tmp"):
            (place / f"drive.flash.{ending}").symlink_to(treasure / "gold")
            owned(place / f"drive.flash.{ending}")
        assert upping.read(file) is None
        assert not upping.down(file)
        upping.up(file, mount)
        assert upping.down(file)
        assert mounts.is_mounted(target)
        assert is_whole(treasure)
    finally:
        subprocess.run(("umount", str(target)), check=True)
    assert mounted(place) == kept


def mode(path: Path) -> int:
    return os.lstat(path).st_mode & 0o7777


@needs_mounts
def test_files_of_a_drive_are_for_their_owner_alone(place: Path) -> None:
    file, trace = place / "drive.flash", place / "trace.flashgc"
    with Device.create(file, blocks=64, pages_per_block=32, victim="greedy") as drive:
        drive.record(trace)
        drive.write(0, b"secret")
    assert (mode(file), mode(trace)) == (0o600, 0o600)
    trace.unlink()
    done = upping.up(file, place / "mount", serve=["--record", str(trace)])
    try:
        assert mode(upping.log_of(done)) == 0o600
        for path in (state.home(), *(state.home() / name for name in os.listdir(state.home()))):
            assert mode(path) == 0o700, path
        script = (
            f"import os\ntry: os.listdir({str(state.home())!r})\nexcept PermissionError: print(1)"
        )
        assert nobodys(script) == "1"
    finally:
        upping.down(file)
    assert (mode(trace), os.lstat(trace).st_uid) == (0o600, 0)
    assert [path.name for path in place.iterdir() if path.name.startswith(".")] == []


def nobodys(script: str) -> str:
    """Runs a script as the attacker, and returns its output."""
    python = shutil.which("python3", path="/usr/bin:/bin")
    if python is None:
        pytest.skip("no Python that others may run")
    return subprocess.run(
        (python, "-I", "-c", script), user=NOBODY, group=NOBODY, extra_groups=(), cwd="/",
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip


def test_a_socket_that_lets_others_in_does_not_serve_them(place: Path) -> None:
    """A process that inherits the descriptor, or a changed mode of the socket, gives no access."""
    path = place / "control"
    script = (
        "import socket; s = socket.socket(socket.AF_UNIX); s.settimeout(20)\n"
        f"s.connect({str(path)!r})\n"
        "try: s.sendall(bytes.fromhex('0c00000001000000') + b'flashgc\\0' + bytes((2, 0, 0, 0)))\n"
        "except BrokenPipeError: pass\n"
        "try: print(len(s.recv(64)))\n"
        "except ConnectionResetError: print(0)\n"
    )
    with Device.create(place / "d", blocks=64, pages_per_block=32) as drive:
        drive.serve_control(path)
        assert mode(path) == 0o600
        path.chmod(0o666)
        assert nobodys(script) == "0"
        assert int(subprocess.check_output((sys.executable, "-I", "-c", script))) > 8


@needs_mounts
def test_a_recording_that_begins_later_needs_a_folder_of_the_servers_user(
    place: Path, treasure: Path
) -> None:
    file, mine = place / "drive.flash", place / "mine"
    Device.create(file, blocks=64, pages_per_block=32, victim="greedy").close()
    mine.mkdir(0o700)
    owned(mine)
    upping.up(file, place / "mount")
    try:
        refused = run("device", "record", file, treasure / "t.flashgc", cwd=place)
        assert refused.returncode == 1
        assert refused.stderr == (
            f"error: {treasure}/t.flashgc: user {NOBODY}, who serves the drive, may not write in "
            f"{treasure}; hint: a folder of that user, or --record of serve and up, which begins "
            "with root's rights\n"
        )
        assert run("device", "record", file, mine / "t.flashgc", cwd=place).returncode == 0
        assert run("device", "record", file, "--off", cwd=place).returncode == 0
    finally:
        upping.down(file)
    assert (mode(mine / "t.flashgc"), os.lstat(mine / "t.flashgc").st_uid) == (0o600, NOBODY)
    assert is_whole(treasure)


@needs_mounts
def test_the_server_has_no_rights_of_root(place: Path, treasure: Path) -> None:
    file = place / "drive.flash"
    Device.create(file, blocks=64, pages_per_block=32, victim="greedy").close()
    done = upping.up(file, place / "mount", serve=["--nbd", f"unix:{place}/nbd"])
    try:
        assert is_without_rights(done.server, NOBODY)
        # Other processes of the server's user may not inspect it either.
        assert nobodys(f"import os\ntry: os.readlink('/proc/{done.server}/fd/3')\n"
                       "except PermissionError: print(1)") == "1"  # fmt: skip
        assert mode(place / "nbd") == 0o600
        (place / "mount" / "file").write_text("kept")
    finally:
        upping.down(file)
    assert is_whole(treasure)


def is_without_rights(pid: int, user: int) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    found = {name: value.split() for name, value in (line.split(":", 1) for line in lines)}
    assert found["Uid"] == [str(user)] * 4
    assert found["Groups"] in ([], [str(user)])
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(found[name][0], 16) == 0, name
    assert found["NoNewPrivs"] == ["1"]
    return found["Gid"] == [str(user)] * 4


def test_rights_that_are_given_away_do_not_come_back(treasure: Path) -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            privileges.drop(NOBODY, NOBODY)
            said = []
            for attempt in (
                lambda: os.setresuid(0, 0, 0),
                lambda: os.setgroups([0]),
                (treasure / "gold").read_text,
                lambda: os.open("/dev/fuse", os.O_RDWR),
            ):
                try:
                    attempt()
                    said.append("done")
                except OSError:
                    said.append("refused")
            is_without_rights(os.getpid(), NOBODY)
            os.write(write, " ".join(said).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as told:
        assert told.read() == "refused refused refused refused"
    os.waitpid(child, 0)


@needs_mounts
def test_a_users_drive_is_served_as_that_user_and_gives_nobody_rights(place: Path) -> None:
    home = place / "home"
    home.mkdir(0o755)
    owned(home)
    file = home / "drive.flash"
    Device.create(file, blocks=64, pages_per_block=32, victim="greedy").close()
    owned(file)
    done = upping.up(file, place / "mount")
    try:
        assert is_without_rights(done.server, NOBODY)
        line = next(line for line in Path("/proc/self/mounts").read_text().splitlines()
                    if line.split()[1] == done.mount)  # fmt: skip
        assert {"nosuid", "nodev"} <= set(line.split()[3].split(","))
    finally:
        upping.down(file)


@pytest.mark.parametrize("command", ["up", "serve", "down", "exec", "create"])
def test_what_others_could_exchange_is_refused_in_a_line(place: Path, command: str) -> None:
    home = place / "home"
    home.mkdir()
    file = home / "drive.flash"
    Device.create(file, blocks=64, pages_per_block=32, victim="greedy").close()
    words: dict[str, tuple[object, ...]] = {
        "up": (file, "--mount", place / "mount"),
        "serve": (file, "--nbd", f"unix:{place}/nbd"),
        "down": (file,),
        "exec": ("--keep", home / "new.flash", "--", "true"),
        "create": (home / "new.flash", "--capacity", "64MiB"),
    }
    owned(home)  # The file is root's, its folder is not.
    done = run("device", command, *words[command], cwd=place)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    if command != "down":
        assert f"{home} belongs to user {NOBODY}, expected root" in done.stderr
        assert "hint: " in done.stderr
    os.chown(home, 0, 0)
    home.chmod(0o777)
    done = run("device", command, *words[command], cwd=place)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    if command != "down":
        assert f"{home} can be changed by other users" in done.stderr
        assert f"chmod go-w {home}" in done.stderr
    assert not (home / "new.flash").exists()


@needs_mounts
def test_a_mount_point_or_temporary_directory_of_others_is_refused(
    place: Path, treasure: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = place / "drive.flash"
    Device.create(file, blocks=64, pages_per_block=32, victim="greedy").close()
    home = place / "home"
    home.mkdir()
    owned(home)
    (place / "link").symlink_to(treasure)
    owned(place / "link")
    for mount in (home, home / "new", place / "link", place):
        with pytest.raises(ConfigError, match="hint: "):
            upping.up(file, mount)
    assert not mounts.is_mounted(treasure)
    monkeypatch.setenv("TMPDIR", str(home))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with pytest.raises(ConfigError, match="belongs to user"), scratch.scratch("attack"):
        pass
    assert list(home.iterdir()) == []
    # A state folder that others own or may enter is refused.
    for folder, owner, bits in (("a", NOBODY, 0o700), ("b", 0, 0o755), ("c", 0, 0o777)):
        (place / folder).mkdir()
        (place / folder).chmod(bits)
        os.chown(place / folder, owner, owner)
        monkeypatch.setenv("FLASHGC_STATE", str(place / folder))
        with pytest.raises(ConfigError, match="expected 0 and 700"):
            state.folder()
    (place / "d").symlink_to(treasure)
    monkeypatch.setenv("FLASHGC_STATE", str(place / "d"))
    with pytest.raises(ConfigError):
        state.folder()


def test_a_name_that_is_exchanged_never_leads_to_a_file_of_root(
    place: Path, treasure: Path
) -> None:
    """The attacker swaps the drive for a link to root's file and back, as fast as possible."""
    home = place / "home"
    home.mkdir()
    owned(home)
    file, aside, link = home / "drive", home / "aside", home / "link"
    file.write_text("mine")
    owned(file)
    folder, other = home / "folder", home / "other"
    folder.mkdir()
    (folder / "gold").write_text("mine")
    for path in (folder, folder / "gold"):
        owned(path)

    def swap() -> None:
        with contextlib.suppress(FileExistsError):
            os.symlink(treasure / "gold", link)
        os.rename(file, aside)
        os.rename(link, file)
        os.rename(folder, other)
        os.symlink(treasure, folder)
        os.unlink(folder)
        os.rename(other, folder)
        os.unlink(file)
        os.rename(aside, file)

    found = {"opened": 0, "refused": 0}
    with as_nobody(swap):
        for _ in range(TRIES):
            for path in (file, folder / "gold"):
                try:
                    opened = trust.open_drive(path)
                except (ConfigError, OSError):
                    found["refused"] += 1
                    continue
                assert os.pread(opened.descriptor, 4, 0) == b"mine"
                assert os.fstat(opened.descriptor).st_uid == NOBODY
                opened.close()
                found["opened"] += 1
    # Both outcomes must occur; otherwise there was no race.
    assert min(found.values()) > 0, found


def test_root_makes_no_socket_in_a_folder_of_others(place: Path, treasure: Path) -> None:
    file, home = place / "drive.flash", place / "home"
    Device.create(file, blocks=64, pages_per_block=32, victim="greedy").close()
    home.mkdir()
    owned(home)
    (home / "link").symlink_to(treasure)
    owned(home / "link")
    for path in (home / "nbd", home / "link" / "nbd"):
        done = run("device", "serve", file, "--nbd", f"unix:{path}", cwd=place)
        assert done.returncode == 2
        assert "belongs to user 65534, expected root" in done.stderr
        assert done.stderr.count("\n") == 1
        assert not path.exists()
    assert is_whole(treasure)


def test_a_recording_is_taken_by_nobody_else_on_its_way(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's user had the folder. A folder that is open to all may now have its name."""
    folder, target = place / "folder", place / "t.flashgc"
    folder.mkdir()
    (folder / "t.flashgc").write_text("trace")
    for path, bits in ((folder, 0o777), (folder / "t.flashgc", 0o666)):
        path.chmod(bits)
        owned(path)
    judged, look = [], os.fstat

    def seen(descriptor: int) -> os.stat_result:
        judged.append(mode(folder))
        return look(descriptor)

    done = upping.Up("", "", "", user=NOBODY, record=[str(folder), str(target)])
    with monkeypatch.context() as patched:
        patched.setattr(os, "fstat", seen)
        upping.take_recording(done)
    assert judged
    assert set(judged) == {0o700}
    assert (mode(target), os.lstat(target).st_uid, target.read_text()) == (0o600, 0, "trace")
    assert not folder.exists()


@pytest.mark.parametrize("words", ["up {} --mount m", "serve {}", "stat {}", "check {}"])
def test_no_command_waits_for_a_pipe(place: Path, words: str) -> None:
    os.mkfifo(place / "pipe")
    done = run("device", *words.format("pipe").split(), cwd=place)
    assert done.returncode in (1, 2)
    assert "is no file" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_pipe_is_no_drive_and_nobody_waits_for_it(place: Path) -> None:
    os.mkfifo(place / "pipe")
    began = time.monotonic()
    with pytest.raises(ConfigError, match="is no file"):
        trust.open_drive(place / "pipe")
    assert state.key(place / "pipe") is None
    assert time.monotonic() - began < 5


@needs_mounts
def test_root_serves_a_file_without_roots_rights_and_unmounts_it(place: Path) -> None:
    file, folder = place / "drive.flash", place / "fuse"
    folder.mkdir()
    Device.create(file, blocks=64, pages_per_block=32, victim="greedy").close()
    server = subprocess.Popen(
        [*COMMAND, "device", "serve", str(file), "--fuse", str(folder)],
        env=environment(), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == f"fuse {folder}/disk\n"
        [child] = processes.family(server.pid)[1:]
        assert is_without_rights(child, NOBODY)
        with open(folder / "disk", "r+b", buffering=0) as disk:
            disk.write(b"kept")
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)
        assert server.returncode == 0
        assert not mounts.is_mounted(folder)
        assert not processes.began(child)
    finally:
        server.kill()
        server.wait()
    with Device.open(file) as drive:
        assert drive.read(0, 4) == b"kept"


def forged(socket_path: Path, stat: bytes) -> threading.Thread:
    """Acts as a hostile server: sends a greeting, and answers every request with ``stat``."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(socket_path))
    listener.listen()

    def frame(body: bytes) -> bytes:
        return len(body).to_bytes(4, "little") + bytes(4) + body

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                client = listener.accept()[0]
                with contextlib.suppress(OSError):
                    client.recv(1 << 16)
                    client.sendall(frame(struct.pack("<IIQ", VERSION, 4096, 1 << 60)))
                    while client.recv(1 << 16):
                        client.sendall(frame(stat) if len(stat) < 1 << 20 else HUGE)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return thread


#: The version of the protocol, and the head of an answer of a gibibyte.
VERSION, HUGE = 2, (1 << 30).to_bytes(4, "little") + bytes(4)


@pytest.mark.parametrize(
    "stat",
    [b"{}", b"[1]", b"[" * 100_000, b'{"counters": 5}', b"\xff", bytes(1 << 21)],
    ids=["empty", "list", "deep", "number", "no text", "huge"],
)
@pytest.mark.parametrize("how", [(), ("--json",), ("--openmetrics",)])
def test_root_takes_no_harm_from_a_users_server(
    place: Path, stat: bytes, how: tuple[str, ...]
) -> None:
    file = place.parent / "drive.flash"
    Device.create(file, capacity="32MiB", pages_per_block=32).close()
    name = state.key(file)
    assert name is not None
    own = place.parent / "state" / "sock"
    own.mkdir(parents=True, mode=0o700)
    for folder in (own, own.parent):
        folder.chmod(0o700)
    forged(own / name, stat)
    done = run("device", "stat", file, *how, cwd=place)
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1


@needs_mounts
def test_down_does_not_wait_for_a_server_that_is_stopped(place: Path) -> None:
    file, mount = place.parent / "drive.flash", place.parent / "mount"
    Device.create(file, capacity="64MiB", pages_per_block=32).close()
    assert run("device", "up", file, "--mount", mount, cwd=place).returncode == 0
    done = upping.read(file)
    assert done is not None
    os.kill(done.server, signal.SIGSTOP)
    try:
        since = time.monotonic()
        refused = run("device", "down", file, cwd=place)
        assert time.monotonic() - since < 20
        assert refused.returncode == 1
        assert f"is stopped (kill -CONT {done.server} lets it go on)" in refused.stderr
        forced = run("device", "down", file, "--force", cwd=place)
        assert (forced.returncode, forced.stderr) == (0, "")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(done.server, signal.SIGCONT)
    assert not mounts.is_mounted(mount)
