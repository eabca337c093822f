"""Damage to files of results: each row is right, is named as damaged, or the file is refused."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Command

from flashgc import ConfigError, sweep
from flashgc.store import Store, database, tidy
from flashgc.store.file import Kept

#: The numbers of files with flipped bits and with exchanged documents. A campaign has 500 and 50.
FLIPS = int(os.environ.get("FLASHGC_FLIPS", "100"))
EXCHANGES = int(os.environ.get("FLASHGC_EXCHANGES", "20"))

GRID = {
    "drive": {"blocks": 64, "pages_per_block": 16, "spare": ["10%", "20%"]},
    "gc": {"victim": ["greedy", "fifo", "d-choices:d=4"]},
    "run": {"writes": "2x"},
}

Figures = dict[str, dict[str, Any]]


def named(kept: Kept) -> bool:
    return kept.status == "failed" and "is damaged in the file of results" in kept.reason


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("results") / "grid.results"
    assert sweep(GRID, results=path).ran == 6
    return path


@pytest.fixture(scope="module")
def right(pristine: Path) -> Figures:
    with Store(pristine) as store:
        kept = {key: dict(one.result or {}) for key, _, one in store.each()}
        assert len(kept) == len(store.rows()) == 6
        return kept


class Overtaken:
    """A connection to a file of results; another one stores a result before each of its queries."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
        self.written = 0

    def execute(self, query: str) -> sqlite3.Cursor:
        with Store(self._path, make=False, whole=False) as other:
            other.put(f"later{self.written}", Kept("cannot", {}, None), "sweep")
        self.written += 1
        return self._connection.execute(query)


def test_a_file_that_others_write_to_is_not_damaged(pristine: Path, tmp_path: Path) -> None:
    path = tmp_path / "grid.results"
    shutil.copy(pristine, path)
    with contextlib.closing(database.opened(path, "--results", make=False)) as connection:
        overtaken = Overtaken(path, connection)
        assert database.damaged(overtaken, "--results") == {}  # type: ignore[arg-type]
        assert overtaken.written >= 4
    with Store(path, make=False) as store:
        assert store.count() == 6 + overtaken.written


def judged(path: Path, right: Figures, rows: list[dict[str, Any]]) -> str:
    """Return the outcome of a damaged file; fails on a wrong or missing row without a report."""
    try:
        with Store(path, make=False) as store:
            shown, kept = store.rows(), list(store.each())
            tidied = tidy.tidy(store)
    except (ConfigError, OSError) as error:
        return "refused" if "hint:" in str(error) else f"without a hint: {error}"
    assert len(shown) == len(kept) == len(tidied) == 6
    damaged = 0
    for row, (key, _, one) in zip(shown, kept, strict=True):
        if row["status"] == "failed":
            assert "is damaged in the file of results" in row["reason"]
        else:
            assert row in rows
        if named(one):
            damaged += 1
        else:
            assert one.result == right[key]
    swept = sweep(GRID, results=path)
    for cell in swept:
        assert cell.key is not None
        if cell.status == "failed":
            assert "is damaged in the file of results" in (cell.reason or "")
        else:
            for name in ("write_amplification", "copied_pages"):
                assert cell.figures[name] == right[cell.key][name]
    again = sweep(GRID, results=path, retry=True)
    assert [cell.status for cell in again] == ["result"] * 6
    return "named" if damaged else "the same"


@pytest.fixture
def copy(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(pristine, tmp_path / "grid.results"))


