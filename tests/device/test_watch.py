"""The state of a drive: redrawn in 80 columns on a terminal, and plain lines elsewhere."""

from __future__ import annotations

import io
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from device.fake_drive import FakeDrive
from flashgc.device.history import Interval
from flashgc.device.watch import heading, live, overview, row, watch

PROGRAM = """
import sys
sys.path[:0] = {paths!r}
from device.fake_drive import FakeDrive
from flashgc.device.watch import watch
drive = FakeDrive()
def ask():
    drive.write(2000)
    return drive.stat()
watch(ask, period=0.05)
print("after")
"""


@pytest.fixture
def drive() -> FakeDrive:
    made = FakeDrive()
    made.clock = 100.0
    made.write(20_000)
    return made


def test_a_stat_is_read_in_80_columns(drive: FakeDrive) -> None:
    lines = overview(drive.stat())
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert f"{drive.stat()['write_amplification']:.3f} since the drive was made" in text
    assert "78.1 MiB written in 20 000 commands" in text
    assert "drive         /tmp/fake.flash" in text
    assert "READ-ONLY" not in text
    long = {"victim": "z-greedy:ties=latest", "placement": "dac:regions=3,threshold=0"}
    assert max(map(len, overview({**drive.stat(), **long}))) <= 80
    [write] = [line for line in lines if line.startswith("  write")]
    assert write.split() == ["write", "20", "000", "30.0", "27.0", "36.0", "75.0", "240.0", "600.0"]
    [read] = [line for line in lines if line.startswith("  read")]
    assert read.split() == ["read", "0", *["-"] * 6]


def test_a_drive_that_takes_no_writes_says_so(drive: FakeDrive) -> None:
    drive.read_only = "its life is over: too many blocks are worn out"
    assert any(line.startswith("READ-ONLY     its life is over") for line in overview(drive.stat()))


def test_long_numbers_keep_to_the_columns(drive: FakeDrive) -> None:
    stat = drive.stat()
    for section in ("counters", "ocp", "smart"):
        stat[section] = dict.fromkeys(stat[section], 10**13)
    stat["latency_us"] = {
        name: dict.fromkeys(of, 99_999_999.9) | {"count": 10**8}
        for name, of in stat["latency_us"].items()
    }
    now = Interval(1.0, *[1e9] * 3, 12345.6, *[1e6] * 4, *[1e7] * 4)
    for lines in (overview(stat), live(stat, [now] * 100), [row(stat, now)]):
        assert max(map(len, lines)) <= 80


def test_a_pipe_gets_a_line_an_interval(drive: FakeDrive) -> None:
    def ask() -> dict[str, object]:
        assert drive.clock is not None
        drive.clock += 1
        drive.write(1000)
        return drive.stat()

    out = io.StringIO()
    watch(ask, period=0, times=3, file=out)
    lines = out.getvalue().splitlines()
    assert lines[0] == heading()
    assert len(lines) == 4
    # 1000 pages of 4096 bytes a second.
    assert all(line.split()[0] == "4.1" for line in lines[1:])
    assert "\x1b" not in out.getvalue()


def test_what_the_drive_says_of_its_end_ends_the_watch(drive: FakeDrive) -> None:
    drive.gone = "the drive is closed"
    with pytest.raises(OSError, match="the drive is closed"):
        watch(drive.stat, file=io.StringIO())


def start(**options: object) -> subprocess.Popen[str]:
    import flashgc

    tests, package = Path(__file__).parents[1], Path(flashgc.__file__).parents[1]
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(paths=[str(package), str(tests)])],
        text=True,
        stderr=subprocess.PIPE,
        **options,  # type: ignore[call-overload]
    )


def test_ctrl_c_ends_it_without_an_error() -> None:
    process = start(stdout=subprocess.PIPE)
    first = process.stdout.readline()
    assert first.split()[:2] == ["host", "MB/s"]
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert out.endswith("after\n")


def test_a_terminal_is_redrawn_in_place_and_left_as_it_was() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "40"}
    process = start(stdout=theirs, env=environment)
    os.close(theirs)
    seen = bytearray()

    def read() -> None:
        try:
            while piece := os.read(ours, 4096):
                seen.extend(piece)
        except OSError:
            pass  # A terminal reports in this way that the other side is closed.

    reader = threading.Thread(target=read)
    reader.start()
    end = time.monotonic() + 60
    while seen.count(b"since made") < 5 and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0
    reader.join()
    os.close(ours)
    process.stderr.close()
    assert seen.count(b"since made") >= 5
    assert b"\x1b[1A" in seen, "it goes up, and draws again"
    assert seen.rindex(b"\x1b[?25h") > seen.rindex(b"\x1b[?25l"), "the cursor is back"
    assert seen.rstrip().endswith(b"after")
