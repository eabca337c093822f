"""Causes each failure of the commands that mount drives.

A command must print the message of the cause in ``CAUSES``, and end with the right exit code.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.conftest import COMMAND, ROOT, environment
from tests.device.conftest import leftovers, mounts, needs_mounts

from flashgc import Device
from flashgc.device import failures, state, writers
from flashgc.device import up as upping
from flashgc.device.failures import BENCH, CAUSES, CUT, EXEC, UP, Cause

pytestmark = [needs_mounts, pytest.mark.xdist_group(__name__)]

#: Options of a drive that is created quickly.
SMALL = ("--capacity", "64MiB", "--pages-per-block", "32")

#: A shell script that prints when it begins, and then sleeps for long.
SLEEPS = "echo begun >&2; exec sleep 1000"


@pytest.fixture(autouse=True)
def _everything_in_one_folder(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    home = tmp_path_factory.mktemp("state") / "state"
    monkeypatch.setenv("FLASHGC_STATE", str(home))
    yield
    for file in upping.files_below(tmp_path):
        upping.down(file, force=True)
    assert leftovers(home) == []
    assert leftovers(tmp_path) == []
    # No failure leaves a file.
    assert [*tmp_path.glob("flashgc-*")] == []
    writers.sweep()  # Removes the notes of drives that are gone.
    left = [path for path in home.rglob("*") if not path.is_dir()]
    assert [path for path in left if path.parent.name != state.ROOTS] == []


@dataclass
class Case:
    """A command under test, with a folder of its own."""

    folder: Path
    command: str

    def words(self, script: str, *options: object) -> list[str]:
        """The words of the command with a program that runs ``script`` in a shell."""
        run = ["sh", "-c", script]
        if self.command == UP:
            file = self.folder / "d.flash"
            if not file.exists():
                Device.create(file, capacity="64MiB").close()
            return self._of("up", file, "--mount", self.folder / "mount", *options)
        if self.command == BENCH:
            file = self.folder / "bench.toml"
            file.write_text(
                f"[bench]\ncommand = {run}\nunit = 'x'\ncount = 'x([0-9]+)'\nrepeats = 1\n"
                "[drive]\ncapacity = '64MiB'\npages_per_block = 32\n"
            )
            return self._of("bench", file, "--out", self.folder / "out", *options)
        if self.command == CUT:
            options = ("--capacity", "64MiB", "--cuts", "2", *(options or ("--check", "true")))
            return self._of("cut-test", *options, "--", *run)
        return self._of("exec", *SMALL, *options, "--", *run)

    @staticmethod
    def _of(*words: object) -> list[str]:
        return [*COMMAND, "device", *map(str, words)]

    def start(
        self, words: Sequence[str], *, before: Sequence[str] = (), folder: Path | None = None
    ) -> subprocess.Popen[str]:
        """Starts a command, in a process group of its own."""
        return subprocess.Popen(
            [*before, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**environment(), "TMPDIR": str(self.folder)}, cwd=folder or self.folder,
            process_group=0,
        )  # fmt: skip

    def done(
        self, words: Sequence[str], *, before: Sequence[str] = (), folder: Path | None = None
    ) -> tuple[int, str]:
        """Runs a command, and returns its exit code and standard error."""
        return self.ended(self.start(words, before=before, folder=folder))

    @staticmethod
    def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
        """Waits for a command, and returns its exit code and standard error."""
        said = process.communicate(timeout=60)[1]
        return process.returncode, said

    def begun(self, script: str = SLEEPS) -> subprocess.Popen[str]:
        """Starts the command with a long program, and returns once the program has begun."""
        log = self.folder / "out/runs"  # A program's output goes to a file in `bench`.
        for said in log.glob("*.err"):
            said.unlink()  # An old file would look like the start of this run.
        process = self.start(self.words(script))
        if self.command == UP:
            self.ended(process)
        elif self.command == BENCH:
            wait(lambda: any(file.read_text() for file in log.glob("*.err")))
        else:
            assert process.stderr is not None
            for line in process.stderr:
                if line == "begun\n":
                    break
        return process

    def server(self) -> int:
        """The process that serves the command's drive."""
        if self.command == CUT:
            noted = next(state.folder(state.SCRATCH).glob("*/processes")).read_text()
            pids = [int(line.split()[0]) for line in noted.splitlines()]
            logged = (pid for pid in pids if b"logged" in Path(f"/proc/{pid}/cmdline").read_bytes())
            return list(logged)[-1]  # The first process is the check's.
        [file] = upping.files_below(self.folder)
        done = upping.read(file)
        assert done is not None
        return done.server

    def swept(self) -> None:
        """Runs the next command, which cleans up after a killed one."""
        if self.command == UP:
            upping.down(self.folder / "d.flash", force=True)
            return
        code, said = self.done(self.words("echo x1"))
        assert code == 0, said


