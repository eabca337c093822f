"""The follower of a PostgreSQL server whose data are on a drive."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.conftest import COMMAND, environment
from tests.hints.stand import MARKS, Stand, standing

from flashgc import Device
from flashgc.device import up
from flashgc.device.control import PAGE, Client
from flashgc.device.hints import postgres
from flashgc.device.hints.postgres import DIRTY, Hints, Sample

pytestmark = MARKS


@pytest.fixture(params=["ext4"])
def stand(request: pytest.FixtureRequest) -> Iterator[Stand]:
    with standing(request.param) as stand:
        yield stand


def followed(hints: Hints, seconds: float, every: float = 1.0) -> list[Sample]:
    end = time.monotonic() + seconds
    return list(hints.follow(lambda: time.monotonic() >= end, every))


#: Relations of all kinds: tables, TOAST tables, six kinds of index, sequences.
KINDS = """
CREATE TABLE t (id BIGSERIAL PRIMARY KEY, number INT, words TSVECTOR, wide TEXT, point POINT);
ALTER TABLE t ALTER wide SET STORAGE EXTERNAL;
ALTER TABLE t SET (autovacuum_enabled = off, toast.autovacuum_enabled = off);
CREATE INDEX ON t USING hash (number);
CREATE INDEX ON t USING gin (words);
CREATE INDEX ON t USING gist (point);
CREATE INDEX ON t USING spgist (point);
CREATE INDEX ON t USING brin (number);
"""

#: Rows that each round adds. About as many blocks are compared.
ROWS = int(os.environ.get("FLASHGC_ROWS", "500"))

GROW = """
INSERT INTO t (number, words, wide, point)
  SELECT i, to_tsvector('simple', 'w' || i || ' v' || i % 97),
  repeat(md5(i::text), 80), point(random(), random()) FROM generate_series(1, :rows) AS i;
UPDATE t SET number = number + 1 WHERE id % 3 = 0;
DELETE FROM t WHERE id % 11 = 0;
VACUUM t;
"""


def _lasting(page: bytes, fork: str) -> bytes:
    """A block without the fields that may differ between memory and disk.

    The checksum is computed when the block is written. The next slot of a free space map changes
    without making the block dirty.
    """
    page = page[:8] + bytes(2) + page[10:]
    return page[:24] + bytes(4) + page[28:] if fork == "fsm" else page


@pytest.mark.parametrize("stand", ["ext4", "xfs"], indirect=True)
def test_a_dirty_block_lies_where_the_follower_says(stand: Stand) -> None:
    """Blocks on the device are equal to the server's while tables grow and are vacuumed."""
    stand.cluster.ask("CREATE EXTENSION pageinspect")
    stand.cluster.ask(KINDS + GROW + "CHECKPOINT", rows=6 * ROWS)
    hints = Hints(stand.dsn, stand.file)
    places: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    ended = threading.Event()

    def grow() -> None:
        for _ in range(4):
            stand.cluster.ask(GROW, rows=ROWS)
        ended.set()

    thread = threading.Thread(target=grow)
    thread.start()
    with postgres.load().connect(stand.dsn, autocommit=True) as asked:
        for _ in hints.follow(ended.is_set, 0.2):
            blocks = asked.execute(DIRTY).fetchall()
            told = hints._follower.knows(blocks)
            places |= {block: runs for block, (runs, _) in zip(blocks, told, strict=True) if runs}
        thread.join()
        asked.execute("CHECKPOINT")
        subprocess.run(["sync", "-f", str(stand.mount)], check=True)
        names = {
            (row[0], row[1]): row[2]
            for row in asked.execute(
                "SELECT CASE reltablespace WHEN 0 THEN 1663 ELSE reltablespace END::int8, "
                "pg_relation_filenode(oid)::int8, relname || '/' || oid::text FROM pg_class "
                "WHERE oid >= 16384 AND pg_relation_filenode(oid) > 0"
            )
        }
        found: dict[str, int] = defaultdict(int)
        for (space, _, number, fork, block), runs in places.items():
            name = names.get((space, number))
            if name is None:
                continue
            relation = name.split("/")[1]
            kind = ("main", "fsm", "vm", "init")[fork]
            size = asked.execute(f"SELECT pg_relation_size({relation}, '{kind}') / 8192").fetchone()
            if size is None or block >= size[0]:
                continue
            page = asked.execute(
                f"SELECT get_raw_page({relation}::regclass::text, '{kind}', {block})"
            ).fetchone()
            assert page is not None
            raw = b"".join(stand.disk(first * PAGE, count * PAGE) for first, count in runs)
            assert _lasting(raw, kind) == _lasting(page[0], kind), (name, kind, block, runs)
            found[name.split("/")[0] if kind == "main" else kind] += 1
    assert sum(found.values()) > ROWS / 2, dict(found)
    for name in (
        "t",
        "t_pkey",
        "t_number_idx",
        "t_words_idx",
        "t_point_idx",
        "t_point_idx1",
        "fsm",
    ):
        assert found[name] > 0, dict(found)
    assert any(name.startswith("pg_toast") for name in found), dict(found)


