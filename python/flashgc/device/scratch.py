"""The temporary folder of a command, and its complete removal, even after a crash.

A command that was killed leaves its folder, mounts, loop devices and processes. The next command
with the same purpose removes all of them. It finds them by notes in the state folder
(:mod:`flashgc.device.state`), to which nobody else can write. A folder of the temporary directory
with such a name but without a note is not ours. A note has the folder's inode, and the number and
start time of each process.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flashgc._core import ConfigError, DriveError
from flashgc.device import mounts, state, trust, writers
from flashgc.device import up as upping
from flashgc.device._closing import descriptor
from flashgc.device.processes import began, family, is_ending, send, with_variable

#: Files of the notes on a folder: its owner and path, and the processes started in it.
OWNER, PROCESSES = "owner", "processes"

#: The environment variable with the path of the pipe for marks, and the name of the pipe.
PIPE, MARKS = "FLASHGC_MARK", "marks"

#: The most seconds in which the server of a drive in the folder must close the drive.
LIMIT = 20.0

#: The most bytes of the folder's path. A socket's path may have 107, and ends with its own name.
LONGEST = 80


@contextlib.contextmanager
def scratch(purpose: str, *, has_sockets: bool = True) -> Iterator[Path]:
    """A folder in the temporary directory that only this user can list or change.

    At the end it is removed, with everything mounted in it. Its name is ``flashgc-PURPOSE-`` and
    some letters. Other users may enter a folder of root, since PostgreSQL does not run as root.
    """
    sweep(purpose)
    parent = trust.check_folder(Path(tempfile.gettempdir()), is_parent=True)
    folder = parent / f"flashgc-{purpose}-{secrets.token_hex(4)}"
    if has_sockets and len(os.fsencode(folder)) > LONGEST:
        raise ConfigError(
            f"the temporary directory's name is too long for sockets: {parent}; hint: TMPDIR=/tmp"
        )
    note_folder = state.folder(state.SCRATCH, folder.name)
    owner = {"process": _name_and_start(os.getpid()), "folder": str(folder), "inode": None}
    try:
        _write(note_folder / OWNER, owner)
        os.mkdir(folder, 0o700)
        if os.geteuid() == 0:
            folder.chmod(0o711)
        status = os.lstat(folder)
        _write(note_folder / OWNER, {**owner, "inode": [status.st_dev, status.st_ino]})
        yield folder
    finally:
        _undo(note_folder)


def note(folder: Path, pid: int) -> None:
    """Note a process that must end, with its children, before the folder is removed."""
    with open(_notes_of(folder) / PROCESSES, "a", encoding="utf-8") as notes:
        notes.write(f"{_name_and_start(pid)}\n")


def _notes_of(folder: Path) -> Path:
    return state.folder(state.SCRATCH, folder.name)


def _write(path: Path, document: dict[str, Any]) -> None:
    partial = path.with_name(f"{path.name}.tmp")
    partial.write_text(json.dumps(document), encoding="utf-8")
    partial.replace(path)


def _name_and_start(pid: int) -> str:
    return f"{pid} {began(pid)}"


def _is_alive(owner: str) -> bool:
    pid, _, since = owner.strip().partition(" ")
    if not (since and pid.isdigit() and began(int(pid)) == since):
        return False
    return not is_ending(int(pid))


def sweep(purpose: str) -> None:
    """Remove everything that killed commands with this purpose have left."""
    for notes in state.folder(state.SCRATCH).glob(f"flashgc-{purpose}-*"):
        owner = _owner_noted(notes)
        if owner is not None and not _is_alive(owner["process"]):
            _undo(notes)


def _owner_noted(notes: Path) -> dict[str, Any] | None:
    try:
        document: dict[str, Any] = json.loads((notes / OWNER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None  # Another command is writing the note.
    return document


def _undo(notes: Path) -> None:
    """End the processes of a folder, unmount everything in it, remove it and its notes."""
    owner = _owner_noted(notes)
    if owner is None:
        return
    folder = Path(owner["folder"])
    for process in _lines(notes / PROCESSES):
        if _is_alive(process):
            pid, _, since = process.partition(" ")
            with_children = [(each, began(each)) for each in family(int(pid))]
            if began(int(pid)) == since:
                for each, its in with_children:
                    send(each, its, signal.SIGKILL)
    # All descendants of a command have this environment variable, whatever their parents are now.
    for child in with_variable(f"{PIPE}={folder / MARKS}"):
        send(child, began(child), signal.SIGKILL)
    for file in upping.files_below(folder):
        with contextlib.suppress(DriveError, OSError), upping.broken_off(file, LIMIT):
            upping.down(file, force=True)
    loops = set(_loops(folder))
    mounted = _mounts(folder)
    # A mount whose server has ended must fail at once before anything on it can be removed.
    for device, mount in sorted(mounted, key=lambda entry: entry[0].startswith("/dev/")):
        mounts.unmount_lazily(Path(mount), force=not device.startswith("/dev/"))
        if device.startswith("/dev/loop"):
            loops.add(device)
    for device in loops:
        with contextlib.suppress(DriveError):
            mounts.run("losetup", "--detach", device)
    # If a mount is left, nothing is removed: it might be a file on the mounted drive.
    if not _mounts(folder) and remove(folder, owner["inode"]):
        for name in (OWNER, f"{OWNER}.tmp", PROCESSES):
            (notes / name).unlink(missing_ok=True)
        notes.rmdir()
        writers.sweep()


def remove(folder: Path, inode: list[int] | None) -> bool:
    """Remove a folder with all its contents, if it has this device and ``inode``.

    Returns whether it is gone. Links are removed but not followed, and mounts in it stay. Without
    an ``inode``, only an empty folder is removed.
    """
    try:
        parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    with descriptor(parent):
        if inode is not None:
            try:
                opened = _opened(folder.name, parent)
            except FileNotFoundError:
                return True
            except OSError:
                return False  # The name is no folder any more, so it is somebody else's.
            with descriptor(opened):
                status = os.fstat(opened)
                if [status.st_dev, status.st_ino] != inode or status.st_uid != os.geteuid():
                    return False
                _empty(opened, status.st_dev)
        try:
            os.rmdir(folder.name, dir_fd=parent)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True


def _opened(name: str, parent: int) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return os.open(name, flags, dir_fd=parent)


def _empty(folder: int, device: int) -> None:
    """Remove the contents of an open folder; each name is resolved relative to its open folder."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries]
    for name in names:
        with contextlib.suppress(OSError):
            status = os.lstat(name, dir_fd=folder)
            if status.st_dev != device:
                continue
            if not stat.S_ISDIR(status.st_mode):
                os.unlink(name, dir_fd=folder)
                continue
            with descriptor(_opened(name, folder)) as opened:
                if os.fstat(opened).st_dev == device:
                    _empty(opened, device)
            os.rmdir(name, dir_fd=folder)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _mounts(folder: Path) -> list[tuple[str, str]]:
    """Return the mounts below a folder as sources and mount points, in the order of mounting."""
    return [pair for pair in mounts.mounted() if pair[1].startswith(f"{folder}/")]


def _loops(folder: Path) -> Iterator[str]:
    """The loop devices over files below a folder."""
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        if any(line.startswith(f"{folder}/") for line in _lines(backing)):
            yield f"/dev/{backing.parent.parent.name}"
