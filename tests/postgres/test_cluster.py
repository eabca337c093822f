"""A scratch cluster: it starts, is killed, recovers, and ends with its owner process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.conftest import environment
from tests.postgres.conftest import QUICK, needs_postgres

from flashgc.device.postgres import PostgresError
from flashgc.device.postgres.clients import Database
from flashgc.device.postgres.cluster import USER, Cluster, programs
from flashgc.device.processes import began
from flashgc.device.scratch import scratch

pytestmark = needs_postgres()


def test_what_was_committed_is_there_after_a_kill(cluster: Cluster) -> None:
    cluster.ask("CREATE TABLE kept (n int); INSERT INTO kept VALUES (1), (2)")
    killed = cluster.processes()
    assert len(killed) > 3  # The server has children of its own.
    cluster.kill()
    assert not any(Path(f"/proc/{pid}").exists() for pid in killed)
    with pytest.raises(PostgresError, match="hint: start the server"):
        cluster.ask("SELECT 1")
    cluster.options["shared_buffers"] = "16MB"
    cluster.start()
    assert cluster.ask("SELECT sum(n), count(*) FROM kept") == "3|2"
    assert cluster.ask("SHOW shared_buffers") == "16MB"
    assert cluster.ask("SHOW data_checksums") == "on"
    assert cluster.run("pg_ctl", "-D", cluster.data, "status").startswith("pg_ctl: server is run")


def test_a_stopped_server_is_clean_and_starts_again(cluster: Cluster) -> None:
    cluster.stop()
    said = cluster.run("pg_controldata", "-D", cluster.data)
    assert "shut down" in next(line for line in said.splitlines() if "cluster state" in line)
    cluster.end()  # No server runs, so this has no effect.
    cluster.start()
    assert cluster.ask("SELECT :a + :b", a=1, b=2) == "3"


def test_what_goes_wrong_is_one_line(cluster: Cluster) -> None:
    with pytest.raises(PostgresError, match=r"psql ended with code 3: .*relation \"x\" does not"):
        cluster.ask("SELECT * FROM x")
    with pytest.raises(PostgresError, match=r"found no psql, .*, nonesuch; hint: apt-get install"):
        programs("nonesuch")
    cluster.stop()
    cluster.options["shared_buffers"] = "a lot"
    with pytest.raises(PostgresError, match=r"does not start: .*shared_buffers"):
        cluster.start()
    cluster.options["shared_buffers"] = "16MB"
    cluster.start()
    with pytest.raises(PostgresError, match='database "other" does not exist; hint: '):
        Database(cluster.database.dsn.replace("dbname=postgres", "dbname=other")).ask("SELECT 1")


#: Makes a cluster with a busy client, prints its folder and processes, and waits.
OWNER = f"""
import os, subprocess, sys, time
from flashgc.device.scratch import scratch
from flashgc.device.postgres.cluster import Cluster
with scratch(sys.argv[1]) as folder:
    cluster = Cluster(folder, options={QUICK})
    cluster.start()
    quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    query = "SELECT count(*) FROM (SELECT generate_series(1, 10000000000)) AS x"
    subprocess.Popen(cluster.database.command("psql", "-X", "-c", query, "-d"), **quiet)
    active = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active'"
    while cluster.ask(active) != "2":
        time.sleep(0.02)
    print(os.getpid(), os.geteuid(), folder, *cluster.processes(), flush=True)
    time.sleep(600)
"""


def another_user() -> tuple[str, ...]:
    """Words that run a command as another user than root, if that user can read flashgc."""
    words = ("runuser", "-u", USER, "--")
    if os.geteuid() != 0:
        return ()
    probe = [*words, sys.executable, "-c", "import flashgc"]
    return words if subprocess.run(probe, env=environment()).returncode == 0 else ()


def test_nothing_is_left_of_a_cluster_whose_owner_was_killed() -> None:
    purpose = f"test-{os.getpid()}"
    words = another_user()
    process = subprocess.Popen(
        [*words, sys.executable, "-c", OWNER, purpose],
        env={**environment(), "TMPDIR": "/tmp"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
    )
    assert process.stdout is not None
    said = process.stdout.readline().split()
    assert said, process.communicate()[1]
    owner, user, *pids = (int(word) for word in said if word.isdigit())
    folder = Path(said[2])
    # If the owner is not root, the server runs as the owner's user.
    assert (user == 0) == (os.geteuid() == 0 and not words)
    assert len(pids) > 3
    os.kill(owner, signal.SIGKILL)
    process.communicate()
    assert folder.exists()
    # The process of the last query may have ended since.
    pids = [pid for pid in pids if began(pid)]
    assert len(pids) > 3

    with scratch(purpose):
        # The processes end soon because `scratch` kills them. A server whose files are gone would
        # take a minute.
        until = time.monotonic() + 30
        while any(began(pid) for pid in pids):
            assert time.monotonic() < until
            time.sleep(0.01)
    assert not folder.exists()


def test_the_programs_are_those_of_the_newest_version() -> None:
    folder = programs()
    versions = [one.parent.name for one in Path("/usr/lib/postgresql").glob("*/bin")]
    if not versions:
        assert (folder / "initdb").exists()
    else:
        assert folder.parent.name == max(versions, key=float)
    assert shutil.which("psql", path=str(folder)) is not None
