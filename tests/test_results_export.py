"""Copies of a file of results are complete, during a sweep and after it."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

import flashgc
from conftest import Command, environment, kept_results
from flashgc.store import Kept, Store
from flashgc.store import file as store_file
from flashgc.store.file import export

GRID = {
    "drive": {"blocks": 64, "pages_per_block": 16},
    "run": {"writes": "2x", "seed": [1, 2, 3, 4]},
}


def test_a_file_in_use_is_copied_whole(tmp_path: Path, command: Command) -> None:
    flashgc.sweep(GRID, results=tmp_path / "done")
    rows = kept_results(tmp_path / "done")
    with Store(tmp_path / "r") as living:
        with Store(tmp_path / "done", make=False) as done:
            for key, work, kept in done.each():
                living.put(key, kept, work)
        shutil.copy(tmp_path / "r", tmp_path / "plain")
        exported = command("results", "export", "r", "copy")
        assert (exported.returncode, exported.stdout) == (0, "copy: 4 results\n")
        living.put("later", Kept("cannot", {}, None, "because"), "sweep")
        assert set(kept_results(tmp_path / "copy")) == set(rows)
        with Store(tmp_path / "copy", make=False) as copy, Store(tmp_path / "done") as done:
            assert [one[2] for one in copy.each()] == [one[2] for one in done.each()]
    # The copied file lacks the results, so the hint names the command `export`.
    listed = command("results", "list", "plain")
    assert "none; hint: flashgc sweep grid.toml makes some; a file in use is copied by" in (
        " ".join(listed.stdout.split())
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "done", "plain", "r"]


def test_a_copy_is_of_one_moment_whoever_writes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_file, "_STEP", 1)
    with Store(tmp_path / "r") as store, Store(tmp_path / "r") as other:
        for number in range(200):
            store.put(f"{number:032}", Kept("cannot", {"n": [number] * 500}, None), "sweep")
        shares: list[float] = []

        def look(share: float, _pages: int) -> None:
            shares.append(share)
            assert len(shares) < 10_000, "it begins anew for ever"
            other.put(f"later{len(shares)}", Kept("cannot", {}, None), "sweep")

        export(store, tmp_path / "copy", look)
        assert store.count() == 200 + len(shares)
    assert len(kept_results(tmp_path / "copy")) == 200
    assert shares == sorted(shares), "it begins anew for nobody"
    assert (len(shares) > 10, shares[-1]) == (True, 1.0)


def test_nothing_is_overwritten(tmp_path: Path, command: Command) -> None:
    flashgc.sweep(GRID, results=tmp_path / "r")
    (tmp_path / "there").write_text("mine")
    refused = command("results", "export", "r", "there")
    assert refused.returncode == 2
    assert refused.stderr == ("error: COPY: there exists; hint: give another name, or delete it\n")
    assert (tmp_path / "there").read_text() == "mine"
    for place, words in (("r", "exists"), ("none/copy", "there is no such folder")):
        refused = command("results", "export", "r", place)
        assert (refused.returncode, words in refused.stderr) == (2, True)
    assert command("results", "export", "lacking", "copy").returncode == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r", "there"]
    with Store(tmp_path / "r", make=False) as store:

        def late(*_: object) -> None:
            (tmp_path / "late").write_text("mine")

        with pytest.raises(flashgc.ConfigError, match="late exists"):
            export(store, tmp_path / "late", late)
    assert (tmp_path / "late").read_text() == "mine"


def test_a_plain_copy_after_a_sweep_is_whole_while_others_look_on(tmp_path: Path) -> None:
    flashgc.sweep({**GRID, "run": {"writes": "2x"}}, results=tmp_path / "r")
    watching = subprocess.Popen(
        [
            sys.executable, "-c",
            "import sys; from pathlib import Path; from flashgc.store import Store; "
            "store = Store(Path('r'), make=False); print(store.count(), flush=True); "
            "sys.stdin.read()",
        ],
        cwd=tmp_path, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert watching.stdout is not None
        assert watching.stdout.readline() == "1\n"
        began = time.monotonic()
        flashgc.sweep(GRID, results=tmp_path / "r")
        assert time.monotonic() - began < 30
        shutil.copy(tmp_path / "r", tmp_path / "plain")
    finally:
        watching.communicate()
    with sqlite3.connect(tmp_path / "plain") as plain:
        assert plain.execute("SELECT count(*) FROM results").fetchone() == (4,)
