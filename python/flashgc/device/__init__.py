"""The stored drive: a drive that keeps data, in one file, under a real file system or database.

:class:`flashgc.Device` opens one in this process. Other hosts reach it through a file (FUSE) or a
socket (NBD), which :mod:`flashgc.device.serving` runs; :mod:`flashgc.device.up` puts a file system
on it, and :mod:`flashgc.device.execution` runs a command there.
"""

from __future__ import annotations

from flashgc import _core
from flashgc._core import DriveError


def need_linux() -> None:
    """Says in one line that this machine has no stored drives, where it has none."""
    if not hasattr(_core, "StoredDrive"):
        raise DriveError("the stored drive needs Linux; hint: flashgc run simulates drives here")
