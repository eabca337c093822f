"""``flashgc device inject``: sets faults for the hosts of a served drive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flashgc._core import ConfigError, suggest
from flashgc._documents import dumps
from flashgc.command.common import complete
from flashgc.command.declaring import command
from flashgc.command.entrance import OK
from flashgc.units import many

if TYPE_CHECKING:
    from flashgc.device.control import Client

#: Words for the argument FAULT that are no faults.
LIST, CLEAR = "list", "clear"


def _words() -> tuple[str, ...]:
    from flashgc.device.faults import EFFECTS

    return (*EFFECTS, LIST, CLEAR)


def _kinds() -> tuple[str, ...]:
    from flashgc.device.faults import KINDS

    return KINDS


@command(kind=_kinds)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("fault", shell_complete=complete(_words))
def inject(file: Path, fault: str, as_json: bool, number: str | None, **given: Any) -> int:
    """Set FAULT on the served drive in FILE, to test how its hosts bear it.

    FAULT is unreadable, fail, delay, drop, disconnect, end-of-life or lost-die; list shows the
    faults that are set, and clear takes them away. A command that fails or gets no answer is not
    executed.

    Options:
      --kind WORD
          Commands that fail, are late or get no answer: read, write, discard or flush.
          [default: every kind]
      --at SIZE as offset
          First byte of the range that a fault is for.
      --bytes SIZE as size
          Bytes of that range. [default: the whole drive]
      --next N as count
          Number of commands that meet the fault; disconnect lets them through first.
          [default: any number until it is cleared; disconnect: 0]
      --by TIME
          Time by which answers are late: 50ms, at most 10min.
      --die N
          Number of the die that is lost: nothing can be read from it, and its pages are rebuilt
          from their parity.
      --number N
          Number of the fault to clear. [default: all]
      --json

    Examples:
      flashgc device inject drive.flash unreadable --at 1MiB --bytes 64KiB
      flashgc device inject drive.flash fail --kind write --next 3
      flashgc device inject drive.flash delay --kind read --next 100 --by 50ms
      flashgc device inject drive.flash drop --kind flush --next 1
      flashgc device inject drive.flash disconnect
      flashgc device inject drive.flash end-of-life
      flashgc device inject drive.flash lost-die --die 3
      flashgc device inject drive.flash list
      flashgc device inject drive.flash clear

    Nothing of a fault is in FILE, and the end of the server ends it.
    """
    from flashgc.device.control import Client

    used = [name for name, value in given.items() if value is not None]
    if fault in (LIST, CLEAR) and used:
        raise ConfigError(
            f"{fault}: found options of a fault, expected none; hint: flashgc "
            f"device inject {file} {fault}"
        )
    if number is not None and fault != CLEAR:
        raise ConfigError(f"{fault}: found --number, expected none; hint: clear has it")
    if fault not in _words():
        raise ConfigError(f"unknown fault '{fault}'; hint: {suggest(fault, list(_words()))}")
    with Client(file) as client:
        status, lines = _done(client, fault, number, given)
    click.echo(dumps(status) if as_json else "\n".join(lines))
    return OK


def _done(
    client: Client, fault: str, number: str | None, given: dict[str, Any]
) -> tuple[Any, list[str]]:
    """Execute the action; return its answer as JSON, and as lines of text."""
    from flashgc.device import faults

    if fault == LIST:
        stat = client.stat()["faults"]
        lines = [faults.in_words(entry) for entry in stat["set"]]
        return stat, lines or ["no faults are set"]
    if fault == CLEAR:
        cleared = client.clear_faults(number)
        return {"cleared": cleared}, [f"cleared {many(cleared, 'fault')}"]
    index = client.inject(fault, **given)
    if fault == faults.DISCONNECT and given["count"] is None:
        return {"connections": index}, [f"ended {many(index, 'connection')}"]
    entry = next((candidate for candidate in client.faults() if candidate["number"] == index), None)
    # Another client may have cleared the fault since.
    return entry or {"number": index}, [faults.in_words(entry) if entry else f"fault {index}"]
