"""``flashgc device serve``: a drive for other hosts, until it is told to stop."""

from __future__ import annotations

from pathlib import Path

import click

from flashgc.command.device.options import durability_option, serving_options
from flashgc.command.entrance import CONTEXT, OK


@click.command(
    context_settings=CONTEXT,
    epilog="""\b
Examples:
  flashgc device serve drive.flash --nbd unix:/tmp/drive.sock
  flashgc device serve drive.flash --fuse /mnt/fuse --http 8080
  flashgc device serve drive.flash --nbd 127.0.0.1:10809 --record drive.flashgc.zst

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
@click.option("--quiet", "-q", is_flag=True, help="Say nothing.")
def serve(
    file: Path,
    fuse: Path | None,
    vhost_user: Path | None,
    nbd: str | None,
    http: str | None,
    record: Path | None,
    durability: str | None,
    quiet: bool,
) -> int:
    """Serve the drive in FILE to other hosts until Ctrl-C."""
    from flashgc._core import DriveError
    from flashgc.device.serving import Fronts, opened, until_told

    fronts = Fronts(
        fuse=fuse,
        nbd=nbd,
        vhost_user=vhost_user,
        http=http,
        record=record,
        durability=durability,
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
    return OK
