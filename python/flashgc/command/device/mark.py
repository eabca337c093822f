"""``flashgc device mark``: phases of a run, each with its own figures."""

from __future__ import annotations

import os
from pathlib import Path

import click

from flashgc.command.declaring import command
from flashgc.command.entrance import OK


@command()
@click.argument("words", nargs=-1, required=True, metavar="[FILE] NAME")
def mark(words: tuple[str, ...]) -> int:
    """Begin a phase called NAME on the served drive in FILE.

    Its counts and latencies are those from now until the next mark. A command of flashgc device
    exec leaves FILE out; the line "NAME" in the pipe $FLASHGC_MARK does the same.

    Examples:
      flashgc device mark drive.flash "load done"
      flashgc device exec -- sh -c './load; flashgc device mark "load done"; ./run'

    """
    from flashgc._core import ConfigError
    from flashgc.device.control import Client
    from flashgc.device.execution import marks
    from flashgc.device.scratch import PIPE

    *file, name = words
    if len(file) > 1 or not marks.name_of(name.encode()):
        raise ConfigError("expected FILE and the NAME of a phase; hint: flashgc device mark --help")
    if file:
        with Client(Path(file[0])) as client:
            click.echo(client.mark(name))
    elif PIPE in os.environ:
        marks.mark(os.environ[PIPE], name)
    else:
        raise ConfigError(f"found no FILE, and {PIPE} is not set; hint: name the drive's file")
    return OK
