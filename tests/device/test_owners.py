"""The owners of pages and the streams of files, from events of the kernel."""

from __future__ import annotations

import threading
from typing import cast

import pytest

from flashgc import ConfigError
from flashgc.device.files.grouping import EACH, Groups, gathered, pattern
from flashgc.device.files.names import Names
from flashgc.device.files.owners import (
    AFTER,
    BEFORE,
    JOURNAL,
    METADATA,
    OTHERS,
    UNNAMED,
    Owners,
    numbered,
)
from flashgc.device.files.streams import NONE, Patterns


class Known:
    """A stand-in for the names of files, by inode and generation."""

    def __init__(self, names: dict[tuple[int, int], str]) -> None:
        self._names = names

    def path(self, inode: int, life: int) -> str | None:
        return self._names.get((inode, life))


def owners(
    events: list[tuple[int, str, int, int, int]],
    names: dict[tuple[int, int], str],
    groups: Groups = EACH,
) -> Owners:
    """The owners of a command between 1000 and 2000 ns on a drive with a journal of two pages."""
    made = Owners.__new__(Owners)
    made.names = cast(Names, Known(names))
    made.groups = groups
    made._journal, made._first, made._events = [(90, 2)], -1, events
    made._over = threading.Event()
    made.began_ns, made.ended_ns = 1000, 2000
    return made


def test_what_was_given_out_before_the_command_holds_from_its_beginning_on() -> None:
    events = [
        (300, "next", 7, 0, 0),
        (400, "data", 7, 10, 5),
        (500, "freed", 0, 12, 1),
        (1500, "next", 8, 0, 0),
        (1600, "data", 8, 20, 3),
        (1700, "data", 9, 40, 1),
        (2500, "data", 8, 30, 3),
    ]
    found = owners(events, {(7, 0): "work/a", (8, 0): "work/b"}).changes(100)
    assert found == [
        (0, 0, 100, BEFORE),
        (1000, 0, 100, METADATA),
        (1000, 90, 2, JOURNAL),
        # Events before the command keep their order, and get the time of the command's beginning.
        (1000, 10, 5, "a"),
        (1000, 12, 1, METADATA),
        (1600, 20, 3, "b"),
        (1700, 40, 1, UNNAMED),
        # Events after the end do not belong to the command.
        (2000, 0, 100, AFTER),
    ]
    names, changes = numbered(found, 900)
    assert [at for at, *_ in changes] == [0, 100, 100, 100, 100, 700, 800, 1100]
    assert [names[number] for *_, number in changes] == [owner for *_, owner in found]


def test_the_first_pattern_of_a_file_wins() -> None:
    patterns = Patterns.parse("wal/*=1,*.db=2,wal/hot.db=3,*=4")
    found = [patterns.of(name) for name in ("wal/hot.db", "hot.db", "wal/1", "x")]
    assert found == [1, 2, 1, 4]
    assert Patterns.parse("*=4,wal/*=1").of("wal/1") == 4
    assert Patterns.parse("wal/*=1").of("base/1") == NONE


def test_a_group_of_the_user_is_one_row() -> None:
    events = [(1100 + at, "next", at, 0, 0) for at in range(4)]
    events += [(1200 + at, "data", at, 10 * at, 1) for at in range(4)]
    names = {
        (0, 0): "work/node_modules/a/index.js",
        (1, 0): "work/node_modules/b/c/README.md",
        (2, 0): "work/README.md",
        (3, 0): "work/build/17.o",
    }
    found = owners(events, names, Groups.parse(["node_modules/*", "*.md"])).changes(100)
    rows = [owner for at, _, _, owner in found if 1200 <= at < 2000]
    assert rows == ["node_modules/*", "node_modules/*", "*.md", "build/N.o"]
    with pytest.raises(ConfigError, match="--group: found an empty pattern"):
        Groups.parse(["a,,b"])


@pytest.mark.parametrize(
    ("names", "row"),
    [
        # Names of git, npm, Python, mktemp, rsync, maildir, Chromium and uuidgen.
        ((".git/objects/ab/0123456789abcdef0123456789abcdef012345",), ".git/objects/N/N"),
        ((".git/objects/pack/pack-c0ffee00c0ffee00.idx",), ".git/objects/pack/pack-N.idx"),
        (("_cacache/content-v2/sha512/a0/ff/" + "0a" * 62,), "_cacache/content-vN/shaN/N/N/N"),
        (("_cacache/tmp/7a3c2f1b", "_cacache/tmp/00af31bc"), "_cacache/tmp/N"),
        (("tmpab_12xyz", "tmpqqqqqqqq"), "tmpN"),
        (("tmp.Ab3dE5gH7j", "tmp.qwertyuiop"), "tmp.N"),
        ((".data.bin.Xy12Zq", ".data.bin.aBcDeF"), ".data.bin.N"),
        (("new/1700000000.M20P17.host", "new/1700000001.M3P18.host"), "new/N.MNPN.host"),
        ((".org.chromium.AbCdEf", ".org.chromium.xY12aa"), ".org.chromium.N"),
        (
            ("a/6fa459ea-ee8a-3ca4-894e-db77e160355e", "a/16FD2706-8BAF-433B-82EB-8C7FADA847DA"),
            "a/N",
        ),
        (("store/9k2x8c4v7b1n5m3z6q0w-hello",), "store/N-hello"),
    ],
)
def test_names_that_programs_make_up_are_one_row(names: tuple[str, ...], row: str) -> None:
    assert {pattern(f"work/{name}") for name in names} == {row}


@pytest.mark.parametrize(
    "name",
    ["README.Debian", "data.sqlite", "deadbeef", "tmpfiles", "decade/facade.txt", "my.config",
     "src/effaced.rs", "MANIFEST", "lib.backup"],
)  # fmt: skip
def test_names_that_people_give_stay(name: str) -> None:
    assert pattern(f"work/{name}") == name


def test_many_names_are_gathered_by_folder_and_none_is_lost() -> None:
    sizes = {f"node_modules/p{at}x/dist/{name}": 1 for at in range(300) for name in "abc"}
    sizes |= {"db/table": 5000, "db/index": 3000, "log": 10, "src/a/one.c": 2}
    rows = gathered(sizes, 20)
    assert set(rows) == set(sizes)
    assert len(set(rows.values())) <= 20
    assert (rows["db/table"], rows["db/index"], rows["log"]) == ("db/table", "db/index", "log")
    assert {row for name, row in rows.items() if name.startswith("node")} == {"node_modules/*"}
    # Names that must stay, and names without a folder, are not gathered.
    assert gathered(sizes, 1, ["src/a/one.c"])["src/a/one.c"] == "src/a/one.c"
    assert gathered({"a": 1, "b": 2}, 1) == {"a": "a", "b": "b"}


def test_no_file_is_among_the_others_where_folders_can_be_gathered() -> None:
    names = [f"node_modules/{chr(97 + at % 26)}{chr(97 + at // 26)}/{one}.js" for at in range(400)
             for one in ("index", "main")]  # fmt: skip
    changes = [(at, at, 1, name) for at, name in enumerate(names)]
    told, found = numbered(changes, 0)
    assert len(told) <= 240
    assert {told[number] for *_, number in found} <= set(told) - {OTHERS}
