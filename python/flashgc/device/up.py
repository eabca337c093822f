"""A drive with a file system, served by another process: ``up``, ``down``, ``exec``.

Every step is noted in the state folder (:mod:`flashgc.device.state`), so that it can be undone in
every case, even after the server was killed. The server begins as root, opens what only root may
open, and gives up root's rights before it reads a byte of the drive
(:mod:`flashgc.device.privileges`).
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from flashgc import _isolated
from flashgc._core import ConfigError, DriveError
from flashgc.device import (
    failures,
    initiator,
    memory,
    mounts,
    privileges,
    processes,
    state,
    trust,
    writers,
)
from flashgc.device._closing import descriptor
from flashgc.device.control import Client
from flashgc.device.serving import THREADS, UNIX
from flashgc.device.writers import Writers

#: The most seconds in which a server must open a drive (recovery included), and in which it must
#: close the drive.
OPENING, CLOSING = 300.0, 120.0

#: The main function of the server.
SERVER = "flashgc.device.server:main"

#: Servers that are children of this process, by process number.
_CHILDREN: dict[int, subprocess.Popen[bytes]] = {}


@dataclass
class Up:
    """The note on a drive that was brought up: what has been done so far."""

    #: The mount point of the file system, and the folder of FUSE, which is empty with NVMe/TCP.
    mount: str
    fuse: str
    filesystem: str
    #: The process that serves the drive, and its start time from the kernel.
    server: int = 0
    began: str = ""
    #: The block device; empty before it exists.
    device: str = ""
    #: Addresses of the server.
    serving: list[str] = field(default_factory=list)
    #: The drive's file, its identity, and the user that the server runs as.
    file: str = ""
    key: str = ""
    user: int = 0
    #: For a recording: the folder into which the server writes it, and its final path.
    record: list[str] = field(default_factory=list)
    #: True if only root could have changed the drive's file before it was brought up.
    is_of_root: bool = False
    #: A warning for whoever mounts the drive, if others could have written it.
    warning: str | None = None
    #: The UUID of the host with which the kernel attaches the drive by NVMe/TCP; empty with FUSE.
    host: str = ""

    @property
    def disk(self) -> Path:
        """The file with the drive's bytes."""
        return Path(self.fuse) / "disk"

    def attach(self) -> None:
        """Attach the served drive as a block device."""
        if self.host:
            self.device = initiator.attach(*self._target(), self.host)
        else:
            self.device = mounts.attach(self.disk, is_narrow=memory.is_limited())

    def detach(self, *, force: bool) -> None:
        """Detach the block device, even if another process attached it."""
        if self.host and self.serving:
            initiator.detach(self._target()[1], self.host)
        elif self.device:
            mounts.detach(self.device, self.disk, force=force)

    def _target(self) -> tuple[str, str]:
        """The address of the NVMe/TCP target, and the drive's NVMe qualified name."""
        at, name = next(s.split()[1:] for s in self.serving if s.startswith("nvme-tcp "))
        return at, name


def note_of(file: Path) -> Path:
    """The file with the note on a drive that was brought up."""
    notes = state.folder(state.UP)
    key = state.key(file)
    if key is not None and (notes / key).exists():
        return notes / key
    # If the file is gone or was replaced, its note can only be found by its name.
    wanted = str(file.resolve())
    return next((note for note, done in _noted() if done.file == wanted), notes / (key or "none"))


def log_of(done: Up) -> Path:
    """The log file of a drive's server."""
    return state.folder(state.LOGS) / done.key


def files_below(folder: Path) -> list[Path]:
    """The files of drives that are up and that lie, or are mounted, in ``folder``."""
    begin = f"{folder}/"
    return [
        Path(done.file)
        for _, done in _noted()
        if done.file.startswith(begin) or done.mount.startswith(begin)
    ]


