"""Paths that are safe for root: nobody else can change any of their parts.

A path is walked part by part. Each part is opened relative to the one before, and examined once it
is open, so that nobody can replace a file after it was examined. Only root needs this care; other
users have no rights that somebody could abuse.

A drive's file, and the folders and links that lead to it, may belong to root or to the owner of the
file. The server runs as that owner, who could do the same without root. If the file and a part of
its path belong to different users other than root, the path is refused. So a user who leads root to
another file (by a link, a renamed folder, or a hard link) gains nothing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from flashgc._core import ConfigError

#: The most links in a path, as in the kernel.
LINKS = 40

_FOLDER = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass
class _Walk:
    """A walk along a path: the part reached so far, and who could change it."""

    descriptor: int
    real: Path
    #: Parts that belong neither to root nor to the current user, with their owners.
    foreign: list[tuple[Path, int]] = field(default_factory=list)


@contextmanager
def _walked(path: Path, *, is_parent: bool = False) -> Iterator[_Walk]:
    """Walk along a path; the descriptor at its end can name the file, not read it (``O_PATH``)."""
    parts = list(reversed(Path(os.path.abspath(path)).parts[1:]))
    walk = _Walk(os.open("/", _FOLDER), Path("/"))
    try:
        _judge(walk, os.fstat(walk.descriptor), is_last=not parts and not is_parent)
        links = 0
        while parts:
            name = parts.pop()
            opened = os.open(name, _FOLDER, dir_fd=walk.descriptor)
            status = os.fstat(opened)
            if stat.S_ISLNK(status.st_mode):
                target = os.readlink("", dir_fd=opened)
                os.close(opened)
                _own(walk, walk.real / name, status.st_uid)
                links += 1
                if links > LINKS:
                    raise ConfigError(f"{path}: too many links; hint: name the file itself")
                parts += reversed([part for part in target.split("/") if part not in ("", ".")])
                if target.startswith("/"):
                    os.close(walk.descriptor)
                    walk.descriptor, walk.real = os.open("/", _FOLDER), Path("/")
                continue
            os.close(walk.descriptor)
            walk.descriptor = opened
            walk.real = walk.real.parent if name == ".." else walk.real / name
            _judge(walk, status, is_last=not parts and not is_parent)
        yield walk
    finally:
        os.close(walk.descriptor)


def _own(walk: _Walk, path: Path, owner: int) -> None:
    if owner not in (0, os.geteuid()):
        walk.foreign.append((path, owner))


def _judge(walk: _Walk, status: os.stat_result, *, is_last: bool) -> None:
    _own(walk, walk.real, status.st_uid)
    is_sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX and not is_last
    if status.st_mode & 0o022 and not is_sticky:
        raise ConfigError(
            f"{walk.real} can be changed by other users, and root does not work with it; "
            f"hint: chmod go-w {walk.real}, or another folder"
        )


def _owned(path: Path, owner: int, expected: str) -> ConfigError:
    return ConfigError(
        f"{path} belongs to user {owner}, expected {expected}, since root would follow what that "
        "user makes of it; hint: a folder that only root can change, or run this as that user"
    )


@dataclass
class Opened:
    """An open drive's file, and its owner."""

    descriptor: int
    path: Path
    user: int
    group: int

    def close(self) -> None:
        """Close the file."""
        os.close(self.descriptor)


def open_drive(path: Path) -> Opened:
    """Open a drive's file to read and write; as root, refuse a file that others could replace.

    Raises :class:`flashgc.ConfigError` and :class:`OSError`.
    """
    if os.geteuid() != 0:
        real = path.resolve()
        descriptor = os.open(real, os.O_RDWR | os.O_CLOEXEC)
        status = os.fstat(descriptor)
        return Opened(descriptor, real, status.st_uid, status.st_gid)
    with _walked(path) as walk:
        status = os.fstat(walk.descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(f"{path} is no file; hint: flashgc device create {path}")
        for part, owner in walk.foreign:
            if owner != status.st_uid:
                raise _owned(part, owner, f"root or {status.st_uid}, whose {walk.real.name} is")
        # Open the file that was examined, not another file that has its name by now.
        descriptor = os.open(f"/proc/self/fd/{walk.descriptor}", os.O_RDWR | os.O_CLOEXEC)
        return Opened(descriptor, walk.real, status.st_uid, status.st_gid)


def check_folder(path: Path, *, is_parent: bool = False) -> Path:
    """Return the real path of a folder; as root, refuse a folder that others could replace.

    With ``is_parent``, flashgc makes a file or folder in it. Then it may be the temporary
    directory, in which others can make files, but cannot change ours.

    Since nobody else can change any part of the path, it stays valid.
    """
    if os.geteuid() != 0:
        return path.resolve()
    with _walked(path, is_parent=is_parent) as walk:
        if not stat.S_ISDIR(os.fstat(walk.descriptor).st_mode):
            raise ConfigError(f"{path} is no folder; hint: mkdir {path}")
        for part, owner in walk.foreign:
            raise _owned(part, owner, "root")
        return walk.real


def make_folder(path: Path) -> Path:
    """Make a folder and missing parents, and check it as :func:`check_folder` does."""
    return check_folder(_made_with_parents(path))


def make_parent(path: Path) -> Path:
    """Make a folder as :func:`make_folder` does, and check it with ``is_parent``."""
    return check_folder(_made_with_parents(path), is_parent=True)


def _made_with_parents(path: Path) -> Path:
    path = Path(os.path.abspath(path))
    missing = []
    while not os.path.lexists(path):
        missing.append(path.name)
        path = path.parent
    if missing:
        path = check_folder(path, is_parent=True)
    for name in reversed(missing):
        path = path / name
        path.mkdir(0o755)
    return path


def check_program(path: str) -> bool:
    """Return ``True`` if root may run the program at ``path``: nobody else could replace it."""
    try:
        with _walked(Path(path)) as walk:
            status = os.fstat(walk.descriptor)
            return (
                stat.S_ISREG(status.st_mode) and bool(status.st_mode & 0o111) and not walk.foreign
            )
    except (OSError, ConfigError):
        return False
