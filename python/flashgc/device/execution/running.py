"""The command itself: its program, the user that it runs as, its folder, and the signals to it."""

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
from flashgc.device.execution.tree import Tree

#: Seconds until a signal is noticed that did not interrupt a call.
LOOK = 0.2
#: Seconds that a signal to a group takes at most to end a process of it.
WITNESS = 0.2


@dataclass(frozen=True)
class Command:
    """A command, and how it is to run."""

    words: Sequence[str]
    #: The user that it runs as; the one who runs this by default.
    user: str | None = None
    #: A folder whose files are copied into the working directory before anything is measured.
    copy_in: Path | None = None
    #: True if processes that it leaves behind are waited for, and not ended.
    waits: bool = False
    #: The log of its PostgreSQL server, whose checkpoints and vacuums begin phases.
    server_log: Path | None = None
    #: The file that its standard output goes to, and the one beside it (``.err``) for its errors;
    #: those of this process by default.
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
        """The whole path of its program: the command has another working directory."""
        program = shutil.which(self.words[0])
        if program is None:
            raise failures.CAUSES["no-command"].error(word=self.words[0])
        return os.path.abspath(program)

    def owner(self) -> tuple[int, int]:
        """The numbers of its user and group."""
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

        A drive of an earlier command has one, whose files stay.
        """
        folder.mkdir(exist_ok=True)
        if self.copy_in is not None:
            mounts.run("cp", "-a", f"{self.copy_in.absolute()}/.", f"{folder}/")
        if self.user is not None:
            user, group = self.owner()
            mounts.run("chown", "-R", "--no-dereference", f"{user}:{group}", str(folder))

    def left_out(self, folder: Path) -> str | None:
        """The sentence on an argument that is a file here, and none in ``folder``; or ``None``."""
        return left_out(self.words, folder)

    def start(self, folder: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Starts it in ``folder``."""
        program = self.program()
        words = list(self.words)
        if os.sep in words[0]:
            words[0] = program
        whole = {**os.environ, **environment, "TMPDIR": str(folder)}
        rights: dict[str, Any] = {}  # and the files that its output goes to
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
    """Return the sentence on an argument that is a file here, and none in ``folder``.

    Such a command looks in its working directory, which is another one, and does not find the file.
    """
    for word in words[1:]:
        path = Path(word)
        if path.is_absolute() or (folder / path).exists() or not path.is_file():
            continue
        here = Path.cwd()
        return failures.CAUSES["other-folder"].sentence(word=word, folder=here, path=here / path)
    return None


class Signals:
    """The signals to end: whatever happens, what was mounted is unmounted.

    Before the command they end the work, while it runs they are for the command, and while what was
    done is undone they wait. A second signal to terminate kills a command that does not end. The
    end of the terminal is a signal to terminate.
    """

    def __init__(self) -> None:
        self.child: subprocess.Popen[bytes] | None = None
        self.are_held = False
        self._is_told = False
        #: A process of the same group, which gets what the terminal sends to all of it.
        self._witness: subprocess.Popen[bytes] | None = None
        #: The signal that came while the command was being started.
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
        """Starts the process by which a signal to the group is told from one to this process.

        ``began`` is told its number, as it does not belong to the command.
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
        """Ends the command."""
        if self.child is not None:
            with contextlib.suppress(ProcessLookupError):
                self.child.terminate()

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._witness is not None:
            self._witness.kill()
            self._witness.wait()

    def _was_for_all(self) -> bool:
        """True if the group has the signal, and so the command, which is in it."""
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
                # Ctrl-C at a terminal reaches the command itself.
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
    """Runs the command in ``folder``; its exit code. ``began`` is told its process."""

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
    signals.child = None
    return code


def until_ended(pid: int) -> None:
    """Waits until a child has ended. Its counts are there until it is asked for its exit code.

    A signal that comes just before a call that waits, or to another thread, does not interrupt it,
    and its handler would run when the child ends. So no call waits for long.
    """
    ended = os.pidfd_open(pid)
    try:
        while not select.select([ended], [], [], LOOK)[0]:
            pass
    finally:
        os.close(ended)


def sync(mount: Path) -> None:
    """Writes back the file system of ``mount``, and waits for it."""
    mounts.run("sync", "--file-system", str(mount))
