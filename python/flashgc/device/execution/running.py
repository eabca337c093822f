"""The command itself: its program, its user, its folder, and the signals that it gets."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Self

from flashgc._core import ConfigError, DriveError
from flashgc.device import failures, mounts, programs
from flashgc.device._closing import descriptor
from flashgc.device.execution.tree import Tree

#: The longest time, in seconds, until a signal that interrupted no call is noticed.
LOOK = 0.2
#: The longest time, in seconds, in which a signal to a group ends a process of the group.
WITNESS = 0.2


@dataclass(frozen=True)
class Command:
    """A command, and the conditions under which it runs."""

    words: Sequence[str]
    #: The user as whom it runs; by default the user of this process.
    user: str | None = None
    #: A folder whose files are copied into the working directory before anything is measured.
    copy_in: Path | None = None
    #: True to wait for the processes that it leaves behind, false to end them.
    waits: bool = False
    #: The log of its PostgreSQL server, whose checkpoints and vacuums begin phases.
    server_log: Path | None = None
    #: The file for its standard output; the file for its errors has the same name with ``.err``. By
    #: default both are those of this process.
    output: Path | None = None

    def check(self) -> None:
        """Check what can be checked before a drive is made.

        Raises :class:`flashgc.ConfigError` or :class:`flashgc.DriveError`.
        """
        self.program()
        self.owner()
        if self.copy_in is not None and not self.copy_in.is_dir():
            raise ConfigError(f"--copy-in: {self.copy_in} is no folder")

    def program(self) -> str:
        """The absolute path of its program, because the command runs in another folder."""
        program = shutil.which(self.words[0])
        if program is None:
            raise failures.CAUSES["no-command"].error(word=self.words[0])
        return os.path.abspath(program)

    def owner(self) -> tuple[int, int]:
        """The numbers of its user and its group."""
        if self.user is None:
            return os.geteuid(), os.getegid()
        import pwd  # not on every system

        try:
            user = pwd.getpwnam(self.user)
        except KeyError:
            raise ConfigError(f"--user: there is no user {self.user}") from None
        return user.pw_uid, user.pw_gid

    def prepare(self, folder: Path) -> None:
        """Makes the working directory, with the files that belong there.

        On a drive of an earlier command the directory exists, and its files stay.
        """
        folder.mkdir(exist_ok=True)
        if self.copy_in is not None:
            mounts.run("cp", "-a", f"{self.copy_in.absolute()}/.", f"{folder}/")
        if self.user is not None:
            user, group = self.owner()
            mounts.run("chown", "-R", "--no-dereference", f"{user}:{group}", str(folder))

    def left_out(self, folder: Path) -> str | None:
        """The message on an argument that is a file here, but not in ``folder``; or ``None``."""
        return left_out(self.words, folder)

    def start(self, folder: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start the command in ``folder``."""
        program = self.program()
        words = list(self.words)
        if os.sep in words[0]:
            words[0] = program
        whole = {**os.environ, **environment, "TMPDIR": str(folder)}
        rights: dict[str, Any] = {}  # User and group, and the files for the output.
        if self.user is not None:
            user, group = self.owner()
            groups = os.getgrouplist(self.user, group)
            rights = {"user": user, "group": group, "extra_groups": groups}
            whole |= {"USER": self.user, "LOGNAME": self.user, "HOME": str(folder)}
        with contextlib.ExitStack() as files:
            if self.output is not None:
                rights["stdout"] = files.enter_context(self.output.open("ab"))
                rights["stderr"] = files.enter_context(self.output.with_suffix(".err").open("ab"))
            try:
                return subprocess.Popen(words, executable=program, cwd=folder, env=whole, **rights)
            except OSError as error:
                raise DriveError(f"{self.words[0]}: {error.strerror}") from None


def left_out(words: Sequence[str], folder: Path) -> str | None:
    """Return the message on an argument that is a file here, but not in ``folder``; or ``None``.

    Such a command looks for the file in its own working directory, and does not find it.
    """
    for word in words[1:]:
        path = Path(word)
        if path.is_absolute() or (folder / path).exists() or not path.is_file():
            continue
        here = Path.cwd()
        return failures.CAUSES["other-folder"].sentence(word=word, folder=here, path=here / path)
    return None


