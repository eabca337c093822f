"""Faults of the drive and the server: no fault crashes a follower or leaves a stale hint."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.conftest import COMMAND, environment
from tests.hints.stand import MARKS, Stand, standing

from flashgc.device import mounts, processes, up
from flashgc.device.control import Client
from flashgc.device.hints import postgres
from flashgc.device.hints.postgres import DIRTY, Hints
from flashgc.device.postgres.cluster import USER

pytestmark = MARKS

#: The most zombies of an idle server, whose own bookkeeping dirties pages.
FEW = 24


@pytest.fixture(scope="module")
def stand() -> Iterator[Stand]:
    with standing() as stand:
        # Without autovacuum, only tests make pages dirty.
        stand.cluster.ask("ALTER SYSTEM SET autovacuum = off; SELECT pg_reload_conf()")
        yield stand


@contextlib.contextmanager
def following(stand: Stand, dsn: str | None = None) -> Iterator[Hints]:
    """A follower in a thread; it is an error if it ends before the test."""
    hints, ended = Hints(dsn or stand.dsn, stand.file), threading.Event()
    failed: list[BaseException] = []

    def follow() -> None:
        try:
            for _ in hints.follow(ended.is_set, 0):
                pass
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        until(lambda: hints._has_begun or bool(failed))
        yield hints
    finally:
        ended.set()
        thread.join()
        # Checked even if the test has failed, because an error here may be the cause.
        assert failed == []


@contextlib.contextmanager
def command(stand: Stand) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """The command, with its output in a file; it must exit with 0 when it is interrupted."""
    out = stand.folder / "follower.out"
    with open(out, "wb") as file:
        follower = subprocess.Popen(
            [*COMMAND, "hints", "postgres", "--dsn", stand.dsn, "--device", str(stand.file),
             "--every", "0.2", "--json"],
            env=environment(), stdout=file, stderr=subprocess.PIPE,
        )  # fmt: skip
    try:
        until(lambda: out.stat().st_size > 0 or follower.poll() is not None)
        yield follower, out
        follower.terminate()
        _, errors = follower.communicate(timeout=60)
        assert (follower.returncode, b"Traceback" in errors) == (0, False), errors
    finally:
        follower.kill()
        follower.communicate()


def until(
    holds: Callable[[], bool], seconds: float = 60, found: Callable[[], object] = lambda: None
) -> None:
    """Waits until ``holds`` is true; after ``seconds``, fails with the value of ``found``."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"it did not come to that in time: {found()}"
        time.sleep(0.05)


def last(out: Path) -> dict[str, dict[str, int]]:
    lines = out.read_text().split("\n")[:-1]
    said: dict[str, dict[str, int]] = json.loads(lines[-1])
    return said


def zombies(stand: Stand) -> int:
    with Client(stand.file) as client:
        _, hinted = client.hinted([(0, client.stat()["capacity_bytes"])])
    return hinted


def settle(stand: Stand) -> None:
    """Writes all dirty pages to the drive, and waits until the drive has few zombies."""
    stand.cluster.ask("CHECKPOINT; CHECKPOINT")
    subprocess.run(["sync", "-f", str(stand.mount)], check=True)
    until(lambda: zombies(stand) <= FEW)


def fill(
    stand: Stand,
    table: str,
    rows: int = 20_000,
    where: str = "",
    written: Callable[[], object] = lambda: None,
) -> None:
    """Writes a table to the drive, and makes its blocks dirty again, so that they become zombies.

    ``written`` is called between these two steps, so that a standby may write its copy, too.
    """
    stand.cluster.ask(
        f"DROP TABLE IF EXISTS {table};"
        f"CREATE TABLE {table} (n INT, words TEXT) {where};"
        f"INSERT INTO {table} SELECT i, repeat('w', 90) FROM generate_series(1, {rows}) AS i;"
        f"CHECKPOINT"
    )
    written()
    subprocess.run(["sync", "-f", str(stand.mount)], check=True)
    dirty(stand, table)


