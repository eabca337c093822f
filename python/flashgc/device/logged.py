"""A drive served as a file by a process of its own, perhaps with a log of its commands.

Who reads a mount must not serve it: when both are one process and it is killed, its reads
wait for itself, and it never ends.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from flashgc import Device, _core, _isolated
from flashgc._core import DriveError
from flashgc.device import mounts
from flashgc.device.scratch import note

#: Words of the server: it serves, it has closed the drive.
READY, CLOSED = "ready", "closed"


@contextlib.contextmanager
def served(scratch: Path, file: Path, folder: Path, log: Path | None = None) -> Iterator[Path]:
    """The drive in ``file``, mounted in ``folder``: the file with its bytes. Closed at the end.

    Raises :class:`flashgc.DriveError` where it cannot be opened or closed.
    """
    command = _isolated.command(f"{__name__}:main", file, folder)
    server = subprocess.Popen(
        command if log is None else [*command, str(log)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd="/",
        # Ctrl-C at a terminal is for whoever started this one, and then ends it.
        start_new_session=True,
    )
    note(scratch, server.pid)
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        said = server.stdout.readline().strip()
        if said != READY:
            raise DriveError(said or "the server ended without a word")
        yield folder / "disk"
        server.stdin.close()
        said = server.stdout.readline().strip()
        if said != CLOSED:
            raise DriveError(said or "the server ended without a word")
    finally:
        server.kill()
        server.wait()
        server.stdin.close()
        server.stdout.close()


def _released(end: Callable[[], None]) -> None:
    """Ends a mount. A loop device that was given back may hold it for some moments more."""
    until = time.monotonic() + mounts.PATIENCE
    while True:
        try:
            return end()
        except DriveError:
            if time.monotonic() > until:
                raise
            time.sleep(mounts.PAUSE)


def main() -> None:
    """Serves until nobody holds the other end of stdin."""
    # Ctrl-C is for whoever started this one, and ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    file, folder, *log = (Path(word) for word in sys.argv[1:])
    try:
        if log:
            recorded = _core.RecordedDrive(file, log[0], folder)
            end = recorded.close
        else:
            drive = Device.open(file)
            drive.serve_fuse(folder)
            end = drive.stop_serving
        print(READY, flush=True)
        sys.stdin.read()
        _released(end)
        if not log:
            drive.close()
        print(CLOSED, flush=True)
    except (DriveError, OSError) as error:
        print(" ".join(str(error).split()), flush=True)
