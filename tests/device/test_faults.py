"""``flashgc device inject``: faults for the hosts of a served drive."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import COMMAND, Command, environment
from tests.device.conftest import needs_mounts

from flashgc import ConfigError, Device, DriveError
from flashgc.device.control import Client
from flashgc.device.faults import in_words, summary

SMALL: dict[str, Any] = {"blocks": 128, "pages_per_block": 32}
PAGE = 4096


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[Device]:
    """A drive that this process serves, so that the command can reach it."""
    with Device.create(tmp_path / "d", **SMALL) as made:
        made.serve_control()
        yield made


def inject(command: Command, *words: str) -> Any:
    made = command("device", "inject", "d", *words, "--json")
    assert (made.returncode, made.stderr) == (0, "")
    return json.loads(made.stdout)


def test_faults_are_set_listed_and_cleared(command: Command, drive: Device) -> None:
    drive.write(0, b"old" * 4096)
    made = inject(command, "fail", "--kind", "write", "--next", "2")
    assert made == {
        "number": 1, "effect": "fail", "kind": "write", "offset": None, "bytes": None,
        "by_seconds": None, "die": None, "next": 2, "left": 2, "hits": 0, "unreadable_bytes": None,
        "over": False,
    }  # fmt: skip
    inject(command, "unreadable", "--at", "1MiB", "--bytes", "64KiB")
    inject(command, "delay", "--kind", "read", "--next", "1", "--by", "50ms")
    for _ in range(2):
        with pytest.raises(DriveError, match=r"^injected: a write that fails \(fault 1\)$"):
            drive.write(0, b"new")
    began = time.monotonic()
    assert drive.read(0, 3) == b"old"
    assert time.monotonic() - began >= 0.05
    with pytest.raises(DriveError, match=r"^injected: unreadable data \(fault 2\)$"):
        drive.read((1 << 20) + 65535, 2)
    drive.write(1 << 20, b"x" * PAGE)
    assert drive.read(1 << 20, 1) == b"x"
    assert command("device", "inject", "d", "list").stdout.splitlines() == [
        "fault 1: fail, writes, over, met 2",
        "fault 2: unreadable, 64KiB at 1MiB, until cleared, met 1",
        "fault 3: delay, reads, late by 0.05 s, over, met 1",
    ]
    listed = inject(command, "list")
    assert (listed["met"], listed["set"][1]["unreadable_bytes"]) == (4, 60 << 10)
    assert listed == drive.stat()["faults"]
    shown = command("device", "stat", "d").stdout
    assert "FAULTS        1 set, 4 commands met one, no figures of a drive alone\n" in shown
    assert inject(command, "clear", "--number", "2") == {"cleared": 1}
    assert command("device", "inject", "d", "clear").stdout == "cleared 2 faults\n"
    assert command("device", "inject", "d", "list").stdout == "no faults are set\n"
    # The drive's figures still count past faults.
    assert "FAULTS        0 set, 4 commands met one" in command("device", "stat", "d").stdout


def test_a_drive_without_faults_shows_none(command: Command, drive: Device) -> None:
    assert drive.stat()["faults"] == {"met": 0, "set": []}
    assert "FAULTS" not in command("device", "stat", "d").stdout
    assert summary({}) == [], "a server of an earlier version"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("fial", 2, "unknown fault 'fial'; hint: did you mean 'fail'?"),
        ("fail --kind writes", 2, "unknown kind of commands 'writes'; hint: did you mean 'write'?"),
        ("fail --next 0", 2, "fail: next: found 0, expected 1 or more; hint: 1"),
        ("fail --next -3", 2, "fail: next: '-3' is negative"),
        ("fail --next many", 2, "fail: next: 'many' is not a number"),
        ("fail --at 0", 2, "found one of first byte and size, expected both or none"),
        ("fail --at 0 --bytes 0", 2, "fail: found a range of 0 bytes, expected some"),
        ("fail --at 0 --bytes 4KiX", 2, "KiX"),
        ("fail --at -1 --bytes 4KiB", 2, "-1"),
        ("fail --at 99999999999999999999 --bytes 1", 2, "expected bytes of the drive"),
        ("fail --kind flush --at 0 --bytes 1", 2, "expected none; hint: a flush has no place"),
        ("fail --by 5ms", 2, "fail: found a time, expected none; hint: delay has one"),
        ("fail --at 0 --bytes 1GiB", 1, "found a range up to byte 1073741824, expected at most"),
        ("unreadable", 2, "unreadable: found no range, expected one"),
        ("unreadable --at 0 --bytes 100", 2, "expected whole pages; hint: multiples of 4KiB"),
        ("unreadable --at 0 --bytes 1GiB", 2, "expected at most 256MiB"),
        ("unreadable --kind read --at 0 --bytes 4KiB", 2, "reads alone meet it"),
        ("delay", 2, "delay: found no time, expected one; hint: by 50ms"),
        ("delay --by 5", 2, "delay: found '5', expected a time; hint: 50ms, 2s or 1min"),
        ("delay --by 1h", 2, "expected more than 0 and at most 10min"),
        ("delay --by 0s", 2, "expected more than 0"),
        ("disconnect", 1, "the drive has no connections; hint: serve it by NBD or NVMe/TCP"),
        ("disconnect --kind read", 2, "disconnect: found a kind or a range, expected neither"),
        ("end-of-life --next 3", 2, "end-of-life: found a kind, a range or a number"),
        ("list --next 3", 2, "list: found options of a fault, expected none"),
        ("clear --kind read", 2, "clear: found options of a fault, expected none"),
        ("clear --number 7", 1, "no fault has number 7"),
        ("clear --number 0", 2, "number: found 0, expected 1 or more"),
        ("fail --number 1", 2, "fail: found --number, expected none; hint: clear has it"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    command: Command, drive: Device, words: str, code: int, said: str
) -> None:
    made = command("device", "inject", "d", *words.split())
    assert (made.returncode, made.stdout) == (code, ""), made.stderr
    assert made.stderr.count("\n") == 1
    assert made.stderr.startswith("error: ")
    assert "; hint: " in made.stderr
    assert said in made.stderr
    assert drive.faults() == []


def test_a_drive_that_nobody_serves_has_no_faults(command: Command, tmp_path: Path) -> None:
    Device.create(tmp_path / "d", **SMALL).close()
    for file in ("d", "none"):
        made = command("device", "inject", file, "fail")
        assert made.returncode == 1
        assert "no drive is served at" in made.stderr


def test_python_takes_numbers_and_texts(drive: Device) -> None:
    assert drive.inject("fail", kind="read", offset=PAGE, size="4KiB", count=1) == 1
    assert drive.inject("delay", by=0.25) == 2
    assert drive.inject("delay", by="2s") == 3
    first, second, third = drive.faults()
    assert (first["offset"], first["bytes"], first["left"]) == (PAGE, PAGE, 1)
    assert (second["by_seconds"], third["by_seconds"]) == (0.25, 2.0)
    assert in_words(second) == "fault 2: delay, commands of every kind, late by 0.25 s, " + (
        "until cleared, met 0"
    )
    for wrong in (float("nan"), -1.0, 1e300):
        with pytest.raises(ConfigError, match="delay: found"):
            drive.inject("delay", by=wrong)
    with Client(drive.path) as client:
        assert client.faults() == drive.faults()
        assert client.clear_faults(2) == 1
        assert client.inject("end-of-life") == 4
    assert [one["number"] for one in drive.faults()] == [1, 3, 4]
    drive.close()
    for call in (lambda: drive.inject("fail"), drive.clear_faults, drive.faults):
        with pytest.raises(ValueError, match="the drive is closed"):
            call()


def test_the_end_of_life_is_injected_and_not_in_the_file(
    command: Command, drive: Device, tmp_path: Path
) -> None:
    drive.write(0, b"x" * PAGE)
    drive.flush()
    before = drive.stat()
    drive.inject("end-of-life")
    for refused in (lambda: drive.write(0, b"y"), lambda: drive.trim(0, PAGE)):
        with pytest.raises(DriveError, match=r"^injected: the end of the drive's life"):
            refused()
    stat = drive.stat()
    assert stat["read_only"].startswith("injected: ")
    assert stat["smart"]["critical_warning"] == before["smart"]["critical_warning"] | 8
    shown = command("device", "stat", "d").stdout
    assert "READ-ONLY     injected: the end of the drive's life (fault 1)" in shown
    metrics = command("device", "stat", "d", "--openmetrics").stdout
    assert "flashgc_drive_read_only 1\n" in metrics
    assert "flashgc_drive_injected_faults_total 2\n" in metrics
    drive.close()
    with Device.open(tmp_path / "d") as again:
        assert again.stat()["read_only"] is None
        again.write(0, b"y" * PAGE)


def test_a_recording_has_only_what_was_executed(drive: Device, tmp_path: Path) -> None:
    drive.record(tmp_path / "all.flashgc")
    drive.write(0, b"1" * PAGE)
    before = drive.stat()
    drive.inject("fail", kind="write", count=1)
    drive.inject("drop", kind="write", count=1)
    with pytest.raises(DriveError, match="that fails"):
        drive.write(0, b"2" * PAGE)
    with pytest.raises(DriveError, match="gets no answer"):
        drive.write(0, b"3" * PAGE)
    after = drive.stat()
    for key in ("counters", "latency_us", "decisions"):
        found = {**before[key]} if key != "decisions" else before[key]
        now = {**after[key]} if key != "decisions" else after[key]
        if key == "counters":
            for clock in ("open_seconds", "busy_seconds"):
                found.pop(clock, None)
                now.pop(clock, None)
        assert now == found
    drive.write(0, b"4" * PAGE)
    assert drive.record(None) == 2
    assert drive.read(0, 1) == b"4"


def test_two_clients_set_and_clear_faults_at_once(drive: Device) -> None:
    numbers: list[list[int]] = [[], []]

    def work(mine: list[int]) -> None:
        with Client(drive.path) as client:
            for _ in range(40):
                mine.append(client.inject("fail", kind="discard", count=5))
                assert client.clear_faults(mine[-1]) == 1
            mine.append(client.inject("fail", kind="discard", count=1))

    threads = [threading.Thread(target=work, args=(mine,)) for mine in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    every = sorted(numbers[0] + numbers[1])
    assert every == list(range(1, 83)), "no number twice"
    assert {one["number"] for one in drive.faults()} == {numbers[0][-1], numbers[1][-1]}
    for _ in range(2):
        with pytest.raises(DriveError, match="a discard that fails"):
            drive.trim(0, PAGE)
    drive.trim(0, PAGE)


def test_connections_end(command: Command, drive: Device) -> None:
    address = drive.serve_nbd("127.0.0.1:0")
    host, port = address.removeprefix("nbd://").rsplit(":", 1)
    with socket.create_connection((host, int(port)), 10) as connection:
        greeting = connection.recv(18)
        while len(greeting) < 18:
            greeting += connection.recv(18 - len(greeting))
        assert greeting.startswith(b"NBDMAGIC")
        made = command("device", "inject", "d", "disconnect")
        assert (made.stdout, made.stderr) == ("ended 1 connection\n", "")
        assert connection.recv(1) == b""
    assert inject(command, "disconnect") == {"connections": 0}
    later = inject(command, "disconnect", "--next", "2")
    assert in_words(later) == "fault 1: disconnect, after 2 more, met 0"


def test_faults_end_with_a_server_that_is_killed(command: Command, tmp_path: Path) -> None:
    assert command("device", "create", "d", "--blocks", "128", "--pages-per-block", "32")

    def served() -> subprocess.Popen[str]:
        words = [*COMMAND, "device", "serve", "d", "--nbd", "127.0.0.1:0"]
        server = subprocess.Popen(
            words, cwd=tmp_path, env=environment(), text=True, stdout=subprocess.PIPE
        )
        assert server.stdout is not None
        assert server.stdout.readline().startswith("nbd://")
        return server

    server = served()
    try:
        inject(command, "end-of-life")
        inject(command, "delay", "--by", "10min")
        server.kill()
        server.communicate(timeout=60)
        server = served()
        assert inject(command, "list") == {"met": 0, "set": []}
        with Client(tmp_path / "d") as client:
            assert client.stat()["read_only"] is None
        # The end of the server does not wait for an answer that is ten minutes late.
        inject(command, "delay", "--by", "10min")
        server.terminate()
        server.communicate(timeout=60)
        assert server.returncode == 0
    finally:
        server.kill()


@needs_mounts
def test_a_mounted_drive_fails_and_never_hangs(
    command: Command, drive_file: Path, tmp_path: Path
) -> None:
    for words in (
        ("create", drive_file, "--capacity", "128MiB"),
        ("up", drive_file, "--mount", "m"),
    ):
        made = command("device", *words)
        assert made.returncode == 0, made.stderr

    def on(*words: str) -> subprocess.CompletedProcess[str]:
        return command("device", "inject", drive_file, *words)

    for refused in (("drop",), ("disconnect", "--next", "1")):
        made = on(*refused)
        assert made.returncode == 1, made.stdout
    assert "a mount hangs without an answer; hint: fail or delay" in on("drop").stderr
    kept = tmp_path / "m" / "kept"
    # The file system has data to write, and every answer is delayed by ten minutes.
    for force in ((), ("--force",)):
        kept.write_bytes(b"y" * 65536)
        assert on("delay", "--by", "10min").returncode == 0
        late = force and subprocess.Popen(["sync", str(kept)], stderr=subprocess.DEVNULL)
        time.sleep(0.3)
        began = time.monotonic()
        made = command("device", "down", drive_file, *force)
        assert made.returncode == 0, made.stderr
        if late:
            late.wait(30)
        assert time.monotonic() - began < 60
        made = command("device", "up", drive_file, "--mount", "m")
        assert made.returncode == 0, made.stderr
        assert kept.read_bytes() == b"y" * 65536
        assert on("list").stdout == "no faults are set\n"
    # A failed flush aborts the journal, and the file system becomes read-only.
    kept.write_bytes(b"x" * 65536)
    assert on("fail", "--kind", "flush", "--next", "1").returncode == 0
    synced = subprocess.run(["sync", str(kept)], capture_output=True, text=True)
    assert synced.returncode != 0
    with pytest.raises(OSError, match="Read-only"):
        kept.write_bytes(b"z")
