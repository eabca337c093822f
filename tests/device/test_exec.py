"""``flashgc device exec``: written bytes, processes, phases of a command, a drive's past."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Command, environment
from tests.device.conftest import leftovers, needs, needs_mounts

pytestmark = [needs_mounts, pytest.mark.xdist_group(__name__)]

SMALL = ("--capacity", "192MiB", "--pages-per-block", "64", "--victim", "greedy")
LARGE = ("--capacity", "400MiB", "--pages-per-block", "64", "--victim", "greedy")
MIB = 1 << 20

#: The folder of PostgreSQL's programs, if it is installed.
POSTGRES = next((one.parent for one in Path("/usr/lib/postgresql").glob("*/bin/initdb")), None)

#: A user that is not root and that every Debian has.
USER = "nobody"


@pytest.fixture(autouse=True)
def _everything_in_one_folder(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    # A command of another user must be able to enter its working directory below this folder.
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    state = tmp_path_factory.mktemp("state") / "state"
    monkeypatch.setenv("FLASHGC_STATE", str(state))
    yield
    assert leftovers(state) == []
    assert leftovers(tmp_path) == []


def run(command: Command, *words: object, code: int = 0) -> dict[str, Any]:
    """Runs ``device exec --json`` and returns its document."""
    done = command("device", "exec", "--json", *words)
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def python(program: str) -> tuple[str, ...]:
    return ("--", sys.executable, "-c", program)


CALLS = """
import os
with open('a', 'wb', buffering=0) as file:
    for _ in range(300):
        file.write(b'x' * 5000)
