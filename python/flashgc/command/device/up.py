"""``flashgc device up`` and ``down``: mounts a file system on a drive, and unmounts it."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import click

from flashgc._core import ConfigError, DriveError
from flashgc.command.declaring import adds, command
from flashgc.command.device.options import (
    RealtimeCommand,
    existing_drive_options,
    fronts_of,
)
from flashgc.command.entrance import OK
from flashgc.device.making import configuration
from flashgc.device.realtime import in_words
from flashgc.terminal.render import warn


@adds(fs=("ext4", "xfs", "btrfs", "f2fs"), host=("fuse", "nvme-tcp"))
def filesystem_options(fs: str, mount_options: str, host: str) -> None:
    """The file system of a drive.

    Options:
      --fs WORD
          File system to make: ext4, xfs, btrfs or f2fs. [default: ext4]
      --mount-options TEXT
          Options of mount, separated by commas. nosuid and nodev are added, unless suid and dev are
          given for a drive that only root could have written. [default: discard]
      --host WORD
          Way to a block device: a loop device over a file of FUSE (fuse), or the NVMe/TCP initiator
          of Linux (nvme-tcp), for a drive at /dev/nvme0n1. [default: fuse]
    """


@command(cls=RealtimeCommand)
@click.argument("file", type=click.Path(path_type=Path))
@filesystem_options
@existing_drive_options
def up(
    file: Path,
    mount: Path,
    fs: str,
    mount_options: str,
    host: str,
    user: str | None,
    quiet: bool,
    **typed: Any,
) -> int:
    """Serve the drive in FILE in the background and mount it.

    An empty drive gets a file system first. A drive that has one keeps it.

    Options:
      --mount DIR
          Folder to mount it in. The command makes it if it does not exist.
      --fs
      --mount-options
      --host
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
      flashgc device up drive.flash --mount /mnt/drive
      flashgc device up drive.flash --mount /mnt/drive --fs xfs --http 8080
      flashgc device up drive.flash --mount /mnt/drive --host nvme-tcp
      flashgc device down drive.flash

    Needs root, FUSE and loop devices; with --host nvme-tcp the module nvme-tcp.
    """
    from flashgc.device import code
    from flashgc.device import up as upping
    from flashgc.device.execution.running import Signals

    if not file.exists():
        raise ConfigError(f"{file}: no such file; hint: flashgc device create {file}")
    code.check(file, configuration(file), allowed=typed["allow_python"])
    fronts = fronts_of(file, typed)
    options = mount_words(mount_options)
    with Signals() as signals:
        signals.is_starting = True  # Signals wait, since a half-done step cannot be undone.
        done = upping.up(
            file, mount, filesystem=fs, options=options, serve=fronts.words(), user=user, host=host
        )
        if signals.pending:
            upping.down(file, force=True)
            raise SystemExit(128 + signals.pending)
    if done.warning is not None:
        warn(done.warning)
    if not quiet:
        click.echo(f"{done.filesystem} on {done.device} in {done.mount}")
        for where in done.serving:
            click.echo(where)
    return OK


def mount_words(text: str) -> list[str]:
    """The options of mount in a text separated by commas; ``defaults`` if it is empty."""
    return [word for word in text.split(",") if word] or ["defaults"]


@command()
@click.argument("file", type=click.Path(path_type=Path))
def down(file: Path, force: bool, quiet: bool) -> int:
    """Unmount the drive in FILE and close it; also after a crash.

    When the command returns, FILE has all data that were written.

    Options:
      --force
          Unmount even if something uses the file system.
      --quiet, -q
          Print nothing.

    Examples:
      flashgc device down drive.flash
      flashgc device down drive.flash --force
    """
    from flashgc.device import up as upping
    from flashgc.device.control import Client

    realtime: list[str] = []

    def look() -> None:
        with contextlib.suppress(DriveError), Client(file) as client:  # The server may be ending.
            clock = client.stat().get("realtime")
            realtime.extend(in_words(clock) if clock is not None else ())

    if not upping.down(file, force=force, last=look):
        raise ConfigError(f"{file} is not up; hint: flashgc device up {file} --mount DIR")
    if not quiet:
        if realtime:
            click.echo(f"realtime: {'; '.join(realtime)}")
        click.echo(f"{file} is down")
    return OK
