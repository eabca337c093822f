"""Files beside a policy's file: only those that it imports belong to its digest."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import flashgc
from conftest import Command
from flashgc import _neighbours
from flashgc.policy_files import Files, load_policy
from flashgc.store import Contents, key_of

DRIVE = {"blocks": 64, "pages_per_block": 16}
#: A policy that depends on its neighbour ``helper``.
MINE = """from helper import DRAWS
def pick(blocks):
    return min(blocks.draw(DRAWS), key=blocks.count)
"""


def asked(*files: Path, **more: Any) -> dict[str, Any]:
    return {
        "drive": DRIVE,
        "gc": {"victim": [f"python:{file}:pick" for file in files]},
        "run": {"writes": "2x", **more},
    }


def written(folder: Path, package: str = "", **files: str) -> None:
    """Writes a file for each keyword, in a folder or in a package there."""
    inside = folder / package
    inside.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (inside / f"{name}.py").write_text(text)


def beside(file: Path) -> list[str]:
    return sorted(_neighbours.sources(str(file), lambda path: Path(path).read_bytes())[1])


def test_a_policy_imports_from_its_folder_and_its_result_follows(tmp_path: Path) -> None:
    written(tmp_path, mine=MINE, helper="DRAWS = 1\n")
    first = flashgc.sweep(asked(tmp_path / "mine.py"), results=tmp_path / "r")
    assert [cell.status for cell in first] == ["result"]
    written(tmp_path, unrelated="what is this\n")
    (tmp_path / "mine_too.py").write_text("import unrelated\n")
    again = flashgc.sweep(asked(tmp_path / "mine.py"), results=tmp_path / "r")
    assert (again.ran, again.found) == (0, 1)
    written(tmp_path, helper="DRAWS = 5\n")
    other = flashgc.sweep(asked(tmp_path / "mine.py"), results=tmp_path / "r")
    assert other.ran == 1
    assert other.rows() != first.rows()


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import a", ["a"]),
        ("import a as b, numpy", ["a"]),
        ("import shapes.round", ["shapes", "shapes.deep", "shapes.flat", "shapes.round"]),
        ("from shapes import round", ["shapes", "shapes.deep", "shapes.flat", "shapes.round"]),
        ("from . import a", ["a"]),
        ("from .shapes.flat import AREA", ["shapes", "shapes.flat"]),
        ("def pick(blocks):\n    import a", ["a"]),
        ("import random, flashgc", []),
        ("from .. import a", []),
        ("import a.b", ["a"]),
        ("import (", []),
        ("TEXT = 'import a'", []),
    ],
)
def test_import_statements_say_which_files_count(
    source: str, names: list[str], tmp_path: Path
) -> None:
    written(
        tmp_path,
        mine=source,
        a="import sys",
        random="",
        flashgc="",
    )
    inside = {"round": "from . import flat\nfrom .deep import DEPTH\n", "deep": "DEPTH = 1\n"}
    written(tmp_path, "shapes", __init__="", flat="AREA = 1\n", **inside)
    assert beside(tmp_path / "mine.py") == names


def test_what_is_imported_is_what_was_found(tmp_path: Path) -> None:
    written(
        tmp_path,
        mine="""
            import shapes.round as round_, random
            import shapes
            from shapes import *
            from . import late
            from .shapes.flat import AREA
            def pick(blocks):
                import lazy
                areas = shapes.round.AREA, round_.AREA, AREA, flat.AREA
                return *areas, late.mine, lazy.N, random.seed
        """.replace("\n            ", "\n"),
        late="import mine\n",
        lazy="N = 7\n",
        random="raise RuntimeError('the standard library keeps its names')\n",
    )
    written(
        tmp_path,
        "shapes",
        __init__="__all__ = ['flat']\n",
        round="from .flat import AREA\n",
        flat="from dataclasses import dataclass\n"
        "from typing import ClassVar\n"
        "AREA = 3\n"
        "@dataclass\nclass Flat:\n    side: 'ClassVar[int]' = 3\n",
    )
    before = set(sys.modules)
    pick: Any = load_policy(f"python:{tmp_path}/mine.py:pick", "victim")
    *areas, mine, lazy, seed = pick(None)
    assert areas == [3, 3, 3, 3]
    assert mine.pick is pick  # An indirect import is not loaded twice.
    assert lazy == 7
    import random

    assert seed == random.seed
    assert not {"helper", "shapes", "lazy", "late", "mine"} & (set(sys.modules) - before)


def test_folders_with_files_of_one_name_do_not_mix(tmp_path: Path) -> None:
    written(tmp_path / "one", mine=MINE, helper="DRAWS = 1\n")
    written(tmp_path / "two", mine=MINE, helper="DRAWS = 9\n")
    files = [tmp_path / "one" / "mine.py", tmp_path / "two" / "mine.py"]
    grid = asked(*files, seed=[1, 2])
    with ProcessPoolExecutor(2) as pool:
        swept = [
            flashgc.sweep(grid, results=tmp_path / "threads", jobs=2),
            flashgc.sweep(grid, results=tmp_path / "processes", executor=pool),
        ]
    alone = [
        flashgc.run(victim=load_policy(f"python:{file}:pick", ""), seed=seed, writes="2x", **DRIVE)  # type: ignore[arg-type]
        for file in files
        for seed in (1, 2)
    ]
    copied = [run.copied_pages for run in alone]
    assert copied[0] > copied[2]  # Nine draws find an emptier block than one.
    assert [[cell.figures["copied_pages"] for cell in one] for one in swept] == [copied, copied]


def test_policies_of_a_folder_share_what_they_import(tmp_path: Path) -> None:
    written(tmp_path, a="import helper\n", b="import helper\n", helper="LOG = []\n")
    files = Files()
    one, two = (files.load(f"python:{tmp_path}/{name}.py:helper", "victim") for name in "ab")
    assert one is two
    assert Files().load(f"python:{tmp_path}/a.py:helper", "victim") is not one


def test_threads_may_import_at_once(tmp_path: Path) -> None:
    written(
        tmp_path,
        mine="def pick(blocks):\n    import slow\n    return slow.DONE\n",
        slow="import time\ntime.sleep(0.1)\nDONE = 1\n",
    )
    pick: Any = load_policy(f"python:{tmp_path}/mine.py:pick", "victim")
    came: list[int] = []
    threads = [threading.Thread(target=lambda: came.append(pick(None))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert came == [1, 1, 1, 1]


def test_a_fault_in_what_is_imported_is_named_with_its_line(
    tmp_path: Path, command: Command
) -> None:
    written(tmp_path, mine=MINE, helper="\nDRAWS = 1 / 0\n")
    done = command("run", "--victim", "python:mine.py:pick")
    assert done.stderr == "error: helper.py:2: ZeroDivisionError: division by zero\n"
    written(tmp_path, mine="import helpr\n")
    done = command("run", "--victim", "python:mine.py:pick")
    assert done.stderr == "error: mine.py:1: ModuleNotFoundError: No module named 'helpr'\n"


def test_what_is_imported_for_a_drive_must_be_ours_too(tmp_path: Path) -> None:
    written(tmp_path, mine=MINE, helper="DRAWS = 1\n")
    load_policy(f"python:{tmp_path}/mine.py:pick", "victim", guarded=True)
    (tmp_path / "helper.py").chmod(0o666)
    with pytest.raises(flashgc.ConfigError, match=r"helper\.py may be written by others"):
        load_policy(f"python:{tmp_path}/mine.py:pick", "victim", guarded=True)


def test_a_key_has_the_contents_of_what_is_imported_under_their_names(tmp_path: Path) -> None:
    config: dict[str, Any] = {"workload": "uniform", "victim": f"python:{tmp_path}/mine.py:pick"}

    def key(**files: str) -> str:
        written(tmp_path, **files)
        return key_of(config, Contents())

    first = key(mine="import a, b\n", a="X = 1\n", b="X = 2\n", c="X = 3\n")
    assert key(c="X = 4\n") == first
    swapped = key(a="X = 2\n", b="X = 1\n")
    assert swapped != first
    assert key(a="X = 1\n", b="X = 2\n") == first
    assert key(a="import c\nX = 1\n") != first


class Meddling(Executor):
    """Runs cells immediately, and changes a file after the first one."""

    def __init__(self, place: Path, text: str) -> None:
        self.place, self.text, self.ran = place, text, 0

    def submit(self, work: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(work(*arguments, **more))
        self.place.write_text(self.text)
        self.ran += 1
        return future


def test_a_sweep_goes_on_when_another_file_is_saved_beside_the_policy(tmp_path: Path) -> None:
    written(tmp_path, mine=MINE, helper="DRAWS = 1\n")
    grid = asked(tmp_path / "mine.py", seed=[1, 2, 3])
    meddling = Meddling(tmp_path / "notes.py", "# something else\n")
    swept = flashgc.sweep(grid, results=tmp_path / "r", executor=meddling)
    assert [cell.status for cell in swept] == ["result"] * 3
    assert flashgc.sweep(grid, results=tmp_path / "r").found == 3


def test_a_neighbour_that_changes_is_named_and_the_others_run(tmp_path: Path) -> None:
    written(
        tmp_path,
        mine=MINE,
        helper="DRAWS = 1\n",
        other="def pick(blocks):\n    return blocks.draw(1)[0]\n",
    )
    grid = asked(tmp_path / "mine.py", tmp_path / "other.py", seed=[1, 2, 3])
    helper = tmp_path / "helper.py"
    swept = flashgc.sweep(grid, results=tmp_path / "r", executor=Meddling(helper, "DRAWS = 2\n"))
    assert [cell.status for cell in swept] == ["failed"] * 3 + ["result"] * 3
    assert {cell.reason for cell in swept.of("failed")} == {
        f"{helper}: is imported by python:{tmp_path}/mine.py:pick, and has changed while it ran, "
        "so its result is not kept; hint: give the same command again"
    }
    again = flashgc.sweep(grid, results=tmp_path / "r")
    assert (again.ran, again.found) == (3, 3)
    written(tmp_path, helper="DRAWS = 1\n")
    assert flashgc.sweep(grid, results=tmp_path / "r").ran == 3  # No stored result matches.
