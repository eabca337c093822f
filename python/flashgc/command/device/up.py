"""``flashgc device up`` and ``down``: a mounted file system on a drive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flashgc.command.common import F, complete
from flashgc.command.device.options import (
    RealtimeCommand,
    existing_drive_options,
    fronts_of,
)
from flashgc.command.entrance import CONTEXT, OK


def filesystem_options(command: F) -> F:
    """Adds ``--fs`` and ``--mount-options``."""
    command = click.option(
        "--mount-options",
        metavar="TEXT",
        default="discard",
        help="Options of mount, separated by commas. [default: discard]",
    )(command)
    return click.option(
        "--fs",
        metavar="WORD",
        default="ext4",
        shell_complete=complete(lambda: ("ext4", "xfs", "btrfs", "f2fs")),
        help="File system to make: ext4, xfs, btrfs or f2fs. [default: ext4]",
    )(command)


@click.command(
    cls=RealtimeCommand,
    context_settings=CONTEXT,
    epilog="""\b
Examples:
  flashgc device up drive.flash --mount /mnt/drive
  flashgc device up drive.flash --mount /mnt/drive --fs xfs --http 8080
  flashgc device down drive.flash

Needs root, FUSE and loop devices.""",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--mount",
    metavar="DIR",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder to mount it in. The command makes it if it does not exist.",
)
@filesystem_options
@existing_drive_options
def up(
    file: Path,
    mount: Path,
    fs: str,
    mount_options: str,
    user: str | None,
    quiet: bool,
    **typed: Any,
) -> int:
    """Serve the drive in FILE in the background and mount it.

    An empty drive gets a file system first. A drive that has one keeps it.
    """
    from flashgc._core import ConfigError
    from flashgc.device import code
    from flashgc.device import up as upping
    from flashgc.device.making import configuration

    if not file.exists():
        raise ConfigError(f"{file}: no such file; hint: flashgc device create {file}")
    code.check(file, configuration(file), allowed=typed["allow_python"])
    fronts = fronts_of(file, typed)
    options = mount_words(mount_options)
    done = upping.up(file, mount, filesystem=fs, options=options, serve=fronts.words(), user=user)
    if not quiet:
        click.echo(f"{done.filesystem} on {done.device} in {done.mount}")
        for where in done.serving:
            click.echo(where)
    return OK


def mount_words(text: str) -> list[str]:
    """The options of mount in a list separated by commas; those by default where it is empty."""
    return [word for word in text.split(",") if word] or ["defaults"]


@click.command(
    context_settings=CONTEXT,
    epilog="""\b
Examples:
  flashgc device down drive.flash
  flashgc device down drive.flash --force""",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Unmount even if something uses the file system.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing.")
def down(file: Path, force: bool, quiet: bool) -> int:
    """Unmount the drive in FILE and close it; also after a crash.

    When the command returns, FILE has all data that were written.
    """
    from flashgc._core import ConfigError
    from flashgc.device import up as upping
    from flashgc.device.realtime import told

    realtime = _realtime(file)
    if not upping.down(file, force=force):
        raise ConfigError(f"{file} is not up; hint: flashgc device up {file} --mount DIR")
    if not quiet:
        if realtime is not None:
            click.echo(f"realtime: {'; '.join(told(realtime))}")
        click.echo(f"{file} is down")
    return OK


def _realtime(file: Path) -> dict[str, Any] | None:
    """Return the state of a drive with a clock; ``None`` of one without, or not served."""
    from flashgc._core import DriveError
    from flashgc.device.control import Client

    try:
        with Client(file) as client:
            found: dict[str, Any] | None = client.stat().get("realtime")
    except DriveError:
        return None
    return found