def catch_up(stand: Stand, standby: str) -> None:
    """Waits until the standby has replayed the server's log, and has written its pages."""
    end = stand.cluster.ask("SELECT pg_current_wal_lsn()")
    with postgres.load().connect(standby, autocommit=True) as asked:
        query = f"SELECT pg_last_wal_replay_lsn() >= '{end}'::pg_lsn"
        until(lambda: bool(asked.execute(query).fetchone()[0]))
        asked.execute("CHECKPOINT")


def dirty(stand: Stand, table: str) -> None:
    stand.cluster.ask(f"UPDATE {table} SET n = n + 1 WHERE n % 20 = 0")


def is_followed(stand: Stand, table: str = "again") -> None:
    """Asserts that a dirty table makes zombies, and that its removal clears them."""
    fill(stand, table)
    until(lambda: zombies(stand) > 200)
    stand.cluster.ask(f"DROP TABLE {table}")
    settle(stand)


def test_what_is_dropped_truncated_or_rewritten_leaves_no_hint(stand: Stand) -> None:
    ask = stand.cluster.ask
    ask("CREATE DATABASE gone STRATEGY wal_log")
    with following(stand) as hints:
        for table, undone in (
            ("dropped", "DROP TABLE dropped"),
            ("truncated", "TRUNCATE truncated"),
            ("rewritten", "VACUUM FULL rewritten"),
            ("gone", "DROP DATABASE gone WITH (FORCE)"),
        ):
            if table == "gone":
                stand.cluster.run("pgbench", *stand.cluster.address, "-i", "-q", "gone")
                ask("CHECKPOINT")
                words = ("-n", "-t", "300", "-c", "2", "gone")
                stand.cluster.run("pgbench", *stand.cluster.address, *words)
            else:
                fill(stand, table)
            until(lambda: zombies(stand) > 200)
            ask(undone)
            settle(stand)
        assert hints.restarts == 0


def test_two_followers_say_the_same(stand: Stand) -> None:
    with following(stand) as one, following(stand) as other:
        is_followed(stand)
        assert (one.restarts, other.restarts) == (0, 0)
        # Both followers hinted all pages.
        assert min(hints.link.sent.pages for hints in (one, other)) > 200


def test_a_tablespace_counts_where_it_lies(stand: Stand) -> None:
    outside = Path(tempfile.mkdtemp(prefix="flashgc-outside-"))
    inside = stand.mount / "inside"
    inside.mkdir()
    try:
        for folder in (outside, inside):
            shutil.chown(folder, USER, USER)
            stand.cluster.ask(f"CREATE TABLESPACE {folder.name.replace('-', '_')} "
                              f"LOCATION '{folder}'")  # fmt: skip
        away = outside.name.replace("-", "_")
        with following(stand) as hints:
            settle(stand)
            before = hints.counts()
            fill(stand, "away", where=f"TABLESPACE {away}")
            until(lambda: hints.counts()["blocks_elsewhere"] > before["blocks_elsewhere"] + 200)
            assert zombies(stand) <= FEW
            fill(stand, "near", where="TABLESPACE inside")
            until(lambda: zombies(stand) > 200)
            dirty(stand, "away")
        hints = Hints(stand.dsn, stand.file)
        with postgres.load().connect(stand.dsn, autocommit=True) as asked, hints.link:
            space = "(SELECT oid FROM pg_tablespace WHERE spcname = '{}')"
            for name, is_there in (("inside", True), (away, False)):
                blocks = asked.execute(
                    f"{DIRTY} AND reltablespace = {space.format(name)}"
                ).fetchall()
                assert len(blocks) > 100
                found = [bool(runs) for runs, _ in hints._follower.knows(blocks)]
                # A few pages are new, and get their place only when they are written.
                assert sum(found) > len(found) / 2 if is_there else not any(found)
    finally:
        stand.cluster.ask(
            f"DROP TABLE IF EXISTS away, near; DROP TABLESPACE {outside.name.replace('-', '_')};"
            "DROP TABLESPACE inside"
        )
        shutil.rmtree(outside)


