"""A drive served as a file by a process of its own, perhaps with a log of its commands.

Who reads a mount must not serve it: when both are one process and it is killed, its reads
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

#: Words of the server: it serves, it has closed the drive.
READY, CLOSED = "ready", "closed"


@contextlib.contextmanager
def served(scratch: Path, file: Path, folder: Path, log: Path | None = None) -> Iterator[Path]:
    """The drive in ``file``, mounted in ``folder``: the file with its bytes. Closed at the end.

    Raises :class:`flashgc.DriveError` where it cannot be opened or closed.
    """
    with Server(scratch) as server, server.serving(file, folder, log) as disk:
        yield disk


class Server:
    """A process that serves drives, one after the other; as a context, it ends with that."""

    def __init__(self, scratch: Path) -> None:
        """``scratch`` is the scratch folder of whoever starts it."""
        self._scratch = scratch

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            _isolated.command(f"{__name__}:main"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd="/",
            # Ctrl-C at a terminal is for whoever started this one, and then ends it.
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
        """The drive in ``file``, mounted in ``folder``: the file with its bytes.

        It is closed at the end, but not if an exception ends the context: then the server ends.
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
    """Ends a mount. A loop device that was given back may hold it for some moments more."""
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
    """Serves drives that lines of stdin name; an empty line, or its end, closes one."""
    # Ctrl-C is for whoever started this one, and ends it.
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
    """Serves a drive until the next line of stdin."""
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
