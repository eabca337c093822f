"""The state folder, with notes on what is up and what must be undone. Nobody else writes there.

For root it is ``/run/flashgc``; for other users ``$XDG_RUNTIME_DIR/flashgc``, or else
``$XDG_STATE_HOME/flashgc`` (``~/.local/state/flashgc``). ``FLASHGC_STATE`` names another folder.
Its mode is 0700; a folder that belongs to another user, or that others may enter, is refused.

A drive's notes are found by its identity: device and inode of its file, and the drive's own number
in its first block. So if the name of a drive's file leads to another file now, the notes on the
drive are not found by this name.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import time
from pathlib import Path

from flashgc._core import ConfigError
from flashgc.device import _closing, trust

#: Subfolders: notes on drives that are up; logs of servers; control sockets; FUSE mounts; notes on
#: scratch folders; notes on drives that only root has changed.
UP, LOGS, SOCKETS, FUSE, SCRATCH, ROOTS = "up", "log", "sock", "fuse", "scratch", "root"

#: Seconds for which a new socket counts as being made, and the most seconds to wait for a
#: connection.
YOUNG = 2.0

#: The first bytes of a drive's file, and the position of the drive's number.
_MAGIC, _NUMBER = b"FLASHGC\n", slice(16, 32)


def home() -> Path:
    """The path of the state folder, whether it exists or not."""
    folder = os.environ.get("FLASHGC_STATE")
    if folder:
        if not os.path.isabs(folder):
            raise ConfigError(
                f"FLASHGC_STATE: found '{folder}', expected a whole path; hint: /run/flashgc"
            )
        return Path(folder)
    if os.geteuid() == 0:
        return Path("/run/flashgc")
    return _homes(os.geteuid(), os.environ)[0]


def _homes(user: int, environment: os._Environ[str] | dict[str, str]) -> list[Path]:
    """Return the folders where a user's state may be, in order of preference."""
    import pwd

    paths = []
    runtime = environment.get("XDG_RUNTIME_DIR") or f"/run/user/{user}"
    if os.path.isdir(runtime):
        paths.append(Path(runtime) / "flashgc")
    states = environment.get("XDG_STATE_HOME")
    if not states:
        try:
            states = f"{environment.get('HOME') or pwd.getpwuid(user).pw_dir}/.local/state"
        except KeyError:
            states = f"/tmp/flashgc-{user}"
    return [*paths, Path(states) / "flashgc"]


def folder(*names: str) -> Path:
    """The state folder, or a folder in it; it is made if missing, and checked."""
    path = home()
    if os.geteuid() == 0:
        path = trust.make_parent(path.parent) / path.name
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
    _private(path)
    for name in names:
        path = path / name
        _private(path)
    return path


def _private(path: Path) -> None:
    """Make a folder for this user alone; refuse one that others own or may enter."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror}; hint: FLASHGC_STATE names another folder for what is noted"
        ) from None
    try:
        opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; hint: remove it") from None
    with _closing.descriptor(opened):
        status = os.fstat(opened)
    if status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise ConfigError(
            f"{path} belongs to user {status.st_uid} with mode {stat.S_IMODE(status.st_mode):o}, "
            f"expected {os.geteuid()} and 700; hint: remove it, or FLASHGC_STATE names another"
        )


def key_of(descriptor: int) -> str:
    """The identity of the drive in an open file, which is the name of its notes."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise ConfigError("found no file, expected that of a drive")
    begin = os.pread(descriptor, _NUMBER.stop, 0)
    number = begin[_NUMBER].hex() if begin.startswith(_MAGIC) else ""
    return f"{status.st_dev:x}-{status.st_ino:x}-{number}"


def key(file: Path) -> str | None:
    """The identity of the drive in ``file``; ``None`` if the file cannot be read."""
    try:
        # Without blocking, so that a pipe, for example, is not waited for.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return key_of(descriptor)
    except (ConfigError, OSError):
        return None
    finally:
        os.close(descriptor)


def sockets(file: Path) -> list[Path]:
    """Return the sockets at which the server of the drive in ``file`` may answer, own ones first.

    Root also tries the server of the file's owner. Root only sends requests there, and the socket
    must belong to that owner.
    """
    name = key(file)
    if name is None:
        return []
    paths = [home() / SOCKETS / name]
    if os.geteuid() == 0:
        owner = os.stat(file).st_uid
        paths += [path / SOCKETS / name for path in _homes(owner, {}) if owner != 0]
        paths = paths[:1] + [path for path in paths[1:] if _is_socket_of(path, owner)]
    elif not os.environ.get("FLASHGC_STATE"):
        paths += [path / SOCKETS / name for path in _homes(os.geteuid(), os.environ)[1:]]
    return paths


def sweep_sockets() -> None:
    """Remove the sockets of servers that were killed."""
    for path in folder(SOCKETS).iterdir():
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
            # A new socket is bound before it listens.
            if time.time() < os.lstat(path).st_mtime + YOUNG:
                continue
            client.settimeout(YOUNG)
            try:
                client.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()


def _is_socket_of(path: Path, owner: int) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISSOCK(status.st_mode) and status.st_uid == owner
