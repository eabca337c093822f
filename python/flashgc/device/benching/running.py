"""The runs of a bench, one after the other, each on a fresh drive."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flashgc import _files
from flashgc._core import ConfigError, DriveError, check, version
from flashgc._documents import dumps
from flashgc.device import making, mounts
from flashgc.device.benching.cells import Cell, Folder, Run
from flashgc.device.benching.file import DRIVE, OWN, QUOTED, STREAMS, Bench, counted, patterns_of
from flashgc.device.benching.texts import shown
from flashgc.device.execution import Command, Executed, Source, execute
from flashgc.device.past import Past, make, past
from flashgc.device.scratch import MARKS, PIPE

#: Signals that stop a bench: Ctrl-C, the signal to terminate, the end of the terminal.
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: Exit codes of a command that one of these signals ended.
STOPPED = tuple(128 + number for number in STOPS)


class StoppedError(Exception):
    """Ctrl-C, or a signal to terminate, came; the current run is lost."""


@dataclass(frozen=True)
class Prepared(Command):
    """A command with a setup, which runs in the same folder before the measurement."""

    setup: tuple[str, ...] | None = None

    def prepare(self, folder: Path) -> None:
        """Makes the working directory, and runs the setup in it."""
        super().prepare(folder)
        if self.setup is None:
            return
        assert self.output is not None
        log = self.output.with_suffix(".setup.out")
        # Processes that the setup leaves running have the pipe's name in their environment. By that
        # name all processes of a killed bench are found. The pipe does not exist yet, so the setup
        # has no phases.
        pipe = folder.parent.parent / MARKS
        child = Command(self.setup, user=self.user, output=log).start(folder, {PIPE: str(pipe)})
        try:
            code = child.wait()
        except BaseException:
            child.kill()
            child.wait()
            raise
        pipe.unlink(missing_ok=True)
        if code:
            raise DriveError(f"setup: {_ended(code)}{last_words(log)}")


@dataclass
class Runner:
    """Runs the commands of a bench."""

    bench: Bench
    folder: Folder
    #: Returns true once a signal to stop came, even if the command caught it; see :func:`stops`.
    came: Callable[[], bool] = lambda: False
    #: The effects of each drive's past, by the key of the drive.
    _pasts: dict[str, dict[str, Any]] = field(default_factory=dict)

    def check(self, runs: Sequence[Run]) -> None:
        """Check the drive, the file system and the program of each run before the first run.

        Raises :class:`flashgc.ConfigError` or :class:`flashgc.DriveError`.
        """
        for run in runs:
            plan = plan_of(self.bench, run.cell)
            with self._named("drive"):
                past_of(run.cell)
            patterns = patterns_of(run.cell.run.get(STREAMS))
            with self._named("run"):
                if patterns is not None:
                    patterns.check(plan.config["placement"])
            with self._named("run"):
                self._command(run.cell, run.words).check()
        for filesystem in dict.fromkeys(filesystem_of(run.cell) for run in runs):
            with self._named("run"):
                mounts.check("flashgc device bench", filesystem)

    @contextlib.contextmanager
    def _named(self, section: str) -> Iterator[None]:
        """In errors, name the file and the section instead of an option."""
        try:
            yield
        except ConfigError as error:
            text = str(error).removeprefix("--")
            raise ConfigError(f"{self.bench.path}: [{section}] {text}") from None

    def run(self, run: Run) -> dict[str, Any]:
        """Run a command once and return its figures.

        Raises :class:`flashgc.DriveError` if the command fails, and :class:`StoppedError` if it is
        stopped.
        """
        log = self.folder.log(run)
        for file in log.parent.glob(f"{run.name}.*"):
            file.unlink()
        try:
            done = self._executed(run, log, self._source(run.cell))
        except SystemExit as ended:
            if ended.code in STOPPED:
                raise StoppedError from None
            raise
        if self.came():
            raise StoppedError
        if done.exit_code:
            why = [finding for finding in done.findings if finding.id == "other-folder"]
            hint = f"; {why[0].claim}; hint: {why[0].hint}" if why else ""
            raise DriveError(f"{_ended(done.exit_code)}{last_words(log)}{hint}")
        return {
            "version": version(),
            "name": run.cell.name,
            "repeat": run.repeat,
            "units": counted(self.bench.count, log),
            "past": self._pasts.get(run.cell.image),
            "executed": done.to_dict(),
        }

    def _executed(self, run: Run, log: Path, source: Source) -> Executed:
        cell = run.cell
        command = replace(self._command(cell, run.words), output=log, setup=run.setup)
        options = shown(cell.run.get("mount_options", "discard")).split(",")
        return execute(
            command,
            source,
            filesystem=filesystem_of(cell),
            options=tuple(word for word in options if word) or ("defaults",),
            streams=patterns_of(cell.run.get(STREAMS)),
        )

    def _command(self, cell: Cell, words: tuple[str, ...]) -> Prepared:
        user, copied = cell.run.get("user"), cell.run.get("copy_in")
        return Prepared(
            words,
            user=None if user is None else shown(user),
            copy_in=None if copied is None else self.bench.here / shown(copied),
        )

    def _source(self, cell: Cell) -> Source:
        """The drive of a cell. A drive with a past is made once; each run gets a copy."""
        plan, behind = plan_of(self.bench, cell), past_of(cell)
        if behind is None:
            return Source(plan=plan)
        file = self.folder.image(cell.image)
        beside = file.with_suffix(".json")
        if not (file.exists() and beside.exists()):
            self._make(plan, behind, file, beside)
        self._pasts[cell.image] = json.loads(beside.read_text(encoding="utf-8"))
        return Source(file=file)

    def _make(self, plan: making.Plan, behind: Past, file: Path, beside: Path) -> None:
        """Make a drive with its past, and keep it only if it is complete."""
        for left in (file, beside):
            left.unlink(missing_ok=True)
        _, done = make(plan, behind, file)
        _files.write(str(beside), dumps(done) + "\n")


def filesystem_of(cell: Cell) -> str:
    """The file system of a cell."""
    return shown(cell.run.get("fs", "ext4"))


def plan_of(bench: Bench, cell: Cell) -> making.Plan:
    """The plan of a cell's drive."""
    values: dict[str, dict[str, Any]] = {}
    places: dict[str, str] = {}
    for name, value in cell.drive.items():
        place = bench.places.get(f"drive.{name}", str(bench.path))
        if name in OWN:
            places[name] = f"{place}: {name}"
        elif name in DRIVE:
            section, key = DRIVE[name].split(".")
            values.setdefault(section, {})[key] = value
            places[DRIVE[name]] = place
    own: dict[str, Any] = {name: shown(cell.drive[name]) for name in OWN if name in cell.drive}
    return making.plan(values, places, **own)