fd = os.open('b', os.O_RDWR | os.O_CREAT)
os.pwritev(fd, [b'y' * 100, b'z' * 200], 7)
os.posix_fallocate(fd, 0, 1 << 20)
os.ftruncate(fd, 5001)
os.fsync(fd)
"""

#: Bytes that the calls of CALLS write. Allocated and truncated ranges do not count.
CALLED = 300 * 5000 + 300

FILESYSTEMS = [
    pytest.param("ext4", marks=needs("mkfs.ext4")),
    pytest.param("xfs", marks=needs("mkfs.xfs")),
]


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_written_bytes_are_those_of_the_calls(filesystem: str, command: Command) -> None:
    found = run(command, *LARGE, "--fs", filesystem, *python(CALLS))
    assert found["written"]["bytes"] == CALLED
    assert found["written"]["unknown"] is None
    assert found["written"]["calls_bytes"] >= CALLED
    assert found["filesystem_overhead"] == found["host_bytes"] / CALLED


@needs("fio")
@pytest.mark.parametrize("filesystem", FILESYSTEMS)
@pytest.mark.parametrize(
    ("engine", "direct"), [("libaio", 1), ("io_uring", 1), ("io_uring", 0), ("psync", 1)]
)
def test_asynchronous_writes_count(
    filesystem: str, engine: str, direct: int, command: Command
) -> None:
    fio = (
        "fio", "--name=w", "--rw=randwrite", "--bs=4k", "--size=16m", "--iodepth=8",
        "--output-format=json", f"--ioengine={engine}", f"--direct={direct}",
        "--output=/dev/null", "--fallocate=none",
    )  # fmt: skip
    found = run(command, *LARGE, "--fs", filesystem, "--", *fio)
    assert found["written"]["bytes"] == 16 * MIB
    by = {"cached_bytes": 0, "direct_bytes": 16 * MIB}
    assert direct == 0 or {key: found["written"][key] for key in by} == by


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_stores_into_mapped_files_make_the_bytes_unknown(filesystem: str, command: Command) -> None:
    program = (
        "import mmap\n"
        "with open('a', 'w+b') as file:\n"
        "    file.truncate(1 << 20)\n"
        "    mapped = mmap.mmap(file.fileno(), 0)\n"
        "    mapped[5000] = 1\n"
        "    mapped.flush()\n"
    )
    found = run(command, *LARGE, "--fs", filesystem, *python(program))
    assert found["written"]["bytes"] is None
    assert found["written"]["stores"] == 1
    # No call wrote to the file, so its length is no bound. The bound is the largest folio, 2 MiB.
    assert (found["written"]["least"], found["written"]["most"]) == (0, 2 * MIB)
    assert "mapped files" in found["written"]["unknown"]
    assert found["filesystem_overhead"] is None
    assert "written-unknown" in {one["id"] for one in found["findings"]}


def test_some_words_in_a_mapped_file_are_named_beside_the_bytes(command: Command) -> None:
    program = (
        "import mmap\n"
        "with open('shm', 'w+b', buffering=0) as file:\n"
        "    file.write(bytes(9000))\n"
        "    file.flush()\n"
        "    __import__('os').fsync(file.fileno())\n"
        "    mapped = mmap.mmap(file.fileno(), 0)\n"
        "    mapped[5000] = 1\n"
        "    open('data', 'wb').write(bytes(SIZE))\n"
    )
    for size, is_known in ((20_000_000, True), (2_000_000, False)):
        written = run(command, *SMALL, *python(program.replace("SIZE", str(size))))["written"]
        # The bound is the length of the file in whole pages: a folio is no longer than its file.
        assert (written["stores"], written["stored_most"]) == (1, 12288)
        assert written["bytes"] == (size + 9000 if is_known else None)
        assert (written["least"], written["most"]) == (size + 9000, size + 9000 + 12288)


def test_bytes_with_bounds_are_a_range(command: Command) -> None:
    # On a full drive the kernel dirties a folio although the write fails; this is no store.
    full = "dd if=/dev/zero of=full bs=64k count=100000; exit 0"
    done = command("device", "exec", "--capacity", "64MiB", "--", "sh", "-c", full)
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("written "))
    assert "between" in line
    assert "unknown" not in line
    host = next(line for line in done.stdout.splitlines() if line.startswith("host bytes"))
    assert host.count(" to ") == 1
    assert "for each byte written" in host


def test_a_mapped_file_that_is_read_alone_changes_nothing(command: Command) -> None:
    program = (
        "import mmap\n"
        "with open('a', 'w+b') as file:\n"
        "    file.write(b'x' * 9000)\n"
        "    file.flush()\n"
        "    assert mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)[8999] == 120\n"
    )
    assert run(command, *SMALL, *python(program))["written"]["bytes"] == 9000


@needs("mkfs.btrfs")
def test_a_file_system_that_does_not_tell_has_no_ratio(command: Command) -> None:
    found = run(command, *LARGE, "--fs", "btrfs", *python(CALLS))
    assert found["written"]["bytes"] is None
    assert found["written"]["unknown"] == "btrfs does not tell what is written to it"
    assert found["written"]["calls_bytes"] >= CALLED
    assert found["filesystem_overhead"] is None


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open('pid', 'w') as file:
            file.write(str(os.getpid()))
        for _ in range(30):
            time.sleep(0.02)
            with open('log', 'ab', buffering=0) as file:
                file.write(b'x' * 1000)
        time.sleep(float(sys.argv[1]))
    os._exit(0)
os.wait()
"""


def test_what_is_left_behind_is_named_ended_and_told_by_the_exit_code(command: Command) -> None:
    words = (*SMALL, "--", sys.executable, "-c", DAEMON, "60")
    done = command("device", "exec", *words)
    assert done.returncode == 125, done.stderr
    assert re.search(
        r"warning: 1 processes of the command outlived it and were ended: python", done.stderr
    )
    # The exit code of the command itself has precedence.
    words = (*SMALL, "--", "sh", "-c", "sleep 60 & exit 3")
    assert command("device", "exec", *words).returncode == 3


def test_what_is_left_behind_can_be_waited_for(command: Command) -> None:
    found = run(command, *SMALL, "--wait", "--", sys.executable, "-c", DAEMON, "0")
    assert [one["name"][:6] for one in found["left"]] == ["python"]
    assert not found["left_ended"]
    # All writes of the daemon count, also those after the end of the command itself.
    assert found["written"]["bytes"] > 30 * 1000


