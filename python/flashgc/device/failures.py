"""The ways in which a command on a mounted drive fails, each with a sentence of its own.

What fails inside a file system on a drive comes out as an error of that file system. The cause is
known elsewhere: to the drive, to its server, to the machine. This table has all such causes, and
:func:`explained` finds the one behind an error.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from flashgc._core import ConfigError, DriveError

#: The commands that mount drives.
EXEC, UP, BENCH, CUT = "exec", "up", "bench", "cut-test"
ALL = (EXEC, UP, BENCH, CUT)

#: Words of the system for a disk without room, in errors of programs and of drives.
FULL = ("No space left on device", "Disk quota exceeded")

#: Bytes that a drive writes at a time.
STRIPE = 64 << 10


@dataclass(frozen=True)
class Cause:
    """A way to fail: what happens, what is said, and what is left behind."""

    name: str
    happens: str
    #: The message, with names in braces for what is known of the case; empty where nothing is said.
    message: str
    hint: str
    #: The exit code in words.
    code: str
    #: The things left behind when the command has ended.
    left: str = "nothing"
    #: The commands that can fail so.
    commands: tuple[str, ...] = ALL
    is_input: bool = False

    def error(self, **known: object) -> DriveError | ConfigError:
        """Return the error that says so."""
        kind = ConfigError if self.is_input else DriveError
        return kind(self.sentence(**known))

    def sentence(self, **known: object) -> str:
        """Return the message and the hint."""
        hint = f"; hint: {self.hint}" if self.hint else ""
        return f"{self.message}{hint}".format(**known)


NO_ROOT = Cause(
    "no-root",
    "somebody who is not root runs it",
    "{what} needs root, for block devices and mounts",
    "sudo, or serve the drive without root: flashgc device serve FILE --nbd unix:/tmp/drive.sock",
    "1",
)

NO_RIGHT = Cause(
    "no-right",
    "root runs it without the right to mount, as in most containers",
    "{what} needs the right CAP_SYS_ADMIN, which this root does not have",
    "docker run --privileged, or another machine",
    "1",
)

NO_KERNEL = Cause(
    "no-kernel-part",
    "the kernel has no FUSE or no loop devices",
    "{what} needs {need}, and there is no {device}",
    "modprobe {module}{others}",
    "1",
)

HOST_FULL = Cause(
    "host-full",
    "the disk that holds the drive's file is full: before the command, while it runs, or at its "
    "end",
    "{folder} has no room for the drive: {why}",
    "make room there; TMPDIR=DIR is another place for drives that have no name",
    "1",
    "nothing; of `up` the drive, read-only",
)

NO_ROOM_TO_CLOSE = Cause(
    "no-room-to-close",
    "`down`, while the disk that holds the drive's file is full",
    "{file} is still up: {folder} has no room for what the drive has to write when it is closed",
    "make room there, and give `device down` again; --force loses what was not flushed",
    "1",
    "the drive, up",
    commands=(UP,),
)

CLOSED_WITHOUT_ROOM = Cause(
    "closed-without-room",
    "`down`, after the disk that holds the drive's file was full and writes failed",
    "{file} is down, without what was written since its last flush: {folder} had no room for it",
    "make room there before the drive is up again",
    "1",
    commands=(UP,),
)

SERVER_ENDED = Cause(
    "server-ended",
    "the drive's server is killed",
    "the drive's server ended before the drive was unmounted{why}",
    "the log of the kernel (dmesg) says if it was out of memory",
    "1",
    "nothing; of `up` a dead mount, until `device down`",
)

INTERRUPTED = Cause(
    "interrupted",
    "SIGINT to the command alone, or to its process group",
    "",
    "",
    "that of COMMAND of `exec`, which gets the signal once; else 130",
)

TERMINATED = Cause(
    "terminated",
    "SIGTERM",
    "",
    "",
    "that of COMMAND of `exec`, which gets the signal; else 130 or 143",
)

HUNG_UP = Cause(
    "hung-up",
    "SIGHUP: the terminal is closed",
    "",
    "",
    "as with SIGTERM, which COMMAND of `exec` gets",
)

KILLED = Cause(
    "killed",
    "SIGKILL",
    "",
    "",
    "137",
    "all of it, until the next command; of `up` the drive, until `device down`",
)

NO_COMMAND = Cause(
    "no-command",
    "there is no such program",
    "{word}: no such command",
    "",
    "1",
    commands=(EXEC, BENCH, CUT),
)

OTHER_FOLDER = Cause(
    "other-folder",
    "the command fails, and an argument is a file of the folder from which it was typed",
    "{word} is a file of {folder}, and the command ran in the new file system",
    "{path}, its full path",
    "that of COMMAND of `exec`; of the others 1",
    commands=(EXEC, BENCH, CUT),
)

CHECK_HANGS = Cause(
    "check-hangs",
    "the check does not end within `--timeout`",
    "the check did not end within {seconds} s",
    "",
    "3; 2 where it must pass",
    commands=(CUT,),
)

CAUSES = (
    NO_ROOT,
    NO_RIGHT,
    NO_KERNEL,
    NO_COMMAND,
    OTHER_FOLDER,
    HOST_FULL,
    NO_ROOM_TO_CLOSE,
    CLOSED_WITHOUT_ROOM,
    SERVER_ENDED,
    CHECK_HANGS,
    INTERRUPTED,
    TERMINATED,
    HUNG_UP,
    KILLED,
)


def is_full(text: str) -> bool:
    """Return ``True`` if a message of the system says that a disk is full."""
    return any(words in text for words in FULL)


def is_without_room(folder: Path) -> bool:
    """Return ``True`` if the disk of a folder has no room for a stripe of a drive."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_blocks > 0 and found.f_bavail * found.f_frsize < STRIPE


def explained(
    error: Exception, folder: Path, *, read_only: str | None = None, ended: str | None = None
) -> Exception:
    """Return the cause behind an error, or the error where there is no other.

    ``folder`` has the drive's file. ``read_only`` is why the drive takes no writes. ``ended`` are
    the last words of a server that has ended, perhaps empty; ``None`` is one that runs.
    """
    if is_without_room(folder):
        return HOST_FULL.error(folder=folder, why=FULL[0])
    for said in (read_only, ended, str(error)):
        if said and is_full(said):
            return HOST_FULL.error(folder=folder, why=next(one for one in FULL if one in said))
    if ended is not None:
        return SERVER_ENDED.error(why=f": {ended}" if ended else "")
    return error


def table() -> str:
    """Return the table of the documents."""
    rows = ["| what happens | message | exit code | left behind |", "|---|---|---|---|"]
    for one in CAUSES:
        said = f"`{one.message}`" if one.message else "none"
        where = "" if one.commands == ALL else f" ({', '.join(one.commands)})"
        rows.append(f"| {one.happens}{where} | {said} | {one.code} | {one.left} |")
    return "\n".join(rows) + "\n"
