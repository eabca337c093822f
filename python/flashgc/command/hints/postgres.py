"""``flashgc hints postgres``: tells a drive which pages a database will soon write."""

from __future__ import annotations

import json
from pathlib import Path

import click

from flashgc.command.declaring import command
from flashgc.command.hints.following import (
    End,
    Table,
    following,
    of_drive,
    summary,
    warn_if_useless,
)


@command()
@following
def postgres(dsn: str, file: Path, every: float, length: float | None, as_json: bool) -> int:
    r"""Tell a drive which pages a PostgreSQL server will soon write.

    The follower reads the server's log by streaming replication, without a slot. Each block that
    the log names is dirty in the server's memory until it is written. The follower goes on when the
    server or the drive comes back.

    Options:
      --dsn TEXT
          libpq's connection string or URI.
      --device
      --every
      --seconds
      --json

    Examples:
      flashgc hints postgres --dsn dbname=postgres --device drive.flash
      flashgc hints postgres --dsn 'host=/run/postgresql user=postgres' \
        --device drive.flash --every 1 --seconds 300

    \b
    The server must have version 13 to 18, its data on the drive, wal_level = replica
    and a role with REPLICATION. With its extension pg_buffercache, the command also
    shows which share of the dirty pages the drive knows.
    """
    from flashgc.device.hints.postgres import Hints, Sample
    from flashgc.terminal.render import warn
    from flashgc.units import format_count, format_duration, format_share, format_size

    hints = Hints(dsn, file)
    warn_if_useless(hints.link.heeds_hints)
    if not hints.has_truth:
        warn(
            "the share of dirty pages known is not measured; hint: CREATE EXTENSION pg_buffercache"
        )
    table = Table(
        (
            ("time", 8),
            ("hinted", 12),
            ("lag", 9),
            ("dirty pages", 12),
            ("known", 7),
            ("zombies", 10),
        )
    )

    def show(sample: Sample) -> None:
        counts = hints.counts()
        if as_json:
            facts = {**vars(sample), "share": sample.share, **counts}
            click.echo(json.dumps(facts))
            return
        table.row(
            format_duration(sample.seconds),
            format_count(counts["drive"]["pages_hinted"]),
            format_size(sample.lag_bytes),
            "-" if sample.dirty is None else format_count(sample.dirty),
            "-" if sample.share is None else format_share(sample.share),
            format_count(sample.zombies),
        )

    def away(trouble: str) -> None:
        warn(f"nothing is followed until the server is back: {trouble}")

    end = End(length)
    with end.by_signal():
        for sample in hints.follow(end, every, away):
            show(sample)
    if not as_json:
        counts = hints.counts()
        log = (
            f"{format_size(counts['log_bytes'])} in {format_count(counts['records'])} records with "
            f"{format_count(counts['block_references'])} blocks"
        )
        click.echo()
        summary(
            [("log", log), *of_drive(counts["seconds"], counts["cpu_seconds"], hints.link.sent)]
        )
    return end.code
