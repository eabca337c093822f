"""The stored drive: a drive that keeps data, in one file, under a real file system or database.

:class:`flashgc.Device` opens one in this process. Other hosts reach it through a file (FUSE) or a
socket (NBD), which :mod:`flashgc.device.serving` runs; :mod:`flashgc.device.up` puts a file system
on it, and :mod:`flashgc.device.execution` runs a command there.

:mod:`~flashgc.device.serving` opens the drive, starts front ends and waits for signals. Other
processes reach it through the control socket (:mod:`~flashgc.device.control`).
:mod:`~flashgc.device.up` notes in the state folder (:mod:`~flashgc.device.state`) which drives it
brings up. :mod:`~flashgc.device.initiator` notes there the host's name under which it connects a
controller. Each of the two writes its note before it acts, so that a later process can undo the
act.
:mod:`~flashgc.device.trust` says which paths root takes, :mod:`~flashgc.device.privileges` how
servers give their rights away, :mod:`~flashgc.device.code` when the code that a drive's file names
may be loaded, and :mod:`~flashgc.device.listening` where a drive may be served.
:mod:`~flashgc.device.watch` draws the slowest requests for the terminal, ``page/stall.js`` for the
page. No module here knows the bytes of a drive.
"""

from __future__ import annotations

from flashgc import _core
from flashgc._core import DriveError


def need_linux() -> None:
    """Raise :class:`flashgc.DriveError` if this machine has no stored drives."""
    if not hasattr(_core, "StoredDrive"):
        raise DriveError("the stored drive needs Linux; hint: flashgc run simulates drives here")