class Signals:
    """Handles the signals to end, so that in every case all mounts are undone.

    A signal that comes before the command starts ends the work. A signal while the command runs is
    for the command. A signal while mounts are undone has no effect. A second signal to terminate
    kills a command that does not end. The end of the terminal counts as a signal to terminate.
    """

    def __init__(self) -> None:
        self.child: subprocess.Popen[bytes] | None = None
        self.are_held = False
        self._is_told = False
        #: A process in the same process group, which gets every signal that the terminal sends to
        #: the group.
        self._witness: subprocess.Popen[bytes] | None = None
        #: The signal that came while the command was starting.
        self.is_starting, self.pending = False, 0

    def __enter__(self) -> Self:
        self._before = {
            number: signal.signal(number, self._take)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            if threading.current_thread() is threading.main_thread()
            and not (number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN)
        }
        return self

    def watch(self, began: Callable[[int], None]) -> None:
        """Start a process that shows if a signal went to the whole group or only to this process.

        ``began`` gets the number of that process, which does not belong to the command.
        """
        self._began = began
        self._witness = subprocess.Popen(
            programs.words(("sleep", "infinity")),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        began(self._witness.pid)

    def stop(self) -> None:
        """Ask the command to end."""
        if self.child is not None:
            with contextlib.suppress(ProcessLookupError):
                self.child.terminate()

    def has_ended(self) -> None:
        """Note that the command has ended. If a signal ended it, later signals have no effect."""
        self.child = None
        self.are_held |= self._is_told

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._witness is not None:
            self._witness.kill()
            self._witness.wait()

    def _was_for_all(self) -> bool:
        """True if the signal went to the whole group, and so to the command."""
        if self._witness is None:
            return False
        try:
            self._witness.wait(WITNESS)
        except subprocess.TimeoutExpired:
            return False
        self.watch(self._began)
        return True

    def _take(self, number: int, _frame: FrameType | None) -> None:
        if self.is_starting:
            self.pending = number
        elif self.child is not None:
            if number == signal.SIGINT:
                # At a terminal, the command itself gets Ctrl-C too.
                if not self._was_for_all():
                    with contextlib.suppress(ProcessLookupError):
                        self.child.send_signal(number)
                return
            with contextlib.suppress(ProcessLookupError):
                self.child.send_signal(signal.SIGKILL if self._is_told else signal.SIGTERM)
            self._is_told = True
        elif not self.are_held:
            self.are_held = True
            raise SystemExit(128 + number)


def run(
    command: Command,
    folder: Path,
    environment: Mapping[str, str],
    signals: Signals,
    tree: Tree,
    began: Callable[[int], None],
) -> int:
    """Run the command in ``folder`` and return its exit code; ``began`` gets its process number."""

    def beside(pid: int) -> None:
        tree.passes_over(pid)
        began(pid)

    signals.watch(beside)
    signals.is_starting = True
    try:
        child = command.start(folder, environment)
    except BaseException:
        signals.is_starting = False
        raise
    tree.begins(child.pid)
    began(child.pid)
    signals.child, signals.is_starting = child, False
    if signals.pending:
        child.send_signal(signal.SIGINT if signals.pending == signal.SIGINT else signal.SIGTERM)
    until_ended(child.pid)
    tree.ended(child.pid)
    code = child.wait()
    signals.has_ended()
    return code


def until_ended(pid: int) -> None:
    """Wait until a child has ended, but leave its exit code, so that its counts can still be read.

    A signal does not interrupt a waiting call if it comes just before the call, or goes to another
    thread; its handler would then run only when the child ends. So no call waits for long.
    """
    with descriptor(os.pidfd_open(pid)) as ended:
        while not select.select([ended], [], [], LOOK)[0]:
            pass


def sync(mount: Path) -> None:
    """Writes back the file system of ``mount``, and waits for it."""
    mounts.run("sync", "--file-system", str(mount))
