"""Programs and device files give no rights if other users may have written the mounted drive.

A drive of each origin holds a set-user-ID program of root and a device file that everybody may
read. Each command that mounts drives mounts it, and processes of two other users try both files.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from tests.conftest import COMMAND, environment
from tests.device.conftest import needs_mounts

from flashgc import ConfigError, Device, _core
from flashgc.command.entrance import cli
from flashgc.device import state, writers
from flashgc.device import up as upping

pytestmark = [needs_mounts, pytest.mark.xdist_group(__name__)]

USERS = (65534, 4711)

#: As each user, runs the program and reads the device. Prints the user, the user as whom the
#: program ran, and the number of bytes read.
ATTACK = f"""
import json, os, subprocess, sys
folder, tried = sys.argv[1], []
for user in {USERS}:
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setgroups([]); os.setresgid(user, user, user); os.setresuid(user, user, user)
        done = subprocess.run([f"{{folder}}/sh0", "-p", "-c", "id -u"], capture_output=True)
        try:
            read = len(os.read(os.open(f"{{folder}}/zero", os.O_RDONLY), 1))
        except OSError:
            read = 0
        os.write(writer, json.dumps([user, done.stdout.decode().strip(), read]).encode())
        os._exit(0)
    os.close(writer)
    tried.append(json.loads(os.read(reader, 1000)))
    os.wait()
print(json.dumps(tried))
"""

#: The outcome of an attack that gains something, and of one that does not.
GAINED = [[user, "0", 1] for user in USERS]
NOTHING = [[user, str(user), 0] for user in USERS]


@pytest.fixture(scope="module")
def image() -> Iterator[bytes]:
    """The bytes of a file system with the program and the device."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "files"
        files.mkdir()
        shutil.copy("/bin/sh", files / "sh0")
        (files / "sh0").chmod(0o4755)
        os.mknod(files / "zero", 0o20666, os.makedev(1, 5))
        (files / "zero").chmod(0o666)
        made = Path(folder) / "image"
        words = ("mkfs.ext4", "-q", "-b", "4096", "-d", str(files), str(made), "16M")
        subprocess.run(words, check=True)
        yield made.read_bytes()


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of root that others may enter; its drives are taken down at the end."""
    with tempfile.TemporaryDirectory(prefix="fgw-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o711)
        monkeypatch.setenv("FLASHGC_STATE", f"{folder}/state")
        yield Path(folder)
        for file in Path(folder).glob("*.flash"):
            with contextlib.suppress(ConfigError):
                upping.down(file, force=True)


def made(place: Path, image: bytes) -> Path:
    """A drive that root has made and written."""
    file = place / "drive.flash"
    with Device.create(file, capacity="32MiB", pages_per_block=32) as drive:
        for at in range(0, len(image), 1 << 20):
            if any(part := image[at : at + (1 << 20)]):
                drive.write(at, part)
    return file


def given_away(file: Path) -> Path:
    os.chown(file, USERS[0], USERS[0])
    return file


def given_back(file: Path) -> Path:
    os.chown(given_away(file), 0, 0)
    return file


def copied(file: Path) -> Path:
    """A copy of a user's drive that root has made with ``cp``."""
    copy = file.with_name("copy.flash")
    shutil.copyfile(given_away(file), copy)
    copy.chmod(0o600)
    return copy


def served_by(serve: Callable[[Device], object]) -> Callable[[Path], Path]:
    def served(file: Path) -> Path:
        with Device.open(file) as drive:
            serve(drive)
        return file

    return served


def changed(file: Path) -> Path:
    """A drive whose file another program has written."""
    with open(file, "r+b") as opened:
        first = opened.read(1)
        opened.seek(0)
        opened.write(first)
    return file


def of_an_earlier_version(file: Path) -> Path:
    """A drive of an earlier version, whose superblock has no field for strangers."""
    writers.note(without_strangers(file))
    return file


def reached_by_a_virtual_machine(file: Path) -> Path:
    """A drive that 0.1.0 has served by vhost-user."""
    writers.note(with_strangers(file, 1 + 4))
    return file


def without_strangers(file: Path) -> Path:
    return with_strangers(file, 0)