def test_the_drive_knows_what_is_dirty_and_forgets_what_is_written(stand: Stand) -> None:
    stand.cluster.run("pgbench", *stand.cluster.address, "-i", "-q", "-s", "4")
    stand.cluster.ask("CHECKPOINT")
    bench = stand.bench("-c", "4", "-T", "6")
    samples = followed(Hints(stand.dsn, stand.file), 5)
    bench.wait()
    assert len([sample for sample in samples if sample.share is not None]) >= 4
    # Samples are summed, because the follower may lag behind the server's buffers at one moment.
    dirty = sum(sample.dirty for sample in samples)
    assert sum(sample.known for sample in samples) > 0.85 * dirty, samples
    # Pages that are no longer dirty are no longer hinted.
    hints = Hints(stand.dsn, stand.file)
    before = followed(hints, 1, 0)[-1]
    assert before.zombies > 500
    stand.cluster.ask("CHECKPOINT")
    subprocess.run(["sync", "-f", str(stand.mount)], check=True)
    after = followed(hints := Hints(stand.dsn, stand.file), 1, 0)[-1]
    assert after.zombies < before.zombies / 10
    assert hints.counts()["drive"]["pages_lost"] == 0


def test_it_goes_on_when_drive_and_server_come_back(stand: Stand) -> None:
    """Drive and server are killed under load; later hints of the follower change no data."""
    stand.cluster.run("pgbench", *stand.cluster.address, "-i", "-q", "-s", "2")
    stand.cluster.ask("CREATE EXTENSION amcheck")
    follower = subprocess.Popen(
        [*COMMAND, "hints", "postgres", "--dsn", stand.dsn, "--device", str(stand.file),
         "--every", "0.5", "--json"],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert follower.stdout is not None
        assert follower.stdout.readline().startswith("{")
        bench = stand.bench("-c", "2", "-T", "1000")
        time.sleep(2)
        # Kill the server alone.
        stand.cluster.kill()
        bench.wait()
        stand.cluster.start()
        bench = stand.bench("-c", "2", "-T", "1000")
        time.sleep(2)
        # Kill the drive and the server.
        done = up.read(stand.file)
        assert done is not None
        os.kill(done.server, signal.SIGKILL)
        stand.cluster.kill()
        bench.wait()
        stand.up()
        stand.cluster.start()
        bench = stand.bench("-c", "2", "-T", "2")
        bench.wait()
        stand.cluster.run(
            "pg_amcheck", *stand.cluster.address, "-d", "postgres", "--heapallindexed"
        )
        time.sleep(1)
        follower.send_signal(signal.SIGTERM)
        out, errors = follower.communicate(timeout=60)
    finally:
        follower.kill()
        follower.wait()
    assert follower.returncode == 0, errors
    last = json.loads(out.splitlines()[-1])
    assert last["restarts"] >= 2
    assert last["drive"]["reconnections"] >= 1
    assert last["drive"]["pages_hinted"] > 0
    assert "nothing is followed until the server is back" in errors
    assert "Traceback" not in errors


def test_a_follower_that_lies_changes_no_data(stand: Stand) -> None:
    stand.cluster.run("pgbench", *stand.cluster.address, "-i", "-q", "-s", "2")
    stand.cluster.ask("CREATE EXTENSION amcheck")
    bench = stand.bench("-c", "2", "-T", "3")
    draw = random.Random(5)
    with Client(stand.file) as client:
        size = client.stat()["capacity_bytes"] // PAGE
        while bench.poll() is None:
            ranges = [(draw.randrange(size - 64) * PAGE, 64 * PAGE) for _ in range(200)]
            client.hint(ranges, draw.choice((None, 0, client.moment())))
            client.cancel(ranges[::3])
    stand.cluster.run("pg_amcheck", *stand.cluster.address, "-d", "postgres", "--heapallindexed")
    stand.cluster.stop()
    stand.cluster.run("pg_checksums", "--check", "-D", stand.cluster.data)


def test_what_cannot_be_followed_is_refused_in_one_line(
    stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(act: Callable[[], object], said: str) -> None:
        with pytest.raises(Exception, match=said) as raised:
            act()
        assert "\n" not in str(raised.value).strip()

    other = tmp_path / "other.flash"
    Device.create(other, capacity="64MiB").close()
    refused(lambda: Hints(stand.dsn, other), "is not up as a file system; hint: flashgc device up")
    monkeypatch.setattr(postgres, "VERSIONS", range(9, 11))
    refused(lambda: Hints(stand.dsn, stand.file), r"the server is PostgreSQL \d+, expected 9 to 10")
    monkeypatch.undo()
    stand.cluster.stop()
    stand.cluster.options["wal_level"] = "minimal"
    stand.cluster.options["max_wal_senders"] = 0
    stand.cluster.start()
    refused(lambda: Hints(stand.dsn, stand.file), "wal_level is minimal, expected replica; hint:")
    done = subprocess.run(
        [*COMMAND, "hints", "postgres", "--dsn", "host=/nowhere", "--device", str(stand.file)],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    assert "/nowhere" in done.stderr
