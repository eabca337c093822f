"""Programs of the system, found only in folders where nobody else can replace them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from flashgc._core import DriveError
from flashgc.device import trust

#: The Debian package of a program if it has another name, for hints.
PACKAGES = {
    "mkfs.ext4": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "mkfs.btrfs": "btrfs-progs",
    "mkfs.f2fs": "f2fs-tools",
    "losetup": "mount",
    "fstrim": "util-linux",
}

#: The folders of the system's programs.
PLACES = ("/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin")


def find(name: str) -> str | None:
    """Return the absolute path of a program, or ``None``.

    As root, a folder of ``PATH`` counts only if it is an absolute path, and if nobody else can
    change the program there.
    """
    if os.geteuid() != 0:
        return shutil.which(name)
    for folder in (*os.environ.get("PATH", "").split(os.pathsep), *PLACES):
        path = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.exists(path) and trust.check_program(path):
            return path
    return None


def words(arguments: Sequence[str]) -> list[str]:
    """Return a command with the absolute path of its program.

    Raises :class:`flashgc.DriveError` if the program does not exist.
    """
    program = find(arguments[0])
    if program is None:
        package = PACKAGES.get(arguments[0], arguments[0])
        raise DriveError(f"{arguments[0]} is not installed; hint: apt-get install {package}")
    return [program, *arguments[1:]]


def environment() -> dict[str, str]:
    """The environment for a system program. As root, its ``PATH`` has only the system's folders."""
    if os.geteuid() != 0:
        return dict(os.environ)
    return {**os.environ, "PATH": os.pathsep.join(PLACES)}