@contextlib.contextmanager
def broken_off(file: Path, limit: float) -> Iterator[None]:
    """After ``limit`` seconds, end operations in the ``with`` that wait for the server of ``file``.

    The server is killed, and requests that wait for it fail. A server that was killed already but
    does not end gets no time.
    """
    done = read(file)
    if done is None:
        yield
        return

    def end() -> None:
        processes.send(done.server, done.began, signal.SIGKILL)
        if done.fuse:
            mounts.unmount_lazily(Path(done.fuse), force=True)

    is_ending = is_alive(done) and processes.is_ending(done.server)
    timer = threading.Timer(0 if is_ending else limit, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _noted() -> Iterator[tuple[Path, Up]]:
    """The notes that can be read, each with its contents."""
    for note in state.folder(state.UP).iterdir():
        with contextlib.suppress(DriveError, OSError):
            yield note, _read(note)


def read(file: Path) -> Up | None:
    """Return the note on a drive that was brought up; ``None`` if there is none."""
    try:
        return _read(note_of(file))
    except FileNotFoundError:
        return None


def _read(note: Path) -> Up:
    text = note.read_text(encoding="utf-8")
    try:
        return Up(**json.loads(text))
    except (ValueError, TypeError):
        raise DriveError(
            f"{note} is damaged; hint: unmount what it names by hand and remove it"
        ) from None


def _begin(file: Path, done: Up) -> None:
    """Note that the drive is being brought up; only one process at a time may do that."""
    try:
        with open(state.folder(state.UP) / done.key, "x", encoding="utf-8") as note:
            json.dump(asdict(done), note)
    except FileExistsError:
        raise DriveError(f"{file} is being brought up by another process; hint: wait") from None


def _write(done: Up) -> None:
    note = state.folder(state.UP) / done.key
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
    user: str | None = None,
    host: str = "fuse",
    source: Writers = writers.OWN,
) -> Up:
    """Serve the drive, make a file system if it is empty, and mount it in ``mount``.

    ``serve`` has further options of ``flashgc device serve``. ``user`` is the name of the user as
    whom the server runs. ``host`` is the way to a block device: a loop device over a FUSE file, or
    ``nvme-tcp``, Linux's own initiator. If this drive is a copy, ``source`` has the writers of the
    original. If a step fails, all is undone. Set-user-ID programs and device files on the drive
    have no effect, unless ``options`` allow them and only root could have written the drive.
    """
    mounts.check("flashgc device up", filesystem, host)
    try:
        opened = trust.open_drive(file)
    except FileNotFoundError:
        hint = f"flashgc device create {file}"
        raise ConfigError(f"{file}: no such file; hint: {hint}") from None
    with contextlib.closing(opened):
        file = opened.path
        mount = _free(file, mount)
        strangers = source.plus(*writers.of(opened.descriptor).others)
        if host != "fuse" or _has_port(serve):
            strangers = writers.served_by_port(strangers)
        decided = strangers.mount_options(options)
        key = state.key_of(opened.descriptor)
        runner = privileges.runner(opened.user, opened.group, user)
        done = Up(str(mount), "", filesystem, file=str(file), key=key, user=runner.user)
        done.is_of_root = not source.others and writers.is_of_root(opened.descriptor)
        done.warning = strangers.warning
        if host == "fuse":
            done.fuse = str(state.folder(state.FUSE) / secrets.token_hex(4))
        else:
            done.host = str(uuid.uuid4())
        _begin(file, done)
        try:
            if done.fuse:
                state.folder(state.FUSE, Path(done.fuse).name)
            _start(opened, done, recorded(done, list(serve), runner), runner)
            _write(done)
            done.attach()
            _write(done)
            held = mounts.file_system_on(done.device)
            if held is not None and held != filesystem:
                if held not in mounts.MAKERS:
                    raise DriveError(f"{file} holds {held}, expected a file system or nothing")
                done.filesystem = held
            mounts.format_and_mount(
                done.device,
                mount,
                done.filesystem,
                fresh=held is None,
                options=decided,
                # mkfs must not discard the data of a drive's past.
                keeps=_has_data(file),
            )
            _write(done)
        except BaseException as error:
            why = explained(error, done) if isinstance(error, (DriveError, OSError)) else error
            with contextlib.suppress(DriveError, OSError):
                down(file)
            if why is error:
                raise
            raise why from None
        return done


def _free(file: Path, mount: Path) -> Path:
    """The folder to mount in. The drive must not be up; remains of a killed server are removed."""
    before = read(file)
    if before is not None and is_alive(before):
        raise DriveError(
            f"{file} is up in {before.mount}; hint: flashgc device down {file} ends that"
        )
    if before is not None:
        down(file)
    mount = trust.make_folder(mount)
    if mounts.is_mounted(mount):
        raise DriveError(f"{mount} is a mount already; hint: choose another folder")
    return mount


def _has_port(serve: Sequence[str]) -> bool:
    """True if a server with these options listens at a TCP port for hosts."""
    at = [serve[place + 1] for place, word in enumerate(serve) if word in ("--nbd", "--nvme-tcp")]
    return any(not address.startswith(UNIX) for address in at)


