"""A command on a fresh drive whose commands are logged, and its acknowledgements."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from flashgc._core import Control, DriveError
from flashgc.device import failures, making, memory, mounts
from flashgc.device.execution import FOLDER
from flashgc.device.execution.running import left_out
from flashgc.device.logged import served
from flashgc.device.processes import put_first
from flashgc.device.scratch import note


@dataclass(frozen=True, slots=True)
class Note:
    """A line that the command acknowledged, and the length of the log at that time, in bytes."""

    position: int
    line: str


class Listener:
    """Reads the lines that are written to a FIFO, until the end of the ``with``.

    The FIFO is open here for writing too. So a writer never waits to open it, and a reader never
    meets its end.
    """

    def __init__(self, fifo: Path, position: Callable[[], int]) -> None:
        """Make the FIFO; any user who knows its path may write to it."""
        self._position = position
        self.notes: list[Note] = []
        self._rest = b""
        os.mkfifo(fifo, 0o600)
        fifo.chmod(0o622)
        self._file = os.open(fifo, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._wakes, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.write(self._wake, b"x")
        self._thread.join()
        while self._take():  # Lines written before the command ended.
            pass
        for descriptor in (self._file, self._wakes, self._wake):
            os.close(descriptor)

    def _listen(self) -> None:
        # Without this priority, the command could do much work on a busy machine before this
        # thread notes its line.
        put_first(os.getpid(), [threading.get_native_id()])
        while True:
            ready, _, _ = select.select([self._file, self._wakes], [], [])
            if self._wakes in ready:
                return
            self._take()

    def _take(self) -> bool:
        """Read the FIFO, and note its complete lines; return true if there was anything."""
        try:
            read = os.read(self._file, 1 << 16)
        except BlockingIOError:
            return False
        position = self._position()
        *lines, self._rest = (self._rest + read).split(b"\n")
        # A zero byte cannot be part of an environment variable.
        texts = (line.replace(b"\0", b"?").decode(errors="surrogateescape") for line in lines)
        self.notes += [Note(position, text) for text in texts]
        return True


def before(notes: list[Note], position: int) -> list[str]:
    """Return the lines that were noted at byte ``position`` of the log or before it."""
    return [note.line for note in notes if note.position <= position]


#: Default physical size of the drive for each file system. mkfs.xfs refuses less than 300 MB.
CAPACITIES = {"ext4": "256MiB", "xfs": "400MiB", "btrfs": "256MiB"}

#: The environment variable with the path of the FIFO for acknowledgements.
ACKNOWLEDGE = "FLASHGC_ACK"

#: Seconds between two checks whether somebody wants the run to end.
LOOK = 0.1

#: The most seconds that a command may take to end.
PATIENCE = 10.0


@dataclass(frozen=True)
class Recording:
    """The effects of a command. ``begin`` and ``end`` are bytes of the log."""

    notes: list[Note]
    #: The length of the log when the command began, and after the unmount.
    begin: int
    end: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """The recording as plain Python values."""
        return asdict(self)

    @classmethod
    def of(cls, read: dict[str, Any]) -> Self:
        """The recording from the values of :meth:`to_dict`."""
        return cls(**{**read, "notes": [Note(**note) for note in read["notes"]]})


def create(file: Path, capacity: str) -> None:
    """Make an empty drive whose geometry keeps the part reserved for collections small."""
    drive: dict[str, Any] = {"capacity": capacity, "pages_per_block": 64}
    values = {"drive": drive, "gc": {"victim": "greedy"}}
    making.plan(values, {"drive.capacity": "--capacity"}, journal="4MiB").create(file)


def program(command: Sequence[str]) -> list[str]:
    """The command with the absolute path of its program, because it runs in another folder."""
    program = shutil.which(command[0])
    if program is None:
        raise failures.CAUSES["no-command"].error(word=command[0])
    return [os.path.abspath(program), *command[1:]]


def record(
    command: Sequence[str],
    file: Path,
    log: Path,
    filesystem: str,
    capacity: str,
    control: Control,
) -> Recording:
    """Runs ``command`` in a folder of a file system on a drive that logs into ``log``.

    ``file`` becomes the drive, closed, with all that was written. Its folder is a scratch folder
    with the folders ``mount`` and ``fuse``. The output of the command goes to standard error. If
    the command does not end with exit code 0, :class:`flashgc.DriveError` is raised. If somebody
    wants the run to end, ``KeyboardInterrupt`` is raised.
    """
    words = program(command)
    folder = file.parent
    mount, fuse = folder / "mount", folder / "fuse"
    create(file, capacity)

    def position() -> int:
        return log.stat().st_size

    with (
        served(folder, file, fuse, log) as disk,
        mounts.mounted_on(disk, mount, filesystem, fresh=True, is_narrow=memory.is_limited()),
    ):
        work = mount / FOLDER
        work.mkdir()
        mounts.run("sync", "--file-system", str(mount))
        begin, began = position(), time.monotonic()
        fifo = folder / "acknowledge"
        with Listener(fifo, position) as listener, _started(words, work, fifo, folder) as child:
            code = _waited(child, control, disk)
            foreign = left_out(command, work) if code else None
        seconds = time.monotonic() - began
    if control.cancelled:
        raise KeyboardInterrupt
    if code:
        how = f"exit code {code}" if code > 0 else f"signal {-code}"
        raise DriveError(
            f"{command[0]} ended with {how}, and nothing was cut; "
            + (foreign or "hint: it must end with 0")
        )
    return Recording(listener.notes, begin, position(), seconds)


@contextlib.contextmanager
def _started(
    words: list[str], work: Path, fifo: Path, folder: Path
) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, "TMPDIR": str(work), ACKNOWLEDGE: str(fifo)}
    try:
        child = subprocess.Popen(words, cwd=work, env=environment, stdout=2)
    except OSError as error:
        raise DriveError(f"{words[0]}: {error.strerror}") from None
    note(folder, child.pid)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def _waited(child: subprocess.Popen[bytes], control: Control, disk: Path) -> int:
    """The exit code of the command; it is asked to end if somebody wants the run to end.

    Raises :class:`flashgc.DriveError` if the server of ``disk`` has ended.
    """
    kill_at = None
    while True:
        try:
            return child.wait(LOOK)
        except subprocess.TimeoutExpired:
            if mounts.is_dead(disk):
                raise failures.CAUSES["server-ended"].error(why="") from None
            if control.cancelled and kill_at is None:
                kill_at = time.monotonic() + PATIENCE
                child.terminate()
            elif kill_at is not None and time.monotonic() > kill_at:
                child.kill()
