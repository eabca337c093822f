"""``flashgc hints page-cache``: tells a drive which pages Linux will soon write."""

from __future__ import annotations

import json
from dataclasses import asdict
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
def page_cache(mount: Path, file: Path, every: float, length: float | None, as_json: bool) -> int:
    r"""Tell a drive which pages Linux's page cache will soon write.

    The kernel's tracepoints say which blocks of the device become dirty in memory, and which of
    them are written or freed. The follower goes on when the drive comes back.

    Options:
      --mount DIR
          A folder of the file system on the drive, or the drive's block device if it has
          none.
      --device
      --every
      --seconds
      --json

    Examples:
      flashgc hints page-cache --mount /mnt/drive --device drive.flash
      flashgc hints page-cache --mount /mnt/drive --device drive.flash --every 1
      flashgc hints page-cache --mount /dev/loop0 --device drive.flash

    \b
    Needs root and a kernel with tracepoints. The file system must be ext4 or xfs:
    others write a page to a new place, so no hint would come true. A block device
    without a file system will do, too: programs write to its own file.
    """
    from flashgc.device.hints.page_cache import Followed, PageCache
    from flashgc.terminal.render import warn
    from flashgc.units import format_count, format_duration, format_size

    end = End(length)
    table = Table((("time", 8), ("hinted", 12), ("dirty pages", 12), ("zombies", 10), ("lost", 8)))
    last: Followed | None = None
    with PageCache(mount, file) as hints, end.by_signal():
        warn_if_useless(hints.link.heeds_hints)
        lost = 0
        for last in hints.follow(end, every):
            if as_json:
                click.echo(json.dumps(asdict(last)))
                continue
            table.row(
                format_duration(last.seconds),
                format_count(last.hinted),
                format_count(last.dirty),
                format_count(last.zombies),
                format_count(last.lost),
            )
            if last.lost > lost:
                warn(
                    f"the kernel lost {last.lost - lost} events: pages may be dirty without a hint"
                )
            lost = last.lost
    if last is not None and not as_json:
        events = f"{format_count(last.events)} in {format_size(last.bytes)}"
        if last.lost:
            events += f"; {format_count(last.lost)} were lost"
        click.echo()
        summary(
            [("events", events), *of_drive(last.seconds, last.cpu_seconds, last.sent)],
        )
    return end.code
