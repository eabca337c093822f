"""A command on a fresh drive with a file system, and what it did to the flash."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, Self

from flashgc import _core
from flashgc._core import DriveError
from flashgc._documents import read
from flashgc.device import making, mounts, realtime, trust
from flashgc.device import up as upping
from flashgc.device.control import Client
from flashgc.device.scratch import scratch
from flashgc.device.serving import Fronts
from flashgc.results import Finding, Steadiness, findings

#: Seconds between two samples at first.
LOOK = 0.02
#: Most samples of a run: when there are so many, every second one goes.
SAMPLES = 512

#: A drive that nobody but the command reaches.
NOWHERE = Fronts()

#: The folder of a file system in which the command works.
FOLDER = "work"


@dataclass(frozen=True)
class Sample:
    """The drive at one moment: seconds since the command began, and counts since then."""

    seconds: float
    host_pages: int
    copied_pages: int
    erases: int
    free_blocks: int


@dataclass(frozen=True)
class Executed:
    """The effects of a command on a drive. Bytes and counts are the command's, not mkfs's."""

    #: The command, and its exit code; minus the number of the signal that ended it.
    command: list[str]
    exit_code: int
    seconds: float
    #: The file system, and what the drive was made of.
    filesystem: str
    drive: dict[str, Any]
    #: Bytes that the command handed to write calls, pipes and terminals among them.
    written_bytes: int
    #: Bytes of pages that it made dirty in the page cache.
    dirtied_bytes: int
    #: Bytes that reached the drive, and bytes programmed into flash.
    host_bytes: int
    flash_bytes: int
    #: ``flash_bytes`` by ``host_bytes``; ``None`` where nothing reached the drive.
    write_amplification: float | None
    #: ``host_bytes`` by ``written_bytes``; ``None`` where the command wrote nothing.
    filesystem_overhead: float | None
    read_bytes: int
    trimmed_bytes: int
    copied_pages: int
    collections: int
    erases: int
    flushes: int
    #: Latencies of the drive in microseconds, by kind of request, mkfs among them.
    latency_us: dict[str, dict[str, float]]
    samples: list[Sample]
    #: The state of the drive when it was unmounted, with the names of the standards.
    stat: dict[str, Any]
    #: True if write amplification was steady while the command wrote, by the tests of simulated
    #: drives.
    steady: bool
    steadiness: Steadiness
    #: The claims about the figures, each with its evidence.
    findings: list[Finding]
    #: The lateness of a drive with a clock, and its measurements; ``None`` of another.
    realtime: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain Python values."""
        return asdict(self)


#: Parts of a run that are compared with each other, of about as many host writes each.
PARTS = 20


def parts_of(samples: Sequence[Sample], parts: int = PARTS) -> list[tuple[int, int]]:
    """The pages that the host wrote and those programmed, in as many ``parts`` or fewer.

    Each ends at the first sample with its share of the host's writes.

    >>> looks = [Sample(at, 10 * at, 5 * at, 0, 9) for at in range(0, 9, 2)]
    >>> parts_of(looks)
    [(20, 30), (20, 30), (20, 30), (20, 30)]
    """
    made, before = [], samples[0]
    whole = samples[-1].host_pages
    for sample in samples[1:]:
        host = sample.host_pages - before.host_pages
        if host and sample.host_pages * parts >= whole * (before.host_pages * parts // whole + 1):
            made.append((host, host + sample.copied_pages - before.copied_pages))
            before = sample
    return made


def execute(
    command: Sequence[str],
    plan: making.Plan,
    *,
    filesystem: str = "ext4",
    options: Sequence[str] = ("discard",),
    record: Path | None = None,
    keep: Path | None = None,
    fronts: Fronts = NOWHERE,
    user: str | None = None,
    clocked: Callable[[Mapping[str, Any]], realtime.Clock] | None = None,
) -> Executed:
    """Runs ``command`` in a folder of a file system on a fresh drive, and measures it.

    The folder is its working directory and its ``TMPDIR``. The drive is removed at the end unless
    ``keep`` names its file. ``record`` is the trace of all requests, those of mkfs among them.
    ``fronts`` are further ways to the drive.
    ``clocked`` makes the clock of what the file says, for a drive that answers as a timed one.
    """
    mounts.check("flashgc device exec", filesystem)
    if shutil.which(command[0]) is None:
        raise DriveError(f"{command[0]}: no such command")
    if keep is not None:
        keep = trust.check_folder(keep.absolute().parent, is_parent=True) / keep.name
    with _Signals() as signals, scratch("exec", has_sockets=False) as folder:
        file = keep if keep is not None else folder / "drive.flash"
        mount = folder / "mount"
        try:
            made = plan.create(file)
            clock = clocked(making.configuration(file)) if clocked else None
            # Whoever made the plan has named its policies.
            serving = replace(fronts, record=record, clock=clock, allow_python=bool(plan.python))
            done = upping.up(
                file,
                mount,
                filesystem=filesystem,
                options=options,
                serve=serving.words(),
                user=user,
            )
            try:
                measured = _measured(command, Path(done.mount), file, filesystem, made, signals)
            finally:
                signals.are_held = True
                last: list[dict[str, Any]] = []
                upping.down(file, force=True, last=lambda: last.append(_stat(file)))
            # Unmounting writes too, and a recording has all of it.
            return replace(measured, stat=last[0])
        finally:
            signals.are_held = True


class _Signals:
    """Ctrl-C and the signal to terminate: whatever happens, what was mounted is unmounted.

    Before the command they end the work, while it runs they are for the command, and while what was
    done is undone they wait.
    """

    def __init__(self) -> None:
        self.child: subprocess.Popen[bytes] | None = None
        self.are_held = False
        #: The signal that came while the command was being started.
        self.is_starting, self.pending = False, 0

    def __enter__(self) -> Self:
        self._before = {
            number: signal.signal(number, self._take)
            for number in (signal.SIGINT, signal.SIGTERM)
            if threading.current_thread() is threading.main_thread()
        }
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, number: int, _frame: FrameType | None) -> None:
        if self.is_starting:
            self.pending = number
        elif self.child is not None:
            # Ctrl-C at a terminal reaches the command itself.
            if number == signal.SIGTERM:
                with contextlib.suppress(ProcessLookupError):
                    self.child.send_signal(number)
        elif not self.are_held:
            self.are_held = True
            raise SystemExit(128 + number)


