"""``device cut-test`` finds broken promises of a command and no others, and leaves no files."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import COMMAND, ROOT, Command, environment
from tests.device.conftest import leftovers, needs_mounts

from flashgc import ConfigError, Device, DriveError
from flashgc._core import Control
from flashgc.device import mounts
from flashgc.device.cutting import running
from flashgc.device.cutting.checking import Verdict
from flashgc.device.cutting.keeping import CUTS, Kept, Request, Result
from flashgc.device.cutting.log import FLUSH, HEAD, PAGE, TRIM, WRITE, Log, Piece
from flashgc.device.cutting.recording import Listener, Note, Recording, before
from flashgc.device.cutting.running import Images, _Run, shrunk
from flashgc.device.logged import Server

EXAMPLES = ROOT / "docs/examples"

#: The capacity of the drives of the tests without a file system.
CAPACITY = "64MiB"


def in_mounts(test: Callable[..., None]) -> Callable[..., None]:
    """Marks a test that mounts drives. Such tests run one at a time."""
    return pytest.mark.xdist_group(__name__)(needs_mounts(test))


@pytest.fixture(autouse=True)
def _scratch(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Puts all temporary files below the test's folder, where leftovers are found."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("FLASHGC_STATE", str(tmp_path_factory.mktemp("state") / "state"))
    yield
    assert leftovers(tmp_path) == []
    assert list(tmp_path.glob("flashgc-*")) == []


def of_example(name: str, *words: object) -> list[str]:
    """The options of a cut test of one of the examples, which checks itself."""
    script = str(EXAMPLES / f"{name}.py")
    check = f"{sys.executable} {script} check"
    return ["--check", check, "--", sys.executable, script, *map(str, words)]


def cut(command: Command, *arguments: object, code: int = 0) -> dict[str, Any]:
    done = command("device", "cut-test", "--json", *arguments)
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# The log, and drives that are made from it.


def write(path: Path, *commands: tuple[int, int, bytes | int]) -> Path:
    """Writes a log. Each command has its kind, first page, and its data or its number of pages."""
    with open(path, "wb") as file:
        for kind, page, what in commands:
            data = what if isinstance(what, bytes) else b""
            file.write(HEAD.pack(kind, page, len(data) // PAGE or what) + data)
    return path


def filled(*letters: str) -> bytes:
    return b"".join(letter.encode() * PAGE for letter in letters)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    """Pages 0 to 2 are flushed; 0 and 1 are written again, 2 is discarded, 0 is written again."""
    path = write(
        tmp_path / "log",
        (WRITE, 0, filled("a", "b", "c")),
        (FLUSH, 0, 0),
        (WRITE, 0, filled("d", "e")),
        (TRIM, 2, 1),
        (WRITE, 0, filled("f")),
        (FLUSH, 0, 0),
    )
    with Log(path) as read:
        yield read


def test_a_log_has_its_commands_with_their_places(log: Log) -> None:
    kinds = [entry.kind for entry in log.entries]
    assert kinds == [WRITE, FLUSH, WRITE, TRIM, WRITE, FLUSH]
    assert [(entry.page, entry.count) for entry in log.entries] == [
        *((0, 3), (0, 0), (0, 2)),
        *((2, 1), (0, 1), (0, 0)),
    ]
    data = [3, 0, 2, 0, 1, 0]
    ends = list(itertools.accumulate(HEAD.size + PAGE * pages for pages in data))
    assert [entry.end for entry in log.entries] == ends
    assert [entry.begin for entry in log.entries] == [0, *ends[:-1]]
    assert log.flushes() == [ends[1], ends[5]]
    assert [log.flushed(count) for count in range(7)] == [0, 0, 2, 2, 2, 2, 6]
    assert [piece.words for piece in log.pieces(2, 5)] == [
        "page 0",
        "page 1",
        "discard of 1 pages from 2 on",
        "page 0",
    ]


@pytest.mark.parametrize("spoilt", [b"x", HEAD.pack(7, 0, 0), HEAD.pack(WRITE, 0, 1)])
def test_a_file_that_is_no_log_is_refused(tmp_path: Path, spoilt: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(HEAD.pack(FLUSH, 0, 0) + spoilt)
    with pytest.raises(DriveError, match=f"no command at byte {HEAD.size}"):
        Log(path)


def test_an_image_has_all_but_what_the_cut_loses(log: Log, tmp_path: Path) -> None:
    images = Images(tmp_path, log, CAPACITY)
    at_the_end = running.Cut(0, given=5, flushed=2, is_at_flush=True)

    def pages(cut: running.Cut, *lost: int) -> str:
        with Device.open(images.make(cut, lost)) as drive:
            read = drive.read(0, 3 * PAGE)
        letters = [read[at : at + PAGE] for at in range(0, 3 * PAGE, PAGE)]
        assert all(page == page[:1] * PAGE for page in letters)
        return "".join(page[:1].replace(b"\0", b"-").decode() for page in letters)

    # The numbers are the pieces that the cut loses: 0 and 1 are the pages of the write `de`, 2 is
    # the discard, and 3 is the write `f`.
    assert pages(at_the_end) == "fe-"
    assert pages(at_the_end, 0, 1, 2, 3) == "abc"
    assert pages(at_the_end, 3) == "de-"
    assert pages(at_the_end, 0, 3) == "ae-"
    assert pages(at_the_end, 1, 2) == "fbc"
    assert pages(running.Cut(1, given=3, flushed=2, is_at_flush=False)) == "dec"
    # An image can also be made for an earlier cut than the last one.
    assert pages(running.Cut(2, given=1, flushed=0, is_at_flush=True), 1) == "a-c"


def test_a_discard_is_lost_and_kept_with_all_its_pages(tmp_path: Path) -> None:
    path = write(
        tmp_path / "log",
        (WRITE, 0, filled("a", "b", "c", "d")),
        (FLUSH, 0, 0),
        (TRIM, 1, 3),
        (WRITE, 0, filled("e")),
        (FLUSH, 0, 0),
    )
    with Log(path) as read:
        images, at_the_end = Images(tmp_path, read, CAPACITY), running.Cut(0, 4, 2, True)
        assert [piece.words for piece in images.pieces(at_the_end)] == [
            "discard of 3 pages from 1 on",
            "page 0",
        ]

        def letters(*lost: int) -> str:
            with Device.open(images.make(at_the_end, lost)) as drive:
                found = drive.read(0, 4 * PAGE)
            return "".join(chr(found[at] or ord("-")) for at in range(0, 4 * PAGE, PAGE))

        assert [letters(), letters(0), letters(1), letters(0, 1)] == [
            "e---",
            "ebcd",
            "a---",
            "abcd",
        ]


# The places of cuts.


def test_cuts_are_at_every_flush_and_the_same_however_many(log: Log) -> None:
    end = log.entries[-1].end
    few = list(itertools.islice(running.cuts(log, 0, end, 1), 4))
    many = list(itertools.islice(running.cuts(log, 0, end, 1), 100))
    assert few == many[:4]
    assert many != list(itertools.islice(running.cuts(log, 0, end, 2), 100))
    # Without acknowledgements, cuts alternate between flushes and commands until no flush is left.
    assert [cut.is_at_flush for cut in many] == [True, False, True] + [False] * 97
    assert {cut.given for cut in many if cut.is_at_flush} == {1, 5}
    assert {cut.given for cut in many if not cut.is_at_flush} == set(range(7))
    assert all(cut.flushed == log.flushed(cut.given) for cut in many)
    # No cut lies before the command's start.
    begun = log.entries[1].end
    late = itertools.islice(running.cuts(log, begun, end, 1), 100)
    assert {cut.given for cut in late} == {2, 3, 4, 5, 6}


@pytest.mark.parametrize("seed", range(5))
def test_cuts_are_first_and_most_where_something_was_acknowledged(log: Log, seed: int) -> None:
    drawn = running.cuts(log, 0, log.entries[-1].end, seed, [log.entries[3].end])
    at_flushes = [cut.given if cut.is_at_flush else None for cut in itertools.islice(drawn, 8)]
    assert at_flushes == [5, 1, 5, None, 5, None, 5, None]


def test_a_flush_that_has_nothing_to_do_has_no_cut(tmp_path: Path) -> None:
    page = (WRITE, 0, filled("a"))
    with Log(write(tmp_path / "log", page, (FLUSH, 0, 0), (FLUSH, 0, 0), page)) as read:
        drawn = itertools.islice(running.cuts(read, 0, read.entries[-1].end, 1), 9)
        assert [cut.given for cut in drawn if cut.is_at_flush] == [1]


def test_losses_are_all_the_last_any_or_one() -> None:
    drawn = [tuple(running.lost(5, 1, number)) for number in range(2000)]
    assert drawn == [tuple(running.lost(5, 1, number)) for number in range(2000)]
    assert running.lost(0, 1, 1) == []
    # All 32 subsets of five pieces occur. All five pieces are lost with probability 3/8 by the rule
    # "all", 2/8 x 1/5 by "end", and 2/8 x 1/6 (the mean of p^5) by the random rule: together 0.467.
    # The last piece alone is lost with probability 1/8 x 1/5 by the rule "one", 2/8 x 1/5 by "end",
    # and 2/8 x 1/30 by the random rule: together 0.083.
    assert len(set(drawn)) == 32
    assert drawn.count((0, 1, 2, 3, 4)) / 2000 == pytest.approx(0.467, abs=0.04)
    assert drawn.count((4,)) / 2000 == pytest.approx(0.083, abs=0.025)


def test_a_loss_is_shrunk_to_the_pieces_that_matter() -> None:
    tried: list[list[int]] = []

    def fails(lost: list[int]) -> bool:
        tried.append(lost)
        return {3, 40} <= set(lost)

    assert shrunk(list(range(64)), fails, 100) == [3, 40]
    assert len(tried) < 40
    assert shrunk(list(range(64)), lambda lost: True, 9) == []
    tried.clear()
    assert len(shrunk(list(range(64)), fails, 2)) == 64
    assert len(tried) == 2


# Acknowledgements.


def test_a_line_is_noted_when_it_was_written_or_later(tmp_path: Path) -> None:
    fifo, length = tmp_path / "fifo", [0]
    written: list[int] = []
    with Listener(fifo, lambda: length[0]) as listener:
        for number in range(200):
            with open(fifo, "w") as acknowledge:
                written.append(length[0])
                acknowledge.write(f"acknowledged {number}\n")
            length[0] += 1
        with open(fifo, "wb") as acknowledge:
            acknowledge.write(b"\xff\0 is no text\nand no end")
    *notes, last = listener.notes
    assert [note.line for note in notes] == [f"acknowledged {number}" for number in range(200)]
    assert all(note.position >= at for note, at in zip(notes, written, strict=True))
    assert last.line.encode(errors="surrogateescape") == b"\xff? is no text"


def test_the_check_is_told_the_lines_before_the_cut() -> None:
    notes = [Note(5, "one"), Note(9, "two"), Note(9, "three"), Note(12, "four")]
    assert before(notes, 4) == []
    assert before(notes, 9) == ["one", "two", "three"]
    assert before(notes, 11) == ["one", "two", "three"]


def may_be_first() -> bool:
    """Whether this process may let a thread run before all ordinary ones."""
    tried = "import os; os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))"
    return subprocess.run([sys.executable, "-c", tried], capture_output=True).returncode == 0


@pytest.mark.skipif(not may_be_first(), reason="no right to the scheduler")
def test_the_reader_of_lines_waits_for_no_ordinary_thread(tmp_path: Path) -> None:
    with Listener(tmp_path / "fifo", lambda: 0) as listener:
        (tmp_path / "fifo").write_text("a line\n")
        while not listener.notes:
            time.sleep(0.001)
        assert listener._thread.native_id is not None
        assert os.sched_getscheduler(listener._thread.native_id) == os.SCHED_RR
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


@in_mounts
def test_a_drive_that_cannot_be_opened_does_not_end_the_server(tmp_path: Path) -> None:
    folder, fuse = tmp_path / "flashgc-scratch", tmp_path / "fuse"
    fuse.mkdir()
    (tmp_path / "none").write_bytes(b"no drive")
    with Device.create(tmp_path / "drive", capacity=CAPACITY) as drive:
        drive.write(0, b"data")
    with Server(folder) as server:
        with pytest.raises(DriveError, match="none"), server.serving(tmp_path / "none", fuse):
            pass
        for _ in range(2):
            with server.serving(tmp_path / "drive", fuse) as disk:
                assert disk.read_bytes()[:4] == b"data"
        with (
            pytest.raises(ZeroDivisionError),
            server.serving(tmp_path / "drive", fuse),
        ):
            raise ZeroDivisionError
        # The killed process left a mount.
        mounts.unmount(fuse, force=True)
        with (
            pytest.raises(DriveError, match="ended without a word"),
            server.serving(tmp_path / "drive", fuse),
        ):
            pass


class Broken:
    """A drive and its check, which fails if a cut after ``first`` commands loses data."""

    def __init__(self, log: Log, first: int) -> None:
        self.log, self._first = log, first
        self.told: list[tuple[int, list[str]]] = []

    def pieces(self, cut: running.Cut) -> list[Piece]:
        return self.log.pieces(cut.flushed, cut.given)

    def make(self, cut: running.Cut, lost: Collection[int]) -> Any:
        return cut, list(lost)

    def look(self, image: Any, acknowledged: list[str]) -> Verdict:
        cut, lost = image
        self.told.append((cut.given, acknowledged))
        return Verdict("broken" if lost and cut.given >= self._first else None)

    def extents(self, _: Any) -> list[Any]:
        return []


def of_log(log: Log, notes: list[Note], kept: Kept, both: Broken) -> _Run:
    recorded = Recording(notes, 0, log.entries[-1].end, 0.5)
    return _Run(kept, recorded, both, both, Control())  # type: ignore[arg-type]


@pytest.fixture
def long(tmp_path: Path) -> Iterator[Log]:
    """Twenty flushes, each after a write of two pages."""
    commands = [(WRITE, 0, filled("a", "b")), (FLUSH, 0, 0)] * 20
    with Log(write(tmp_path / "long", *commands)) as read:
        yield read


def test_the_check_is_told_no_line_behind_the_last_command_before_the_cut(
    long: Log, tmp_path: Path
) -> None:
    # One acknowledged line after each command.
    notes = [Note(entry.end, str(at)) for at, entry in enumerate(long.entries)]
    with Kept(tmp_path / "kept", ASKED) as kept:
        both = Broken(long, 99)
        of_log(long, notes, kept, both).outcome(ASKED, 60, lambda *_: None, is_kept=False)
    assert len({given for given, _ in both.told}) > 20
    for given, acknowledged in both.told:
        assert acknowledged == [str(at) for at in range(given)]


def test_flushes_without_a_cut_are_counted(tmp_path: Path) -> None:
    page = (WRITE, 0, filled("a"))
    commands = [page, (FLUSH, 0, 0), (FLUSH, 0, 0)] * 10
    with (
        Log(write(tmp_path / "log", *commands)) as read,
        Kept(tmp_path / "kept", ASKED) as kept,
    ):
        run = of_log(read, [], kept, Broken(read, 99))
        for cuts, cut_at in ((1, 1), (5, 3), (100, 10)):
            found = run.outcome(ASKED, cuts, lambda *_: None, is_kept=False)
            counts = (found.flushes, found.flushes_cut, found.flushes_uncut, found.flushes_empty)
            assert counts == (20, cut_at, 20 - cut_at, 10)
            assert found.kernel == f"Linux {os.uname().release}"


@pytest.mark.parametrize("first", [9, 17])
def test_the_smallest_cut_is_the_earliest_that_was_found(
    long: Log, tmp_path: Path, first: int
) -> None:
    notes = [Note(entry.end, "x") for entry in long.entries if entry.kind == FLUSH]
    with Kept(tmp_path / "kept", ASKED) as kept:
        run = of_log(long, notes, kept, Broken(long, first))
        found = run.outcome(ASKED, 60, lambda *_: None, is_kept=False)
        results = kept.results().values()
    broken = [one for one in results if one.why is not None]
    assert len({one.given for one in broken}) > 5
    earliest = min(one.given for one in broken)
    assert found.smallest is not None
    assert found.smallest.given == earliest < 20
    # The loss of one piece is enough to break the promise.
    assert found.smallest.lost == 1
    of_them = [one for one in broken if one.given == earliest]
    fewest = min(of_them, key=lambda one: (one.lost, one.number))
    assert found.smallest.number == fewest.number


# The folder of a cut test's results.

ASKED = Request(["true"], "true", "ext4", "64MiB", 1)
RESULT = Result(0, 5, 2, True, 4, 1, 3, None, "")


def test_a_folder_is_gone_on_with_and_is_not_taken_for_another(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    recording = Recording([Note(7, "one")], 3, 9, 0.5)
    with Kept(folder, ASKED) as kept:
        assert kept.recording is None
        assert folder.stat().st_mode & 0o777 == 0o700
        kept.keep(recording)
        kept.add(RESULT)
        with pytest.raises(ConfigError, match="in use by another process"):
            Kept(folder, ASKED)
    with open(folder / CUTS, "a") as cuts:  # Killed in the middle of a line.
        cuts.write('{"number": 1')
    with Kept(folder, ASKED) as kept:
        assert kept.recording == recording
        assert kept.results() == {0: RESULT}
        kept.add(replace(RESULT, number=1))
        assert list(kept.results()) == [0, 1]
    (folder / CUTS).write_text("{}\n")
    with Kept(folder, ASKED) as kept, pytest.raises(ConfigError, match="is damaged; hint: "):
        kept.results()
    with pytest.raises(ConfigError, match="has a run with seed 1, found 2"):
        Kept(folder, replace(ASKED, seed=2))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(ConfigError, match="has other files"):
        Kept(tmp_path / "other", ASKED)


def test_a_folder_whose_recording_was_killed_begins_anew(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    with Kept(folder, ASKED) as kept:
        kept.log.write_bytes(b"half a log")
    with Kept(folder, replace(ASKED, seed=2)) as kept:
        assert kept.recording is None
        assert not kept.log.exists()


# The command.


@in_mounts
@pytest.mark.parametrize("way", ["folder", "file", "direct"])
def test_a_program_that_forgets_a_sync_is_found(command: Command, way: str) -> None:
    found = cut(command, "--cuts", 40, *of_example("cut_wrong", way), code=3)
    assert (found["done"], found["stopped"]) == (40, False)
    smallest = found["smallest"]
    assert 0 < smallest["acknowledged"] <= 100
    assert smallest["last"] == f"acknowledged {smallest['acknowledged']}"
    assert smallest["said"].startswith(f"{smallest['last']}, found ")
    # Direct writes reach the drive at once: only a cut that loses them shows the fault.
    assert (smallest["lost"] > 0) == (way == "direct")
    assert all("(count, byte 0)" in name for name in smallest["named"])


@in_mounts
def test_a_program_that_forgets_none_is_not_found(command: Command) -> None:
    found = cut(command, "--cuts", 20, *of_example("cut_wrong", "right"))
    assert (found["done"], found["broken"], found["smallest"]) == (20, 0, None)
    assert found["acknowledged"] == 100
    assert found["flushes"] > 200
    assert found["flushes_uncut"] == found["flushes"] - found["flushes_cut"] > 180
    told = command("device", "cut-test", "--cuts", 1, *of_example("cut_wrong", "right"))
    assert "flushes had no cut" in told.stdout
    assert f"holds for  ext4 of Linux {os.uname().release}, and this run" in told.stdout


@in_mounts
def test_sqlite_keeps_its_commits_if_it_syncs_them(command: Command) -> None:
    found = cut(command, "--cuts", 20, *of_example("cut_sqlite", "WAL", "FULL", 60))
    assert (found["done"], found["broken"], found["acknowledged"]) == (20, 0, 60)


@in_mounts
def test_sqlite_loses_commits_if_it_does_not(command: Command) -> None:
    found = cut(command, "--cuts", 20, *of_example("cut_sqlite", "DELETE", "OFF", 60), code=3)
    assert found["broken"] > 5
    assert sum(found["found"].values()) == found["broken"]
    assert set(found["found"]) <= {f"the check ended with exit code {code}" for code in (1, 2)}


@in_mounts
@pytest.mark.skipif(not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")), reason="not there")
@pytest.mark.parametrize("fsync", ["on", "off"])
def test_postgresql_loses_commits_without_fsync_alone(
    command: Command, fsync: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = 3 if fsync == "off" else 0
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        os.chmod(place, 0o711)  # The server runs as another user.
        monkeypatch.setenv("TMPDIR", place)
        found = cut(command, "--cuts", 4, *of_example("cut_postgres", fsync, 30), code=code)
        assert leftovers(Path(place)) == []
        assert os.listdir(place) == []
    assert (found["done"], found["acknowledged"]) == (4, 30)


@in_mounts
def test_a_run_goes_on_where_it_was_stopped(command: Command, tmp_path: Path) -> None:
    keep = tmp_path / "kept"
    words = ("--keep", keep, *of_example("cut_wrong", "right"))
    process = subprocess.Popen(
        [*COMMAND, "device", "cut-test", "--json", "--cuts", "8", *map(str, words)],
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not (keep / CUTS).exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    # As Ctrl-C on a terminal, the signal goes to every process of the group.
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    stopped = json.loads(out)
    assert (process.returncode, stopped["stopped"]) == (130, True)
    assert leftovers(tmp_path) == []
    log = (keep / "drive.log").stat()
    before = numbers_of(keep)
    assert 0 < len(before) < 8
    found = cut(command, "--cuts", 8, *words)
    assert (found["resumed"], found["done"], found["stopped"]) == (len(before), 8, False)
    assert numbers_of(keep)[: len(before)] == before
    assert sorted(numbers_of(keep)) == list(range(8))
    assert (keep / "drive.log").stat().st_mtime_ns == log.st_mtime_ns
    again = command("device", "cut-test", "--cuts", 9, *words)
    assert f"8 of these cuts were done before, in {keep}" in again.stdout


def numbers_of(folder: Path) -> list[int]:
    """The numbers of the cuts in the results, in order."""
    return [json.loads(line)["number"] for line in (folder / CUTS).read_text().splitlines()]


@in_mounts
def test_the_smallest_cut_is_kept_as_a_drive(command: Command, tmp_path: Path) -> None:
    keep = tmp_path / "kept"
    words = ("--cuts", 20, "--keep", keep, *of_example("cut_wrong", "direct"))
    found = cut(command, *words, code=3)
    drive = Path(found["smallest"]["image"])
    assert drive.stat().st_mode & 0o777 == 0o600
    mount = tmp_path / "mount"
    assert command("device", "up", drive, "--mount", mount).returncode == 0
    count = (mount / "work/count").read_text().split()
    assert command("device", "down", drive).returncode == 0
    assert f"found '{count[0]}\\n'" in found["smallest"]["said"]
    again = cut(command, *words, code=3)
    assert (again["smallest"], again["resumed"]) == (found["smallest"], 20)


@in_mounts
@pytest.mark.parametrize("begun", ["mount/work/count", "cut.flash"])
def test_what_a_killed_run_leaves_is_undone_by_the_next(
    command: Command, tmp_path: Path, begun: str
) -> None:
    process = subprocess.Popen(
        [*COMMAND, "device", "cut-test", "--cuts", "500", *of_example("cut_wrong", "right")],
        env=environment(),
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(f"flashgc-cut-test-*/{begun}")):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.kill()
    process.wait()
    assert list(tmp_path.glob("flashgc-cut-test-*"))
    done = command("device", "cut-test", "--cuts", 1, "--check", "true", "--", "true")
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.glob("flashgc-cut-test-*")) == []


@in_mounts
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--check", "false", "--", "true"), 2, "exit code 1 without any power cut; hint: "),
        (("--check", "nosuch", "--", "true"), 2, "exit code 127 without any power cut: "),
        (("--check", "test -e x", "--", "touch", "x"), 2, "1 in the empty folder, with no line; "),
        (("--check", "true", "--", "false"), 1, "false ended with exit code 1, and nothing was"),
        (("--check", "true", "--", "nosuch"), 1, "nosuch: no such command"),
        (("--check", "true", "--fs", "ext5", "--", "true"), 2, "--fs: found 'ext5'"),
        (("--check", "true", "--cuts", "0", "--", "true"), 2, "--cuts: found 0"),
        (("--check", "true", "--seed", "x", "--", "true"), 2, "--seed: 'x' is not a number"),
        (("--check", "true", "--capacity", "3x", "--", "true"), 2, "--capacity: unknown unit"),
        (("--", "true"), 2, "--check is missing"),
        (("--check", "true"), 2, "COMMAND"),
    ],
)
def test_bad_input_is_refused_in_one_line(
    command: Command, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = command("device", "cut-test", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root can mount")
def test_without_root_one_line_says_so(command: Command) -> None:
    done = command("device", "cut-test", "--check", "true", "--", "true")
    assert (done.returncode, "needs root" in done.stderr) == (1, True)