def with_strangers(file: Path, strangers: int) -> Path:
    import re

    with open(file, "r+b") as opened:
        for copy in range(4):
            opened.seek(copy * 4096)
            block = bytearray(opened.read(4096))
            at = STRANGERS_AT
            assert re.fullmatch(rb"[\x01-\x07]", block[at : at + 1])
            block[at] = strangers
            block[12:16] = bytes(4)
            block[12:16] = crc32c(bytes(block)).to_bytes(4, "little")
            opened.seek(copy * 4096)
            opened.write(block)
    return file


#: The byte offset of the field for strangers in a superblock, after the counts of hosts.
STRANGERS_AT = 8 + 4 + 4 + 16 + 5 * 4 + 2 * 8 + 8 + 4 + 3 + 4 * 8 + 11 * 8 + 1


def crc32c(data: bytes) -> int:
    sum_ = 0xFFFFFFFF
    for byte in data:
        sum_ ^= byte
        for _ in range(8):
            sum_ = sum_ >> 1 ^ (0x82F63B78 if sum_ & 1 else 0)
    return sum_ ^ 0xFFFFFFFF


#: The origins of a drive, each with part of the reason why others may have written it.
ORIGINS: dict[str, tuple[Callable[[Path], Path], str | None]] = {
    "root": (lambda file: file, None),
    "user": (given_away, "user 65534 owns its file"),
    "user, given back": (given_back, "no note"),
    "copy of a user's": (copied, "no note"),
    "nbd": (served_by(lambda drive: drive.serve_nbd("127.0.0.1:0")), "a TCP port"),
    "nvme-tcp": (served_by(lambda drive: drive.serve_nvme_tcp("127.0.0.1:0")), "a TCP port"),
    "nbd, unix": (served_by(lambda drive: drive.serve_nbd(f"unix:{drive.path}.sock")), None),
    "virtual machine": (reached_by_a_virtual_machine, "a virtual machine"),
    "changed": (changed, "no note"),
    "earlier version": (of_an_earlier_version, "an earlier version"),
}

#: Commands that mount an existing drive.
UP = ("up", "{file}", "--mount", "{place}/m")
EXEC = ("exec", "--quiet", "--from", "{file}")
MOUNTING: dict[str, tuple[str, ...]] = {
    "up": UP,
    "up with rights": (*UP, "--mount-options", "discard,suid,dev"),
    "up at a port": (*UP, "--nbd", "127.0.0.1:0"),
    "up at a port, with rights": (*UP, "--nbd", "127.0.0.1:0", "--mount-options", "suid"),
    "exec": EXEC,
    "exec with rights": (*EXEC, "--mount-options", "suid,dev"),
}
OWN = ("exec", "exec with rights", "bench", "cut-test")

#: Commands that mount no drive.
OTHERS = {
    "create", "down", "serve", "stat", "mark", "record", "inject", "hint", "cancel", "trim",
    "flush", "check",
}  # fmt: skip

#: Commands that mount only drives that they created, so nobody else wrote them.
OF_THEIR_OWN = {"crash-test", "cut-test", "bench", "demo"}


def run(place: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND[0], "-P", *COMMAND[1:], "device", *map(str, words)],
        cwd=place,
        env={**environment(), "TMPDIR": str(place)},
        text=True,
        capture_output=True,
        timeout=120,
    )


def attacked(folder: Path | str) -> list[list[object]]:
    words = (sys.executable, "-c", ATTACK, str(folder))
    tried: list[list[object]] = json.loads(subprocess.run(words, capture_output=True).stdout)
    return tried


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("command", MOUNTING)
def test_a_drive_gives_rights_only_if_root_asks_and_only_root_could_write_it(
    command: str, origin: str, place: Path, image: bytes
) -> None:
    bring, reason = ORIGINS[origin]
    file = bring(made(place, image))
    words = [word.format(file=file, place=place) for word in MOUNTING[command]]
    wants_rights = "with rights" in command
    at_a_port = "at a port" in command
    if words[0] == "exec":
        words += ["--", sys.executable, "-c", ATTACK.replace("sys.argv[1]", "'..'")]
    done = run(place, *words)
    if wants_rights and (reason or at_a_port):
        assert done.returncode == 2
        assert (reason or "every user of this machine reaches the port") in done.stderr
        assert "--mount-options" in done.stderr
        assert "hint:" in done.stderr
        assert not upping.note_of(file).exists()
        return
    assert done.returncode == 0, done.stderr
    tried = json.loads(done.stdout.splitlines()[0]) if words[0] == "exec" else attacked(place / "m")
    assert tried == (GAINED if wants_rights else NOTHING)
    warns = reason is not None or at_a_port
    assert ("could have written this drive" in done.stderr) == warns
    if words[0] == "up":
        assert run(place, "down", file).returncode == 0


