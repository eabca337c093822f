"""Serves a drive until somebody ends it: the work of ``flashgc device serve``."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Self

from flashgc import _core
from flashgc._core import ConfigError
from flashgc.device import memory
from flashgc.device.drive import Device

#: The beginning of an address that is a Unix socket.
UNIX = "unix:"

#: Options of the server for a clock.
CLOCK = ("--clock", "--slower", "--aged", "--hints")


@dataclass(frozen=True)
class Fronts:
    """The front ends of a drive, its page, and the options with which it is served."""

    #: The folder in which FUSE shows the drive's bytes as a file.
    fuse: Path | None = None
    #: The address of the NBD server: ``HOST:PORT`` or ``unix:PATH``.
    nbd: str | None = None
    #: The address of the NVMe/TCP target: ``HOST:PORT``.
    nvme_tcp: str | None = None
    #: The address of the page: ``HOST:PORT``.
    http: str | None = None
    #: True if other machines may be able to reach these addresses.
    listen_anywhere: bool = False
    #: The trace into which requests are recorded.
    record: Path | None = None
    durability: str | None = None
    #: The clock of a drive that answers when a timed drive would.
    clock: tuple[str, float, float | Path, str | None] | None = None
    #: True if the code that the drive's file names may run.
    allow_python: bool = False
    #: The file system on the drive, if the server will be told the streams of its files.
    follow_files: str | None = None

    def words(self) -> list[str]:
        """The options of :mod:`flashgc.device.server` for all but FUSE, with absolute paths."""
        nbd = self.nbd
        if nbd is not None and nbd.startswith(UNIX):
            nbd = f"{UNIX}{Path(nbd.removeprefix(UNIX)).absolute()}"
        clock = zip(CLOCK, self.clock or (), strict=False)
        given = {
            "--nbd": nbd,
            "--nvme-tcp": self.nvme_tcp,
            "--http": self.http,
            "--record": None if self.record is None else self.record.absolute(),
            "--durability": self.durability,
            "--follow-files": self.follow_files,
            **dict(clock),
        }
        flags = {
            "--listen-anywhere": self.listen_anywhere,
            "--allow-python": self.allow_python,
        }
        words = [str(word) for pair in given.items() if pair[1] is not None for word in pair]
        return [*words, *(flag for flag, is_given in flags.items() if is_given)]


@dataclass(frozen=True)
class Ready:
    """Files and sockets opened before serving begins, because the server may not open them."""

    file: _core.DriveFile | None = None
    mount: _core.DeviceMount | None = None
    nbd: _core.DeviceListener | None = None
    nvme_tcp: _core.DeviceListener | None = None
    control: _core.DeviceListener | None = None
    control_path: Path | None = None
    #: The kernel's ring buffers for the events of the file system on the drive.
    files: _core.FileRings | None = None
    #: Threads that should have priority over all others, which the server itself may not give them.
    late: list[int] = field(default_factory=list)


#: No file or socket is open yet: the process opens all of them.
NOTHING = Ready()

#: The folder with the threads of this process.
TASKS = "/proc/self/task"

#: The key of :attr:`Ready.late` in the message with which a server begins to serve.
THREADS = "threads"

#: Seconds between two checks whether somebody wants the server to end.
LOOK = 0.2


@contextlib.contextmanager
def opened(path: Path, fronts: Fronts, ready: Ready = NOTHING) -> Iterator[Device]:
    """The drive, served until the end of the ``with`` and then closed, with its recording."""
    if fronts.fuse is not None and ready.mount is None and not fronts.fuse.is_dir():
        raise ConfigError(f"--fuse: {fronts.fuse} is no folder; hint: mkdir {fronts.fuse}")
    with contextlib.ExitStack() as stack:
        with prompt(ready.late) if fronts.clock is not None else contextlib.nullcontext():
            opening = Device.open(
                path,
                durability=fronts.durability,
                clock=fronts.clock,
                allow_python=fronts.allow_python,
                held=ready.file,
                files=ready.files,
            )
            drive = stack.enter_context(opening)
            memory.reserve()
            if fronts.record is not None:
                drive.record(fronts.record)
            if fronts.nbd is not None:
                drive.serve_nbd(fronts.nbd, bound=ready.nbd, listen_anywhere=fronts.listen_anywhere)
            if fronts.nvme_tcp is not None:
                drive.serve_nvme_tcp(
                    fronts.nvme_tcp, bound=ready.nvme_tcp, listen_anywhere=fronts.listen_anywhere
                )
            if fronts.fuse is not None:
                drive.serve_fuse(fronts.fuse, ready.mount)
        drive.serve_control(ready.control_path, ready.control)
        if fronts.http is not None:
            stack.enter_context(shown(drive, fronts.http, listen_anywhere=fronts.listen_anywhere))
        yield drive


@contextlib.contextmanager
def prompt(late: list[int]) -> Iterator[None]:
    """Give threads that begin in this ``with`` priority, where that is permitted.

    They run before all ordinary threads of the host. A process without root's rights may not give
    priority. Then the threads are added to ``late``, for the process that started this one. If that
    process may not do it either, answers of a drive with a clock are late more often; ``stat``
    shows both facts.
    """
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        others = set(os.listdir(TASKS))
        yield
        late += sorted(int(task) for task in set(os.listdir(TASKS)) - others)
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)


@contextlib.contextmanager
def shown(drive: Device, address: str, *, listen_anywhere: bool) -> Iterator[None]:
    """Serve the page of the drive at ``address``."""
    from flashgc.device.web import Page

    with Page(drive, address, listen_anywhere=listen_anywhere) as page:
        drive.serves(page.url)
        yield


class Signals:
    """Keeps Ctrl-C, SIGTERM and SIGHUP that arrive while this is open, so that none is lost.

    Only the main thread can open such an object. A handler may run while any lock is held, so it
    takes no lock and only writes to a pipe.
    """

    def __enter__(self) -> Self:
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            numbers.append(signal.SIGHUP)
        self._before = {number: signal.signal(number, self._take) for number in numbers}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._reader)
        os.close(self._writer)

    def _take(self, _number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self._writer, b".")

    def wait(self, is_over: Callable[[], bool]) -> bool:
        """Wait for a signal, or one that came before; return false once ``is_over()``."""
        while not is_over():
            if select.select([self._reader], [], [], LOOK)[0]:
                os.read(self._reader, 1 << 16)
                return True
        return False


def until_told(drive: Device, signals: Signals) -> None:
    """Wait for a signal or another process's request to end, then end the front ends.

    A mount in use stays, and the next signal tries again.
    """
    signals.wait(lambda: drive.stopping)
    drive.stop_serving()


def told_of(drive: Device) -> dict[str, Any]:
    """Return the facts about a drive whose serving begins."""
    return {"file": str(drive.path), "size": drive.size, "serving": drive.serving}