def test_phases_have_figures_of_their_own(command: Command) -> None:
    program = (
        "import os\n"
        "def write(name, size):\n"
        "    with open(name, 'wb') as file:\n"
        "        file.write(b'x' * size)\n"
        "        os.fsync(file.fileno())\n"
        "write('a', 3 << 20)\n"
        "with open(os.environ['FLASHGC_MARK'], 'w') as marks:\n"
        "    marks.write('load done\\n')\n"
        "import time; time.sleep(0.3)\n"
        "write('b', 5 << 20)\n"
    )
    found = run(command, *SMALL, *python(program))
    first, second = found["phases"]
    assert [first["name"], second["name"]] == ["start", "load done"]
    assert [first["written_bytes"], second["written_bytes"]] == [3 * MIB, 5 * MIB]
    assert 3 * MIB <= first["host_bytes"] < 4 * MIB
    assert 5 * MIB <= second["host_bytes"] < 6 * MIB
    for key in ("host_bytes", "flash_bytes", "read_bytes", "copied_pages", "erases", "flushes"):
        assert first[key] + second[key] == found[key], key
    counts = [one["latency_us"]["write"]["count"] for one in (first, second)]
    assert sum(counts) == found["latency_us"]["write"]["count"]
    assert first["seconds"] + second["seconds"] == pytest.approx(found["seconds"], abs=0.2)


def test_a_phase_has_the_bounds_of_its_own_bytes(command: Command, tmp_path: Path) -> None:
    program = (
        "import mmap, os, time\n"
        "def mark(name):\n"
        "    time.sleep(0.2)\n"
        "    with open(os.environ['FLASHGC_MARK'], 'w') as marks:\n"
        "        marks.write(f'{name}\\n')\n"
        "    time.sleep(0.3)\n"
        "def write(name, size):\n"
        "    with open(name, 'wb') as file:\n"
        "        file.write(bytes(size))\n"
        "        os.fsync(file.fileno())\n"
        "write('a', 3 << 20)\n"
        "mark('stores')\n"
        "write('b', 9000)\n"
        "with open('b', 'r+b') as file:\n"
        "    mapped = mmap.mmap(file.fileno(), 0)\n"
        "    mapped[5000] = 1\n"
        "    mapped.flush()\n"
        "mark('calls')\n"
        "write('c', 5 << 20)\n"
    )
    found = run(command, *SMALL, *python(program))
    keys = ("written_bytes", "written_least", "written_most")
    assert [tuple(one[key] for key in keys) for one in found["phases"]] == [
        (3 * MIB, 3 * MIB, 3 * MIB),
        (None, 9000, 9000 + 12288),
        (5 * MIB, 5 * MIB, 5 * MIB),
    ]
    for end in ("least", "most"):
        assert sum(one[f"written_{end}"] for one in found["phases"]) == found["written"][end]
    # The terminal and the page show the same range.
    out = tmp_path / "out.html"
    for words in ((), ("--out", out)):
        done = command("device", "exec", *SMALL, *words, *python(program))
        assert done.returncode == 0, done.stderr
        rows = [*(done.stdout or out.read_text()).splitlines()]
        [row] = [one for one in rows if one.startswith(("stores ", "<tr><td>stores<"))]
        assert "8.79 KiB to 20.8 KiB" in row


def test_latencies_and_trims_are_those_of_the_command_alone(command: Command) -> None:
    found = run(command, *SMALL, "--", "true")
    # Counters include mkfs, which discards the whole drive; figures of the command do not.
    assert found["stat"]["counters"]["trimmed_bytes"] > 100 * MIB
    assert found["trimmed_bytes"] == found["trimmed_data_bytes"] == 0
    assert found["latency_us"]["trim"]["count"] == 0
    assert found["latency_us"]["write"]["count"] <= 20
    program = "import os\nwith open('a', 'wb') as f: f.write(b'x' * (8 << 20))\nos.sync()\n"
    found = run(command, *SMALL, *python(f"{program}os.remove('a')\nos.sync()\n"))
    assert found["trimmed_data_bytes"] >= 8 * MIB
    assert found["trimmed_bytes"] >= found["trimmed_data_bytes"]
    # The loop device sends discards as holes to punch.
    assert found["latency_us"]["trim"]["count"] > 0


def test_a_command_marks_phases_by_the_command(command: Command) -> None:
    mark = f"{sys.executable} -c 'from flashgc.command import main; main()' device mark"
    found = run(command, *SMALL, "--", "sh", "-c", f"echo x >a; {mark} 'load done'; echo y >b")
    assert [one["name"] for one in found["phases"]] == ["start", "load done"]
    done = command("device", "mark", "load done")
    assert done.returncode == 2
    assert "FLASHGC_MARK is not set" in done.stderr


