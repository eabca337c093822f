"""Helpers of the tests of the command. It runs as people run it, in a separate process."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from flashgc.store import Store
from flashgc.store.cache import FILE
from forks import Forks

# Hypothesis draws the same cases every time, so a failure is the fault of a change. `make soak`
# draws other cases with ``--hypothesis-profile=soak``. No deadlines, because machines differ.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("soak", max_examples=10_000, deadline=None)
settings.load_profile("same")

# The command does not remember that it printed a note that users see only once. So every test
# sees the notes.
os.environ["XDG_STATE_HOME"] = "/dev/null/state"

# Background jobs of a shell without job control ignore Ctrl-C, and so do their child processes.
# The tests of Ctrl-C would then wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent
COMMAND = [sys.executable, "-c", "from flashgc.command import main; main()"]

# Each process of the tests has a state folder of its own, so it sees no drives of others.
if "FLASHGC_STATE" not in os.environ:
    _state = tempfile.mkdtemp(prefix="flashgc-tests-")
    os.environ["FLASHGC_STATE"] = f"{_state}/state"
    atexit.register(shutil.rmtree, _state, ignore_errors=True)

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that wait for the compiler come last: until then `make test` has compiled for them."""
    items.sort(key=lambda item: item.get_closest_marker("waits_for_the_compiler") is not None)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Stops if tests of one xdist group would run side by side."""
    if session.config.getoption("loadgroup", False):
        for item in session.items:
            if item.get_closest_marker("xdist_group") and "@" not in item.nodeid:
                pytest.exit("pytest-xdist ignores the groups of tests; hint: make dev", 3)


def environment() -> dict[str, str]:
    """A fixed environment: 80 columns, no colour, messages in English."""
    kept = {
        key: os.environ[key]
        for key in ("PATH", "HOME", "TMPDIR", "XDG_STATE_HOME", "FLASHGC_STATE")
        if key in os.environ
    }
    return {**kept, "COLUMNS": "80", "LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT / "python")}


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """The process that forks for each call of the command."""
    forks = Forks(environment())
    yield forks
    forks.close()


@pytest.fixture
def command(tmp_path: Path, forks: Forks) -> Command:
    """Runs ``flashgc`` with arguments in an empty folder and returns its output and exit code."""
    return lambda *arguments: forks.run([*map(str, arguments)], tmp_path, environment(), 120)


def kept_results(place: Path) -> dict[str, float]:
    """The times at which the results in a file of results or a cache folder were made, by key."""
    file = place / FILE if place.is_dir() else place
    if not file.exists():
        return {}
    with Store(file, make=False) as store:
        return {row["key"]: row["made"] for row in store.rows()}


def under_way(process: subprocess.Popen[str], seconds: float = 2) -> None:
    """Waits until a process has used ``seconds`` of CPU time, or sleeps.

    Wall-clock time would say little, because other tests run at the same time.
    """
    stat = Path(f"/proc/{process.pid}/stat")
    if not stat.exists():  # Not on Linux.
        time.sleep(3)
    computed, since = 0.0, time.monotonic()
    while stat.exists() and process.poll() is None and computed < seconds:
        state, *fields = stat.read_text().rpartition(") ")[2].split()
        ticks = int(fields[10]) + int(
            fields[11]
        )  # User and system time of all its threads, in clock ticks.
        now = ticks / os.sysconf("SC_CLK_TCK")
        if now != computed or state != "S":
            computed, since = now, time.monotonic()
        elif time.monotonic() - since > 0.5:
            break
        time.sleep(0.02)
    assert process.poll() is None, process.communicate()


def keeping(process: subprocess.Popen[str], place: Path, count: int = 5) -> None:
    """Waits until a process has stored ``count`` results."""
    until = time.monotonic() + 300
    while len(kept_results(place)) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)


def started(*arguments: object) -> subprocess.Popen[str]:
    """Starts the command, and returns its process."""
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ended(process: subprocess.Popen[str], which: signal.Signals) -> tuple[int, str, str]:
    """Sends a signal to a command, and returns its exit code, output and errors."""
    process.send_signal(which)
    try:
        out, errors = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, out, errors


def signalled(which: signal.Signals, *arguments: object) -> tuple[int, str, str]:
    """Starts the command, sends it a signal once it is under way, and returns as ``ended`` does."""
    process = started(*arguments)
    under_way(process)
    return ended(process, which)


#: Tests that are started with nohup would let all their commands ignore the end of a terminal.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-snapshots", action="store_true", help="write the expected texts anew"
    )
    parser.addoption(
        "--kills", type=int, default=2, help="how often test_checkpoint.py kills each run"
    )


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with ``tests/snapshots/NAME``; ``--update-snapshots`` writes it."""

    def check(name: str, text: str) -> None:
        path = ROOT / "tests" / "snapshots" / name
        if request.config.getoption("--update-snapshots"):
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no snapshot {path}; run pytest --update-snapshots and review it"
        assert text == path.read_text(encoding="utf-8"), (
            f"{path} differs; if that is right, run pytest --update-snapshots and review it"
        )

    return check
