"""``flashgc device serve``: a drive for other hosts, until it is told to stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flashgc.command.device.options import (
    RealtimeCommand,
    check_addresses,
    clock_of,
    durability_option,
    realtime_options,
    serving_options,
)
from flashgc.command.entrance import CONTEXT, OK


@click.command(
    cls=RealtimeCommand,
    context_settings=CONTEXT,
    epilog="""\b
Examples:
  flashgc device serve drive.flash --nbd unix:/tmp/drive.sock
  flashgc device serve drive.flash --fuse /mnt/fuse --http 8080
  flashgc device serve drive.flash --nbd 127.0.0.1:10809 --record drive.flashgc.zst
  flashgc device serve drive.flash --fuse /mnt/fuse --realtime --device mlc

Ctrl-C or the signal to terminate closes the drive. Other processes reach it
through FILE.sock: flashgc device stat, record, hint, cancel, trim, flush.""",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--fuse",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Mount the drive in DIR, where the file disk holds its bytes.",
)
@click.option(
    "--vhost-user",
    metavar="SOCKET",
    type=click.Path(path_type=Path),
    help="Serve a virtual machine as a vhost-user-blk disk; only in builds with that feature.",
)
@serving_options
@durability_option
@realtime_options(with_drive=False)
@click.option("--quiet", "-q", is_flag=True, help="Say nothing.")
def serve(
    file: Path,
    fuse: Path | None,
    vhost_user: Path | None,
    nbd: str | None,
    http: str | None,
    listen_anywhere: bool,
    record: Path | None,
    durability: str | None,
    realtime: bool,
    slower: str | None,
    aged: str | None,
    quiet: bool,
    **typed: Any,
) -> int:
    """Serve the drive in FILE to other hosts until Ctrl-C."""
    from flashgc._core import DriveError
    from flashgc.device.realtime import told
    from flashgc.device.serving import Fronts, opened, until_told

    check_addresses(nbd, http, listen_anywhere=listen_anywhere, quiet=quiet)
    fronts = Fronts(
        fuse=fuse,
        nbd=nbd,
        vhost_user=vhost_user,
        http=http,
        listen_anywhere=listen_anywhere,
        record=record,
        durability=durability,
        clock=clock_of(file, is_on=realtime, slower=slower, aged=aged, typed=typed),
    )
    with opened(file, fronts) as drive:
        if not quiet:
            for where in drive.serving:
                click.echo(where)
            click.echo("serving; Ctrl-C closes the drive", err=True)
        while True:
            try:
                until_told(drive)
                break
            except DriveError as error:
                click.echo(f"warning: {error}", err=True)
        if realtime and not quiet:
            click.echo(f"realtime: {'; '.join(told(drive.stat()['realtime']))}")
    return OK