def explained(error: Exception, done: Up) -> Exception:
    """Return the cause of an error on a drive that is up, or the error itself."""
    read_only = ended = None
    if done.serving and not is_alive(done):
        ended = _last_words(done)
    elif done.serving:
        with contextlib.suppress(DriveError, OSError), Client(Path(done.file)) as client:
            read_only = client.stat()["read_only"]
    folder = Path(done.file).parent
    return failures.explained(error, folder, read_only=read_only, ended=ended)


def _last_words(done: Up) -> str:
    """The last line of the server's log; empty without one."""
    try:
        lines = log_of(done).read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.removeprefix("error: ") for line in reversed(lines) if line.strip()), "")


def recorded(done: Up, serve: list[str], runner: privileges.Runner) -> list[str]:
    """The server's options, with a recording in a place to which the server can write.

    A server without rights writes into a folder of its own beside the final path; :func:`down`
    moves the recording from there.
    """
    if "--record" not in serve or not runner.drops:
        return serve
    at = serve.index("--record") + 1
    target = Path(serve[at])
    parent = trust.check_folder(target.absolute().parent, is_parent=True)
    if (parent / target.name).is_dir():
        raise ConfigError(f"{target}: found a folder, expected the name of a file")
    folder = parent / f".{target.name}.{secrets.token_hex(4)}"
    folder.mkdir(0o700)
    os.chown(folder, runner.user, runner.group)
    done.user = runner.user
    done.record = [str(folder), str(parent / target.name)]
    return [*serve[:at], str(folder / target.name), *serve[at + 1 :], "--record-into", str(folder)]


def take_recording(done: Up) -> None:
    """Move a complete recording to its final path, as a file of the current user."""
    if not done.record:
        return
    folder, target = map(Path, done.record)
    try:
        inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    with descriptor(inside):
        # From here on, nobody else can change the folder's contents, whatever its mode was.
        os.fchown(inside, os.geteuid(), os.getegid())
        os.fchmod(inside, 0o700)
        name = target.name
        with contextlib.suppress(FileNotFoundError):
            recording = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=inside)
            with descriptor(recording):
                status = os.fstat(recording)
                if status.st_uid == done.user and status.st_nlink == 1:
                    os.fchown(recording, os.geteuid(), os.getegid())
                    os.fchmod(recording, 0o600)
                    os.rename(name, target, src_dir_fd=inside)
        for left in os.listdir(inside):
            with contextlib.suppress(OSError):
                os.unlink(left, dir_fd=inside)
    with contextlib.suppress(OSError):
        folder.rmdir()


def start(
    opened: trust.Opened,
    words: Sequence[str],
    runner: privileges.Runner,
    log: int | None = None,
    began_as: Callable[[int], None] = lambda pid: None,
) -> tuple[subprocess.Popen[bytes], bytes]:
    """Start a server, and wait until it serves; return its message, empty if it has ended.

    ``began_as`` is called with its process number at once.
    """
    state.sweep_sockets()
    reader, writer = os.pipe()
    control = state.folder(state.SOCKETS) / state.key_of(opened.descriptor)
    given = ("--ready-fd", writer, "--fd", opened.descriptor, "--control", control, *runner.words)
    server = subprocess.Popen(
        _isolated.command(SERVER, opened.path, *given, *words),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        pass_fds=(writer, opened.descriptor),
        start_new_session=True,
        cwd="/",
    )
    os.close(writer)
    began_as(server.pid)
    with os.fdopen(reader, "rb"):
        os.set_blocking(reader, False)
        until = time.monotonic() + OPENING
        answer = b""
        while not answer.endswith(b"\n"):
            with contextlib.suppress(BlockingIOError):
                part = os.read(reader, 1 << 16)
                answer += part
                if not part:
                    break
            if time.monotonic() > until:
                server.kill()
                raise DriveError(f"{opened.path} was not served after {OPENING:.0f} s")
            time.sleep(0.005)
    if not answer.endswith(b"\n"):
        return server, b""
    processes.put_first(server.pid, json.loads(answer)[THREADS])
    return server, answer


