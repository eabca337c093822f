"""The writers of a drive: who could have written its bytes, and the rights that follow from that.

Only root could have written a drive if root owns its file, the file is as flashgc left it when
root last closed it, and no stranger ever reached the drive. The file itself remembers strangers:
hosts at a TCP port, which every user of the machine reaches, and virtual machines, which 0.1.0
could serve. That the file is as flashgc left it is noted in root's state folder, since a file can
be forged. The note has the time at which the kernel last saw the file or its owner change, which
nobody can set.

From this follow the options with which a drive is mounted, the code that a drive's file names and
that may be loaded, and what a command warns of. ``nosuid`` and ``nodev`` hold unless somebody asks
for the contrary on a drive that only root could have written.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NewType

from flashgc import _core
from flashgc._core import ConfigError
from flashgc.device import state

#: Options for ``mount`` that this module has decided on: nothing else is mounted with.
MountOptions = NewType("MountOptions", tuple[str, ...])

#: Options by which a mounted drive gives no rights, each with the word for the contrary.
_CONTRARY = {"nosuid": "suid", "nodev": "dev"}

#: Sentences for the strangers that a drive's file remembers.
_STRANGERS = {
    "tcp": "hosts at a TCP port, which every user of this machine reaches, could write to it",
    "socket": "a virtual machine could write to it",
}

_UNKNOWN = "an earlier version of flashgc made it, and did not note who reached it"
_CHANGED = "flashgc has no note that only root has changed its file since root made it"
_PORT = "every user of this machine reaches the port at which it is served"


@dataclass(frozen=True)
class Writers:
    """The users and hosts besides root that could have written a drive."""

    #: A sentence for each of the others; empty if only root could.
    others: tuple[str, ...] = ()

    def plus(self, *others: str) -> Writers:
        """Return these writers with others."""
        return Writers((*self.others, *(writer for writer in others if writer not in self.others)))

    def mount_options(self, wanted: Sequence[str]) -> MountOptions:
        """Return the options to mount the drive with, if somebody wants ``wanted``.

        Raises :class:`flashgc.ConfigError` if they would give rights that others could have
        written.
        """
        contrary = [word for word in wanted if word in _CONTRARY.values()]
        if contrary and self.others:
            without = ",".join(word for word in wanted if word not in contrary)
            raise ConfigError(
                f"--mount-options: {' and '.join(contrary)} would give rights to what others could "
                f"have written on the drive: {self.others[0]}; hint: "
                f"{f'--mount-options {without}' if without else 'leave --mount-options out'}"
            )
        held = [word for word, other in _CONTRARY.items() if other not in wanted]
        return MountOptions((*wanted, *held))

    @property
    def warning(self) -> str | None:
        """A warning for whoever mounts the drive; ``None`` if only root could have written it."""
        if not self.others:
            return None
        return (
            f"others could have written this drive: {self.others[0]}; programs and devices on it "
            "give no rights (nosuid, nodev), but the kernel reads its file system"
        )


#: A drive that flashgc has made for itself, in a folder of its own.
OWN = Writers()


def of(descriptor: int) -> Writers:
    """Return the writers of the drive in an open file, until now."""
    owner = os.fstat(descriptor).st_uid
    others = [] if owner == 0 else [f"user {owner} owns its file"]
    file = Path(f"/proc/self/fd/{descriptor}")
    strangers = json.loads(_core.device_configuration(file))["strangers"]
    if strangers is None:
        others.append(_UNKNOWN)
    else:
        others += [_STRANGERS[word] for word in strangers]
    if not others and not _is_noted(descriptor):
        others.append(_CHANGED)
    return Writers(tuple(others))


def served_by_port(writers: Writers) -> Writers:
    """The writers of a drive that is also served at a TCP port."""
    return writers.plus(_PORT)


def is_of_root(descriptor: int) -> bool:
    """True if this is root, and only root has changed the file since it was made."""
    return os.geteuid() == 0 and os.fstat(descriptor).st_uid == 0 and _is_noted(descriptor)


@contextlib.contextmanager
def changing(file: Path) -> Iterator[None]:
    """Keeps the note true on a drive that only root has changed, and that this process changes."""
    was_of_root = False
    with contextlib.suppress(OSError), _open(file) as descriptor:
        was_of_root = is_of_root(descriptor)
    try:
        yield
    finally:
        if was_of_root:
            with contextlib.suppress(OSError):
                note(file)


def note(file: Path) -> None:
    """Notes as root that the drive in ``file`` is as flashgc has left it, and that root owns it."""
    if os.geteuid() != 0:
        return
    with _open(file) as descriptor:
        status = os.fstat(descriptor)
        if status.st_uid == 0 and not status.st_mode & 0o022:
            notes = state.folder(state.ROOTS)
            sweep()
            name = state.key_of(descriptor)
            (notes / name).write_text(f"{status.st_ctime_ns}\n{file.absolute()}", encoding="utf-8")


def rename(file: Path, name: Path) -> None:
    """Renames the file of a drive. The note on it stays true."""
    with _open(file) as descriptor:
        was_of_root = is_of_root(descriptor)
    file.rename(name)
    if was_of_root:
        note(name)


def check_code(file: Path, owner: int) -> None:
    """Checks that code which the drive in ``file`` names may be loaded by this process.

    Raises :class:`flashgc.ConfigError` where another user, who owns the file, chose the code.
    """
    if owner not in (0, os.geteuid()):
        raise ConfigError(
            f"{file} belongs to user {owner}, who chose the code that would run with your rights; "
            f"hint: run this as user {owner}"
        )


def sweep() -> None:
    """Removes the notes on drives that are gone."""
    notes = state.home() / state.ROOTS
    for path in notes.iterdir() if notes.is_dir() else ():
        with contextlib.suppress(OSError):
            file = path.read_text(encoding="utf-8").partition("\n")[2]
            if state.key(Path(file)) != path.name:
                path.unlink()


@contextlib.contextmanager
def _open(file: Path) -> Iterator[int]:
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _is_noted(descriptor: int) -> bool:
    with contextlib.suppress(OSError, ValueError):
        text = (state.home() / state.ROOTS / state.key_of(descriptor)).read_text(encoding="utf-8")
        return int(text.split("\n")[0]) == os.fstat(descriptor).st_ctime_ns
    return False