def wait(until: Callable[[], bool]) -> None:
    """Waits until a condition is true, for at most 60 s."""
    end = time.monotonic() + 60
    while not until():
        assert time.monotonic() < end
        time.sleep(0.02)


def expect(case: Case, cause: Cause, ended: tuple[int, str], *codes: int) -> None:
    """Checks the exit code, and that the message of the cause was printed in one line."""
    code, said = ended
    assert code in codes, said
    pieces = [part for part in plain(cause.message) if part]
    line = next((one for one in said.splitlines() if all(part in one for part in pieces)), None)
    assert line is not None, (pieces, said)
    if cause.hint and cause.name != "other-folder":
        assert "hint: " in line
    assert "Traceback" not in said


def plain(message: str) -> list[str]:
    """The pieces of a message between the names in braces."""
    pieces, rest = [], message
    while "{" in rest:
        piece, _, rest = rest.partition("{")
        pieces.append(piece)
        rest = rest.partition("}")[2]
    return [*pieces, rest]


def no_root(case: Case, cause: Cause) -> None:
    words = case.words("true")
    for folder in case.folder.parents[:3]:  # Parallel tests have one folder more.
        if folder == Path("/tmp"):
            break
        folder.chmod(folder.stat().st_mode | 0o011)
    case.folder.chmod(0o777)
    for file in case.folder.iterdir():
        os.chown(file, 65534, 65534)
    before = (
        *("setpriv", "--reuid", "65534", "--clear-groups"),
        # The folder of the package may be readable only by root.
        *("--inh-caps", "+dac_override", "--ambient-caps", "+dac_override"),
        *("env", "-u", "FLASHGC_STATE"),
    )
    expect(case, cause, case.done(words, before=before), 1)


def no_right(case: Case, cause: Cause) -> None:
    without = ("setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin")
    expect(case, cause, case.done(case.words("true"), before=without), 1)


def no_kernel_part(case: Case, cause: Cause) -> None:
    script = (
        "mount -t tmpfs none /dev && mknod /dev/null c 1 3 && mknod -m 666 /dev/urandom c 1 9 && "
        'exec "$@"'
    )
    words = case.words("true")
    for there, what in ((), "FUSE"), (("fuse",), "loop devices"):
        more = "".join(f"touch /dev/{name}; " for name in there)
        before = ("unshare", "-m", "sh", "-c", script.replace("exec", f"{more} exec"), "sh")
        ended = case.done(words, before=before)
        expect(case, cause, ended, 1)
        assert what in ended[1]


def no_command(case: Case, cause: Cause) -> None:
    words = case.words("true")
    if case.command == BENCH:
        file = case.folder / "bench.toml"
        file.write_text(file.read_text().replace("'sh'", "'no-such-program'"))
    else:
        words[-3] = "no-such-program"
    expect(case, cause, case.done(words), 1)


def other_folder(case: Case, cause: Cause) -> None:
    (case.folder / "load.sh").write_text("echo x1\n")
    words = case.words("true")
    if case.command == BENCH:
        file = case.folder / "bench.toml"
        file.write_text(file.read_text().replace("'-c', 'true'", "'load.sh'"))
    else:
        words[-2:] = ["load.sh"]
    ended = case.done(words)
    expect(case, cause, ended, *((2, 127) if case.command == EXEC else (1,)))
    assert f"hint: {case.folder / 'load.sh'}" in ended[1]