def _start(opened: trust.Opened, done: Up, serve: Sequence[str], runner: privileges.Runner) -> None:
    def began(pid: int) -> None:
        """Note the server at once, so that it can be ended if this process is stopped meanwhile."""
        done.server, done.began = pid, processes.began(pid)
        _write(done)

    # The server outlives this process, so its output goes to a file.
    log = log_of(done)
    log.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with descriptor(os.open(log, flags, 0o600)) as writer:
        # An address in ``serve`` comes after this one, and replaces it.
        front = ("--fuse", done.fuse) if done.fuse else ("--nvme-tcp", "127.0.0.1:0")
        server, answer = start(opened, (*front, *serve), runner, writer, began)
    _CHILDREN[server.pid] = server
    done.server, done.began = server.pid, processes.began(server.pid)
    if not answer:
        code = server.wait()
        raise DriveError(_last_words(done) or f"the server ended with code {code}")
    done.serving = json.loads(answer)["serving"]


def _has_data(file: Path) -> bool:
    with Client(file) as client:
        return int(client.stat()["mapped_pages"]) > 0


def is_alive(done: Up) -> bool:
    """True if the server of a drive that was brought up still runs."""
    return bool(done.began) and processes.began(done.server) == done.began


def stale(file: Path) -> str | None:
    """The mount of a drive whose server was killed; ``None`` without one."""
    done = read(file)
    return None if done is None or is_alive(done) else done.mount


def down(file: Path, *, force: bool = False, last: Callable[[], None] = lambda: None) -> bool:
    """Undo :func:`up`, as far as it got; return whether there was anything to undo.

    Data are durable when this returns. ``force`` also unmounts a file system in use. ``last`` is
    called after the unmount, while the server still runs.
    """
    done = read(file)
    if done is None:
        return False
    is_dead = not is_alive(done)
    if not is_dead and (why := _silence(file, done)) is not None:
        if not force:
            raise DriveError(
                f"{file}: {why}; hint: --force ends it, without the writes that it has not answered"
            )
        processes.send(done.server, done.began, signal.SIGKILL, (0, done.user))
        is_dead = True
    folder = Path(done.file).parent
    if not is_dead and not force and failures.is_without_room(folder):
        # The unmount would lose dirty pages of the page cache, and no program would get an error.
        raise failures.CAUSES["no-room-to-close"].error(file=file, folder=folder)
    words = ""
    if not is_dead:
        _end_faults(file)
    elif done.host:
        done.detach(force=True)  # An unmount would wait for the dead server.
    # Without its server the mount is dead: it cannot be used or written to.
    mounts.unmount(Path(done.mount), force=force or is_dead)
    done.detach(force=force or is_dead)
    if not is_dead:
        last()
        _end(file, done)
    server = _CHILDREN.pop(done.server, None)
    if server is not None:
        server.wait()
    if done.fuse:
        mounts.unmount(Path(done.fuse), force=True)
        with contextlib.suppress(OSError):
            Path(done.fuse).rmdir()
    take_recording(done)
    if done.is_of_root:
        with contextlib.suppress(OSError):
            writers.note(file)
    if not is_dead:
        words = _last_words(done)
    log_of(done).unlink(missing_ok=True)
    (state.folder(state.SOCKETS) / done.key).unlink(missing_ok=True)
    (state.folder(state.UP) / done.key).unlink(missing_ok=True)
    if failures.is_full(words) and not force:  # The drive could not be closed cleanly.
        raise failures.CAUSES["closed-without-room"].error(file=file, folder=folder)
    return True


def _silence(file: Path, done: Up) -> str | None:
    """The reason why a server does not answer; ``None`` if it answers."""
    if processes.is_stopped(done.server):
        return f"its server {done.server} is stopped (kill -CONT {done.server} lets it go on)"
    try:
        Client(file).close()
    except DriveError as error:
        return f"its server {done.server} does not answer: {error}"
    return None


def _end_faults(file: Path) -> None:
    """Clear faults, so that the last writes of the file system reach the drive."""
    # A server of an earlier version has no faults.
    with contextlib.suppress(DriveError), Client(file) as client:
        client.clear_faults()


def _end(file: Path, done: Up) -> None:
    """End the server, but no other process that has its number by now."""
    processes.send(done.server, done.began, signal.SIGTERM, (0, done.user))
    until = time.monotonic() + CLOSING
    while is_alive(done):
        if done.server in _CHILDREN:
            _CHILDREN[done.server].poll()
        if time.monotonic() > until:
            raise DriveError(
                f"{file}: the server {done.server} has not ended after {CLOSING:.0f} s; "
                f"hint: its words are in {log_of(done)}"
            )
        time.sleep(0.01)
