"""Compares our decoder of PostgreSQL's log with ``pg_waldump`` on the same log."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import pytest

from flashgc._core import FlashgcError, WalDecoder
from hints.cluster import Cluster, Dumped, lsn, missing, place
from hints.workload import work

pytestmark = [
    pytest.mark.skipif(missing() is not None, reason=f"{missing()}"),
    pytest.mark.xdist_group("wal"),
]

#: The resource managers that write records in this cluster.
MANAGERS = (
    *("XLOG", "Transaction", "Storage", "Database", "Tablespace", "RelMap", "Standby", "Heap2"),
    *("Heap", "Btree", "Hash", "Gin", "Gist", "Sequence", "SPGist", "BRIN", "ReplicationOrigin"),
    "LogicalMessage",
)

#: Bytes of a page of the log.
PAGE = 8192

Record = tuple[
    int, int, str | None, int, int, list[tuple[int, int, int, str, int, bool, bool]], Any
]


def decode(cluster: Cluster, start: int, end: int) -> Iterator[Record]:
    """The records of the log from ``start`` to ``end``, in chunks of odd lengths."""
    decoder, draw = WalDecoder(start), random.Random(start)
    for at, data in cluster.log(start, end):
        taken = 0
        while taken < len(data):
            length = draw.choice((1, 7, 100, 5000, 8192, 131072))
            yield from decoder.feed(at + taken, data[taken : taken + length])
            taken += length
    assert decoder.next == end


def compare(cluster: Cluster, start: int, end: int) -> tuple[int, int]:
    """Asserts that decoder and ``pg_waldump`` agree; counts records and block references."""
    version = cluster.ask(
        "SELECT 'PG_' || current_setting('server_version_num')::int / 10000 || '_' || "
        "catalog_version_no FROM pg_control_system()"
    )
    records = references = previous = 0
    for ours, theirs in zip_longest(decode(cluster, start, end), cluster.dump(start, end)):
        assert ours is not None, f"not decoded: {theirs}"
        assert theirs is not None, f"decoded, and not there: {ours}"
        at, after, manager, _, transaction, blocks, said = ours
        assert (at, manager, transaction) == theirs[:3], f"{ours}\n{theirs}"
        assert previous <= at < after
        assert [(*one[:5], one[6]) for one in blocks] == theirs.blocks, f"{ours}\n{theirs}"
        made_anew = theirs.manager in {"Heap", "Heap2"} and "+INIT" in theirs.text
        assert not made_anew or blocks[0][5], f"{ours}\n{theirs}"
        if theirs.manager == "Heap" and "+INIT" not in theirs.text:
            assert not any(one[5] for one in blocks), f"{ours}\n{theirs}"
        assert spelled(said, version) == told(theirs), f"{ours}\n{theirs}"
        previous, records, references = after, records + 1, references + len(blocks)
    return records, references


def spelled(said: Any, version: str) -> str | None:
    """The files in a decoded record, in the format of ``pg_waldump``."""

    def path(relation: tuple[int, int, int], fork: str = "main") -> str:
        return WalDecoder.path(relation, fork, 0, version)

    match said:
        case ("checkpoint", redo, shutdown):
            return f"CHECKPOINT_{'SHUTDOWN' if shutdown else 'ONLINE'} redo {lsn(redo)}"
        case ("switch",):
            return "SWITCH"
        case ("create", relation, fork):
            return f"CREATE {path(relation, fork)}"
        case ("truncate", relation, blocks, *flags):
            number = sum(1 << bit for bit, flag in enumerate(flags) if flag)
            return f"TRUNCATE {path(relation)} to {blocks} blocks flags {number}"
        case ("drop", relations):
            return "rels: " + " ".join(map(path, relations))
        case ("create database", tablespace, database, copied):
            return f"CREATE_{'FILE_COPY' if copied else 'WAL_LOG'} {tablespace}/{database}"
        case ("drop database", database, tablespaces):
            return "DROP dir " + " ".join(f"{one}/{database}" for one in tablespaces)
        case (("create tablespace" | "drop tablespace") as verb, tablespace):
            return f"{verb.split()[0].upper()} {tablespace}"
    assert said is None
    return None


def told(record: Dumped) -> str | None:
    """The files in a line of ``pg_waldump``, without the parts that our decoder leaves out."""
    patterns = {
        "XLOG": r"CHECKPOINT_\w+ redo [0-9A-F/]+|SWITCH",
        "Transaction": r"rels:(?: [\w/]+)+",
        "Storage": r".+",
        "Tablespace": r"\w+ \d+",
        "Database": r"DROP dir .*|(CREATE_\w+) (?:copy|create) dir (?:.* to )?(.*)",
    }
    pattern = patterns.get(record.manager)
    found = re.search(pattern, record.text) if pattern else None
    if found is None:
        return None
    parts = [part for part in found.groups() if part]
    return " ".join(parts) if parts else found[0].strip()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster with segments of 1 MiB that has written records of every kind."""
    made = Cluster(segment=1)
    try:
        work(made, rows=400, transactions=100)
        yield made
    finally:
        made.close()


