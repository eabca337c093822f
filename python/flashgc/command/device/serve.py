"""``flashgc device serve``: serves a drive to other hosts, until told to stop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flashgc._core import ConfigError, DriveError
from flashgc.command.declaring import command
from flashgc.command.device.options import (
    RealtimeCommand,
    existing_drive_options,
    fronts_of,
)
from flashgc.command.entrance import OK
from flashgc.device.realtime import in_words

if TYPE_CHECKING:
    from flashgc.device.drive import Device
    from flashgc.device.serving import Fronts
    from flashgc.device.supervised import Supervised


@command(cls=RealtimeCommand)
@click.argument("file", type=click.Path(path_type=Path))
@existing_drive_options
def serve(
    file: Path,
    fuse: Path | None,
    user: str | None,
    quiet: bool,
    **typed: Any,
) -> int:
    """Serve the drive in FILE to other hosts until Ctrl-C.

    Options:
      --fuse DIR
          Mount the drive in DIR. The file DIR/disk then holds its bytes.
      --nbd
      --nvme-tcp
      --http
      --listen-anywhere
      --record
      --user
      --durability
      --allow-python
      --realtime
      --slower
      --aged
      --hints
      --quiet

    Examples:
      flashgc device serve drive.flash --nbd unix:/tmp/drive.sock
      flashgc device serve drive.flash --nvme-tcp 127.0.0.1:4420
      flashgc device serve drive.flash --fuse /mnt/fuse --http 8080
      flashgc device serve drive.flash --nbd 127.0.0.1:10809 --record drive.flashgc.zst
      flashgc device serve drive.flash --fuse /mnt/fuse --realtime --device mlc

    Ctrl-C or SIGTERM closes the drive. Other processes reach it
    through its control socket: flashgc device stat, record, hint, cancel, trim, flush.
    """
    import os

    from flashgc.device.serving import Signals, opened, until_told
    from flashgc.device.supervised import served

    fronts = fronts_of(file, typed, fuse=fuse)
    if os.geteuid() == 0:
        # A process without root's rights serves it.
        with Signals() as signals, served(file, fronts, user) as server:
            _serve(server, partial(server.until_told, signals), fronts, quiet=quiet)
        return OK
    if user is not None:
        raise ConfigError("--user applies to root alone; hint: leave it out")
    with Signals() as signals, opened(file, fronts) as drive:
        _serve(drive, partial(until_told, drive, signals), fronts, quiet=quiet)
    return OK


def _serve(
    drive: Device | Supervised, wait: Callable[[], bool | None], fronts: Fronts, *, quiet: bool
) -> None:
    """Serve until ``wait`` returns. It returns ``False`` if the server ended by itself."""
    if not quiet:
        for where in drive.serving:
            click.echo(where)
        click.echo("serving; Ctrl-C closes the drive", err=True)
    while True:
        try:
            was_told = wait()
            break
        except DriveError as error:
            click.echo(f"warning: {error}", err=True)
    if was_told is not False and fronts.clock is not None and not quiet:
        click.echo(f"realtime: {'; '.join(in_words(drive.stat()['realtime']))}")
