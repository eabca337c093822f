"""The writers of a drive: who could have written its bytes, and the rights that depend on that.

Only root could have written a drive if three things hold: root owns its file, the file is as
flashgc left it when root last closed it, and no stranger ever reached the drive. The file itself
records strangers: hosts at a TCP port, which every user of the machine can reach, and virtual
machines, which 0.1.0 could serve. A note in root's state folder, not the file, says that the file
is as flashgc left it, because a file can be forged. The note has the time of the last change of the
file or its owner (ctime), which nobody can set.

Three things depend on the writers: the options with which a drive is mounted, the permission to
load code that the drive's file names, and the warnings of a command. ``nosuid`` and ``nodev`` are
used unless the user asks for the opposite on a drive that only root could have written.
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
from flashgc.device import _closing, state

#: Options for ``mount`` that this module has approved. Drives are mounted only with such options.
MountOptions = NewType("MountOptions", tuple[str, ...])

#: Options with which a mounted drive gives no rights, each with its opposite.
_CONTRARY = {"nosuid": "suid", "nodev": "dev"}

#: Sentences on the strangers that a drive's file records.
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

    #: One sentence for each of the others; empty if only root could have written it.
    others: tuple[str, ...] = ()

    def plus(self, *others: str) -> Writers:
        """Return these writers and ``others``."""
        return Writers((*self.others, *(writer for writer in others if writer not in self.others)))

    def mount_options(self, wanted: Sequence[str]) -> MountOptions:
        """Return the options to mount the drive with, if the user wants ``wanted``.

        Raises :class:`flashgc.ConfigError` if they would give rights to files that others could
        have written.
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
        """A warning for people who mount the drive; ``None`` if only root could have written."""
        if not self.others:
            return None
        return (
            f"others could have written this drive: {self.others[0]}; programs and devices on it "
            "give no rights (nosuid, nodev), but the kernel reads its file system"
        )


#: The writers of a drive that flashgc has made for itself, in a scratch folder.
OWN = Writers()


def of(descriptor: int) -> Writers:
    """Return the writers so far of the drive in an open file."""
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
    """Keep the note correct if this process changes a drive that only root has changed before."""
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
    """As root, note that the drive in ``file`` is as flashgc has left it, and that root owns it."""
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
    """Rename the file of a drive, and keep its note correct."""
    with _open(file) as descriptor:
        was_of_root = is_of_root(descriptor)
    file.rename(name)
    if was_of_root:
        note(name)


def check_code(file: Path, owner: int) -> None:
    """Check that this process may load the code that the drive in ``file`` names.

    Raises :class:`flashgc.ConfigError` if another user owns the file, and so chose the code.
    """
    if owner not in (0, os.geteuid()):
        raise ConfigError(
            f"{file} belongs to user {owner}, who chose the code that would run with your rights; "
            f"hint: run this as user {owner}"
        )


def sweep() -> None:
    """Remove the notes on drives that no longer exist."""
    notes = state.home() / state.ROOTS
    for path in notes.iterdir() if notes.is_dir() else ():
        with contextlib.suppress(OSError):
            file = path.read_text(encoding="utf-8").partition("\n")[2]
            if state.key(Path(file)) != path.name:
                path.unlink()


def _open(file: Path) -> contextlib.AbstractContextManager[int]:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return _closing.descriptor(os.open(file, flags))


def _is_noted(descriptor: int) -> bool:
    with contextlib.suppress(OSError, ValueError):
        text = (state.home() / state.ROOTS / state.key_of(descriptor)).read_text(encoding="utf-8")
        return int(text.split("\n")[0]) == os.fstat(descriptor).st_ctime_ns
    return False
