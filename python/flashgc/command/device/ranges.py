"""``flashgc device hint``, ``cancel``, ``trim`` and ``flush``: commands to a served drive."""

from __future__ import annotations

from pathlib import Path

import click

from flashgc._core import ConfigError
from flashgc.command.declaring import command
from flashgc.command.entrance import OK
from flashgc.terminal.render import warn

_RANGES = click.argument("ranges", nargs=-1, required=True, metavar="OFFSET+SIZE...")
_FILE = click.argument("file", type=click.Path(path_type=Path))


def parsed(ranges: tuple[str, ...]) -> list[tuple[int, int]]:
    """``("8KiB+4KiB",)`` as offsets and sizes in bytes."""
    from flashgc.units import parse_size

    pairs = []
    for text in ranges:
        offset, plus, size = text.partition("+")
        if not plus:
            raise ConfigError(
                f"OFFSET+SIZE: found '{text}', expected two sizes and a plus; hint: 64KiB+4KiB"
            )
        pairs.append((_size(offset, parse_size), _size(size, parse_size)))
    return pairs


def _size(text: str, parse_size: object) -> int:
    number = text.strip()
    assert callable(parse_size)
    return int(number) if number.isdecimal() else int(parse_size(number, "OFFSET+SIZE", "KiB"))


@command()
@_FILE
@_RANGES
def hint(file: Path, ranges: tuple[str, ...], moment: int | None) -> int:
    """Tell the drive in FILE that the host will write these bytes soon.

    Options:
      --moment N
          Number of pages that the host had written when you knew this. Pages written later
          are left out. [default: now]

    Example:
      flashgc device hint drive.flash 64KiB+4KiB 1MiB+16KiB

    Only policies with zombies use hints: --scheme zgc-gd, for example.
    """
    from flashgc.device.control import Client

    spans = parsed(ranges)
    with Client(file) as client:
        heeds = client.heeds_hints()
        late = client.hint(spans, moment)
    if not heeds:
        warn(
            "the policies of this drive use no hints, so this one changes nothing; "
            "hint: create a drive with --scheme zgc-gd"
        )
    if late:
        click.echo(f"{late} pages were written since and are left out", err=True)
    return OK


@command()
@_FILE
@_RANGES
def cancel(file: Path, ranges: tuple[str, ...]) -> int:
    """Take back the hints on these bytes."""
    from flashgc.device.control import Client

    spans = parsed(ranges)
    with Client(file) as client:
        client.cancel(spans)
    return OK


@command()
@_FILE
@_RANGES
def trim(file: Path, ranges: tuple[str, ...]) -> int:
    """Discard these bytes of the drive in FILE: they read as zeros.

    Give whole pages of 4 KiB. Never discard on a drive with a mounted file system.
    """
    from flashgc.device.control import PAGE, Client

    spans = parsed(ranges)
    for offset, size in spans:
        if offset % PAGE or size % PAGE:
            raise ConfigError(
                f"OFFSET+SIZE: {offset}+{size} are no whole pages of {PAGE} bytes; "
                "hint: multiples of 4KiB"
            )
    with Client(file) as client:
        client.trim(spans)
    return OK


@command()
@_FILE
def flush(file: Path) -> int:
    """Make all data durable that were written to the drive in FILE."""
    from flashgc.device.control import Client

    with Client(file) as client:
        client.flush()
    return OK