def test_every_block_reference_is_that_of_pg_waldump(cluster: Cluster) -> None:
    start, end = cluster.files()[0][0], cluster.end()
    records, references = compare(cluster, start, end)
    assert records > 20_000
    assert references > 20_000
    kinds = {theirs.manager for theirs in cluster.dump(start, end)}
    assert kinds >= set(MANAGERS)


def is_unused(cluster: Cluster, at: int) -> bool:
    """Whether the page lies behind the end of a segment that the server left early."""
    [(begin, path)] = [one for one in cluster.files() if 0 <= at - one[0] < cluster.segment]
    with open(path, "rb") as file:
        file.seek(at - begin)
        return file.read(2) == bytes(2)


def test_a_log_begins_at_any_page(cluster: Cluster) -> None:
    first, end = cluster.files()[0][0], cluster.end()
    last = end - 4 * cluster.segment
    places = [record[0] for record in decode(cluster, first, end)]
    draw = random.Random(1)
    for start in (draw.randrange(first, last) for _ in range(30)):
        border = -(-start // PAGE) * PAGE
        if is_unused(cluster, border):
            continue
        expected = [at for at in places if at >= border and at < border + 3 * PAGE]
        found = [record[0] for record in decode(cluster, start, border + 60 * PAGE)]
        assert found[: len(expected)] == expected, lsn(start)


def test_a_torn_record_is_given_up(cluster: Cluster) -> None:
    """A crash leaves an incomplete record, which the server overwrites."""
    start = cluster.end() // PAGE * PAGE
    message = "SELECT pg_logical_emit_message(false, 'torn', repeat('t', 50000))"
    at = place(cluster.ask("SELECT pg_current_wal_insert_lsn()"))
    cluster.ask(message)
    cluster.stop("immediate")
    torn = (at // PAGE + 3) * PAGE
    for begin, path in cluster.files():
        if begin + cluster.segment > torn:
            with open(path, "r+b") as file:
                file.seek(max(0, torn - begin))
                file.write(bytes(cluster.segment - file.tell()))
    cluster.start()
    cluster.ask("CREATE TABLE goes_on AS SELECT generate_series(1, 1000) AS n")
    texts = [theirs.text for theirs in cluster.dump(start, cluster.end())]
    assert any("OVERWRITE_CONTRECORD" in text for text in texts), texts
    compare(cluster, start, cluster.end())


def test_paths_are_those_of_the_server(cluster: Cluster) -> None:
    query = "SELECT reltablespace, relfilenode, pg_relation_filepath(oid) FROM pg_class WHERE {}"
    database = int(cluster.ask("SELECT oid FROM pg_database WHERE datname = current_database()"))
    rows = cluster.ask(query.format("relfilenode > 0 AND relkind IN ('r', 'i')")).splitlines()
    assert len(rows) > 50
    for tablespace, number, path in (row.split("|") for row in rows):
        relation = (int(tablespace) or 1663, database, int(number))
        assert WalDecoder.path(relation, "main", 0, "") == path
    assert WalDecoder.path((1664, 0, 7), "vm", 131_072, "") == "global/7_vm.1"


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_no_flipped_byte_gives_other_references(cluster: Cluster, share: float) -> None:
    """Each flip raises an error or changes nothing; the records before it are right."""
    first, end = cluster.files()[0][0], cluster.end()
    start = int(first + (end - first) * share) // cluster.segment * cluster.segment - 2 * PAGE
    log = b"".join(data for _, data in cluster.log(start, start + 32 * PAGE))
    whole = WalDecoder(start).feed(start, log)
    assert len(whole) > 50
    draw = random.Random(share)
    refused = []
    for flip in range(200):
        page = draw.randrange(len(log) // PAGE) * PAGE
        at = page + draw.randrange(40) if flip % 2 else draw.randrange(len(log))
        damaged = bytearray(log)
        damaged[at] ^= draw.randrange(1, 256)
        decoder, found = WalDecoder(start), []
        try:
            for begin in range(0, len(log), PAGE):
                found += decoder.feed(start + begin, bytes(damaged[begin : begin + PAGE]))
        except FlashgcError as error:
            refused.append(str(error))
            assert found == whole[: len(found)], lsn(start + at)
        else:
            assert found == whole, lsn(start + at)
    assert len(refused) > 100
    assert all(re.match(r"write-ahead log at [0-9A-F]+/[0-9A-F]+: ", text) for text in refused)


@pytest.mark.soak
def test_a_million_records_are_those_of_pg_waldump() -> None:
    made = Cluster(segment=16)
    try:
        work(made, rows=6000, transactions=12_000)
        records, references = compare(made, made.files()[0][0], made.end())
        print(f"{records} records, {references} block references, no difference")
        assert records > 1_000_000
    finally:
        made.close()