def _stat(file: Path) -> dict[str, Any]:
    """Return the state of the drive from its server: nobody else reads its file."""
    with Client(file) as client:
        return client.stat()


def _measured(
    command: Sequence[str],
    mount: Path,
    file: Path,
    filesystem: str,
    made: dict[str, Any],
    signals: _Signals,
) -> Executed:
    folder = mount / FOLDER
    folder.mkdir()
    _sync(mount)
    with Client(file) as client:
        before = client.stat()
        watch = _Watch(client, before)
        began = time.monotonic()
        with watch:
            code, written, dirtied = _run(command, folder, signals)
            # What is still in the page cache belongs to the command.
            _sync(mount)
        seconds = time.monotonic() - began
        after = client.stat()

    def grown(name: str) -> int:
        return int(after["counters"][name]) - int(before["counters"][name])

    page = after["page_bytes"]
    host, copied = grown("host_pages_written"), grown("copied_pages")
    written_bytes = grown("host_bytes_written")
    judged = json.loads(
        _core.judged(
            (after["blocks"], after["pages_per_block"], after["capacity_bytes"] // page),
            after["blocks_kept_erased"],
            parts_of(watch.samples),
            host + copied,
            grown("erases"),
            {"drive.capacity": "--capacity"},
        )
    )
    return Executed(
        command=list(command),
        exit_code=code,
        seconds=seconds,
        filesystem=filesystem,
        drive=made,
        written_bytes=written,
        dirtied_bytes=dirtied,
        host_bytes=written_bytes,
        flash_bytes=(host + copied) * page,
        write_amplification=(host + copied) * page / written_bytes if written_bytes else None,
        filesystem_overhead=written_bytes / written if written else None,
        read_bytes=grown("host_bytes_read"),
        trimmed_bytes=grown("trimmed_bytes"),
        copied_pages=copied,
        collections=grown("collections"),
        erases=grown("erases"),
        flushes=grown("flushes"),
        latency_us=after["latency_us"],
        samples=watch.samples,
        stat=after,
        steady=judged["steady"],
        steadiness=read(Steadiness, judged["steadiness"]),
        findings=findings.read(judged),
        realtime=after.get("realtime"),
    )


def _sync(mount: Path) -> None:
    """Writes back the file system of ``mount``, and waits for it."""
    mounts.run("sync", "--file-system", str(mount))


def _run(command: Sequence[str], folder: Path, signals: _Signals) -> tuple[int, int, int]:
    """Runs the command; its exit code, the bytes of its write calls, the bytes it made dirty."""
    environment = {**os.environ, "TMPDIR": str(folder)}
    signals.is_starting = True
    try:
        child = subprocess.Popen(command, cwd=folder, env=environment)
    except OSError as error:
        raise DriveError(f"{command[0]}: {error.strerror}") from None

    signals.child, signals.is_starting = child, False
    if signals.pending:
        child.send_signal(signals.pending)
    # The counts of a process are there until it is waited for.
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    written, dirtied = _written(child.pid)
    code = child.wait()
    signals.child = None
    return code, written, dirtied


def _written(pid: int) -> tuple[int, int]:
    """Bytes of the write calls of a process and of those it waited for, and bytes made dirty."""
    try:
        lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    except OSError:
        return 0, 0
    counts = dict(line.split(": ") for line in lines)
    return int(counts.get("wchar", 0)), int(counts.get("write_bytes", 0))


class _Watch:
    """Looks at the drive while the command runs."""

    def __init__(self, client: Client, before: dict[str, Any]) -> None:
        self._client, self._before = client, before
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.samples: list[Sample] = []

    def __enter__(self) -> None:
        self._began = time.monotonic()
        self._sample()
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._sample()

    def _look(self) -> None:
        pause = LOOK
        while not self._over.wait(pause):
            with contextlib.suppress(DriveError, OSError):
                self._sample()
            if len(self.samples) >= SAMPLES:
                self.samples = self.samples[::2]
                pause *= 2

    def _sample(self) -> None:
        stat = self._client.stat()
        counters, before = stat["counters"], self._before["counters"]
        self.samples.append(
            Sample(
                seconds=time.monotonic() - self._began,
                host_pages=counters["host_pages_written"] - before["host_pages_written"],
                copied_pages=counters["copied_pages"] - before["copied_pages"],
                erases=counters["erases"] - before["erases"],
                free_blocks=stat["free_blocks"],
            )
        )
