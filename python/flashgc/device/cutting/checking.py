"""The check of a drive after a cut: mounts its file system and runs the user's command."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from flashgc._core import Control, DriveError
from flashgc.device import failures, memory, mounts
from flashgc.device.cutting.log import PAGE, Piece
from flashgc.device.execution import FOLDER
from flashgc.device.hints.place import IN_PLACE
from flashgc.device.logged import Server
from flashgc.device.scratch import note
from flashgc.device.writers import OWN

#: The ioctl that asks for the extents of a file, and its structures (linux/fiemap.h).
_FIEMAP = 0xC020660B
_HEAD, _EXTENT = struct.Struct("=QQIIII"), struct.Struct("=QQQQQIIII")

#: Flag: write the file back first. Flags of extents without a place: unknown, not yet allocated, or
#: inside an inode.
_SYNC, _NO_PLACE = 0x1, 0x2 | 0x4 | 0x200

#: The most extents of a file that are asked for.
_MOST = 512


@dataclass(frozen=True, slots=True)
class Extent:
    """A piece of a file: offset in the file, offset on the drive, and length, in bytes."""

    file: str
    logical: int
    physical: int
    length: int


def extents(folder: Path) -> list[Extent]:
    """Return the extents of all files below ``folder``; file names are relative to it."""
    pieces = []
    for at, _, names in os.walk(folder):
        for name in names:
            path = Path(at) / name
            if path.is_symlink() or not path.is_file():
                continue
            file = os.fspath(path.relative_to(folder))
            pieces += [Extent(file, *extent) for extent in _of(path)]
    return pieces


def _of(path: Path) -> Iterator[tuple[int, int, int]]:
    import fcntl

    held = bytearray(_HEAD.pack(0, (1 << 64) - 1, _SYNC, 0, _MOST, 0) + bytes(_MOST * _EXTENT.size))
    with open(path, "rb") as file:
        fcntl.ioctl(file.fileno(), _FIEMAP, held)
    count = _HEAD.unpack_from(held)[3]
    for number in range(count):
        fields = _EXTENT.unpack_from(held, _HEAD.size + number * _EXTENT.size)
        logical, physical, length, _, _, flags, *_ = fields
        if not flags & _NO_PLACE:
            yield logical, physical, length


def in_words(piece: Piece, known: list[Extent]) -> str:
    """A description of the piece, with the name of its file if an extent of ``known`` has it."""
    if piece.data is None:
        return piece.words
    for extent in known:
        inside = piece.page * PAGE - extent.physical
        if 0 <= inside < extent.length:
            return f"{piece.words} ({extent.file}, byte {extent.logical + inside})"
    return piece.words


#: Environment variables of the check: the file with all acknowledged lines, and the last line.
ACKED, LAST = "FLASHGC_ACKED", "FLASHGC_LAST"

#: Seconds between the first two polls for the end of a check, and the longest pause later.
FIRST_LOOK, LOOK = 0.002, 0.1

#: Bytes kept of a check's output: the last ones.
QUOTED = 2000


@dataclass(frozen=True)
class Verdict:
    """The result of a check: ``why`` a promise is broken (``None`` if none is), and the output."""

    why: str | None
    said: str = ""


class Checker:
    """Checks drives in a scratch folder, one after the other. The ``with`` runs their server."""

    def __init__(
        self, folder: Path, filesystem: str, check: str, timeout: float, control: Control
    ) -> None:
        """``check`` is a shell command; exit code 0 means that the promises are kept.

        A check that takes more than ``timeout`` seconds has failed. A check is stopped if
        ``control`` asks for the end.
        """
        self._folder, self._filesystem, self._check = folder, filesystem, check
        self._timeout, self._control = timeout, control
        self._server = Server(folder)

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()

    def look(self, image: Path, acknowledged: list[str]) -> Verdict:
        """Mount the drive in ``image`` and run the check, which gets the ``acknowledged`` lines."""
        with self._mounted(image) as mount:
            if isinstance(mount, str):
                return Verdict("the file system cannot be mounted", mount)
            return self._run(mount / FOLDER, acknowledged)

    def extents(self, image: Path) -> list[Extent]:
        """The extents of the files on the drive in ``image``; empty if files may move."""
        if self._filesystem not in IN_PLACE:
            return []
        with self._mounted(image) as mount:
            return [] if isinstance(mount, str) else extents(mount / FOLDER)

    @contextlib.contextmanager
    def _mounted(self, image: Path) -> Iterator[Path | str]:
        """Yield the folder in which the drive is mounted, or a message why it cannot be mounted."""
        mount = self._folder / "mount"
        with self._server.serving(image, self._folder / "fuse") as disk:
            device = mounts.attach(disk, is_narrow=memory.is_limited())
            try:
                try:
                    mounts.format_and_mount(
                        device,
                        mount,
                        self._filesystem,
                        fresh=False,
                        options=OWN.mount_options(("discard",)),
                    )
                except DriveError as error:
                    yield str(error)
                    return
                try:
                    yield mount
                finally:
                    mounts.unmount(mount)
            finally:
                mounts.detach(device, disk)

    def _run(self, work: Path, acknowledged: list[str]) -> Verdict:
        if not work.is_dir():
            return Verdict(f"the folder {FOLDER} of the file system is gone")
        path = self._folder / "acknowledged"
        lines = "".join(f"{line}\n" for line in acknowledged)
        path.write_bytes(lines.encode(errors="surrogateescape"))
        last = acknowledged[-1] if acknowledged else ""
        environment = {**os.environ, ACKED: str(path), LAST: last}
        output = self._folder / "said"
        with open(output, "wb") as out:
            child = subprocess.Popen(
                ("/bin/sh", "-c", self._check),
                cwd=work,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        note(self._folder, child.pid)
        has_ended = False
        try:
            has_ended = self._has_ended(child.pid)
        finally:
            # Processes that the check left running would keep the mount busy.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            code = child.wait()
        if not has_ended:
            why = failures.CAUSES["check-hangs"].sentence(seconds=f"{self._timeout:g}")
            return Verdict(why, _end_of(output))
        if code == 0:
            return Verdict(None)
        how = f"exit code {code}" if code > 0 else f"signal {-code}"
        return Verdict(f"the check ended with {how}", _end_of(output))

    def _has_ended(self, pid: int) -> bool:
        """Wait for the check; return false if it takes too long, or somebody wants the end."""
        until, pause = time.monotonic() + self._timeout, FIRST_LOOK
        # Until the exit code is fetched, no other process gets the number of this process.
        while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            if self._control.cancelled or time.monotonic() > until:
                return False
            time.sleep(pause)
            pause = min(2 * pause, LOOK)
        return True


def _end_of(output: Path) -> str:
    with open(output, "rb") as file:
        file.seek(max(0, output.stat().st_size - QUOTED))
        return file.read().decode(errors="replace").strip()