def test_a_follower_that_stood_still_goes_on_behind_log_that_is_gone(stand: Stand) -> None:
    ask = stand.cluster.ask
    with command(stand) as (follower, out):
        is_followed(stand)
        before = last(out)
        follower.send_signal(signal.SIGSTOP)
        oldest = "SELECT min(name) FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'"
        first = ask(oldest)
        try:
            for _ in range(5):  # More than max_wal_size.
                ask("SELECT count(pg_logical_emit_message(false, 'long', repeat('m', 1000000))) "
                    "FROM generate_series(1, 32)")  # fmt: skip
                ask("CHECKPOINT; SELECT pg_switch_wal()")
            assert ask(oldest) > first
        finally:
            follower.send_signal(signal.SIGCONT)
        until(lambda: last(out)["restarts"] > before["restarts"])
        is_followed(stand)
        # The command's output lags by a fifth of a second, or more on a busy machine.
        hinted = before["drive"]["pages_hinted"] + 200
        until(lambda: last(out)["drive"]["pages_hinted"] > hinted)


def test_a_follower_that_stood_still_knows_what_became_dirty_last(stand: Stand) -> None:
    """The follower reads the checkpoint and the later changes at once, and hints those pages."""
    ask = stand.cluster.ask
    # The unread log must fit into the socket's buffer, or the server would send the rest later.
    ask("ALTER SYSTEM SET full_page_writes = off; SELECT pg_reload_conf()")
    with command(stand) as (follower, _):
        fill(stand, "again")
        until(lambda: zombies(stand) > 200)
        follower.send_signal(signal.SIGSTOP)
        try:
            ask("CHECKPOINT")
            subprocess.run(["sync", "-f", str(stand.mount)], check=True)
            until(lambda: zombies(stand) <= FEW)
            ask("UPDATE again SET n = -n WHERE n % 60 = 7")
            time.sleep(postgres.HELD_UP)
        finally:
            follower.send_signal(signal.SIGCONT)
        until(lambda: zombies(stand) > 200, seconds=20)
        ask("DROP TABLE again")
        settle(stand)
    ask("ALTER SYSTEM RESET full_page_writes; SELECT pg_reload_conf()")


def test_a_server_that_comes_back_with_another_log_is_followed_when_it_can_be(
    stand: Stand,
) -> None:
    cluster = stand.cluster
    before = dict(cluster.options)
    with following(stand) as hints:
        cluster.stop()
        cluster.options |= {"wal_level": "minimal", "max_wal_senders": 0}
        cluster.start()
        until(lambda: "max_wal_senders" in str(hints.trouble))
        fill(stand, "unseen")
        cluster.stop()
        cluster.options = before
        cluster.start()
        restarts = hints.restarts
        is_followed(stand)
        assert hints.restarts <= restarts + 1
    cluster.ask("DROP TABLE unseen")


