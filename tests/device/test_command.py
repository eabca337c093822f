"""``flashgc device``: its output and its refusals, without mounts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.conftest import COMMAND, Command, environment
from tests.device.conftest import has_mounts, needs

from flashgc import Device
from flashgc.device.serving import Fronts

SMALL = ("--blocks", "128", "--pages-per-block", "32")


def test_a_drive_is_made_and_described(command: Command) -> None:
    done = command("device", "create", "d", *SMALL, "--scheme", "zgc-cb", "--seed", "9")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "drive       d",
        "capacity    14.4 MiB for the host, of 16 MiB: 128 blocks of 32 pages of 4 KiB",
        "victim      z-cost-benefit:age=last_write",
        "placement   dac:regions=3,threshold=0,zombie-block=yes",
        "durability  process",
    ]
    again = command("device", "create", "d", *SMALL)
    assert (again.returncode, again.stderr) == (1, "error: d: File exists\n")
    done = command("device", "create", "e", *SMALL, "--json")
    made = json.loads(done.stdout)
    assert (made["logical_pages"], made["blocks"], made["durability"]) == (3686, 128, "process")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("create d --victim gredy", 2, "did you mean 'greedy'?"),
        ("create d --durability disk", 2, "expected power, process or none"),
        ("create d --journal 5", 2, "MiB"),
        ("create d --capacity 1000", 2, "unit"),
        ("create d --writes 3x", 2, "unknown option '--writes'"),
        ("stat none", 2, "none"),
        ("up none --mount m", 2, "no such file"),
        ("down none", 2, "is not up"),
        ("check none", 1, "none: No such file or directory"),
        ("serve none", 1, "none: No such file or directory"),
        ("hint d 4KiB", 2, "expected two sizes and a plus"),
        ("trim d 0+100", 2, "are no whole pages"),
        ("record d", 2, "expected one, or --off"),
        ("exec --compare gredy -- true", 2, "did you mean 'greedy'?"),
        ("exec --fs ext5 -- true", 2, "did you mean 'ext4'?"),
        ("nonsense", 2, "unknown command 'nonsense'"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    command: Command, arguments: str, code: int, said: str
) -> None:
    done = command("device", *arguments.split())
    assert done.returncode == code, done.stderr
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


def test_a_drive_whose_making_was_killed_is_not_there(command: Command, tmp_path: Path) -> None:
    words = (*COMMAND, "device", "create", "d", "--capacity", "256MiB", "--aged", "900x")
    making = subprocess.Popen(words, cwd=tmp_path, env=environment())
    until = time.monotonic() + 60
    while not list(tmp_path.glob(".d.*.part")) and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.2)
    making.kill()
    making.wait()
    (part,) = tmp_path.iterdir()
    assert part.name.startswith(".d.")
    # Creating another drive leaves the partial file alone; creating this one removes it.
    assert command("device", "create", "e", *SMALL, "--fill", "20%").returncode == 0
    assert part.exists()
    assert command("device", "create", "d", *SMALL, "--fill", "20%").returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d", "e"]
    again = command("device", "create", "d", *SMALL, "--fill", "20%")
    assert (again.returncode, again.stderr) == (1, "error: d: File exists\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="root can mount")
def test_without_root_it_says_what_it_needs(command: Command) -> None:
    done = command("device", "exec", "--", "true")
    assert done.returncode == 1
    assert "needs root" in done.stderr
    assert "--nbd" in done.stderr


def test_without_root_exec_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    from flashgc import DriveError
    from flashgc.device import mounts

    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(DriveError, match="needs root, for block devices and mounts; hint: "):
        mounts.check("flashgc device exec", "ext4")


@needs("nbdcopy")
def test_a_served_drive_is_reached_and_closed_by_a_signal(tmp_path: Path) -> None:
    file = tmp_path / "d"
    Device.create(file, capacity="64MiB", pages_per_block=32).close()
    (tmp_path / "image").write_bytes(os.urandom(8 << 20))
    address = f"unix:{tmp_path / 'nbd'}"
    server = subprocess.Popen(
        [*COMMAND, "device", "serve", str(file), "--nbd", address],
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert server.stdout is not None
        uri = f"nbd+unix:///?socket={tmp_path / 'nbd'}"
        assert server.stdout.readline() == f"{uri}\n"
        subprocess.run(("nbdcopy", str(tmp_path / "image"), uri), check=True)
        busy = subprocess.run(
            [*COMMAND, "device", "serve", str(file), "--nbd", "127.0.0.1:0"],
            env=environment(), text=True, capture_output=True, check=False,
        )  # fmt: skip
        assert busy.returncode == 1
        assert "in use by another process" in busy.stderr
        useless = subprocess.run(
            [*COMMAND, "device", "hint", str(file), "0+4KiB"],
            env=environment(), text=True, capture_output=True, check=False,
        )  # fmt: skip
        assert useless.returncode == 0
        assert "use no hints" in useless.stderr
        server.send_signal(signal.SIGTERM)
        _, errors = server.communicate(timeout=60)
        assert (server.returncode, errors) == (0, "serving; Ctrl-C closes the drive\n")
    finally:
        server.kill()
    with Device.open(file) as drive:
        assert drive.read(0, 8 << 20) == (tmp_path / "image").read_bytes()
        assert drive.stat()["smart"]["unsafe_shutdowns"] == 0


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("--nbd 0.0.0.0:0", "--nbd: 0.0.0.0:0 is for other machines too"),
        ("--nvme-tcp 0.0.0.0:0", "--nvme-tcp: 0.0.0.0:0 is for other machines too"),
        ("--http [::]:0", "--http: [::]:0 is for other machines too"),
        ("--nbd 127.0.0.1:0 --listen-anywhere", "found --nbd 127.0.0.1:0, expected an address"),
        ("--nbd unix:n --http 0 --listen-anywhere", "found --nbd unix:n, --http 0, expected"),
        ("--listen-anywhere", "--listen-anywhere: found no address, expected"),
    ],
)
def test_other_machines_are_served_only_where_that_is_asked_for(
    command: Command, words: str, text: str
) -> None:
    made = command("device", "create", "d", "--capacity", "64MiB")
    assert made.returncode == 0, made.stderr
    commands = ["serve d"]
    if has_mounts():
        commands += ["up d --mount m", "exec -q"]
    for name in commands:
        behind = ("--", "true") if name == "exec -q" else ()
        refused = command("device", *name.split(), *words.split(), *behind)
        assert refused.returncode == 2, refused.stderr
        assert refused.stderr.count("\n") == 1
        assert text in refused.stderr
        assert "hint: " in refused.stderr


def test_a_server_is_told_whole_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    one = Fronts(nbd="unix:n", nvme_tcp="127.0.0.1:2", record=Path("r.flashgc"))
    words = one.words()
    given = dict(zip(words[::2], words[1::2], strict=True))
    assert given == {
        "--nbd": f"unix:{tmp_path}/n",
        "--nvme-tcp": "127.0.0.1:2",
        "--record": f"{tmp_path}/r.flashgc",
    }
    assert Fronts(nbd="127.0.0.1:1").words() == ["--nbd", "127.0.0.1:1"]


def test_quiet_does_not_silence_what_is_not_protected(command: Command, tmp_path: Path) -> None:
    anywhere = ("--quiet", "--http", "0.0.0.0:0", "--listen-anywhere")
    assert command("device", "create", "d", "--capacity", "64MiB").returncode == 0
    server = subprocess.Popen(
        [*COMMAND, "device", "serve", "d", *anywhere],
        cwd=tmp_path, env=environment(), text=True, stderr=subprocess.PIPE,
    )  # fmt: skip
    until = time.monotonic() + 60
    while command("device", "flush", "d").returncode and time.monotonic() < until:
        pass  # It is not served yet.
    server.terminate()
    said = [server.communicate(timeout=60)[1]]
    if has_mounts():
        made = command("device", "up", "d", "--mount", "m", *anywhere)
        assert command("device", "down", "d", "--quiet").returncode == made.returncode == 0
        said.append(made.stderr)
        made = command("device", "exec", *anywhere, "--", "true")
        warned, figures = made.stderr.splitlines(keepends=True)
        assert figures == "warning: the command wrote nothing to the drive\n"
        said.append(warned)
    for line in said:
        assert line.startswith("warning: --http 0.0.0.0:0: no authentication and no encryption")
        assert line.count("\n") == 1


def test_a_server_for_all_says_what_is_not_protected(tmp_path: Path) -> None:
    file = tmp_path / "d"
    Device.create(file, capacity="64MiB", pages_per_block=32).close()
    server = subprocess.Popen(
        [*COMMAND, "device", "serve", str(file), "--nbd", "0.0.0.0:0", "--listen-anywhere"],
        env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("nbd://0.0.0.0:")
        server.send_signal(signal.SIGTERM)
        _, errors = server.communicate(timeout=60)
    finally:
        server.kill()
    warning, _, _ = errors.partition("\n")
    assert warning.startswith("warning: --nbd 0.0.0.0:0: no authentication and no encryption")
    assert "read and overwrite the drive" in warning
