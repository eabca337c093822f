"""``flashgc device stat``: shows the state of a drive, once or every second."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flashgc._core import ConfigError, DriveError
from flashgc._documents import dumps
from flashgc.command.declaring import command
from flashgc.command.entrance import OK
from flashgc.terminal.render import warn

if TYPE_CHECKING:
    from flashgc.device.control import Client
    from flashgc.device.source import Source


@command()
@click.argument("file", type=click.Path(path_type=Path))
def stat(
    file: Path, watch: bool, as_json: bool, openmetrics: bool, svg: Path | None, view: str
) -> int:
    """Show the state and the counts of the drive in FILE.

    A count that the SMART or OCP log has too has the name and unit of that log.

    Options:
      --watch
          Show it once a second until Ctrl-C.
      --json
      --openmetrics
          Print the text that Prometheus reads.
      --svg FILE
          Draw the map of all blocks to FILE.
      --view WORD
          Property of each block that --svg shows: valid, class, zombies, wear or state.
          [default: valid]

    Examples:
      flashgc device stat drive.flash
      flashgc device stat drive.flash --watch
      flashgc device stat drive.flash --json
      flashgc device stat drive.flash --svg blocks.svg --view wear
      flashgc device stat drive.flash --openmetrics

    If nobody serves the drive, the command opens it for a moment.
    """
    if sum((watch, as_json, openmetrics, svg is not None)) > 1:
        raise ConfigError("found several of --watch, --json, --openmetrics and --svg, expected one")
    warn_of_stale(file)
    with _looking(file) as drive:
        if watch:
            from flashgc.device.watch import watch as watched

            watched(drive.stat)
            return OK
        if svg is not None:
            from flashgc.device.still import still

            svg.write_text(still(drive.stat(), drive.blocks(), view), encoding="utf-8")
            click.echo(f"{svg} shows {len(drive.blocks())} blocks")
            return OK
        stat = drive.stat()
    if as_json:
        click.echo(dumps(stat))
    elif openmetrics:
        from flashgc.device.metrics import openmetrics as metrics

        click.echo(metrics(stat), nl=False)
    else:
        from flashgc.device.watch import overview

        click.echo("\n".join(overview(stat)))
    return OK


def warn_of_stale(file: Path) -> None:
    """Says on standard error that the server of a mounted drive was killed."""
    from flashgc.device import up

    with contextlib.suppress(DriveError, OSError):
        mount = up.stale(file)
        if mount is not None:
            warn(
                f"{mount} is the mount of a server that was killed, and dead; "
                f"hint: flashgc device down {file}"
            )


@contextlib.contextmanager
def _looking(file: Path) -> Iterator[Source]:
    """Yield the drive in ``file``: through its server, or opened in this process if it has none."""
    from flashgc.device.drive import Device

    if not file.exists():
        raise ConfigError(f"{file}: no such file; hint: flashgc device create {file}")
    client = _client(file)
    if client is not None:
        with client, client.answers():
            yield client
        return
    with Device.look(file) as drive:
        yield drive


def _client(file: Path) -> Client | None:
    """A client of the drive's server; ``None`` if nobody serves the drive."""
    from flashgc.device.control import Client, socket_of

    try:
        if not socket_of(file).exists():
            return None
        return Client(file)
    except DriveError:  # A killed server left its socket.
        return None