@pytest.mark.parametrize("command", OWN)
def test_a_drive_of_a_commands_own_gives_rights_only_if_root_asks(
    command: str, place: Path
) -> None:
    plant = "cp /bin/sh ../sh0; chmod 4755 ../sh0; mknod -m 666 ../zero c 1 5; "
    (place / "attack.py").write_text(ATTACK)
    script = f"{plant} {sys.executable} {place}/attack.py .. >{place}/tried"
    if command == "bench":
        (place / "one.toml").write_text(
            f'[bench]\ncommand = """sh -c \'{script}; echo 1 done\'"""\nrepeats = 1\n'
            "count = '([0-9]+) done'\n"
            '[drive]\ncapacity = "64MiB"\npages_per_block = 32\n'
        )
        words = ["bench", "one.toml"]
    elif command == "cut-test":
        words = ["cut-test", "--cuts", "1", "--check", "true", "--", "sh", "-c", script]
    else:
        rights = ("--mount-options", "suid,dev") if "rights" in command else ()
        words = ["exec", "--quiet", "--capacity", "64MiB", *rights, "--", "sh", "-c", script]
    done = run(place, *words)
    assert done.returncode == 0, done.stderr
    tried = json.loads((place / "tried").read_text())
    assert tried == (GAINED if "rights" in command else NOTHING)


def test_every_command_of_a_drive_has_a_place_in_the_matrix() -> None:
    commands: set[str] = set()
    for group in ("device", "hints"):
        found = cli.get_command(click.Context(cli), group)
        assert isinstance(found, click.Group)
        commands |= set(found.list_commands(click.Context(found)))
    assert commands == OTHERS | OF_THEIR_OWN | {"up", "exec"} | {"postgres", "page-cache"}


def test_a_note_of_root_stays_true_through_the_use_of_a_drive(place: Path, image: bytes) -> None:
    def others(file: Path) -> tuple[str, ...]:
        with open(file, "rb") as opened:
            return writers.of(opened.fileno()).others

    file = made(place, image)
    assert run(place, "create", place / "two.flash", "--capacity", "64MiB", "--fill", "20%").stdout
    assert others(place / "two.flash") == others(file) == ()
    writers.rename(place / "two.flash", place / "three.flash")
    assert others(place / "three.flash") == ()
    for _ in range(2):
        assert run(place, "up", file, "--mount", place / "m").returncode == 0
        assert run(place, "down", file).returncode == 0
        assert others(file) == ()
    kept = place / "kept.flash"
    assert run(place, "exec", "-q", "--from", file, "--keep", kept, "--", "true").returncode == 0
    assert others(kept) == ()
    # Removed drives and drives of other users have no note.
    (place / "three.flash").unlink()
    writers.note(given_away(kept))
    assert len(list((place / "state" / state.ROOTS).iterdir())) <= 3
    assert others(kept) == ("user 65534 owns its file",)


def test_code_that_another_user_chose_is_not_loaded(place: Path) -> None:
    policy = place / "policy.py"
    policy.write_text("def pick(blocks):\n    return int(blocks.valid.argmin())\n")
    file = place / "drive.flash"
    Device.create(
        file, capacity="32MiB", pages_per_block=32, victim=f"python:{policy}:pick"
    ).close()
    Device.open(file, allow_python=True).close()
    given_away(file)
    with pytest.raises(ConfigError, match="belongs to user 65534, who chose the code"):
        Device.open(file, allow_python=True)


def test_a_drive_remembers_its_strangers_before_they_come(place: Path) -> None:
    file = place / "drive.flash"
    with Device.create(file, capacity="32MiB", pages_per_block=32) as drive:
        assert json.loads(_core.device_configuration(file))["strangers"] == []
        drive.serve_nbd("127.0.0.1:0")
        # The superblock has the field already, so it survives a kill of the server.
        assert json.loads(_core.device_configuration(file))["strangers"] == ["tcp"]