def test_it_runs_as_another_user_in_a_folder_of_his(command: Command, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "load.sh").write_text("id -un; stat -c %U .; cat data; echo done >>$FLASHGC_MARK\n")
    (mine / "data").write_text("copied in\n")
    out = tmp_path / "figures.json"
    words = ("--user", USER, "--copy-in", mine, "--out", out, "--", "/bin/sh", "load.sh")
    done = command("device", "exec", *SMALL, *words)
    assert done.returncode == 0, done.stderr
    # Standard output has only the command's own output.
    assert done.stdout == f"{USER}\n{USER}\ncopied in\n"
    found = json.loads(out.read_text())
    assert [one["name"] for one in found["phases"]] == ["start", "done"]
    assert pwd.getpwnam(USER).pw_uid != 0


def test_a_script_is_found_where_the_command_was_typed(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "benchmark.sh"
    script.write_text('#!/bin/sh\necho x >here; basename "$0"\n')
    script.chmod(0o755)
    out = tmp_path / "page.html"
    done = command("device", "exec", *SMALL, "--out", out, "--", "./benchmark.sh")
    assert (done.returncode, done.stdout) == (0, "benchmark.sh\n"), done.stderr
    page = out.read_text()
    assert page.startswith("<!doctype html>")
    assert "./benchmark.sh" in page
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("--out figures.txt -- true", 2, "expected a name that ends in .json or .html"),
        ("--out nowhere/f.json -- true", 2, "nowhere is no folder"),
        ("--copy-in nowhere -- true", 2, "--copy-in: nowhere is no folder"),
        ("--user nobody-at-all -- true", 2, "--user: there is no user nobody-at-all"),
        ("--fill 0% -- true", 2, "--fill: found 0%, expected more than 0%"),
        ("--aged 2000x -- true", 2, "--aged: found 2000x, expected 0x to 1000x"),
        ("--fill 50% --aged nonsense -- true", 2, "nonsense"),
        ("--from nowhere.flash -- true", 2, "flashgc device create nowhere.flash"),
        ("--from /etc/hostname --victim greedy -- true", 2, "the drive of --from is made already"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    command: Command, words: str, code: int, said: str
) -> None:
    drive = () if "--from" in words else ("--capacity", "64MiB", "--pages-per-block", "32")
    done = command("device", "exec", *drive, *words.split())
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


def test_a_drive_with_a_past_collects_at_once_and_is_not_wiped(command: Command) -> None:
    program = (
        "import os\n"
        "with open('a', 'wb') as file: file.write(os.urandom(24 << 20)); os.fsync(file.fileno())\n"
    )
    fresh = run(command, *SMALL, *python(program))
    assert fresh["collections"] == 0
    assert "no-erase" in {one["id"] for one in fresh["findings"]}
    aged = run(command, *SMALL, "--fill", "90%", "--aged", "uniform", *python(program))
    past = aged["drive"]["past"]
    capacity = aged["drive"]["capacity_bytes"] // 4096
    assert past["pages"] == int(capacity * 0.9)
    assert past["is_settled"]
    assert past["overwritten"] % past["pages"] == 0
    assert aged["copied_pages"] > 1000
    assert aged["write_amplification"] > 1.2
    assert "no-erase" not in {one["id"] for one in aged["findings"]}


def test_a_drive_of_a_file_is_copied_and_stays_as_it_is(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "aged.flash"
    words = (*SMALL, "--journal", "1MiB", "--fill", "80%", "--aged", "2x", "--json")
    done = command("device", "create", file, *words)
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert made["past"]["overwritten"] == 2 * made["past"]["pages"]
    # The file is sparse: it holds records and a journal, but no data.
    assert file.stat().st_blocks * 512 < 20 * MIB
    before = file.read_bytes()
    twice = [
        run(command, "--from", file, *python("open('a', 'wb').write(b'x' * (8 << 20))"))
        for _ in range(2)
    ]
    assert file.read_bytes() == before
    assert all(one["copied_pages"] > 100 for one in twice)
    assert twice[0]["drive"]["policies"]["victim"] == "greedy:ties=latest"
    check = command("device", "check", file)
    assert check.returncode == 0, check.stderr


def test_a_command_goes_on_with_the_files_of_an_earlier_one(
    command: Command, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.flash"
    run(command, *SMALL, "--keep", kept, *python("open('a', 'w').write('first')"))
    for _ in range(2):
        found = run(command, "--from", kept, *python("assert open('a').read() == 'first'"))
        assert found["exit_code"] == 0


@needs("mkfs.xfs")
@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs"])
def test_no_file_system_discards_the_past(filesystem: str, command: Command) -> None:
    words = (*LARGE, "--fs", filesystem, "--fill", "70%", "--", "true")
    found = run(command, *words)
    assert found["stat"]["mapped_pages"] >= found["drive"]["past"]["pages"]


def test_a_drive_with_a_clock_has_the_same_past(command: Command) -> None:
    words = (
        "--capacity", "96MiB", "--pages-per-block", "64", "--victim", "greedy",
        "--fill", "80%", "--aged", "1x", "--realtime", "--device", "mlc",
    )  # fmt: skip
    found = run(command, *words, "--", "true")
    past = found["drive"]["past"]
    assert found["realtime"]["host_pages"] >= past["pages"] + past["overwritten"]


def test_a_second_signal_kills_a_command_that_does_not_end(tmp_path: Path) -> None:
    words = (
        sys.executable, "-c", "from flashgc.command import main; main()", "device", "exec", *SMALL,
        "--", "sh", "-c", "trap '' TERM; echo begun >&2; while :; do sleep 0.05; done",
    )  # fmt: skip
    process = subprocess.Popen(
        words, env={**environment(), "TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    assert process.stderr.readline() == "begun\n"
    process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    # A busy machine may merge two pending signals into one: send again until the process ends.
    for _ in range(60):
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
            break
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGKILL
    assert "ended by signal 9" in out


def test_nothing_is_left_of_a_command_that_was_killed(command: Command, tmp_path: Path) -> None:
    words = (
        sys.executable, "-c", "from flashgc.command import main; main()", "device", "exec", *SMALL,
        "--", "sh", "-c", "setsid sleep 1000 & echo begun >&2; exec sleep 1000",
    )  # fmt: skip
    for _ in range(2):
        process = subprocess.Popen(
            words, env={**environment(), "TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        assert process.stderr.readline() == "begun\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stderr.close()
    # The next command cleans up after the killed ones.
    run(command, *SMALL, "--", "true")
    until = time.monotonic() + 60
    while sleeping(tmp_path):
        assert time.monotonic() < until
        time.sleep(0.05)
    assert not any(tmp_path.glob("flashgc-exec-*"))


def sleeping(folder: Path) -> list[str]:
    """The processes that a command of this test has left."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"FLASHGC_MARK={folder}".encode() in environ.read_bytes():
                found.append(environ.parent.name)
        except OSError:
            continue
    return found


BY_FILE = """
import os, random
os.mkdir('base')
size = 40 << 20
with open('base/123', 'wb') as data:
    data.write(os.urandom(size))
    data.flush(); os.fsync(data.fileno())
    draw = random.Random(1)
    for round in range(30):
        for _ in range(400):
            data.seek(draw.randrange(size // 4096) * 4096)
            data.write(os.urandom(4096))
        data.flush(); os.fsync(data.fileno())
        with open(f'log.{round}', 'wb') as log:
            log.write(os.urandom(1 << 20))
            log.flush(); os.fsync(log.fileno())
        if round > 2:
            os.remove(f'log.{round - 3}')
        os.rename('base/123', f'base/{round}') if round == 0 else None
"""


def since_past(found: dict[str, Any]) -> dict[str, int]:
    """The counters of the drive minus those of its past."""
    counters, past = found["stat"]["counters"], found["drive"].get("past")
    if past is None:
        return dict(counters)
    written = past["pages"] + past["overwritten"]
    return {
        "host_pages_written": counters["host_pages_written"] - written,
        "copied_pages": counters["copied_pages"] - past["copied"],
        "collections": counters["collections"] - past["erases"],
    }


#: Options of a drive that is small enough to collect, for each file system. xfs needs more space.
COLLECTS = {
    "ext4": ("--capacity", "96MiB"),
    "xfs": ("--capacity", "400MiB", "--fill", "80%", "--aged", "1x"),
}


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_pages_are_those_of_the_files_that_wrote_them(filesystem: str, command: Command) -> None:
    words = (*COLLECTS[filesystem], "--pages-per-block", "64", "--victim", "greedy", "--by-file")
    found = run(command, *words, "--fs", filesystem, *python(BY_FILE))
    owners = {one["name"]: one for one in found["by_file"]["owners"]}
    # Overwritten data stay at their places. Pages of a removed log keep its name.
    assert owners["base/N"]["written_pages"] >= (40 << 20) // 4096 + 30 * 350
    assert owners["log.N"]["written_pages"] == 30 * 256
    assert owners["log.N"]["trimmed_pages"] >= 20 * 256
    assert owners["journal"]["written_pages"] > 30
    assert "files without a name" not in owners
    # The columns add up to the command's figures at the head.
    assert sum(one["written_pages"] for one in owners.values()) * 4096 == found["host_bytes"]
    assert sum(one["copied_pages"] for one in owners.values()) == found["copied_pages"]
    outside = {name: one["outside_pages"] for name, one in owners.items()}
    written = since_past(found)["host_pages_written"]
    assert sum(outside.values()) == written - found["host_bytes"] // 4096
    assert {name for name, pages in outside.items() if pages} == {
        "before the command",
        "unmounting",
    }
    assert owners["base/N"]["copied_pages"] > 300
    # A log lives until it is removed, three logs later.
    assert owners["log.N"]["mean_life"] > 1000
    handles = found["by_file"]["handles"]
    assert handles["owners"][0] == "base/N"
    assert handles["without"] == found["copied_pages"]
    # The map has every current page of each owner. Without handles, owners share blocks.
    map_ = found["by_file"]["map"]
    of_owner = dict(zip(map_["owners"], map(sum, map_["live"]), strict=True))
    assert of_owner["base/N"] == owners["base/N"]["live_pages"] == (40 << 20) // 4096
    assert of_owner["log.N"] == owners["log.N"]["live_pages"] == 3 * 256
    assert sum(of_owner.values()) == found["stat"]["mapped_pages"]
    assert map_["collections"] == found["collections"]
    assert map_["purity"] < handles["map"]["purity"]
    copied = dict(zip(map_["owners"], map(sum, map_["company"]), strict=True))
    assert copied["base/N"] == owners["base/N"]["copied_pages"]


def test_a_page_has_the_maps_of_the_owners(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    words = ("--capacity", "96MiB", "--pages-per-block", "64", "--by-file", "--out", out)
    done = command("device", "exec", *words, *python("open('<i>', 'wb').write(b'x' * 9999)"))
    assert done.returncode == 0, done.stderr
    page = out.read_text()
    assert page.count("<canvas") == 2
    assert "&lt;i&gt;" in page
    assert "<i>" not in page


def test_owners_are_known_on_a_drive_with_a_past(command: Command) -> None:
    words = ("--capacity", "96MiB", "--pages-per-block", "64", "--victim", "greedy", "--by-file")
    program = "open('a', 'wb').write(b'x' * (8 << 20))"
    found = run(command, *words, "--fill", "80%", "--aged", "1x", "--compare", "greedy,fifo",
                *python(program))  # fmt: skip
    owners = {one["name"]: one for one in found["by_file"]["owners"]}
    assert owners["a"]["written_pages"] == (8 << 20) // 4096
    past = found["drive"]["past"]
    before = owners["before the command"]
    # The row of the past does not count the past's own writes, but later copies of its pages.
    counters = found["stat"]["counters"]
    written, copied = past["pages"] + past["overwritten"], past["copied"]
    all_ = found["by_file"]["owners"]
    assert sum(one["written_pages"] for one in all_) == found["host_bytes"] // 4096
    assert sum(one["written_pages"] + one["outside_pages"] for one in all_) == (
        counters["host_pages_written"] - written
    )
    assert sum(one["copied_pages"] for one in all_) == found["copied_pages"]
    assert 0 < before["outside_pages"] < written
    assert (before["written_pages"], before["copied_pages"] > 0) == (0, True)
    # The comparison leaves out the past, and the served drive has equal counts.
    greedy = next(one for one in found["replayed"]["ranking"] if one["was_served"])
    assert greedy["host_pages"] == counters["host_pages_written"] - written
    assert greedy["copied_pages"] == counters["copied_pages"] - copied
    assert found["by_file"]["handles"]["without"] == found["copied_pages"]
    map_ = found["by_file"]["map"]
    of_owner = dict(zip(map_["owners"], map(sum, map_["live"]), strict=True))
    assert of_owner["before the command"] == before["live_pages"] > 0
    assert sum(map(sum, map_["company"])) == found["copied_pages"]
    assert map_["collections"] == found["collections"]


def test_a_phase_too_many_is_told(command: Command) -> None:
    program = (
        "import os\n"
        "with open(os.environ['FLASHGC_MARK'], 'w') as marks:\n"
        "    for number in range(1100):\n"
        "        marks.write(f'{number}\\n')\n"
    )
    found = run(command, *SMALL, *python(program))
    assert len(found["phases"]) == 1000
    assert found["seconds"] < 25, "a mark waits for nothing"
    said = {one["id"]: one["claim"] for one in found["findings"]}
    assert said["marks-refused"].startswith("not every phase was noted: there are 1000 phases")


def test_faults_that_somebody_set_are_told(command: Command, tmp_path: Path) -> None:
    program = (
        "import os, pathlib\n"
        "from flashgc.device.control import Client\n"
        "fd = os.open('a', os.O_RDWR | os.O_CREAT)\n"
        f"(file,) = pathlib.Path({str(tmp_path)!r}).rglob('drive.flash')\n"
        "with Client(file) as client:\n"
        "    client.inject('delay', kind='write', by='1ms', count={})\n"
        "os.pwrite(fd, bytes(65536), 0)\n"
        "os.fsync(fd)\n"
    )
    for count, said in ((1, "1 command of hosts met"), (2, "2 commands of hosts met")):
        found = run(command, *SMALL, *python(program.format(count)))
        claims = {one["id"]: one["claim"] for one in found["findings"]}
        assert claims["faults-met"].startswith(said)
    found = run(command, *SMALL, *python("open('a', 'w').write('x')"))
    assert "faults-met" not in {one["id"] for one in found["findings"]}


def test_the_command_that_asks_for_suspension_runs_as_printed(
    command: Command, tmp_path: Path
) -> None:
    program = (
        "import os, random\n"
        "draw, fd = random.Random(1), os.open('a', os.O_RDWR | os.O_CREAT)\n"
        "os.truncate('a', 16 << 20)\n"
        "for step in range(1500):\n"
        "    os.pwrite(fd, bytes(4096), draw.randrange(4096) * 4096)\n"
        "    step % 16 or os.fsync(fd)\n"
    )
    trace = tmp_path / "a.flashgc"
    done = command("device", "exec", *SMALL, "--record", trace, *python(program))
    assert done.returncode == 0, done.stderr
    asks = next(line for line in done.stdout.splitlines() if "flashgc compare" in line)
    asked = command(*shlex.split(asks)[1:], "--json", "--runs", "1")
    assert asked.returncode == 0, asked.stderr
    found = [one["result"] for one in json.loads(asked.stdout)["ranking"]]
    assert {one["config"]["timed"]["preemption"] for one in found} == {"none", "pgc", "suspend"}
    assert all(one["latency_us"]["write"]["p99"] > 500 for one in found)
    assert "overload" not in {it["id"] for one in found for it in one["findings"]}


def test_a_log_that_was_never_there_is_told(command: Command) -> None:
    found = run(command, *SMALL, "--postgres-log", "data/log/none.log", *python("pass"))
    said = {one["id"]: one["claim"] for one in found["findings"]}
    assert "data/log/none.log was never there" in said["no-server-log"]


def test_a_log_that_is_written_replaced_and_cut_begins_phases(command: Command) -> None:
    program = """
import os, time
def say(how, *lines):
    with open("server.log", how) as log:
        log.writelines(f"2026-11-27 07:00:00 UTC [7] LOG:  {line}\\n" for line in lines)
        log.flush()
        os.fsync(log.fileno())
    time.sleep(0.5)
say("w", "checkpoint starting: shutdown")
os.rename("server.log", "server.log.1")
say("w", "checkpoint starting: time", "automatic vacuum of table \\"b.public.t\\": index scans: 0")
say("w", "checkpoint complete: wrote 3 buffers")
"""
    found = run(command, *SMALL, "--postgres-log", "server.log", *python(program))
    assert [one["name"] for one in found["phases"]] == [
        "start",
        "checkpoint: shutdown",
        "checkpoint: time",
        "after vacuum of b.public.t",
        "after checkpoint",
    ]


@pytest.mark.skipif(not POSTGRES, reason="needs PostgreSQL's programs")
def test_checkpoints_of_postgresql_are_phases(command: Command) -> None:
    script = (
        # The path of a Unix socket has at most 107 characters.
        f"PATH={POSTGRES}:$PATH; set -e; at=$(mktemp -d /tmp/socket.XXXXXX); "
        "initdb -D data -A trust >/dev/null; "
        "echo 'autovacuum_naptime=1' >>data/postgresql.conf; "
        "echo 'log_autovacuum_min_duration=0' >>data/postgresql.conf; "
        'pg_ctl -D data -l server.log -o "-c listen_addresses= -k $at" -w start >/dev/null; '
        "psql -h $at -qc 'create table t as select 1 as a from generate_series(1,20000); "
        "delete from t' postgres; sleep 4; psql -h $at -qc checkpoint postgres; "
        "pg_ctl -D data -m fast stop >/dev/null; rmdir $at"
    )
    words = ("--capacity", "256MiB", "--user", "postgres", "--postgres-log", "server.log")
    found = run(command, *words, "--", "/bin/sh", "-c", script)
    names = [one["name"] for one in found["phases"]]
    assert "after vacuum of postgres.public.t" in names
    assert any(name.startswith("checkpoint: immediate force wait") for name in names)
    assert "after checkpoint" in names
    assert names[-1] == "after checkpoint"
    phases = {one["name"]: one["host_bytes"] for one in found["phases"]}
    assert sum(one["host_bytes"] for one in found["phases"]) == found["host_bytes"], phases


GROWING = """
import json, os, random, string, sys
draw = random.Random(3)
written, alive = {}, []
def name(number):
    return ''.join(string.ascii_lowercase[int(digit)] for digit in f'{number:03d}')
def append(file, pages):
    with open(file, 'ab') as opened:
        opened.write(os.urandom(pages * 4096))
        opened.flush()
        os.fsync(opened.fileno())
    written[file] = written.get(file, 0) + pages
for number in range(180):
    append(name(number), draw.randrange(1, 12))
    alive.append(name(number))
    if number % 3 == 2:
        append(draw.choice(alive), draw.randrange(1, 12))
    if len(alive) > 25:
        os.remove(alive.pop(draw.randrange(len(alive))))
json.dump(written, open(sys.argv[1], 'w'))
"""


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_every_page_is_that_of_its_file_while_files_grow_and_go(
    filesystem: str, command: Command, tmp_path: Path
) -> None:
    told = tmp_path / "written.json"
    words = (*COLLECTS[filesystem], "--pages-per-block", "64", "--victim", "greedy", "--by-file")
    found = run(command, *words, "--fs", filesystem, *python(GROWING), str(told))
    written = json.loads(told.read_text())
    assert sum(written.values()) > 1000
    owners = {one["name"]: one["written_pages"] for one in found["by_file"]["owners"]}
    # Blocks and inodes of removed files were reused, and the counts are still right.
    assert {name: owners.get(name) for name in written} == written


#: Makes many names in a folder and freezes the xfs, which writes all its metadata at once.
FOLDER = """
import fcntl, os, time
os.mkdir('many')
with open('many/old', 'wb') as file:
    file.write(os.urandom(24 << 20))
os.sync()
os.remove('many/old')
time.sleep(0.5)  # xfs frees its blocks in the background.
os.sync()
for number in range(3000):
    with open(f'many/{number}-{"x" * 60}', 'w') as file:
        file.write('x')
folder = os.open('.', os.O_RDONLY)
os.sync()
fcntl.ioctl(folder, 0xC0045877, 0)
fcntl.ioctl(folder, 0xC0045878, 0)
"""


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_folders_are_metadata(filesystem: str, command: Command) -> None:
    found = run(command, *LARGE, "--by-file", "--fs", filesystem, *python(FOLDER))
    owners = {one["name"]: one["written_pages"] for one in found["by_file"]["owners"]}
    # Inodes of xfs may take the blocks of a removed file.
    assert owners["many/old"] == (24 << 20) // 4096
    # In xfs, a name takes 80 bytes and an inode at least 256.
    assert owners["metadata"] > 3000 * (80 + 256) // 4096
    assert owners[f"many/N-{'x' * 60}"] == 3000
    assert {"many", "", "files without a name"}.isdisjoint(owners)
