"""``device exec --compare``: the served drive is among those that are ranked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.conftest import Command
from tests.device.conftest import needs_mounts
from tests.device.test_exec import _everything_in_one_folder, python, run

from flashgc.device.execution import Executed
from flashgc.device.replaying import Replay, _difference

__all__ = ["_everything_in_one_folder"]

DRIVE = ("--capacity", "96MiB", "--pages-per-block", "64", "--victim", "greedy")

CHURN = """
import os, random
draw = random.Random(5)
os.mkdir('wal'), os.mkdir('base')
with open('base/data', 'wb') as data:
    data.write(os.urandom(60 << 20)), data.flush(), os.fsync(data.fileno())
    for number in range(24):
        with open(f'wal/{number % 4}', 'wb') as log:
            log.write(os.urandom(1 << 20)), log.flush(), os.fsync(log.fileno())
        for _ in range(1000):
            data.seek(int(draw.random() ** 3 * 15360) * 4096), data.write(os.urandom(4096))
        data.flush(), os.fsync(data.fileno())
"""


def served(found: dict[str, Any]) -> dict[str, Any]:
    """The row of the served drive, which has the drive's own counts."""
    ranking = found["replayed"]["ranking"]
    [one] = [row for row in ranking if row["was_served"]]
    counters = found["stat"]["counters"]
    assert one["copied_pages"] == counters["copied_pages"] > 1000
    assert one["host_pages"] == counters["host_pages_written"]
    assert one["erases"] == counters["erases"]
    assert found["replayed"]["differs"] is None
    amplifications = [row["write_amplification"] for row in ranking]
    assert amplifications == sorted(amplifications)
    return dict(one)


@pytest.mark.parametrize(
    ("words", "placement"),
    [
        (("--placement", "sepbit"), "sepbit:classes=6"),
        (("--streams-by-file", "wal/*=1,base/*=2"), "fdp:handles=3,persistent=0,groups=1"),
    ],
)
@pytest.mark.xdist_group(__name__)
@needs_mounts
def test_the_served_drive_is_ranked_with_its_placement_and_streams(
    command: Command, words: tuple[str, ...], placement: str
) -> None:
    found = run(command, *DRIVE, *words, "--compare", "greedy,cost-benefit,gc-gd", *python(CHURN))
    assert served(found)["policy"] == "greedy"
    rows = {one["policy"]: one for one in found["replayed"]["ranking"]}
    assert rows["greedy"]["placement"] == rows["cost-benefit"]["placement"] == placement
    # A preset has its own placement.
    assert rows["gc-gd"]["placement"] not in (placement, "none")
    assert len({one["copied_pages"] for one in rows.values()}) == 3


@pytest.mark.xdist_group(__name__)
@needs_mounts
def test_the_served_drive_has_a_row_although_nobody_named_it(command: Command) -> None:
    words = ("--placement", "sepbit", "--compare", "fifo")
    done = command("device", "exec", *DRIVE, *words, *python(CHURN))
    assert done.returncode == 0, done.stderr
    rows = [
        line.split()
        for line in done.stdout.split("the same writes")[1].splitlines()
        if "sepbit" in line
    ]
    assert sorted(row[1] for row in rows) == ["fifo", "greedy:ties=latest"]
    assert sum("(served)" in row for row in rows) == 1, done.stdout


@pytest.mark.xdist_group(__name__)
@needs_mounts
def test_a_served_policy_in_python_is_ranked_with_its_own_code(
    command: Command, tmp_path: Path
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import numpy as np\n"
        "def fewest(blocks):\n"
        "    may = blocks.valid <= blocks.pages_per_block\n"
        "    return np.where(may, 999 - blocks.valid.astype(int), -1).argmax()\n"
    )
    words = ("--victim", f"python:{file}:fewest", "--placement", "dac", "--compare", "greedy")
    found = run(command, "--capacity", "96MiB", "--pages-per-block", "64", *words, *python(CHURN))
    assert served(found)["policy"] == f"python:{file}:fewest"
    assert {one["placement"] for one in found["replayed"]["ranking"]} == {
        found["drive"]["policies"]["placement"]
    }


def test_a_replay_that_is_not_the_served_drive_is_said_in_a_line() -> None:
    counters = {"host_pages_written": 100, "copied_pages": 50, "erases": 7}
    done = cast(Executed, SimpleNamespace(drive={}, stat={"counters": counters}))
    same = Replay("greedy", "none", 1.5, 100, 50, 7, was_served=True)
    assert _difference([same], done) is None
    told = _difference([replace(same, copied_pages=51)], done)
    assert told is not None
    assert "100 written, 51 copied, 7 erased, and the drive 100 written, 50 copied" in told
    assert "\n" not in told
