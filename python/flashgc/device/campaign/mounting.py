"""A drive mounted by a process of its own, perhaps with a log of its commands.

``python -m flashgc.device.campaign.mounting FILE FOLDER [LOG]`` serves it until its standard input
ends. A process that waits for a file system on a drive that it serves itself could not be killed.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from flashgc import _core
from flashgc._core import DriveError
from flashgc.device import mounts
from flashgc.device.campaign.scratch import note
from flashgc.device.drive import Device

MODULE = "flashgc.device.campaign.mounting"

#: What the process says when the drive is mounted.
READY = b"ready\n"


@contextlib.contextmanager
def served(scratch: Path, file: Path, folder: Path, log: Path | None = None) -> Iterator[Path]:
    """The drive in ``file``, as a file in ``folder``, with its commands in ``log``."""
    logged = () if log is None else (str(log),)
    process = subprocess.Popen(
        [sys.executable, "-m", MODULE, str(file), str(folder), *logged],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # Ctrl-C at a terminal is for the campaign, which then ends this one.
        start_new_session=True,
    )
    note(scratch, process.pid)
    assert process.stdin is not None
    assert process.stdout is not None
    with process, process.stdout as said:
        line = said.readline()
        if line != READY:
            raise DriveError(line.decode(errors="replace").strip() or "the drive was not served")
        try:
            yield folder / "disk"
        finally:
            process.stdin.close()
            left = said.read().decode(errors="replace").strip()
            if process.wait() != 0:
                raise DriveError(left or f"the server ended with code {process.returncode}")


def released(close: Callable[[], None]) -> None:
    """Ends a mount. A loop device that was given back may hold it for some moments more."""
    until = time.monotonic() + mounts.PATIENCE
    while True:
        try:
            return close()
        except DriveError:
            if time.monotonic() > until:
                raise
            time.sleep(mounts.PAUSE)


def until_told() -> None:
    """Says that the drive is served, and waits until nobody wants it any more."""
    sys.stdout.buffer.write(READY)
    sys.stdout.flush()
    sys.stdin.buffer.read()


def main() -> int:
    """Serves the drive until nobody wants it any more."""
    file, folder, *log = map(Path, sys.argv[1:])
    try:
        if log:
            recorded = _core.RecordedDrive(file, log[0], folder)
            until_told()
            released(recorded.close)
        else:
            with Device.open(file) as drive:
                drive.serve_fuse(folder)
                until_told()
                released(drive.stop_serving)
    except (DriveError, OSError) as error:
        print(error, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
