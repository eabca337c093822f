"""Programs of the system, found where nobody else can put another one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from flashgc._core import DriveError
from flashgc.device import trust

#: The Debian package of programs that have another name, for hints.
PACKAGES = {
    "mkfs.ext4": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "mkfs.btrfs": "btrfs-progs",
    "mkfs.f2fs": "f2fs-tools",
    "losetup": "mount",
    "fstrim": "util-linux",
}

#: The folders of programs that the system brings.
PLACES = ("/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin")


def find(name: str) -> str | None:
    """Return the whole path of a program, or ``None``.

    As root, a folder of ``PATH`` counts only if it is a whole path, and if nobody else can change
    the program there.
    """
    if os.geteuid() != 0:
        return shutil.which(name)
    for folder in (*os.environ.get("PATH", "").split(os.pathsep), *PLACES):
        path = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.exists(path) and trust.check_program(path):
            return path
    return None


def words(arguments: Sequence[str]) -> list[str]:
    """Return a command with the whole path of its program.

    :class:`flashgc.DriveError` says that there is none.
    """
    program = find(arguments[0])
    if program is None:
        package = PACKAGES.get(arguments[0], arguments[0])
        raise DriveError(f"{arguments[0]} is not installed; hint: apt-get install {package}")
    return [program, *arguments[1:]]


def environment() -> dict[str, str]:
    """The environment of a program of the system: as root, its own helpers are the system's too."""
    if os.geteuid() != 0:
        return dict(os.environ)
    return {**os.environ, "PATH": os.pathsep.join(PLACES)}
