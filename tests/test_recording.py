"""Recording references to memory: what is written, what is reported, what is refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import flashgc
from conftest import COMMAND, environment
from flashgc._core import ConfigError

VALGRIND = shutil.which("valgrind")
recorded = pytest.mark.skipif(VALGRIND is None, reason="needs valgrind")
TRUE = shutil.which("true") or "true"
FALSE = shutil.which("false") or "false"


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=120,
    )


@recorded
def test_a_recording_has_the_pages_that_lackey_prints(tmp_path: Path) -> None:
    target = tmp_path / "true.pages.zst"
    made = flashgc.trace_record([TRUE], target, page_size=4096, filter=0)
    assert made.exit_code == 0
    # The same program runs under lackey itself, and this test counts the lines of the log.
    log = tmp_path / "true.lackey"
    subprocess.run(
        ["valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-file={log}", TRUE], check=True
    )
    lines = [line.split() for line in log.read_text().splitlines() if not line.startswith("==")]
    # Two runs differ by a few accesses (the process's number, its environment).
    assert abs(made.accesses - len(lines)) < 0.01 * len(lines)
    stat = flashgc.trace_stat(target)
    assert (stat.format, stat.requests) == ("pages", made.references)
    pages = set()
    for _, where in lines:
        address, size = where.split(",")
        first, last = int(address, 16), int(address, 16) + int(size) - 1
        pages.update((first // 4096, last // 4096))
    assert abs(stat.pages - len(pages)) <= 2


@recorded
def test_the_programs_exit_code_is_reported(tmp_path: Path) -> None:
    made = command("trace", "record", "-o", tmp_path / "a.pages", "--", FALSE)
    assert made.returncode == 0
    assert made.stderr == "warning: the program ended with exit code 1\n"
    assert flashgc.trace_record([FALSE], tmp_path / "b.pages").exit_code == 1


@recorded
def test_a_recording_of_so_many_accesses_stops_there(tmp_path: Path) -> None:
    target = tmp_path / "part.pages"
    made = flashgc.trace_record([TRUE], target, accesses=5000)
    assert (made.accesses, made.exit_code) == (5000, None)
    stat = json.loads(flashgc.trace_stat(target).to_json())
    assert stat["recorded"] == {"page_size": 2048, "filter": 64, "accesses": 5000}


@recorded
def test_ctrl_c_leaves_what_was_recorded(tmp_path: Path) -> None:
    target = tmp_path / "stopped.pages"
    process = subprocess.Popen(
        [
            *(*COMMAND, "trace", "record", "-o", target),
            *("--", sys.executable, "-c", "while True: pass"),
        ],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    for _ in range(600):
        if list(tmp_path.glob("*.partial")):
            break
        time.sleep(0.1)
    time.sleep(1.0)
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped before the program ended" in said
    assert flashgc.trace_stat(target).requests > 0


@recorded
def test_what_cannot_be_written_is_no_fault_of_the_program(tmp_path: Path) -> None:
    # The program makes more references than the pipe holds, so Valgrind ends when it writes to it.
    busy = [sys.executable, "-c", "sum(range(100_000))"]
    made = command("trace", "record", "-o", tmp_path / "nowhere" / "a.pages", "--", *busy)
    assert made.returncode == 2
    assert "a.pages: cannot create the file: No such file or directory" in made.stderr


def test_what_cannot_be_recorded_is_said_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a.pages"
    wrong = command("trace", "record", "-o", tmp_path / "a.csv", "--", TRUE)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "expected a name that ends in .pages" in wrong.stderr
    if VALGRIND is not None:
        with pytest.raises(ConfigError, match="found no program 'no-such-program'; hint: "):
            flashgc.trace_record(["no-such-program"], target)
        script = tmp_path / "script"
        script.write_text("#!/nowhere\n")
        script.chmod(0o755)
        with pytest.raises(ConfigError, match="Valgrind could not run it"):
            flashgc.trace_record([str(script)], target)
    with pytest.raises(ConfigError, match="found nothing"):
        flashgc.trace_record([], target)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="'valgrind'; hint: apt-get install valgrind"):
        flashgc.trace_record([TRUE], target)
    assert not target.exists()
