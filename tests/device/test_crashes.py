"""The crash campaign at the size of a smoke test. Each of its checks must be able to fail."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import COMMAND, Command, environment
from tests.device.conftest import needs, needs_mounts

from flashgc import Device, _core
from flashgc.command.device.crash_test import crash_test
from flashgc.device import logged, mounts
from flashgc.device.campaign import cuts, databases, hints, kills, nbd, postgres
from flashgc.device.campaign.report import BrokenPromiseError, Level
from flashgc.device.cutting.log import Log
from flashgc.device.pace import Pace
from flashgc.device.postgres import PostgresError, cluster


def in_mounts(test: Callable[..., None]) -> Callable[..., None]:
    """Marks a test that mounts drives. Such tests run one at a time."""
    return pytest.mark.xdist_group(__name__)(needs_mounts(test))


FILESYSTEMS = [
    "ext4",
    pytest.param("xfs", marks=needs("xfs_repair")),
    pytest.param("btrfs", marks=needs("btrfs")),
]


def has_postgres() -> bool:
    try:
        cluster.programs(*postgres.PROGRAMS)
    except PostgresError:
        return False
    return True


@pytest.fixture(autouse=True)
def scratch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for campaigns, with a path that is short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="fgc-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # PostgreSQL's user enters it.
        monkeypatch.setenv("FLASHGC_STATE", f"{folder}/state")
        work = Path(folder) / "work"
        work.mkdir(0o755)
        monkeypatch.setenv("TMPDIR", str(work))
        yield work
        assert leftovers(Path(folder)) == []


def leftovers(folder: Path) -> list[str]:
    """Mounts and loop devices below a folder; those of other campaigns do not count."""
    loops = subprocess.run(("losetup", "-l", "-n", "-O", "NAME,BACK-FILE"), capture_output=True)
    lines = [
        *Path("/proc/self/mounts").read_text().splitlines(),
        *loops.stdout.decode().split("\n"),
    ]
    return [line for line in lines if f"{folder}/" in line]


def run(command: Command, *arguments: object, code: int = 0) -> list[dict[str, Any]]:
    done = command("device", "crash-test", "--json", *arguments)
    assert (done.returncode, done.stderr) == (code, ""), done.stdout + done.stderr
    levels: list[dict[str, Any]] = json.loads(done.stdout)["levels"]
    return levels


def test_the_levels_in_memory_keep_every_promise(command: Command) -> None:
    levels = ("--level", "images,fuzz", "--images", 500, "--operations", 2000)
    images, fuzz = run(command, *levels)
    assert images["counts"]["images"] >= 500
    assert fuzz["counts"]["operations"] >= 2000
    assert fuzz["counts"]["crashes"] > 8
    assert (images["broken"], fuzz["broken"]) == (None, None)


def test_a_broken_promise_comes_with_its_seed_and_script(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = {"seed": 5, "what": "page 3 is lost", "script": ["drive: 20 blocks", "write 3"]}
    document = {"counts": {"media_errors": 7}, "broken": broken}
    monkeypatch.setattr(_core, "device_fuzz", lambda *_: json.dumps(document))
    assert crash_test.main(["--level", "fuzz", "--quiet"], standalone_mode=False) == 1
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("fuzz: a promise is broken in ")
    expected = ["  media errors: 7", "  seed 5: page 3 is lost", "    drive: 20 blocks"]
    assert lines == [*expected, "    write 3"]


def test_what_was_typed_wrong_is_named(command: Command) -> None:
    for arguments, said in (
        (("--level", "file"), "--level: found 'file'; hint: did you mean 'files'?"),
        (("--fs", "zfs"), "--fs: found 'zfs'"),
    ):
        done = command("device", "crash-test", *arguments)
        assert done.returncode == 2
        assert said in done.stderr


def test_a_folder_whose_name_is_too_long_for_sockets_is_refused(
    command: Command, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = scratch / ("x" * 80)
    deep.mkdir()
    monkeypatch.setenv("TMPDIR", str(deep))
    done = command("device", "crash-test", "--level", "kill", "--kills", "1")
    assert (done.returncode, "too long for sockets" in done.stderr) == (2, True)
    assert list(deep.iterdir()) == []


@in_mounts
@pytest.mark.parametrize(
    ("level", "begun"),
    [("kill", "nbd.sock"), ("files", "mount/work/file*"), ("files", "base.flash")],
)
def test_ctrl_c_keeps_what_was_done(scratch: Path, level: str, begun: str) -> None:
    campaign = subprocess.Popen(
        [*COMMAND, "device", "crash-test", "--json", "--level", level, "--kills", "999", "--cuts",
         "100"],
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not list(scratch.glob(f"flashgc-crash-test-*/{begun}")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    # As Ctrl-C on a terminal, the signal goes to every process of the group.
    os.killpg(campaign.pid, signal.SIGINT)
    out, _ = campaign.communicate(timeout=60)
    [found] = json.loads(out)["levels"]
    assert (campaign.returncode, found["stopped"], found["broken"]) == (130, True, None)
    assert leftovers(scratch) == []
    assert list(scratch.iterdir()) == []


def test_servers_that_are_killed_lose_nothing(command: Command, scratch: Path) -> None:
    [level] = run(command, "--level", "kill", "--kills", 5)
    assert level["counts"]["kills"] == 5
    assert level["counts"]["under_power"] == 1
    assert (level["counts"]["below_nbd"], level["counts"]["below_nvme_tcp"]) == (4, 1)
    assert level["counts"]["flushes_answered"] > 5
    assert list(scratch.iterdir()) == []


def test_a_page_that_is_lost_torn_older_or_another_is_seen(scratch: Path) -> None:
    known = kills.Known(answered=(5, False), sent=[(6, False), (7, True)])
    assert known.judge(3, kills.stamped(3, 6)) == (6, False)
    assert known.judge(3, bytes(4096)) == (7, True)
    torn = kills.stamped(3, 6)[:512] + kills.stamped(3, 5)[512:]
    for data, said in (
        (kills.stamped(3, 4), "holds generation 4, expected 5"),
        (kills.stamped(4, 6), "generation 6 of page 4"),
        (torn, "torn"),
        (b"x" * 4096, "torn"),
    ):
        with pytest.raises(BrokenPromiseError, match=said):
            known.judge(3, data)
    with pytest.raises(BrokenPromiseError, match="is lost"):
        kills.Known(answered=(5, False)).judge(3, bytes(4096))

    with Device.create(scratch / "drive.flash", blocks=64, pages_per_block=32) as drive:
        drive.serve_nbd(f"unix:{scratch}/nbd")
        client = nbd.Client(scratch / "nbd")
        pages = [kills.Known() for _ in range(client.size // 4096)]
        writer = kills.Writer(client, pages, random.Random(1))
        generation = 0
        while writer.flushes < 5:
            generation = writer.write(generation)
        writer.look()
        page = next(at for at, known in enumerate(pages) if not known.answered[1])
        drive.trim(page * 4096, 4096)
        with pytest.raises(BrokenPromiseError, match=f"page {page} is empty"):
            writer.look()
        client.close()


@in_mounts
@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_a_file_system_keeps_what_was_synced(
    command: Command, filesystem: str, scratch: Path
) -> None:
    [level] = run(command, "--level", "files", "--fs", filesystem, "--cuts", 4)
    counts = level["counts"]
    assert counts[f"cuts_of_{filesystem}"] == 4
    assert counts["files_compared"] > 4
    assert counts["commands_done_behind_a_flush"] + counts["commands_dropped"] > 4
    assert leftovers(scratch) == []
    assert list(scratch.iterdir()) == []


@in_mounts
def test_a_flush_that_is_forgotten_is_seen(scratch: Path) -> None:
    pace = Pace(lambda *_: None, _core.Control())
    log, history, begin = cuts.record(scratch, "ext4", 30, pace, random.Random(7))
    with Log(log) as read:
        ends = [end for end in read.flushes() if end > begin]
    base = scratch / "base.flash"
    cuts.create(base, "ext4")
    replay = _core.DeviceReplay(log, base)
    here = ends[len(ends) // 2]
    replay.advance(here)
    del replay
    with (
        logged.served(scratch, base, scratch / "fuse") as disk,
        mounts.mounted_on(disk, scratch / "mount", "ext4", fresh=False),
    ):
        work = scratch / "mount" / cuts.WORK
        assert cuts.judge(work, history, here, here) > 0
        with pytest.raises(BrokenPromiseError, match="expected what was synced"):
            cuts.judge(work, history, ends[-1], ends[-1])
    assert leftovers(scratch) == []


def test_a_change_that_is_under_way_may_be_there_or_not() -> None:
    def may(kind: str, before: bytes | None, after: bytes | None, found: bytes | None) -> bool:
        return cuts.Change(0, 9, kind, before, after).may_be(found)

    assert may("replace", b"old", b"new", b"old")
    assert may("replace", b"old", b"new", b"new")
    assert not may("replace", b"old", b"new", b"ne")
    assert not may("replace", b"old", b"new", None)
    assert may("gone", b"old", None, None)
    assert may("append", b"old", b"old and new", b"old an")
    assert not may("append", b"old", b"old and new", b"ol")
    assert may("truncate", b"long", b"lo", b"lon")
    assert not may("truncate", b"long", b"lo", b"l")
    assert may("overwrite", b"aaaa", b"abba", b"abaa")
    assert not may("overwrite", b"aaaa", b"abba", b"aba")


@in_mounts
def test_small_databases_keep_their_commits(command: Command, scratch: Path) -> None:
    [level] = run(command, "--level", "databases", "--seconds", 1.5)
    counts = level["counts"]
    assert counts["rows_compared"] > 20
    for kind in databases.kinds():
        assert counts[f"kills_below_{kind}"] >= 1
        assert counts[f"commits_of_{kind}"] >= 1
    if importlib.util.find_spec("lmdb") is None:
        assert counts["lmdb"] == "not installed"
    assert leftovers(scratch) == []
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("kind", databases.kinds())
def test_a_commit_that_is_lost_is_seen(scratch: Path, kind: str) -> None:
    path = scratch / "database"
    database = databases.opened(kind, path)
    for number in range(1, 20):
        database.commit(number)
    database.close()
    level = Level("databases")
    assert databases._compare(kind, path, 19, level) == 19
    with pytest.raises(BrokenPromiseError, match="the last transaction is 19, committed was 20"):
        databases._compare(kind, path, 20, level)
    database = databases.opened(kind, path)
    database.commit(21)
    database.close()
    with pytest.raises(BrokenPromiseError, match=r"transaction 20 has rows \[\]"):
        databases._compare(kind, path, 21, level)


@in_mounts
@pytest.mark.skipif(not has_postgres(), reason="PostgreSQL is not installed")
def test_postgres_keeps_its_commits(command: Command, scratch: Path) -> None:
    [level] = run(command, "--level", "postgres", "--seconds", 3)
    counts = level["counts"]
    assert (counts["kills"], counts["amchecks"]) == (1, 1)
    assert counts["acknowledged_commits_found"] > 10
    assert leftovers(scratch) == []
    assert list(scratch.iterdir()) == []


@in_mounts
@pytest.mark.skipif(not has_postgres() or hints.lacks() is not None, reason="it cannot be followed")
def test_followers_database_and_drive_are_killed(command: Command, scratch: Path) -> None:
    [level] = run(command, "--level", "hints", "--seconds", 5)
    counts = level["counts"]
    assert (counts["amchecks"], counts["conditions_checked"]) == (1, 4)
    assert counts["pages_of_lies"] > 1000
    assert counts["acknowledged_commits_found"] > 10
    assert counts["pages_hinted_by_postgres"] > 100
    assert leftovers(scratch) == []
    assert list(scratch.iterdir()) == []


@in_mounts
def test_what_a_killed_campaign_leaves_is_undone_by_the_next(
    command: Command, scratch: Path
) -> None:
    campaign = subprocess.Popen(
        [*COMMAND, "device", "crash-test", "--level", "files", "--cuts", "250"], env=environment()
    )
    deadline = time.monotonic() + 60
    while not list(scratch.glob("flashgc-crash-test-*/mount/work/file*")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    campaign.kill()
    campaign.wait()
    assert leftovers(scratch)
    run(command, "--level", "kill", "--kills", 0)
    assert leftovers(scratch) == []
    assert list(scratch.iterdir()) == []
