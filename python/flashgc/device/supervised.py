"""``flashgc device serve`` as root: a server without rights, and the process that unmounts.

The process that the user started keeps root's rights, and reads no data from hosts, networks or
drives. It waits for signals, and unmounts.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flashgc._core import DriveError
from flashgc.device import mounts, privileges, state, trust, writers
from flashgc.device import up as upping
from flashgc.device.control import Client
from flashgc.device.serving import Fronts, Signals


class Supervised:
    """A running server."""

    def __init__(self, file: Path, fuse: Path | None, server: subprocess.Popen[bytes]) -> None:
        self._file, self._fuse, self._server = file, fuse, server
        self.serving: list[str] = []

    def stat(self) -> dict[str, Any]:
        """Return the state of the drive from its server."""
        with Client(self._file) as client:
            return client.stat()

    def until_told(self, signals: Signals) -> bool:
        """Wait for a signal to end, or for the server's own end; return whether a signal came.

        Raises :class:`flashgc.DriveError` while the mount is in use; the mount then stays.
        """
        signal = signals.wait(lambda: self._server.poll() is not None)
        if signal and self._fuse is not None:
            error = mounts.try_unmount(self._fuse)
            if error not in (0, errno.EINVAL):
                raise DriveError(
                    f"the drive's file is in use: {os.strerror(error)}; "
                    "hint: unmount what is on it first"
                )
        return signal

    def end(self) -> int:
        """End the server and its mount; return the server's exit code."""
        self._server.terminate()
        code = self._server.wait()
        if self._fuse is not None:
            mounts.unmount_lazily(self._fuse)
        return code


@contextlib.contextmanager
def served(file: Path, fronts: Fronts, user: str | None) -> Iterator[Supervised]:
    """Serve a drive; raise :class:`SystemExit` if the server ends at once."""
    opened = trust.open_drive(file)
    done = upping.Up("", "", "", is_of_root=writers.is_of_root(opened.descriptor))
    key = state.key_of(opened.descriptor)
    try:
        runner = privileges.runner(opened.user, opened.group, user)
        fuse = None if fronts.fuse is None else _free(fronts.fuse)
        words = upping.recorded(done, fronts.words(), runner)
        if fuse is not None:
            words += ["--fuse", str(fuse)]
        server, answer = upping.start(opened, ["--with-parent", *words], runner)
    except BaseException:
        upping.take_recording(done)
        raise
    finally:
        opened.close()
    supervised = Supervised(opened.path, fuse, server)
    try:
        if not answer:
            raise SystemExit(server.wait() or 1)
        supervised.serving = json.loads(answer)["serving"]
        yield supervised
    finally:
        supervised.end()
        upping.take_recording(done)
        if done.is_of_root:
            with contextlib.suppress(OSError):
                writers.note(opened.path)
        if answer:  # Otherwise it may be the socket of another server of this drive.
            (state.folder(state.SOCKETS) / key).unlink(missing_ok=True)


def _free(folder: Path) -> Path:
    """A folder to mount in; a mount that a killed server left there is removed."""
    with contextlib.suppress(OSError):
        place = trust.check_folder(folder.absolute().parent, is_parent=True) / folder.name
        try:
            os.stat(place)
        except OSError as error:
            if error.errno == errno.ENOTCONN:
                mounts.unmount_lazily(place)
    return trust.check_folder(folder)
