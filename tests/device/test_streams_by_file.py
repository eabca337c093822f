"""``device exec --streams-by-file``: every write has the stream of its file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Command
from tests.device.conftest import needs_mounts
from tests.device.test_exec import GROWING, LARGE, _everything_in_one_folder, python, run

import flashgc
from flashgc.device.options_of import options_of

pytestmark = [needs_mounts, pytest.mark.xdist_group(__name__)]

__all__ = ["_everything_in_one_folder"]

DRIVE = ("--capacity", "128MiB", "--pages-per-block", "64", "--victim", "greedy")
BY_NAME = ("--streams-by-file", "*a=1,*b=2,*c=3,*d=1")


def pages(found: dict[str, Any]) -> dict[int | None, int]:
    return {one["stream"]: one["written_pages"] for one in found["streams"]["streams"]}


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_every_write_has_the_stream_of_its_file_while_files_grow_and_go(
    command: Command, tmp_path: Path, filesystem: str
) -> None:
    told, trace = tmp_path / "written.json", tmp_path / "run.flashgc.zst"
    words = (*LARGE, "--fs", filesystem, *BY_NAME, "--by-file", "--record", trace)
    found = run(command, *words, *python(GROWING), str(told))
    written = json.loads(told.read_text())
    wanted = {1: 0, 2: 0, 3: 0}
    for name, count in written.items():
        stream = {"a": 1, "b": 2, "c": 3, "d": 1}.get(name[-1])
        if stream is not None:
            wanted[stream] += count
    found_pages = pages(found)
    none = found_pages.pop(None)
    assert found_pages == wanted
    assert min(wanted.values()) > 100
    assert none * 4096 + sum(wanted.values()) * 4096 == found["host_bytes"]
    named = found["streams"]
    assert (named["late_files"], named["lost_events"]) == (0, 0)
    assert named["files"] == sum(name[-1] in "abcd" for name in written)
    # Each page also has its file as owner.
    owners = {one["name"]: one["written_pages"] for one in found["by_file"]["owners"]}
    assert {name: owners.get(name) for name in written} == written
    # A simulated drive with the same streams has the same counts.
    assert found["drive"]["policies"]["placement"] == "fdp:handles=4,persistent=0,groups=1"
    result = flashgc.run(str(trace), **options_of(found["drive"]))
    counted = {one["stream"]: one["copied_pages"] for one in found["stat"]["streams"]}
    assert {one.stream: one.copied_pages for one in result.streams} == counted
    assert result.copied_pages == found["stat"]["counters"]["copied_pages"]


ROUNDS = """
import os, random
draw = random.Random(5)
os.mkdir('wal'), os.mkdir('base')
with open('base/data', 'wb') as data:
    data.write(os.urandom(84 << 20)), data.flush(), os.fsync(data.fileno())
    for number in range(50):
        # New names, as those of a log are: the first write of each is its only one.
        with open(f'wal/{number}', 'wb') as log:
            log.write(os.urandom(1 << 20)), log.flush(), os.fsync(log.fileno())
        if number > 5:
            os.remove(f'wal/{number - 6}')
        for _ in range(300):
            data.seek(draw.randrange(21504) * 4096), data.write(os.urandom(4096))
        data.flush(), os.fsync(data.fileno())
"""


def test_handles_of_files_cut_copies(command: Command) -> None:
    plain = run(command, *DRIVE, *python(ROUNDS))
    found = run(
        command, *DRIVE, "--by-file", "--streams-by-file", "wal/*=1,base/*=2", *python(ROUNDS)
    )
    assert pages(found)[1] == 50 * 256
    by_stream = {one["stream"]: one["copied_pages"] for one in found["streams"]["streams"]}
    assert by_stream[1] == 0
    assert found["copied_pages"] < 0.95 * plain["copied_pages"]
    assert sum(by_stream.values()) == found["copied_pages"]


RENAMED = """
import os, time
def write(file, how, at=0):
    with open(file, how) as opened:
        opened.seek(at)
        opened.write(os.urandom(64 * 4096)), opened.flush(), os.fsync(opened.fileno())
write('one.tmp', 'wb')
os.rename('one.tmp', 'one.db'), time.sleep(0.5)
write('one.db', 'r+b')
write('one.db', 'ab')
os.link('one.db', 'two.log')
write('two.log', 'r+b')
"""


def test_a_renamed_file_has_the_stream_of_its_new_name(command: Command) -> None:
    found = run(command, *DRIVE, "--streams-by-file", "*.tmp=1,*.db=2,*.log=3", *python(RENAMED))
    # A second name of a file changes nothing.
    counts = pages(found)
    assert {stream: counts[stream] for stream in (1, 2, 3)} == {1: 64, 2: 192, 3: 0}


NAMELESS = """
import os
fd = os.open('.', os.O_TMPFILE | os.O_RDWR)
for _ in range(3):
    os.write(fd, os.urandom(1 << 16)), os.fsync(fd)
"""


def test_a_file_without_a_name_has_no_stream(command: Command) -> None:
    found = run(command, *DRIVE, "--streams-by-file", "*=1", *python(NAMELESS))
    assert pages(found)[1] == 0
    assert not [one for one in found["findings"] if one["id"] == "streams-incomplete"]


#: Files with names reuse the inodes of files without names; links add and remove names.
LINKED = """
import ctypes, os
def write(fd, pages):
    os.write(fd, os.urandom(pages * 4096)), os.fsync(fd)
