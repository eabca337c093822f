"""``flashgc device record``: records the requests to a served drive as a trace."""

from __future__ import annotations

from pathlib import Path

import click

from flashgc.command.declaring import command
from flashgc.command.entrance import OK


@command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("trace", required=False, type=click.Path(path_type=Path))
def record(file: Path, trace: Path | None, off: bool) -> int:
    """Record the requests of the served drive in FILE into TRACE, from now on.

    TRACE is complete when the recording ends: with --off, or when the drive is closed. Its name
    ends in .flashgc, optionally followed by .zst or .gz.

    Options:
      --off
          End the recording. The trace is then complete.

    Examples:
      flashgc device record drive.flash writes.flashgc.zst
      flashgc device record drive.flash --off
    """
    from flashgc._core import ConfigError
    from flashgc.device.control import Client

    if (trace is None) != off:
        raise ConfigError("found no TRACE, expected one, or --off; hint: writes.flashgc.zst")
    with Client(file) as client:
        click.echo(client.record(trace))
    return OK