@contextlib.contextmanager
def disk(folder: Path, size: str) -> Iterator[Path]:
    """A folder with a separate file system of ``size`` in memory."""
    folder.mkdir()
    mounts.run("mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "none", str(folder))
    try:
        yield folder
    finally:
        mounts.unmount(folder, force=True)


def host_full(case: Case, cause: Cause) -> None:
    """The disk is full before the command, while it runs, or when the drive is closed."""
    writes = "dd if=/dev/urandom of=f bs=1M count=40 conv=fsync; echo x1"
    fills = (
        f"dd if=/dev/urandom of=f bs=1M count=4; dd if=/dev/zero of={case.folder}/disk2/rest bs=1M"
    )
    scripts = (("16k", "true"), ("32m", writes), ("32m", f"{fills}; echo x1"))
    for at, (size, script) in enumerate(scripts):
        with disk(case.folder / f"disk{at}", "90m" if case.command == UP else size) as full:
            there = Case(full, case.command)
            if case.command == UP:
                if at != 1:
                    continue  # `up` neither makes nor closes the drive.
                ended = up_on_a_full_disk(there)
            else:
                ended = there.done(there.words(script), folder=case.folder)
            expect(case, cause, ended, 1)
            assert "superblock" not in ended[1]


def up_on_a_full_disk(case: Case) -> tuple[int, str]:
    """Fills the disk, runs ``device up`` on it, and returns its exit code and standard error."""
    words = case.words("true")
    with contextlib.suppress(OSError), (case.folder / "rest").open("wb", buffering=0) as rest:
        while True:
            rest.write(b"x" * 4096)
    return case.done(words)


def up_then_full(case: Case) -> Path:
    """Brings a drive up, writes without a flush, fills its disk, and returns the filler file."""
    assert case.done(case.words("true"))[0] == 0
    (case.folder / "mount/kept").write_bytes(os.urandom(4 << 20))
    rest = case.folder / "rest"
    with contextlib.suppress(OSError), rest.open("wb", buffering=0) as filled:
        while True:
            filled.write(b"x" * 4096)
    return rest


def down(case: Case) -> tuple[int, str]:
    """Takes the drive down by the command."""
    return case.done([*COMMAND, "device", "down", str(case.folder / "d.flash")])


def no_room_to_close(case: Case, cause: Cause) -> None:
    with disk(case.folder / "disk", "90m") as full:
        there = Case(full, case.command)
        rest = up_then_full(there)
        content = (full / "mount/kept").read_bytes()
        expect(case, cause, down(there), 1)
        rest.unlink()
        code, said = down(there)
        assert code == 0, said
        assert case.done(there.words("true"))[0] == 0
        assert (full / "mount/kept").read_bytes() == content
        assert down(there)[0] == 0


def closed_without_room(case: Case, cause: Cause) -> None:
    with disk(case.folder / "disk", "90m") as full:
        there = Case(full, case.command)
        rest = up_then_full(there)
        with (full / "mount/lost").open("wb") as file:
            file.write(os.urandom(30 << 20))
            file.flush()
            with pytest.raises(OSError, match="Input/output error"):
                os.fsync(file.fileno())
        rest.unlink()
        expect(case, cause, down(there), 1)


def server_ended(case: Case, cause: Cause) -> None:
    process = case.begun()
    os.kill(case.server(), signal.SIGKILL)
    if case.command == UP:
        wait(lambda: upping.stale(case.folder / "d.flash") is not None)
        [file] = upping.files_below(case.folder)
        upping.down(file)
        return  # No command waits here that could report it; `device down` removes a dead mount.
    expect(case, cause, case.ended(process), 1)


def check_hangs(case: Case, cause: Cause) -> None:
    # The check passes without a cut and in an empty folder, and hangs after an acknowledged line.
    script = "for i in 1 2 3; do echo $i >f; sync f; echo $i >$FLASHGC_ACK; done; echo 4 >f; sync f"
    check = "test -e f && ! grep -q 4 f && exec sleep 1000; true"
    began = time.monotonic()
    words = case.words(script, "--timeout", "1s", "--check", check)
    words[words.index("--cuts") + 1] = "6"
    code, out = done_with_output(case, words)
    assert code == 3, out
    assert "the check did not end within 1 s" in out
    assert time.monotonic() < began + 90
    # A check that hangs without a cut is refused.
    ended = case.done(case.words("true", "--timeout", "1s", "--check", "sleep 1000"))
    expect(case, cause, ended, 2)


def done_with_output(case: Case, words: Sequence[str]) -> tuple[int, str]:
    process = case.start(words)
    out, said = process.communicate(timeout=60)
    return process.returncode, out + said


#: A program that counts its signals, and ends shortly after the first one.
COUNTS = """
import signal, sys, time
got = []
signal.signal(signal.SIGINT, lambda *_: got.append(1))
print("begun", file=sys.stderr, flush=True)
while not got:
    time.sleep(0.01)
time.sleep(0.5)
print(f"got {len(got)}", file=sys.stderr, flush=True)
sys.exit(7)
"""


def interrupted(case: Case, cause: Cause) -> None:
    if case.command == UP:
        signalled_up(case, signal.SIGINT)
        return
    program = case.folder / "counts.py"
    program.write_text(COUNTS)
    for send in (os.kill, os.killpg):
        process = case.begun(f"exec {sys.executable} {program}")
        send(process.pid, signal.SIGINT)
        code, said = case.ended(process)
        if case.command == EXEC:
            assert (code, "got 1\n" in said) == (7, True), said
        else:
            assert code == 130, said


def terminated(case: Case, cause: Cause, number: signal.Signals = signal.SIGTERM) -> None:
    if case.command == UP:
        signalled_up(case, number)
        return
    process = case.begun()
    process.send_signal(number)
    code, said = case.ended(process)
    assert code == (128 + signal.SIGTERM if case.command == EXEC else 130), said


def hung_up(case: Case, cause: Cause) -> None:
    terminated(case, cause, signal.SIGHUP)


def signalled_up(case: Case, number: signal.Signals) -> None:
    """A signal at any moment of ``device up`` takes the drive down again."""
    words = case.words("true")
    file = case.folder / "d.flash"
    ended = []
    for pause in (0.05 * step for step in range(2, 14)):
        process = case.start(words)
        time.sleep(pause)
        process.send_signal(number)
        code, said = case.ended(process)
        ended.append(code)
        # Before the command's handler is set and after its end, a signal has its default effect.
        assert code in (0, 128 + number, -number), said
        if upping.read(file) is not None:
            assert code != 128 + number, "it is not undone"
            upping.down(file, force=True)
    assert any(ended), "no signal came while the drive was being brought up"


def leave(process: subprocess.Popen[str]) -> None:
    """Kills a command; its program goes on and keeps the output open."""
    process.kill()
    process.wait()
    assert process.stderr is not None
    assert process.stdout is not None
    process.stderr.close()
    process.stdout.close()


def killed(case: Case, cause: Cause) -> None:
    process = case.begun()
    leave(process)
    case.swept()


SCENARIOS: dict[str, Callable[[Case, Cause], None]] = {
    "no-root": no_root,
    "no-right": no_right,
    "no-kernel-part": no_kernel_part,
    "no-command": no_command,
    "other-folder": other_folder,
    "host-full": host_full,
    "no-room-to-close": no_room_to_close,
    "closed-without-room": closed_without_room,
    "server-ended": server_ended,
    "check-hangs": check_hangs,
    "interrupted": interrupted,
    "terminated": terminated,
    "hung-up": hung_up,
    "killed": killed,
}


#: Causes that take seconds or come at random moments: tested for one command, in a soak for all.
LONG = ("interrupted", "terminated", "hung-up", "killed", "check-hangs", "host-full")


def case_of(cause: Cause, command: str) -> object:
    is_short = cause.name not in LONG or command == EXEC
    return pytest.param(cause, command, marks=() if is_short else pytest.mark.soak)


@pytest.mark.parametrize(
    ("cause", "command"),
    [case_of(cause, command) for cause in CAUSES.values() for command in cause.commands],
    ids=lambda value: value.name if isinstance(value, Cause) else value,
)
def test_each_way_to_fail_has_its_sentence(cause: Cause, command: str, tmp_path: Path) -> None:
    SCENARIOS[cause.name](Case(tmp_path, command), cause)


def test_the_document_has_the_table() -> None:
    assert failures.table() in (ROOT / "docs/exec.md").read_text()


def test_relative_paths_of_a_drive_and_of_a_past(tmp_path: Path) -> None:
    case = Case(tmp_path, EXEC)
    Device.create(tmp_path / "aged.flash", capacity="64MiB").close()
    words = [*COMMAND, "device", "exec", "--from", "aged.flash", "--", "true"]
    assert case.done(words)[0] == 0
    recorded = case.words("echo x >f", "--record", "run.flashgc.zst")
    assert case.done(recorded)[0] == 0
    again = case.words("true", "--aged", "run.flashgc.zst", "--by-file")
    code, said = case.done(again)
    assert code == 0, said


def test_a_kill_of_a_comparison_leaves_no_recording(tmp_path: Path) -> None:
    case = Case(tmp_path, EXEC)
    process = case.start(case.words(SLEEPS, "--compare", "greedy"))
    assert process.stderr is not None
    assert process.stderr.readline() == "begun\n", process.stderr.read()
    leave(process)
    case.swept()


def test_a_server_that_was_stopped_does_not_stop_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flashgc.device import scratch

    monkeypatch.setattr(scratch, "LIMIT", 1.0)
    case = Case(tmp_path, EXEC)
    process = case.begun()
    os.kill(case.server(), signal.SIGSTOP)
    leave(process)
    began = time.monotonic()
    scratch.sweep("exec")
    assert time.monotonic() < began + 30


def test_sockets_go_with_their_servers(tmp_path: Path) -> None:
    file = tmp_path / "d.flash"
    Device.create(file, capacity="64MiB").close()
    words = [*COMMAND, "device", "serve", str(file)]

    def started() -> subprocess.Popen[str]:
        process = subprocess.Popen(words, env=environment(), text=True, stderr=subprocess.PIPE)
        assert process.stderr is not None
        assert "serving" in process.stderr.readline()
        return process

    sockets = state.folder(state.SOCKETS)
    process = started()
    assert len([*sockets.iterdir()]) == 1
    process.terminate()
    process.communicate()
    assert [*sockets.iterdir()] == []
    # The next command removes the socket folder of a killed server.
    other = sockets / "left"
    import socket

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(other))
        server.listen()
    os.utime(other, (time.time() - 60, time.time() - 60))
    process = started()
    assert other not in [*sockets.iterdir()]
    process.terminate()
    process.communicate()
