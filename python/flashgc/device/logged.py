"""A drive that another process serves as a file, optionally with a log of its commands.

The process that reads a mount must not serve it. If one process does both and is killed, its reads
wait for itself, and it never ends.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from flashgc import Device, _core, _isolated
from flashgc._core import DriveError
from flashgc.device import memory, mounts
from flashgc.device.scratch import note

#: The server's words for "it serves" and "it has closed the drive".
READY, CLOSED = "ready", "closed"


@contextlib.contextmanager
def served(scratch: Path, file: Path, folder: Path, log: Path | None = None) -> Iterator[Path]:
    """The drive in ``file``, mounted in ``folder``; yields the file with its bytes.

    The drive is closed at the end. Raises :class:`flashgc.DriveError` if the drive cannot be opened
    or closed.
    """
    with Server(scratch) as server, server.serving(file, folder, log) as disk:
        yield disk


class Server:
    """A process that serves drives, one after the other; it ends with the ``with``."""

    def __init__(self, scratch: Path) -> None:
        """``scratch`` is the scratch folder of the process that starts the server."""
        self._scratch = scratch

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            _isolated.command(f"{__name__}:main"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd="/",
            # Ctrl-C at a terminal is for the parent process, which then ends this one.
            start_new_session=True,
        )
        note(self._scratch, self._process.pid)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    @contextlib.contextmanager
    def serving(self, file: Path, folder: Path, log: Path | None = None) -> Iterator[Path]:
        """The drive in ``file``, mounted in ``folder``; yields the file with its bytes.

        The drive is closed at the end. If an exception ends the ``with``, the server is killed
        instead.
        """
        words = [file, folder, *([] if log is None else [log])]
        self._ask(json.dumps([str(word) for word in words]), READY)
        try:
            yield folder / "disk"
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise
        self._ask("", CLOSED)

    def _ask(self, line: str, expected: str) -> None:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        answer = ""
        with contextlib.suppress(BrokenPipeError):
            stdin.write(f"{line}\n")
            stdin.flush()
            answer = stdout.readline().strip()
        if answer != expected:
            raise DriveError(answer or "the server ended without a word")


def _released(end: Callable[[], None], folder: Path) -> None:
    """End a mount, and retry while a loop device that was detached still holds it."""
    until = time.monotonic() + mounts.PATIENCE
    while True:
        try:
            return end()
        except DriveError as error:
            if time.monotonic() > until:
                raise DriveError(
                    f"{folder} is held by something else after {mounts.PATIENCE:.0f} s ({error}); "
                    "hint: a process that is in it, or a container that began meanwhile and has a "
                    "copy of its mounts"
                ) from None
            time.sleep(mounts.PAUSE)


def main() -> None:
    """Serve the drives that lines of stdin name; an empty line, or the end, closes a drive."""
    # Ctrl-C is for the parent process, which then ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    memory.prepare()
    for line in sys.stdin:
        file, folder, *log = map(Path, json.loads(line))
        try:
            _serve(file, folder, *log)
            print(CLOSED, flush=True)
        except (DriveError, OSError) as error:
            print(" ".join(str(error).split()), flush=True)


def _serve(file: Path, folder: Path, log: Path | None = None) -> None:
    """Serve a drive until the next line of stdin."""
    if log is not None:
        recorded = _core.RecordedDrive(file, log, folder, memory.is_limited())
        memory.reserve()
        print(READY, flush=True)
        sys.stdin.readline()
        _released(recorded.close, folder)
        return
    drive = Device.open(file, held=_core.DriveFile(file, uncached=memory.is_limited()))
    drive.serve_fuse(folder)
    memory.reserve()
    print(READY, flush=True)
    sys.stdin.readline()
    _released(drive.stop_serving, folder)
    drive.close()