def past_of(cell: Cell) -> Past | None:
    """The past of a cell's drive; ``None`` for a new drive."""
    fill, aged = (
        None if name not in cell.drive else shown(cell.drive[name]) for name in ("fill", "aged")
    )
    history = past(fill, aged)
    if history is not None and history.trace is not None:
        raise ConfigError(f"aged: found {aged}, expected a factor or a workload; hint: 'uniform'")
    if history is not None and aged is not None and history.times is None:
        check("source", aged)
    return history


@contextlib.contextmanager
def stops() -> Iterator[Callable[[], bool]]:
    """Yield a function that tells if a signal to stop came; such signals raise KeyboardInterrupt.

    While a command runs, a signal is for the command, which may catch it and end normally. So
    signals raise nothing then.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    handlers = {
        number: signal.signal(number, signal.default_int_handler)
        for number in STOPS[1:]
        if signal.getsignal(number) is not signal.SIG_IGN
    }

    def came() -> bool:
        with contextlib.suppress(BlockingIOError):
            numbers = os.read(reader, 512)
            return any(number in STOPS for number in numbers)
        return False

    try:
        yield came
    finally:
        signal.set_wakeup_fd(before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        os.close(reader)
        os.close(writer)


def last_words(log: Path) -> str:
    """The end of a command's output, with the name of the file that has the whole output."""
    for file in (log.with_suffix(".err"), log):
        words = " ".join(file.read_text(errors="replace").split()) if file.exists() else ""
        if words:
            return f": {words[-QUOTED:]}; hint: {file} has all of it"
    return ", and it printed nothing"


def _ended(code: int) -> str:
    return f"exit code {code}" if code > 0 else f"ended by signal {-code}"
