"""The ways in which a command on a mounted drive fails, each with its own message.

A failure below a file system shows as an error of that file system. The cause may be known to the
drive, to its server, or to the machine. ``failures.toml`` lists all causes, and :func:`explained`
finds the cause of an error.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flashgc._core import ConfigError, DriveError

#: The commands that mount drives.
EXEC, UP, BENCH, CUT = "exec", "up", "bench", "cut-test"
ALL = (EXEC, UP, BENCH, CUT)

#: The system's messages for a full disk, in errors of programs and of drives.
FULL = ("No space left on device", "Disk quota exceeded")

#: Bytes that a drive writes to its file at a time.
STRIPE = 64 << 10


@dataclass(frozen=True)
class Cause:
    """A way to fail: what happens, the message, and what is left behind."""

    name: str
    happens: str
    #: A description of the exit code.
    code: str
    #: The message, with facts of the case as names in braces; empty if there is no message.
    message: str = ""
    hint: str = ""
    #: Things that remain after the command has ended.
    left: str = "nothing"
    #: The commands that can fail this way.
    commands: Sequence[str] = ALL
    is_input: bool = False

    def error(self, **known: object) -> DriveError | ConfigError:
        """Return the error with this message."""
        kind = ConfigError if self.is_input else DriveError
        return kind(self.sentence(**known))

    def sentence(self, **known: object) -> str:
        """Return the message and the hint."""
        hint = f"; hint: {self.hint}" if self.hint else ""
        return f"{self.message}{hint}".format(**known)


def _read() -> dict[str, Cause]:
    with open(Path(__file__).with_suffix(".toml"), "rb") as file:
        tables = tomllib.load(file)
    return {name: Cause(name, **table) for name, table in tables.items()}


#: All causes, by their names.
CAUSES = _read()


def is_full(text: str) -> bool:
    """Return ``True`` if a message of the system says that a disk is full."""
    return any(words in text for words in FULL)


def is_without_room(folder: Path) -> bool:
    """Return ``True`` if the disk of a folder has no room for a stripe of a drive."""
    try:
        space = os.statvfs(folder)
    except OSError:
        return False
    return space.f_blocks > 0 and space.f_bavail * space.f_frsize < STRIPE


def explained(
    error: Exception, folder: Path, *, read_only: str | None = None, ended: str | None = None
) -> Exception:
    """Return the cause of an error, or the error itself if no other cause is known.

    ``folder`` has the drive's file. ``read_only`` is the reason why the drive takes no writes.
    ``ended`` is the last output of a server that has ended, perhaps empty; it is ``None`` while the
    server runs.
    """
    if is_without_room(folder):
        return CAUSES["host-full"].error(folder=folder, why=FULL[0])
    for message in (read_only, ended, str(error)):
        if message and is_full(message):
            return CAUSES["host-full"].error(
                folder=folder, why=next(phrase for phrase in FULL if phrase in message)
            )
    if ended is not None:
        return CAUSES["server-ended"].error(why=f": {ended}" if ended else "")
    return error


def table() -> str:
    """Return a Markdown table of all causes, for the documents."""
    rows = ["| what happens | message | exit code | left behind |", "|---|---|---|---|"]
    for cause in CAUSES.values():
        text = f"`{cause.message}`" if cause.message else "none"
        where = "" if cause.commands == ALL else f" ({', '.join(cause.commands)})"
        rows.append(f"| {cause.happens}{where} | {text} | {cause.code} | {cause.left} |")
    return "\n".join(rows) + "\n"
