"""Statements that make a cluster write log records of every kind."""

from __future__ import annotations

import shutil

from flashgc.device.campaign.postgres import USER
from hints.cluster import Cluster

#: Settings for images of blocks in the log: compression, images after a checkpoint, and images
#: for checks of the recovery.
IMAGES = (
    ("off", "on", ""),
    ("pglz", "on", ""),
    ("lz4", "on", ""),
    ("off", "off", ""),
    ("lz4", "on", "all"),
)

#: Statements with every kind of index, vacuums, sequences, large rows, truncation, savepoints.
STATEMENTS = """
CHECKPOINT;
CREATE TABLE points (n INT, word TEXT, words TEXT[], at POINT, big TEXT);
ALTER TABLE points ALTER big SET STORAGE EXTERNAL;
CREATE SEQUENCE counter;
INSERT INTO points SELECT n, md5(n::text), ARRAY[md5(n::text), (n % 20)::text],
    POINT(n, -n), repeat('x', CASE WHEN n % 100 = 0 THEN 20000 ELSE 0 END)
    FROM generate_series(1, {rows}) AS n;
SELECT count(nextval('counter')) FROM generate_series(1, 200);
CREATE INDEX ON points USING btree (n);
CREATE INDEX ON points USING hash (word);
CREATE INDEX ON points USING gin (words);
CREATE INDEX ON points USING gist (at);
CREATE INDEX ON points USING spgist (at);
CREATE INDEX ON points USING brin (n) WITH (pages_per_range = 4, autosummarize = off);
INSERT INTO points SELECT n, md5(n::text), ARRAY[(n % 7)::text], POINT(n, n), ''
    FROM generate_series(1, {rows}) AS n;
UPDATE points SET word = word || 'u' WHERE n % 3 = 0;
DELETE FROM points WHERE n % 5 = 0;
VACUUM (FREEZE) points;
DELETE FROM points WHERE n > {rows} / 2;
VACUUM points;
VACUUM FULL points;
BEGIN;
SAVEPOINT one;
INSERT INTO points (n) VALUES (1);
SAVEPOINT two;
CREATE TABLE brief AS SELECT n FROM generate_series(1, 3000) AS n;
ROLLBACK TO two;
UPDATE points SET big = 'y' WHERE n < 50;
COMMIT;
BEGIN;
CREATE TABLE never AS SELECT 1 AS one;
ROLLBACK;
BEGIN;
CREATE TABLE later (n INT);
PREPARE TRANSACTION 'make';
COMMIT PREPARED 'make';
BEGIN;
DROP TABLE later;
PREPARE TRANSACTION 'drop';
COMMIT PREPARED 'drop';
BEGIN;
CREATE TABLE lost (n INT);
PREPARE TRANSACTION 'lose';
ROLLBACK PREPARED 'lose';
CREATE UNLOGGED TABLE quick (n INT PRIMARY KEY);
DROP TABLE quick;
SELECT length(pg_logical_emit_message(false, 'long', repeat('m', 100000))::text);
SELECT pg_replication_origin_session_setup('elsewhere');
BEGIN;
SELECT pg_replication_origin_xact_setup('0/1', now());
INSERT INTO points (n) VALUES (2);
COMMIT;
SELECT pg_replication_origin_session_reset();
TRUNCATE points;
DROP TABLE points;
DROP SEQUENCE counter;
SELECT pg_switch_wal();
"""

#: A tablespace, with a table and a database in it.
ELSEWHERE = """
CREATE TABLESPACE other LOCATION '{folder}';
CREATE TABLE away (n INT) TABLESPACE other;
INSERT INTO away SELECT generate_series(1, 2000);
CREATE DATABASE copied STRATEGY file_copy TABLESPACE other;
CREATE DATABASE logged STRATEGY wal_log;
DROP DATABASE copied;
DROP DATABASE logged;
DROP TABLE away;
DROP TABLESPACE other;
"""


def work(cluster: Cluster, rows: int, transactions: int) -> None:
    """Runs all statements once per setting of images, with ``transactions`` of pgbench."""
    cluster.bench("-i", "-q", "-s", 1)
    cluster.ask("SELECT pg_replication_origin_create('elsewhere')")
    for compression, images, checked in IMAGES:
        cluster.ask(
            f"ALTER SYSTEM SET wal_compression = '{compression}';"
            f"ALTER SYSTEM SET full_page_writes = '{images}';"
            f"ALTER SYSTEM SET wal_consistency_checking = '{checked}';"
            "SELECT pg_reload_conf()"
        )
        cluster.ask(STATEMENTS.format(rows=rows))
        cluster.bench("-n", "-c", 2, "-t", transactions)
    cluster.ask("SELECT pg_replication_origin_drop('elsewhere')")
    folder = cluster.folder / "other"
    folder.mkdir()
    shutil.chown(folder, USER, USER)
    cluster.ask(ELSEWHERE.format(folder=folder))