def test_no_flipped_bit_makes_a_row_wrong_or_missing_without_a_word(
    pristine: Path, right: Figures, tmp_path: Path
) -> None:
    whole, draw = pristine.read_bytes(), random.Random(5)
    with Store(pristine) as store:
        rows = store.rows()
    came: Counter[str] = Counter()
    for number in range(FLIPS):
        path = tmp_path / f"{number}.results"
        flipped = bytearray(whole)
        for _ in range(draw.choice([1, 1, 1, 8])):
            flipped[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        path.write_bytes(flipped)
        came[judged(path, right, rows)] += 1
        for left in tmp_path.glob(f"{number}.results*"):
            left.unlink()
    assert came["named"] > FLIPS // 20, came
    assert came["refused"] > FLIPS // 20, came
    assert {*came} <= {"named", "refused", "the same"}, came


def exchanged(path: Path, what: str, draw: random.Random) -> None:
    """Exchanges the documents or the keys of two results."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        one, two = draw.sample([id_ for (id_,) in connection.execute("SELECT id FROM results")], 2)
        if what == "key":
            connection.execute("UPDATE results SET id = -1 WHERE id = ?", (one,))
            connection.execute("UPDATE results SET id = ? WHERE id = ?", (one, two))
            connection.execute("UPDATE results SET id = ? WHERE id = -1", (two,))
            return
        found = [
            connection.execute(f"SELECT {what} FROM documents WHERE id = ?", (id_,)).fetchone()
            for id_ in (one, two)
        ]
        marks = ", ".join(f"{name} = ?" for name in what.split(", "))
        for id_, values in zip((two, one), found, strict=True):
            connection.execute(f"UPDATE documents SET {marks} WHERE id = ?", (*values, id_))


def test_no_exchanged_document_is_a_figure(pristine: Path, right: Figures, tmp_path: Path) -> None:
    draw = random.Random(6)
    with Store(pristine) as store:
        rows = store.rows()
    for number in range(EXCHANGES):
        path = Path(shutil.copy(pristine, tmp_path / f"{number}.results"))
        exchanged(path, draw.choice(["result", "config, asked, result", "key"]), draw)
        assert judged(path, right, rows) == "named"


def changed(path: Path, *statements: str) -> Path:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return path


def test_a_row_that_is_gone_is_missed(copy: Path) -> None:
    changed(copy, "DELETE FROM results WHERE id = 3", "DELETE FROM documents WHERE id = 3")
    with pytest.raises(ConfigError, match="is damaged: it has 5 results, and others were kept"):
        Store(copy)


@pytest.mark.parametrize(
    "statements",
    [
        (
            "DROP TABLE results",
            "CREATE VIEW results AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
            " SELECT i AS id FROM n",
        ),
        ("CREATE TRIGGER t AFTER INSERT ON results BEGIN DELETE FROM results; END",),
        ("CREATE VIEW more AS SELECT 1",),
        ("CREATE TABLE more (i)",),
        ("CREATE INDEX more ON results (victim)",),
        ("CREATE VIRTUAL TABLE more USING fts5(text)",),
        ("DROP TABLE state",),
        ("ALTER TABLE results ADD COLUMN more TEXT GENERATED ALWAYS AS (key) VIRTUAL",),
    ],
)
@pytest.mark.parametrize("words", [("results", "list"), ("results", "prune", "--failed")])
def test_objects_of_others_are_refused(
    copy: Path, statements: tuple[str, ...], words: tuple[str, ...], command: Command
) -> None:
    changed(copy, *statements)
    since = time.monotonic()
    done = command(*words[:2], copy, *words[2:])
    assert time.monotonic() - since < 20
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "hint: give another file" in done.stderr


def test_a_query_without_end_is_broken_off(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flashgc.store.file._LONGEST", 0.2)
    forever = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT count(*) FROM n"
    with Store(copy) as store:
        with pytest.raises(OSError, match="a query did not end"):
            store._read(forever)
        assert len(store.rows()) == 6


def form_3(path: Path) -> Path:
    return changed(
        path,
        "ALTER TABLE results DROP COLUMN document",
        "ALTER TABLE results DROP COLUMN sum",
        "DROP TABLE state",
        "PRAGMA user_version = 3",
    )


def test_a_file_of_form_3_gets_check_sums(copy: Path, right: Figures) -> None:
    form_3(copy)
    with Store(copy, make=False) as store:
        assert store.damaged == {}
        assert {key: kept.result for key, _, kept in store.each()} == right
    changed(copy, "UPDATE results SET write_amplification = 1.0 WHERE id = 2")
    with Store(copy, make=False) as store:
        assert list(store.damaged) == [2]


def test_merging_leaves_damaged_results_out(copy: Path, tmp_path: Path) -> None:
    changed(copy, "UPDATE results SET seed = 9 WHERE id = 2")
    exchanged(copy, "result", random.Random(1))
    with Store(tmp_path / "new.results") as store, Store(copy) as other:
        merged = store.merge(other)
        assert merged in (3, 4)
        assert not any(named(kept) for _, _, kept in store.each())
    with Store(tmp_path / "new.results") as store:
        assert store.count() == merged
