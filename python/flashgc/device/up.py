"""A drive with a file system on it, served by a process of its own: ``up``, ``down``, ``exec``.

What was done is noted in a file beside the drive, ``FILE.up``, so that it can be undone whatever
happened: also after the server was killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from flashgc._core import ConfigError, DriveError
from flashgc.device import mounts

#: Seconds that a server gets to open a drive (recovery included), and to close it.
OPENING, CLOSING = 300.0, 120.0

#: The options of the server for a clock.
CLOCK = ("--clock", "--slower", "--aged")

#: Servers that are children of this process, by their numbers.
_CHILDREN: dict[int, subprocess.Popen[bytes]] = {}


@dataclass
class Up:
    """What was done to bring a drive up."""

    #: The folder of the file system, and the folder of FUSE.
    mount: str
    fuse: str
    filesystem: str
    #: The process that serves the drive, and when the kernel says it began.
    server: int = 0
    began: str = ""
    #: The loop device; empty before there is one.
    device: str = ""
    #: Addresses of the server.
    serving: list[str] = field(default_factory=list)

    @property
    def disk(self) -> Path:
        """The file with the drive's bytes."""
        return Path(self.fuse) / "disk"


def with_clock(clock: tuple[str, float, float] | None) -> list[str]:
    """The options of the server for a clock."""
    if clock is None:
        return []
    return [word for flag, value in zip(CLOCK, clock, strict=True) for word in (flag, str(value))]


def note_of(file: Path) -> Path:
    """The file in which it is noted how the drive was brought up."""
    return file.with_name(f"{file.name}.up")


def read(file: Path) -> Up | None:
    """What was done to bring the drive up; ``None`` if it was not."""
    try:
        text = note_of(file).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        return Up(**json.loads(text))
    except (ValueError, TypeError):
        raise DriveError(
            f"{note_of(file)} is damaged; hint: unmount what it names by hand and remove it"
        ) from None


def _begin(file: Path, done: Up) -> None:
    """Notes that the drive is brought up: one process at a time does that."""
    try:
        with open(note_of(file), "x", encoding="utf-8") as note:
            json.dump(asdict(done), note)
    except FileExistsError:
        raise DriveError(f"{file} is being brought up by another process; hint: wait") from None


def _write(file: Path, done: Up) -> None:
    note = note_of(file)
    partial = note.with_name(f"{note.name}.tmp")
    partial.write_text(json.dumps(asdict(done), indent=1), encoding="utf-8")
    partial.replace(note)


def up(
    file: Path,
    mount: Path,
    *,
    filesystem: str = "ext4",
    options: Sequence[str] = ("discard",),
    serve: Sequence[str] = (),
) -> Up:
    """Serves the drive, makes a file system if it is empty, and mounts it in ``mount``.

    ``serve`` are further options of ``flashgc device serve``. What fails is undone.
    """
    mounts.check("flashgc device up", filesystem)
    if not file.exists():
        raise ConfigError(f"{file}: no such file; hint: flashgc device create {file}")
    file, mount = file.resolve(), mount.absolute()
    before = read(file)
    if before is not None and _is_alive(before):
        raise DriveError(
            f"{file} is up in {before.mount}; hint: flashgc device down {file} ends that"
        )
    if before is not None:
        down(file)
    mount.mkdir(parents=True, exist_ok=True)
    if mounts.is_mounted(mount):
        raise DriveError(f"{mount} is a mount already; hint: choose another folder")
    done = Up(str(mount), tempfile.mkdtemp(prefix="flashgc-"), filesystem)
    try:
        _begin(file, done)
    except BaseException:
        os.rmdir(done.fuse)
        raise
    try:
        _start(file, done, serve)
        _write(file, done)
        done.device = mounts.attach(done.disk)
        _write(file, done)
        held = mounts.found(done.device)
        if held is not None and held != filesystem:
            if held not in mounts.MAKERS:
                raise DriveError(f"{file} holds {held}, expected a file system or nothing")
            done.filesystem = held
        mounts.format_and_mount(
            done.device, mount, done.filesystem, fresh=held is None, options=options
        )
        _write(file, done)
    except BaseException:
        with contextlib.suppress(DriveError, OSError):
            down(file)
        raise
    return done


def _start(file: Path, done: Up, serve: Sequence[str]) -> None:
    """Starts the server and waits until it serves."""
    reader, writer = os.pipe()
    # The server outlives this process: what it says goes to a file beside the drive.
    with open(file.with_name(f"{file.name}.log"), "wb") as log:
        server = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "flashgc.device.server",
                str(file),
                "--ready-fd",
                str(writer),
                "--fuse",
                done.fuse,
                *serve,
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(writer,),
            start_new_session=True,
        )
    os.close(writer)
    _CHILDREN[server.pid] = server
    done.server, done.began = server.pid, began(server.pid)
    with os.fdopen(reader, "rb"):
        os.set_blocking(reader, False)
        until = time.monotonic() + OPENING
        said = b""
        while not said.endswith(b"\n"):
            with contextlib.suppress(BlockingIOError):
                part = os.read(reader, 1 << 16)
                said += part
                if not part:
                    break
            if time.monotonic() > until:
                server.kill()
                raise DriveError(f"{file} was not served after {OPENING:.0f} s")
            time.sleep(0.005)
    if not said.endswith(b"\n"):
        code = server.wait()
        log_text = file.with_name(f"{file.name}.log").read_text(errors="replace")
        lines = [line for line in log_text.splitlines() if line.strip()]
        why = lines[-1].removeprefix("error: ") if lines else f"the server ended with code {code}"
        raise DriveError(why)
    done.serving = json.loads(said)["serving"]


def began(pid: int) -> str:
    """When a process began, in the kernel's own words; empty if it does not run."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    state, *fields = stat.rpartition(")")[2].split()
    return "" if state in "ZX" else fields[18]


def _is_alive(done: Up) -> bool:
    return bool(done.began) and began(done.server) == done.began


def down(file: Path, *, force: bool = False) -> bool:
    """Undoes :func:`up`, as far as it came; whether there was anything to undo.

    Data are safe when this returns. ``force`` also unmounts what is in use.
    """
    file = file.resolve()
    done = read(file)
    if done is None:
        return False
    is_dead = not _is_alive(done)
    # Without its server the mount is dead: nobody can use it, or write to it.
    mounts.unmount(Path(done.mount), force=force or is_dead)
    if done.device:
        mounts.detach(done.device, done.disk)
    if not is_dead:
        os.kill(done.server, signal.SIGTERM)
        _wait(file, done)
    server = _CHILDREN.pop(done.server, None)
    if server is not None:
        server.wait()
    mounts.unmount(Path(done.fuse), force=True)
    with contextlib.suppress(OSError):
        Path(done.fuse).rmdir()
    note_of(file).unlink(missing_ok=True)
    file.with_name(f"{file.name}.log").unlink(missing_ok=True)
    return True


def _wait(file: Path, done: Up) -> None:
    until = time.monotonic() + CLOSING
    while _is_alive(done):
        if done.server in _CHILDREN:
            _CHILDREN[done.server].poll()
        if time.monotonic() > until:
            raise DriveError(
                f"{file}: the server {done.server} has not ended after {CLOSING:.0f} s; "
                f"hint: its words are in {file}.log"
            )
        time.sleep(0.01)