def test_a_standby_is_followed_and_also_when_it_is_promoted(stand: Stand) -> None:
    cluster, data = stand.cluster, stand.mount / "postgres" / "standby"
    socket = data.parent / "socket"
    for folder in (data, socket):
        folder.mkdir(mode=0o700)
        shutil.chown(folder, USER, USER)
    cluster.run("pg_basebackup", *cluster.address, "-D", data, "-R", "-c", "fast")
    options = f"-k {socket} -p 5433 -h '' " + " ".join(
        f"-c {name}={value}" for name, value in cluster.options.items()
    )
    control = ("-D", data, "-w", "-s")
    start = cluster.command("pg_ctl", *control, "-o", options, "-l", socket / "log", "start")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(start, cwd=stand.folder, check=True, **quiet)
    try:
        dsn = f"host={socket} port=5433 user={USER} dbname={USER}"
        with following(stand, dsn) as hints:
            fill(stand, "streamed", written=lambda: catch_up(stand, dsn))
            until(
                lambda: hints.link.sent.pages > 200, found=lambda: (hints.counts(), hints.trouble)
            )
            before = hints.counts()
            cluster.run("pg_ctl", *control, "promote")
            until(lambda: hints.restarts > 0 and not hints._is_away)
            with postgres.load().connect(dsn, autocommit=True) as asked:
                asked.execute("CHECKPOINT")
                asked.execute("UPDATE streamed SET n = n + 1 WHERE n % 20 = 0")
            until(lambda: hints.counts()["records"] > before["records"] + 500)
            until(lambda: hints.link.sent.pages > before["drive"]["pages_hinted"] + 200)
    finally:
        cluster.run("pg_ctl", *control, "-m", "immediate", "stop")
        shutil.rmtree(data)
        cluster.ask("DROP TABLE IF EXISTS streamed")


def test_a_drive_that_comes_back_as_another_device_is_followed(
    stand: Stand, tmp_path: Path
) -> None:
    with following(stand) as hints:
        before = up.read(stand.file)
        assert before is not None
        processes.end([before.server, *stand.cluster.processes()])
        up.down(stand.file, force=True)
        # Another file gets the loop device that the drive had.
        other = tmp_path / "other"
        other.write_bytes(bytes(1 << 20))
        taken = []
        try:
            while before.device not in taken:
                taken.append(mounts.run("losetup", "--find", "--show", str(other)))
            stand.up()
            now = up.read(stand.file)
            assert now is not None
            assert now.device != before.device
            stand.cluster.start()
            is_followed(stand)
        finally:
            for device in taken:
                mounts.run("losetup", "--detach", device)
        assert hints.restarts >= 1


def test_a_full_disk_below_the_drive_ends_no_follower() -> None:
    folder = Path(tempfile.mkdtemp(prefix="flashgc-full-"))
    folder.chmod(0o755)
    mounts.run("mount", "-t", "tmpfs", "-o", "size=1g,mode=755", "tmpfs", str(folder))
    try:
        with standing(folder=folder / "stand") as stand:
            cluster = stand.cluster
            cluster.ask("CREATE EXTENSION amcheck")
            cluster.run("pgbench", *cluster.address, "-i", "-q", "-s", "2")
            cluster.ask("CHECKPOINT")
            with command(stand) as (follower, out):
                bench = stand.bench("-c", "2", "-T", "1000")
                until(lambda: last(out)["drive"]["pages_hinted"] > 500)
                room = os.statvfs(folder)
                used = (room.f_blocks - room.f_bfree) * room.f_frsize
                mounts.run("mount", "-o", f"remount,size={used + (8 << 20)}", str(folder))
                until(lambda: _read_only(stand) is not None, 30)
                assert "No space left" in str(_read_only(stand))
                # The exit code of the benchmark does not matter.
                bench.wait(30)
                time.sleep(1)
                assert follower.poll() is None
                mounts.run("mount", "-o", "remount,size=1g", str(folder))
                processes.end(_of(stand))
                up.down(stand.file, force=True)
                stand.up()
                cluster.start()
                before = last(out)["drive"]["pages_hinted"]
                is_followed(stand)
                until(lambda: last(out)["drive"]["pages_hinted"] > before + 200)
                cluster.run("pg_amcheck", *cluster.address, "-d", USER, "--heapallindexed")
    finally:
        mounts.unmount(folder, force=True)
        folder.rmdir()


def _read_only(stand: Stand) -> str | None:
    with Client(stand.file) as client:
        why: str | None = client.stat()["read_only"]
    return why


def _of(stand: Stand) -> list[int]:
    """The processes of the server; empty if it is not running."""
    with contextlib.suppress(OSError, ValueError):
        return stand.cluster.processes()
    return []
