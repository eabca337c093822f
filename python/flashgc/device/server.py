"""The process that serves a drive for ``device up``, and for root's ``device serve``.

It is started isolated (:mod:`flashgc._isolated`). As root, it opens what it needs, gives up root's
rights, and only then reads the drive.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from flashgc import _core
from flashgc._core import ConfigError, FlashgcError
from flashgc.device import memory, privileges, trust
from flashgc.device.realtime import past
from flashgc.device.serving import (
    THREADS,
    UNIX,
    Fronts,
    Ready,
    Signals,
    opened,
    told_of,
    until_told,
)


def main() -> int:
    """Serve until told to stop; write to a pipe when serving begins."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--ready-fd", type=int, required=True)
    parser.add_argument("--fd", type=int)
    for path in ("--control", "--record-into", "--fuse", "--record"):
        parser.add_argument(path, type=Path)
    for text in ("--user", "--nbd", "--nvme-tcp", "--http", "--durability", "--follow-files"):
        parser.add_argument(text)
    for flag in ("--with-parent", "--listen-anywhere", "--allow-python"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--clock")
    parser.add_argument("--slower", type=float)
    parser.add_argument("--aged", type=past)
    parser.add_argument("--hints")
    given = vars(parser.parse_args())
    file, ready = given.pop("file"), given.pop("ready_fd")
    with_parent = given.pop("with_parent")
    held, user, control, into = (
        given.pop(name) for name in ("fd", "user", "control", "record_into")
    )
    clock = given["clock"], given.pop("slower"), given.pop("aged"), given.pop("hints")
    given["clock"] = None if clock[0] is None else clock
    # Ctrl-C at the terminal is for the parent process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    memory.prepare()
    try:
        front = Fronts(**given)
        at_hand = _at_hand(front, (file, held), control, is_root=user is not None)
        if into is not None:
            # Open the folder itself, since only root may enter the folders above it.
            opened_into = os.open(into, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            assert front.record is not None
            record = Path(f"/proc/self/fd/{opened_into}") / front.record.name
            front = Fronts(**{**given, "record": record})
        if user is not None:
            _import_all(front)
            memory.lock()
            uid, gid = map(int, user.split(":"))
            privileges.drop(uid, gid)
        if with_parent:
            # After the change of user, which resets this setting.
            privileges.end_with_parent()
        with Signals() as signals, opened(file, front, at_hand) as drive:
            if _say(ready, {**told_of(drive), THREADS: at_hand.late}):
                until_told(drive, signals)
    except (FlashgcError, OSError) as error:
        failure = error
        if isinstance(error, OSError) and error.filename is not None:
            failure = OSError(f"{error.filename}: {error.strerror}")
        print(f"error: {failure}", file=sys.stderr, flush=True)
        return 2 if isinstance(error, ConfigError) else 1
    return 0


def _say(ready: int, facts: dict[str, Any]) -> bool:
    """Tell the parent process that this server serves; return false if the parent was killed."""
    try:
        os.write(ready, f"{json.dumps(facts)}\n".encode())
    except BrokenPipeError:
        return False
    finally:
        os.close(ready)
    return True


def _at_hand(
    front: Fronts, drive: tuple[Path, int | None], control: Path | None, *, is_root: bool
) -> Ready:
    """Open the files and sockets that need rights which are given up later."""
    file, held = drive
    if is_root and front.nbd is not None and front.nbd.startswith(UNIX):
        # Root removes an abandoned socket there and makes a new one, so the folder must be safe.
        parent = Path(front.nbd.removeprefix(UNIX)).absolute().parent
        trust.check_folder(parent, is_parent=True)
    return Ready(
        file=None
        if held is None
        else _core.DriveFile(Path(f"/proc/self/fd/{held}"), file, uncached=memory.is_limited()),
        mount=_core.DeviceMount(front.fuse) if is_root and front.fuse is not None else None,
        nbd=_core.DeviceListener(front.nbd) if is_root and front.nbd is not None else None,
        nvme_tcp=(
            _core.DeviceListener(front.nvme_tcp, nvme_tcp=True)
            if is_root and front.nvme_tcp is not None
            else None
        ),
        control=None if control is None else _core.DeviceListener(f"unix:{control}"),
        control_path=control,
        files=None if front.follow_files is None else _core.FileRings(front.follow_files),
    )


def _import_all(front: Fronts) -> None:
    """Import modules now that are normally imported late, when their folder may be inaccessible."""
    import ctypes  # noqa: F401
    import encodings.idna  # noqa: F401
    import traceback  # noqa: F401

    import flashgc.device.realtime
    import flashgc.policy_files  # noqa: F401

    if front.allow_python:
        import ast  # noqa: F401
        import hashlib  # noqa: F401

        import numpy  # noqa: F401
    if front.http is not None:
        from flashgc.device import still, web  # noqa: F401

        web.keep_files()


if __name__ == "__main__":
    sys.exit(main())
