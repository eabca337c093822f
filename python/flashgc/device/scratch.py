"""The folder in which a command works, and how nothing is left of it, whatever happens.

A command that was killed leaves its folder, mounts, loop devices and processes; the next one with
the same purpose finds the folder by its name, sees that its owner is dead, and undoes all of it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from flashgc._core import ConfigError, DriveError
from flashgc.device import up as upping
from flashgc.device.processes import family

#: The files in which a command notes itself, and the processes that it started.
OWNER, PROCESSES = "owner", "processes"

#: Bytes of the folder's name at most: a socket's has 107, with its own name at the end.
LONGEST = 80


@contextlib.contextmanager
def scratch(purpose: str) -> Iterator[Path]:
    """A folder that other users may enter; gone at the end with all that was mounted in it.

    Its name is ``flashgc-PURPOSE-`` and some letters.
    """
    sweep(purpose)
    folder = Path(tempfile.mkdtemp(prefix=f"flashgc-{purpose}-")).resolve()
    try:
        if len(os.fsencode(folder)) > LONGEST:
            raise ConfigError(
                f"the temporary directory's name is too long for sockets: {folder.parent}; "
                "hint: TMPDIR=/tmp"
            )
        (folder / OWNER).write_text(_named(os.getpid()))
        folder.chmod(0o755)
        yield folder
    finally:
        remove(folder)


def note(folder: Path, pid: int) -> None:
    """Notes a process that must not outlive the folder, nor may its children."""
    with open(folder / PROCESSES, "a", encoding="utf-8") as notes:
        notes.write(f"{_named(pid)}\n")


def _named(pid: int) -> str:
    return f"{pid} {upping.began(pid)}"


def _is_alive(named: str) -> bool:
    pid, _, began = named.strip().partition(" ")
    if not (began and pid.isdigit() and upping.began(int(pid)) == began):
        return False
    # One that was killed while it waited for its own mount stays until that is taken away.
    words = [line.split() for line in _lines(Path(f"/proc/{pid}/status"))]
    pending = [int(word[1], 16) for word in words if word[0] in ("SigPnd:", "ShdPnd:")]
    return not any(signals & 1 << signal.SIGKILL - 1 for signals in pending)


def sweep(purpose: str) -> None:
    """Undoes what commands of this purpose have left that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"flashgc-{purpose}-*"):
        try:
            owner = (folder / OWNER).read_text()
        except OSError:
            continue  # another command is making it, or it is not ours
        if not _is_alive(owner):
            remove(folder.resolve())


def remove(folder: Path) -> None:
    """Ends the processes of a folder, unmounts what is mounted in it, and removes it."""
    for process in _lines(folder / PROCESSES):
        if _is_alive(process):
            for pid in family(int(process.split()[0])):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    for up in folder.glob("*.up"):
        with contextlib.suppress(DriveError, OSError):
            upping.down(up.with_suffix(""), force=True)
    loops = set(_loops(folder))
    mounted = _mounts(folder)
    # A mount whose server is gone must fail at once before anything on it can be taken away.
    for device, mount in sorted(mounted, key=lambda one: one[0].startswith("/dev/")):
        how = ("--lazy",) if device.startswith("/dev/") else ("--force", "--lazy")
        subprocess.run(("umount", *how, mount), check=False, capture_output=True)
        if device.startswith("/dev/loop"):
            loops.add(device)
    for device in loops:
        subprocess.run(("losetup", "--detach", device), check=False, capture_output=True)
    if not _mounts(folder):  # Never remove what is on a drive.
        shutil.rmtree(folder, ignore_errors=True)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _mounts(folder: Path) -> list[tuple[str, str]]:
    """What is mounted below a folder: sources and places, in the order of mounting."""
    found = []
    for line in _lines(Path("/proc/self/mounts")):
        source, place = line.split()[:2]
        if place.startswith(f"{folder}/"):
            found.append((source, place))
    return found


def _loops(folder: Path) -> Iterator[str]:
    """The loop devices over files below a folder."""
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        if any(line.startswith(f"{folder}/") for line in _lines(backing)):
            yield f"/dev/{backing.parent.parent.name}"
