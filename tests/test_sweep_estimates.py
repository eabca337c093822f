"""Estimates of the time that a sweep takes, with policies in Python too."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

import flashgc
from conftest import Command, environment
from flashgc.store import Store
from flashgc.studies.sweep.cost import writes_of
from flashgc.studies.sweep.sweep import sweep_plan

#: A trace that ships, compressed by zstd.
TRACE = Path(__file__).parent.parent / "data/pgbench-ext4.csv.zst"

#: A million pages, written ten times.
LARGE: dict[str, Any] = {"blocks": 16_384, "pages_per_block": 64}
MINE = """
def pick(blocks):
    return min(blocks.draw(10), key=blocks.count)
class Halves:
    classes = 2
    def host(self, page, stream, old, now):
        return page % 2
    def copy(self, page, from_, zombie, now):
        return page % 2
"""


def plan(folder: Path, victim: str = "greedy", placement: str = "none", **more: Any) -> Any:
    gc = {"frontier": "pool", "victim": [victim], "placement": [placement]}
    asked = {"drive": LARGE, "gc": gc, "run": {"writes": "10x", "seed": [1, 2]}, **more}
    return sweep_plan(asked, results=folder / "r")


def test_policies_in_python_are_estimated_at_the_time_of_their_calls(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    writes = 2 * 10 * LARGE["blocks"] * LARGE["pages_per_block"]
    mine = f"python:{tmp_path}/mine.py"
    native = plan(tmp_path)
    assert native.seconds == pytest.approx(writes / 10e6)
    victim = plan(tmp_path, victim=f"{mine}:pick")
    assert victim.seconds - native.seconds == pytest.approx(2 * writes * 1.5e-6 / 64)
    placement = plan(tmp_path, placement=f"{mine}:Halves")
    assert placement.seconds - native.seconds == pytest.approx(2 * writes * 0.5e-6)
    both = plan(tmp_path, victim=f"{mine}:pick", placement=f"{mine}:Halves")
    assert both.seconds + native.seconds == pytest.approx(victim.seconds + placement.seconds)
    assert (native.in_python, both.in_python) == (0, 2)
    # In one process, policies in Python run one at a time.
    assert native.seconds_on(2) == native.seconds / 2
    assert both.seconds_on(2) == both.seconds


def packed(name: str, data: bytes) -> bytes:
    """The data, packed in this format."""
    return {
        "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress,
        "lzma": lambda one: lzma.compress(one, lzma.FORMAT_ALONE), "csv": bytes,
    }[name](data)  # fmt: skip


@pytest.mark.parametrize("name", ["gzip", "bzip2", "xz", "lzma", "zstd", "csv", "tar"])
def test_a_compressed_trace_has_more_writes_a_byte(name: str, tmp_path: Path) -> None:
    lines = b"1,W,0,4096\n" * 1000
    file = tmp_path / "a.csv"
    if name == "zstd":
        shutil.copy(TRACE, file)
    elif name == "tar":
        with tarfile.open(file, "w") as archive:
            (tmp_path / "b.csv").write_bytes(lines)
            archive.add(tmp_path / "b.csv", "b.csv")
    else:
        file.write_bytes(packed(name, lines))
    config = {"workload": str(file), "length": {"passes": "3"}, "runs": 2}
    each = 10 if name in ("csv", "tar") else 2
    assert writes_of(config) == 2 * 3 * file.stat().st_size / each


def test_each_policy_in_python_has_a_measured_speed_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    small = {"blocks": 64, "pages_per_block": 16}
    victims = ["greedy", f"python:{tmp_path}/mine.py:pick"]
    flashgc.sweep(
        {"drive": small, "gc": {"victim": victims}, "run": {"writes": "9x"}},
        results=tmp_path / "r",
    )
    with Store(tmp_path / "r", make=False) as store:
        took = {row["victim"]: row["seconds"] for row in store.rows()}
    for victim in victims:
        asked = {"drive": small, "gc": {"victim": [victim]}, "run": {"writes": "18x"}}
        found = sweep_plan(asked, results=tmp_path / "r")
        (own,) = (s for name, s in took.items() if name.startswith(victim.partition("=")[0]))
        assert found.measured
        assert found.in_python == 0
        assert found.seconds == pytest.approx(max(2 * own, 1e-3))
    other = plan(tmp_path, placement=f"python:{tmp_path}/mine.py:Halves")
    assert (other.measured, other.in_python) == (False, 2)


def test_a_dry_run_says_that_it_is_an_estimate(tmp_path: Path, command: Command) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "g.toml").write_text(
        '[drive]\nblocks = 64\npages_per_block = 16\n[gc]\nvictim = ["greedy", '
        '"python:mine.py:pick"]\n'
    )
    done = command("sweep", "g.toml", "--dry-run", "--jobs", "1")
    first, about, estimate = done.stdout.splitlines()
    assert first == "2 cells: 2 to run, 0 found"
    assert about.endswith("on 1 core, at usual speeds")
    assert estimate == (
        "an estimate: 1 cell of policies in Python, one at a time, with 1.5 us a pick and 0.5 us a "
        "page placed"
    )
    (tmp_path / "g.toml").write_text('[gc]\nvictim = ["greedy"]\n')
    assert "an estimate" not in command("sweep", "g.toml", "--dry-run").stdout


def test_what_a_grid_costs_is_measured(tmp_path: Path) -> None:
    """Runs the benchmark at a small size; its queries agree with a scan of all rows."""
    program = Path(__file__).parents[1] / "scripts" / "bench" / "sweeps.py"
    done = subprocess.run(
        [sys.executable, program, "20", "5000"],
        env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = [
        (("greedy", "fifo", "cost-benefit")[n % 3], 0.01 + n % 97 / 200, f"trace{n % 50}", n % 10)
        for n in range(5000)
    ]
    wanted = [
        sum(v == "greedy" and s < 0.02 and w == "trace7" for v, s, w, _ in rows),
        sum(seed == 3 and s < 0.02 for _, s, _, seed in rows),
        1,
        sum(w == "trace7" and v == "fifo" for v, _, w, _ in rows),
    ]
    found = [line.split(", ")[1].split()[0] for line in done.stdout.splitlines()[3:]]
    assert [int(one) for one in found] == wanted
