"""The block device of Linux's NVMe initiator, tested with fake files of the kernel.

``experiments/nvme/guest.py --attach`` tests a real initiator.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Command
from flashgc import ConfigError, DriveError
from flashgc.device import initiator, mounts, up
from flashgc.device.hints import page_cache

NAME, HOST = "nqn.2014-08.org.nvmexpress:uuid:1", "0f0f"


def test_a_kernel_without_an_initiator_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setitem(mounts.NEEDS, "nvme-tcp", (("/dev/no-fabrics", "an initiator", "no-tcp"),))
    with pytest.raises(DriveError) as told:
        mounts.check("flashgc device up", "ext4", "nvme-tcp")
    assert str(told.value) == (
        "flashgc device up needs an initiator, and there is no /dev/no-fabrics; "
        "hint: modprobe no-tcp, or --host fuse"
    )


@pytest.mark.parametrize("words", ["exec --host nvme -- true", "up FILE --mount m --host nvme"])
def test_an_unknown_host_is_refused(command: Command, drive_file: Path, words: str) -> None:
    assert command("device", "create", drive_file, "--capacity", "64MiB").returncode == 0
    done = command("device", *words.replace("FILE", str(drive_file)).split())
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--host: found 'nvme', expected fuse, nvme-tcp" in done.stderr


def controller(folder: Path, name: str | None, host: str | None) -> Path:
    folder.mkdir(parents=True)
    for fact, text in (("subsysnqn", name), ("hostnqn", host)):
        if text is not None:
            (folder / fact).write_text(f"{text}\n")
    (folder / "delete_controller").touch()
    return folder


def test_no_controller_but_ones_own_goes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(initiator, "LISTED", tmp_path)
    own = controller(tmp_path / "nvme3", NAME, initiator.HOST + HOST)
    others = [
        controller(tmp_path / "nvme0", None, None),
        controller(tmp_path / "nvme1", NAME, initiator.HOST + "0f"),
        controller(tmp_path / "nvme2", f"{NAME}0", initiator.HOST + HOST),
    ]

    def kernel(_: float) -> None:
        if (own / "delete_controller").read_text() == "1":
            own.rename(tmp_path / "gone")

    monkeypatch.setattr("time.sleep", kernel)
    initiator.detach(NAME, HOST)
    assert not own.exists()
    assert [(one / "delete_controller").read_text() for one in others] == ["", "", ""]


def test_one_that_does_not_go_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(initiator, "LISTED", tmp_path)
    monkeypatch.setattr(initiator, "PATIENCE", 0.1)
    controller(tmp_path / "nvme3", NAME, initiator.HOST + HOST)
    with pytest.raises(DriveError, match=f"nvme3 does not go; hint: nvme disconnect -n {NAME}"):
        initiator.detach(NAME, HOST)


@pytest.mark.parametrize("address", ["127.0.0.1:4420", "[::1]:4420"])
def test_the_kernel_is_asked_for_a_drive(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str
) -> None:
    fabrics = tmp_path / "fabrics"
    fabrics.touch()
    found = iter([None, None, "/dev/nvme5n1"])
    monkeypatch.setattr(initiator, "FABRICS", str(fabrics))
    monkeypatch.setattr(initiator, "_device", lambda *_: next(found))
    assert initiator.attach(address, NAME, HOST) == "/dev/nvme5n1"
    asked = dict(word.split("=") for word in fabrics.read_text().split(","))
    assert asked == {
        "transport": "tcp", "traddr": address[:-5].strip("[]"), "trsvcid": "4420", "nqn": NAME,
        "hostnqn": initiator.HOST + HOST, "hostid": HOST,
        "reconnect_delay": "1", "ctrl_loss_tmo": "10", "keep_alive_tmo": "30",
    }  # fmt: skip


def test_a_kernel_that_refuses_or_is_silent_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(initiator, "FABRICS", str(tmp_path))
    with pytest.raises(DriveError, match=f"does not attach {NAME} at h:1: Is a directory; hint"):
        initiator.attach("h:1", NAME, HOST)
    (tmp_path / "fabrics").touch()
    monkeypatch.setattr(initiator, "FABRICS", str(tmp_path / "fabrics"))
    monkeypatch.setattr(initiator, "LISTED", tmp_path)
    monkeypatch.setattr(initiator, "PATIENCE", 0.1)
    with pytest.raises(DriveError, match="no block device of"):
        initiator.attach("h:1", NAME, HOST)


def test_a_node_of_another_device_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A static device node of a container may have the drive's name but another number."""
    monkeypatch.setattr(initiator, "LISTED", tmp_path)
    own = controller(tmp_path / "nvme0", NAME, initiator.HOST + HOST)
    number = tmp_path / "nvme7n1" / "dev"
    number.parent.mkdir()
    (own / "nvme7c0n1").mkdir()
    monkeypatch.setattr(initiator, "BLOCKS", tmp_path)
    monkeypatch.setattr(initiator, "NODES", tmp_path / "nodes")
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "nvme7n1").symlink_to("/dev/null")
    for text, taken in (("1:3\n", str(tmp_path / "nodes" / "nvme7n1")), ("259:3\n", None)):
        number.write_text(text)
        assert initiator._device(NAME, HOST) == taken


def test_the_page_cache_of_a_drive_without_a_loop_device_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = page_cache.Mounted("ext4", Path("/dev/nvme0n1"), 1)
    done = up.Up("/mnt", "", "ext4", device="/dev/nvme0n1", serving=["nvme-tcp h:1 n"])
    monkeypatch.setattr(up, "read", lambda _: done)
    page_cache._check(Path("/mnt"), place, tmp_path, ["nvme-tcp h:1 n", "page"])
    for other, serving in (("/dev/nvme0n1", "nvme-tcp h:2 n"), ("/dev/nvme1n1", "nvme-tcp h:1 n")):
        place = page_cache.Mounted("ext4", Path(other), 1)
        with pytest.raises(ConfigError, match=f"is on {other}, expected the drive in"):
            page_cache._check(Path("/mnt"), place, tmp_path, [serving])
