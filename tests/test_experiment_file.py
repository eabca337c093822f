"""Experiment files: they run as written, and errors name their line and column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import flashgc
from conftest import Command
from flashgc.store import Store
from flashgc.store.tidy import tidy

GOOD = """\
# A small drive.
[drive]
blocks = 100
pages_per_block = 16
overprovision = "28%"

[gc]
victim = "greedy"

[workload]
source = "hotcold:f=0.1,r=0.9"

[run]
writes = "4x"
runs = 2
seed = 7
"""


def test_a_file_is_run(command: Command, tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text(GOOD)
    made = command("run", "good.toml", "--json")
    assert made.returncode == 0, made.stderr
    config = json.loads(made.stdout)["config"]
    assert config["blocks"] == 100
    assert config["runs"] == 2
    assert config["seed"] == 7
    # (N - U)/U of whole pages: U = round(1600 * (1 - 0.28/1.28)) = 1250.
    assert config["logical_pages"] == 1250
    assert config["overprovision"] == pytest.approx(0.28)


def test_options_override_a_file(command: Command, tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text(GOOD)
    made = command(
        "run", "good.toml", "--json", "--victim", "fifo", "--spare", "20%", "--collections", "1000"
    )
    assert made.returncode == 0, made.stderr
    config = json.loads(made.stdout)["config"]
    assert config["victim"] == "fifo"
    assert config["spare_factor"] == pytest.approx(0.2)
    assert config["length"] == {"collections": 1000}
    assert config["seed"] == 7


def test_lists_are_compared(command: Command, tmp_path: Path) -> None:
    text = GOOD.replace('"greedy"', '["greedy", "fifo"]\nfrontier = ["single", "double"]')
    (tmp_path / "several.toml").write_text(text)
    made = command("compare", "several.toml", "--json")
    assert made.returncode == 0, made.stderr
    ranking = json.loads(made.stdout)["ranking"]
    assert len(ranking) == 4
    made = command("run", "several.toml")
    assert made.returncode == 2
    assert "4 configurations" in made.stderr
    assert "flashgc compare" in made.stderr


@pytest.mark.parametrize(
    ("wrong", "right", "place", "parts"),
    [
        ("blocks = 100", "bloks = 100", "bad.toml:3:1", ["'bloks'", "'blocks'"]),
        ("[drive]", "[driv]", "bad.toml:2:2", ["'driv'", "'drive'"]),
        ('victim = "greedy"', 'victim = "gredy"', "bad.toml:8:1", ["'gredy'", "'greedy'"]),
        ('victim = "greedy"', "victim = 3", "bad.toml:8:1", ["3"]),
        ("seed = 7", "blocks = 7", "bad.toml:16:1", ["'blocks'", "[drive]"]),
        ('"28%"', '"28 pct"', "bad.toml:5:1", ["'pct'"]),
        ("blocks = 100", 'capacity = "64"', "bad.toml:3:1", ["no unit", "64GiB"]),
        ("blocks = 100", "blocks = 1.5", "bad.toml:3:1", ["1.5"]),
        ("runs = 2", "runs = = 2", "bad.toml:15:", ["hint"]),
        ("[run]", "[run", "bad.toml:13:", ["hint"]),
        ("seed = 7", "seed = 7\nseed = 8", "bad.toml:17:", ["hint"]),
        ("seed = 7", 'seed = 7\nuntil = "precision"', "bad.toml:17:1", ["precision=0.1%"]),
        ("# A small drive.", "blocks = 3", "bad.toml:1:1", ["[drive]"]),
        ("# A small drive.", "gc.victm = 3", "bad.toml:1:4", ["'victm'", "'victim'"]),
        ("# A small drive.", "gc = {victm = 3}", "bad.toml:1:7", ["'victm'"]),
        ("[run]", "[workload.x]", "bad.toml:13:", ["'x'"]),
        ("blocks = 100", "blocks = true", "bad.toml:3:1", ["true"]),
        ("blocks = 100", "capacity = 64", "bad.toml:3:1", ["64", "needs a unit"]),
        ("blocks = 100", "blocks = 99999999999999999999", "bad.toml:3:10", ["64 bits"]),
        ('victim = "greedy"', "victim = []", "bad.toml:8:1", ["empty list"]),
        ('victim = "greedy"', 'victim = [\n"fifo",\n"gredy"]', "bad.toml:10:1", ["'greedy'"]),
        ("seed = 7", "seed = 7\nx = " + "[" * 9999, "bad.toml", ["nested too deeply"]),
        ("seed = 7", "seed = 7\n" + ".".join("a" * 50_000) + " = 1", "bad.toml:17:1", ["32 parts"]),
        ("seed = 7", "seed = 7\nx = { " + '"a" . ' * 99 + "b = 1 }", "bad.toml:17:7", ["32 parts"]),
    ],
)
def test_faults_are_named_with_line_and_column(
    command: Command, tmp_path: Path, wrong: str, right: str, place: str, parts: list[str]
) -> None:
    assert wrong in GOOD
    text = GOOD.replace(wrong, right)
    if right.startswith("gc"):
        text = text.replace('[gc]\nvictim = "greedy"\n', "")
    (tmp_path / "bad.toml").write_text(text)
    made = command("run", "bad.toml")
    assert made.returncode == 2, made
    assert made.stderr.startswith(f"error: {place}"), made.stderr
    assert made.stderr.count("\n") == 1
    for part in parts:
        assert part in made.stderr


def test_a_byte_order_mark_is_no_fault(command: Command, tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert command("run", "good.toml").returncode == 0


def test_true_and_false_are_yes_and_no_in_files_grids_and_keywords(
    tmp_path: Path, command: Command
) -> None:
    small: Any = {"blocks": 64, "pages_per_block": 16, "kind": "timed", "requests": 200}
    small |= {"times": "read=60us,program=800us,erase=1.5ms,transfer=20us", "arrivals": "closed"}
    drive = (
        "[drive]\nkind = 'timed'\ntimes = 'read=60us,program=800us,erase=1.5ms,transfer=20us'\n"
        "blocks = 64\npages_per_block = 16\n{}[run]\nrequests = 200\n"
        "[workload]\narrivals = 'closed'\n"
    )
    digests = {}
    for word in ("true", "false", "'yes'", "'no'"):
        (tmp_path / "e.toml").write_text(drive.format(f"multi_plane = {word}\n"))
        done = command("run", "e.toml", "--json", "--quiet")
        digests[word] = json.loads(done.stdout)["config_digest"]
    assert digests["true"] == digests["'yes'"] != digests["false"] == digests["'no'"]
    assert flashgc.run(multi_plane=True, **small).config_digest == digests["true"]
    (tmp_path / "e.toml").write_text(drive.format("spare = true\n"))
    refused = command("run", "e.toml")
    assert refused.stderr == (
        "error: e.toml:6:1: found true; hint: true and false are for keys of yes and no\n"
    )
    (tmp_path / "g.toml").write_text(drive.format("multi_plane = [true, false]\n"))
    assert command("sweep", "g.toml", "--quiet").returncode == 0
    with Store(tmp_path / "g.results", make=False) as store:
        rows = tidy(store)
    assert [row["multi_plane"] for row in rows] == ["yes", "no"]
    assert "--multi-plane yes " in f"{rows[0]['command']} "
    schema = json.loads(command("schema").stdout)
    one = schema["properties"]["drive"]["properties"]["multi_plane"]
    assert one["enum"] == ["yes", "no", True, False]