for turn in range(3):
    fd = os.open('.', os.O_TMPFILE | os.O_RDWR)
    write(fd, 100 + turn), os.close(fd)
    fd = os.open('table', os.O_CREAT | os.O_RDWR)
    write(fd, 40), os.close(fd)
    if turn < 2:
        os.unlink('table')
fd = os.open('.', os.O_TMPFILE | os.O_RDWR)
write(fd, 30)
ctypes.CDLL(None).linkat(-100, f'/proc/self/fd/{fd}'.encode(), -100, b'linked', 0x400), os.close(fd)
fd = os.open('draft', os.O_CREAT | os.O_RDWR)
write(fd, 20), os.link('draft', 'object'), os.unlink('draft'), os.close(fd)
os.sync()
"""


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_a_page_is_of_its_file_whatever_made_and_named_it(
    command: Command, filesystem: str
) -> None:
    given = ("--streams-by-file", "table=1,linked=2,draft=3,object=4", "--by-file")
    words = (*LARGE, "--fs", filesystem, *given)
    found = run(command, *words, *python(LINKED))
    owners = {one["name"]: one["live_pages"] for one in found["by_file"]["owners"]}
    names = ("table", "linked", "draft", "object")
    assert [owners.get(name, 0) for name in names] == [40, 30, 0, 20]
    # ext4 may reuse blocks before it discards them. It then skips the two blocks between 'linked'
    # and 'object', which hold data of a removed file.
    assert owners.get("files without a name", 0) in (0, 2)
    assert pages(found)[1] == 3 * 40
    assert not [one for one in found["findings"] if one["id"] == "streams-incomplete"]


def test_a_host_names_the_streams_of_its_writes(tmp_path: Path) -> None:
    options = {"blocks": 64, "pages_per_block": 16, "spare": 0.3}
    with flashgc.Device.create(tmp_path / "a", placement="fdp:handles=3", **options) as drive:
        drive.write(0, bytes(8192), stream=2)
        drive.write(8192, bytes(4096))
        rows = {one["stream"]: one["host_pages"] for one in drive.stat()["streams"]}
        assert rows == {2: 2, None: 1}
        with pytest.raises(flashgc.ConfigError, match="stream: found 255, expected 0 to 254"):
            drive.write(0, bytes(4096), stream=255)
    with flashgc.Device.create(tmp_path / "b", **options) as drive:
        said = "stream: the drive takes none from its host; hint: make it with placement="
        with pytest.raises(flashgc.ConfigError, match=said):
            drive.write(0, bytes(4096), stream=1)


def test_files_that_are_copied_in_have_streams(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.db").write_bytes(bytes(1 << 20))
    program = (
        "import os\nwith open('a.db', 'r+b') as opened:\n"
        "    opened.write(os.urandom(65536)), opened.flush(), os.fsync(opened.fileno())\n"
    )
    words = ("--streams-by-file", "*.db=1", "--copy-in", folder)
    assert pages(run(command, *DRIVE, *words, *python(program)))[1] == 16


def test_a_drive_with_a_clock_takes_the_streams_of_files(command: Command) -> None:
    words = (
        "--realtime",
        "--device",
        "slc",
        "--slower",
        "4x",
        "--streams-by-file",
        "wal/*=1,base/*=2",
    )
    # A clock that is slowed down makes the command wait for every write.
    program = ROUNDS.replace("84 << 20", "8 << 20").replace("range(50)", "range(10)")
    found = run(command, "--capacity", "128MiB", *words, *python(program.replace("21504", "2048")))
    assert pages(found)[1] == 10 * 256
    assert found["realtime"]["answers"] > 0


def test_a_drive_with_another_file_system_is_refused(command: Command, tmp_path: Path) -> None:
    file, mount = tmp_path / "held.flash", tmp_path / "mount"
    words = ("--capacity", "400MiB", "--placement", "fdp:handles=3")
    assert command("device", "create", file, *words).returncode == 0
    assert command("device", "up", "--fs", "xfs", file, "--mount", mount).returncode == 0
    assert command("device", "down", file).returncode == 0
    done = command("device", "exec", "--from", file, "--streams-by-file", "a=1", *python("pass"))
    assert done.returncode == 2
    assert "the drive holds xfs, expected ext4; hint: --fs xfs" in done.stderr
    file.unlink()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--streams-by-file", "wal/*"), "found 'wal/*', expected PATTERN=STREAM"),
        (("--streams-by-file", "a=1,=2"), "found '=2', expected PATTERN=STREAM"),
        (("--streams-by-file", "a=64"), "found 'a=64', expected PATTERN=STREAM with a stream from"),
        (
            ("--streams-by-file", "a=1", "--fs", "btrfs"),
            "--streams-by-file: flashgc does not see which pages of the device btrfs gives",
        ),
        (
            ("--streams-by-file", "a=1", "--streams", "s.csv"),
            "--streams-by-file does not go with --streams; hint: leave one of both out",
        ),
        (
            ("--streams-by-file", "a=1", "--placement", "dac"),
            "the placement of the drive is dac:regions=3",
        ),
        (
            ("--streams-by-file", "a=3,b=1", "--placement", "fdp:handles=3"),
            "stream 3 has no handle on a drive with 3; hint: --placement fdp:handles=4",
        ),
    ],
)
def test_what_has_no_streams_is_refused(
    command: Command, words: tuple[str, ...], said: str
) -> None:
    done = command("device", "exec", *DRIVE, *words, *python("pass"))
    assert done.returncode == 2
    assert said in done.stderr
