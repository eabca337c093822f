"""The place of files: whether they are on a drive, and on which block device."""

from __future__ import annotations

import os
from pathlib import Path

from flashgc._core import DriveError
from flashgc.device import up

#: File systems that write a page in place. Other file systems write it to a new place, so that they
#: overwrite no page of the drive before it is freed.
IN_PLACE = ("ext4", "xfs")


def device_of(file: Path) -> str:
    """The block device on which the drive in ``file`` is, such as ``/dev/loop0``.

    Raises :class:`flashgc.DriveError` if the drive is not up.
    """
    done = up.read(file)
    if done is None or not done.device:
        raise DriveError(
            f"{file} is not up as a file system; hint: flashgc device up {file} --mount DIR"
        )
    return done.device


def number_of(device: str) -> int:
    """Return the ``st_dev`` of files on ``device``."""
    return os.stat(device).st_rdev


def check_filesystem(device: str) -> None:
    """Refuse a ``device`` that is not mounted, or whose file system does not write in place."""
    with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as mounts:
        kinds = [line.split()[2] for line in mounts if line.split()[0] == device]
    if not kinds:
        raise DriveError(f"{device} is not mounted; hint: mount it, or flashgc device up")
    if kinds[0] not in IN_PLACE:
        raise DriveError(
            f"{device} holds {kinds[0]}, which writes every page to a new place, so no hint would "
            f"come true; expected {' or '.join(IN_PLACE)}"
        )


def check_on(path: Path, device: str, file: Path) -> None:
    """Refuse a ``path`` whose files are not on ``device``, the device of the drive in ``file``."""
    try:
        number = os.stat(path).st_dev
    except OSError as error:
        raise DriveError(f"{path}: {error.strerror}") from None
    if number != number_of(device):
        raise DriveError(
            f"{path} is not on {device}, the device of {file}; hint: name the drive whose file "
            "system holds it"
        )
