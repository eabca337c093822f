"""File systems on a drive: up, down, exec, and the state after a crash."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import Command
from tests.device.conftest import leftovers, needs, needs_mounts

import flashgc
from flashgc import Device, DriveError
from flashgc.device import mounts
from flashgc.device import up as upping

pytestmark = [needs_mounts, pytest.mark.xdist_group(__name__)]

SMALL = ("--capacity", "192MiB", "--pages-per-block", "64", "--victim", "greedy")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _everything_in_one_folder(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Puts the folders of FUSE and ``exec`` below the test's, where leftovers are found."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    state = tmp_path_factory.mktemp("state") / "state"
    monkeypatch.setenv("FLASHGC_STATE", str(state))
    yield
    assert leftovers(state) == []


def create(file: Path) -> None:
    """A drive that is large enough for each file system."""
    Device.create(file, capacity="256MiB", pages_per_block=64, victim="greedy").close()


@pytest.mark.parametrize(
    "filesystem",
    [
        "ext4",
        pytest.param("xfs", marks=needs("mkfs.xfs")),
        pytest.param("btrfs", marks=needs("mkfs.btrfs")),
    ],
)
def test_a_file_system_keeps_its_files(
    filesystem: str, command: Command, drive_file: Path, tmp_path: Path
) -> None:
    if filesystem == "xfs":  # mkfs.xfs needs at least 300 MB.
        Device.create(drive_file, capacity="400MiB", pages_per_block=64).close()
    else:
        create(drive_file)
    mount = tmp_path / "mount"
    done = command("device", "up", drive_file, "--mount", mount, "--fs", filesystem)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{filesystem} on /dev/loop")
    source = ROOT / "crates/device"
    shutil.copytree(source, mount / "copy")
    (mount / "gone").write_bytes(os.urandom(20 << 20))
    os.sync()
    stat = json.loads(command("device", "stat", drive_file, "--json").stdout)
    before = stat["mapped_pages"]
    assert before * 4096 > 20 << 20
    (mount / "gone").unlink()
    until = time.monotonic() + 60
    while stat["mapped_pages"] >= before - (19 << 20) // 4096:
        # A file system may free the space of a removed file some moments later.
        assert time.monotonic() < until, stat["mapped_pages"]
        os.sync()
        subprocess.run(("fstrim", str(mount)), check=True)
        stat = json.loads(command("device", "stat", drive_file, "--json").stdout)
    again = command("device", "up", drive_file, "--mount", tmp_path / "other")
    assert again.returncode == 1
    assert "is up in" in again.stderr
    assert command("device", "down", drive_file).returncode == 0
    assert command("device", "check", drive_file).returncode == 0
    assert leftovers(tmp_path) == []
    # The file system on the drive is kept, whatever --fs says.
    done = command("device", "up", drive_file, "--mount", mount, "--fs", "ext4")
    assert done.stdout.startswith(f"{filesystem} on"), done.stderr
    compared = subprocess.run(("diff", "-r", str(source), str(mount / "copy")), check=False)
    assert compared.returncode == 0
    assert command("device", "down", drive_file).returncode == 0
    down = command("device", "down", drive_file)
    assert (down.returncode, "is not up" in down.stderr) == (2, True)


def kill_server(drive_file: Path) -> None:
    found = upping.read(drive_file.resolve())
    assert found is not None
    os.kill(found.server, signal.SIGKILL)
    until = time.monotonic() + 60
    while upping.is_alive(found) and time.monotonic() < until:
        time.sleep(0.01)


@needs("mkfs.btrfs")
def test_a_dead_drive_is_no_obstacle_to_another(command: Command, tmp_path: Path) -> None:
    dead, mount = tmp_path / "dead.flash", tmp_path / "mount"
    create(dead)
    assert command("device", "up", dead, "--mount", tmp_path / "dead").returncode == 0
    assert "killed" not in command("device", "stat", dead).stderr
    kill_server(dead)
    seen = command("device", "stat", dead)
    assert (seen.returncode, seen.stderr.count("\n")) == (0, 1)
    assert f"{tmp_path / 'dead'} is the mount of a server that was killed" in seen.stderr
    create(tmp_path / "drive.flash")
    done = command("device", "up", tmp_path / "drive.flash", "--mount", mount, "--fs", "btrfs")
    assert (done.returncode, done.stderr) == (0, "")
    for file in ("drive.flash", "dead.flash"):
        assert command("device", "down", tmp_path / file).returncode == 0
    assert leftovers(tmp_path) == []


def test_a_killed_server_leaves_nothing_and_synced_files_stay(
    command: Command, drive_file: Path, tmp_path: Path
) -> None:
    create(drive_file)
    mount = tmp_path / "mount"
    for round_ in range(3):
        done = command("device", "up", drive_file, "--mount", mount)
        assert done.returncode == 0, done.stderr
        for earlier in range(round_):
            assert (mount / f"file{earlier}").read_bytes() == bytes([earlier]) * 3_000_000
        with open(mount / f"file{round_}", "wb") as file:
            file.write(bytes([round_]) * 3_000_000)
            file.flush()
            os.fsync(file.fileno())
        kill_server(drive_file)
        if round_ == 1:  # `down` cleans up; in the other round, the next `up` does.
            assert command("device", "down", drive_file).returncode == 0
            assert leftovers(tmp_path) == []
    done = command("device", "up", drive_file, "--mount", mount)
    assert done.returncode == 0, done.stderr
    assert (mount / "file2").read_bytes() == bytes([2]) * 3_000_000
    stat = json.loads(command("device", "stat", drive_file, "--json").stdout)
    assert stat["smart"]["unsafe_shutdowns"] == 3
    assert command("device", "down", drive_file).returncode == 0
    assert leftovers(tmp_path) == []


def test_what_is_in_use_stays_unless_it_is_forced(
    command: Command, drive_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(drive_file)
    mount = tmp_path / "mount"
    upping.up(drive_file, mount)
    monkeypatch.setattr("flashgc.device.mounts.PATIENCE", 0.2)
    with open(mount / "held", "wb") as file:
        file.write(b"data")
        with pytest.raises(DriveError, match="is in use"):
            upping.down(drive_file)
        assert (mount / "held").exists()
    assert upping.down(drive_file)
    assert leftovers(tmp_path) == []


def test_a_device_that_others_look_at_is_given_back_when_they_are_done(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.write_bytes(bytes(1 << 20))
    device = mounts.run("losetup", "--find", "--show", str(disk))
    held = os.open(device, os.O_RDONLY)
    looking = threading.Timer(0.5, os.close, [held])
    looking.start()
    mounts.detach(device, disk)
    assert mounts.backing(device) != str(disk)
    looking.join()


def test_a_device_that_others_keep_open_is_named_and_down_goes_on_later(
    drive_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashgc.device.mounts.PATIENCE", 0.5)
    create(drive_file)
    mounted = upping.up(drive_file, tmp_path / "mount")
    held = os.open(mounted.device, os.O_RDONLY)
    try:
        with pytest.raises(DriveError, match=f"{mounted.device} is open in another process"):
            upping.down(drive_file)
    finally:
        os.close(held)
    assert upping.down(drive_file)
    assert not upping.note_of(drive_file).exists()


def test_a_mount_that_cannot_be_is_undone(drive_file: Path, tmp_path: Path) -> None:
    Device.create(drive_file, blocks=64, pages_per_block=16).close()
    with pytest.raises(DriveError, match="ext4"):
        upping.up(drive_file, tmp_path / "mount", options=("nonsense",))
    assert not upping.note_of(drive_file).exists()
    assert leftovers(tmp_path) == []
    with Device.open(drive_file), pytest.raises(DriveError, match="in use by another"):
        upping.up(drive_file, tmp_path / "mount")
    assert leftovers(tmp_path) == []


WRITER = (
    "import os,random\n"
    "size = 96 << 20\n"
    "with open('data', 'wb') as file:\n"
    "    file.write(os.urandom(size))\n"
    "    draw = random.Random(1)\n"
    "    for round in range(16):\n"
    "        for _ in range(1500):\n"
    "            file.seek(draw.randrange(size // 4096) * 4096)\n"
    "            file.write(os.urandom(4096))\n"
    "        file.flush(); os.fsync(file.fileno())\n"
    "assert os.getcwd() == os.environ['TMPDIR']\n"
)


def test_exec_follows_the_bytes_and_its_replay_has_the_same_digits(
    command: Command, tmp_path: Path
) -> None:
    trace = tmp_path / "writes.flashgc.zst"
    done = command(
        "device", "exec", *SMALL, "--record", trace, "--compare", "greedy,fifo,zgc-gd", "--json",
        "--", sys.executable, "-c", WRITER,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    asked = (96 << 20) + 16 * 1500 * 4096
    assert found["written"]["bytes"] == asked
    assert 0.9 < found["filesystem_overhead"] < 1.1
    assert found["flushes"] >= 16
    assert found["write_amplification"] > 1.01
    assert found["copied_pages"] > 1000
    assert found["latency_us"]["write"]["count"] > 100
    assert len(found["samples"]) >= 2
    assert found["samples"][-1]["host_pages"] * 4096 == found["host_bytes"]
    # On a fresh drive, part of the programmed pages goes to blocks that were never erased.
    programmed, freed = found["flash_bytes"] // 4096, (found["erases"] + 1) * 64
    from_spare = max(programmed - freed, 0) / programmed
    assert found["steadiness"]["from_spare"] == pytest.approx(from_spare)
    said = {one["id"]: one for one in found["findings"]}
    assert ("burst" in said) == (from_spare > 0.05)
    assert not (found["steady"] and said.keys() & {"burst", "unsteady", "steadiness-unknown"})
    blocks, kept = found["stat"]["blocks"], found["stat"]["blocks_kept_erased"]
    logical = found["stat"]["capacity_bytes"] // 4096
    effective = 1 - logical / (64 * (blocks - kept))
    assert found["stat"]["effective_spare"] == pytest.approx(effective)
    served = [one for one in found["replayed"]["ranking"] if one["was_served"]]
    assert [one["policy"] for one in served] == ["greedy"]
    counters = found["stat"]["counters"]
    assert served[0]["copied_pages"] == counters["copied_pages"]
    assert served[0]["erases"] == counters["erases"]
    ranks = [one["write_amplification"] for one in found["replayed"]["ranking"]]
    assert len(ranks) == 3
    assert ranks == sorted(ranks)
    assert flashgc.trace_stat(trace).writes > 100
    assert leftovers(tmp_path) == []


def test_exec_has_the_exit_code_of_the_command(command: Command, tmp_path: Path) -> None:
    for program, code in (("exit 7", 7), ("kill -TERM $$", 143)):
        done = command("device", "exec", *SMALL, "--", "sh", "-c", program)
        assert done.returncode == code, done.stderr
        assert "write amplification" in done.stdout
    done = command("device", "exec", *SMALL, "--", "no-such-program")
    assert (done.returncode, done.stderr) == (1, "error: no-such-program: no such command\n")
    assert leftovers(tmp_path) == []


def test_exec_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    from tests.conftest import environment

    run = subprocess.Popen(
        [sys.executable, "-c", "from flashgc.command import main; main()", "device", "exec",
         *SMALL, "--", "sh", "-c", "echo begun >&2; exec sleep 60"],
        env={**environment(), "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert run.stderr is not None
    assert run.stderr.readline() == "begun\n"
    run.send_signal(signal.SIGTERM)
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 128 + signal.SIGTERM
    assert "ended by signal 15" in out
    assert leftovers(tmp_path) == []
    assert list(tmp_path.iterdir()) == []
