"""``flashgc device bench``: its file, the order of its runs, its statistics, its budgets."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Command, environment
from tests.device.conftest import leftovers, needs_mounts

from flashgc import ConfigError
from flashgc.device import benching
from flashgc.device.benching import budget, describe, page, picture, summary
from flashgc.device.benching.file import Count
from flashgc.device.benching.outcome import Mean, Outcome

FILE = """
[bench]
command = "./load {size} {sync} --seed {seed}"
unit = "transactions"
count = 'committed ([0-9]+)'
repeats = 3

[axes]
size = [4096, 16384]
sync = ["full", "off"]

[drive]
capacity = "64MiB"
pages_per_block = 32
victim = ["greedy", "fifo"]
fill = "50%"
"""


def written(tmp_path: Path, text: str = FILE) -> Path:
    file = tmp_path / "one.toml"
    file.write_text(text)
    return file


def told(units: float, flash: int, host: int = 1000, seconds: float = 10.0) -> dict[str, Any]:
    """The document of a run, with the fields that figures are computed from."""
    return {
        "units": units,
        "past": None,
        "executed": {
            "flash_bytes": flash, "host_bytes": host, "seconds": seconds, "erases": 1,
            "collections": 1, "steady": True, "left_ended": False,
            "written": dict.fromkeys(("bytes", "least", "most")),
            "write_amplification": flash / host,
            "latency_us": {"write": {"count": 1, "p50": 1, "p99": 9, "p999": 10, "max": 11}},
        },
    }  # fmt: skip


SMALL = FILE.replace('sync = ["full", "off"]', 'sync = "full"').replace(
    '["greedy", "fifo"]', '"fifo"'
)

#: Flash bytes of 100 transactions, by cell and repeat.
FLASH = ((1000, 1100, 1200), (900, 1010, 1040))


def done(tmp_path: Path, flash: tuple[tuple[int, ...], ...] = FLASH) -> Outcome:
    """A bench of two cells whose runs are finished."""
    bench = benching.read(written(tmp_path, SMALL))
    runs = benching.order(bench)
    kept = {run.name: told(100, flash[run.cell.number][run.repeat]) for run in runs}
    return benching.outcome(bench, runs, kept, say=describe.findings)


def test_each_choice_of_settings_is_a_cell(tmp_path: Path) -> None:
    cells = benching.cells_of(benching.read(written(tmp_path)))
    assert [one.name for one in cells][:3] == [
        "size=4096 sync=full victim=greedy",
        "size=4096 sync=full victim=fifo",
        "size=4096 sync=off victim=greedy",
    ]
    assert len({one.name for one in cells}) == len(cells) == 8
    # Settings of the command do not change the drive, so there are two images only.
    assert len({one.image for one in cells}) == 2


def test_repeats_are_interleaved_and_cells_change_places(tmp_path: Path) -> None:
    bench = benching.read(written(tmp_path))
    runs = benching.order(bench)
    rounds = [runs[start : start + 8] for start in range(0, 24, 8)]
    for repeat, each in enumerate(rounds):
        assert {run.repeat for run in each} == {repeat}
        assert sorted(run.cell.number for run in each) == list(range(8))
    assert [run.cell.number for run in rounds[0]] != list(range(8))
    places = Counter((run.cell.number, at) for each in rounds for at, run in enumerate(each))
    assert set(places.values()) == {1}, "a cell has the same place twice"
    assert [run.name for run in runs] == [run.name for run in benching.order(bench)]


def test_texts_have_the_values_of_the_cell_and_the_seed_of_the_repeat(tmp_path: Path) -> None:
    runs = benching.order(benching.read(written(tmp_path, f"{FILE}\n[run]\nfs = 'xfs'\n")))
    found = {run.words for run in runs if run.cell.name == "size=4096 sync=off victim=fifo"}
    seeds = {f"./load 4096 off --seed {seed}" for seed in (1, 2, 3)}
    assert found == {("/bin/sh", "-c", text) for text in seeds}


def test_a_change_starts_runs_of_changed_cells_alone(tmp_path: Path) -> None:
    before = {run.name for run in benching.order(benching.read(written(tmp_path)))}
    more = FILE.replace("16384]", "16384, 65536]").replace("repeats = 3", "repeats = 4")
    after = {run.name for run in benching.order(benching.read(written(tmp_path, more)))}
    assert before < after
    other = FILE.replace('"greedy"', '"d-choices"')
    changed = {run.name for run in benching.order(benching.read(written(tmp_path, other)))}
    assert len(before & changed) == 12


def test_a_changed_program_is_another_run(tmp_path: Path) -> None:
    text = FILE.replace("./load", "{here}/load.sh")
    (tmp_path / "load.sh").write_text("one")
    before = {run.name for run in benching.order(benching.read(written(tmp_path, text)))}
    (tmp_path / "load.sh").write_text("two")
    after = {run.name for run in benching.order(benching.read(written(tmp_path, text)))}
    assert not before & after


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("repeats = 3", "repeats = 0", "one.toml:6:1: repeats: found 0, expected a whole number"),
        ("repeats", "repeat", "has no key 'repeat'; hint: did you mean 'repeats'?"),
        ("[axes]", "[axis]", "8:2: the file has no key 'axis'; hint: did you mean 'axes'?"),
        ("count = 'committed ([0-9]+)'", "", "has neither count nor json"),
        ("([0-9]+)", "[0-9]+", "hint: brackets around the number"),
        ("([0-9]+)", "([0-9]+", "the pattern has an error"),
        (
            "{sync}",
            "{snyc}",
            "found '{snyc}', expected the name of an axis; hint: did you mean 'sync'?",
        ),
        ("{sync}", "", "one.toml:10:1: sync: found 'sync', expected an axis that the command"),
        ("[4096, 16384]", "[]", "size: found [], expected at least one value"),
        ("[4096, 16384]", "[4096, 4096]", "expected values that differ"),
        ("[4096, 16384]", "{a = 1}", "expected a text or a number"),
        ("victim", "vicitm", "[drive] has no key 'vicitm'; hint: did you mean 'victim'?"),
        (
            "[drive]",
            "[run]\nstreams_by_file = 'wal'\n[drive]",
            "streams_by_file: found 'wal', expected '' for none, or PATTERN=STREAM",
        ),
        ('unit = "transactions"', "unit = 3", "unit: found 3, expected a text"),
        ("command =", "setup =", "[bench] has no command"),
        ("[bench]", "[bench", "one.toml:2"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in FILE
    with pytest.raises(ConfigError) as error:
        benching.read(written(tmp_path, FILE.replace(old, new, 1)))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"fifo"]', '"fifi"]', "one.toml:15:1: unknown victim policy 'fifi'"),
        ('"50%"', '"0%"', "one.toml: [drive] fill: found 0%, expected more than 0%"),
        ('"50%"', '"50%"\naged = "unifrom"', "one.toml: [drive] "),
        ('"50%"', '"50%"\n[run]\nuser = "no-one"', "one.toml: [run] user: there is no user no-one"),
        (
            '"50%"',
            '"50%"\nplacement = "dac"\n[run]\nstreams_by_file = "a=1"',
            "one.toml: [run] streams-by-file: the placement of the drive is dac",
        ),
        ('"50%"', '"50%"\n[run]\ncopy_in = "no"', "[run] copy-in: "),
        ('"50%"', '"50%"\n[run]\nfs = ["ext4", "ext5"]', "one.toml: [run] fs: found 'ext5'"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_runs(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    bench = benching.read(written(tmp_path, FILE.replace(old, new)))
    runner = benching.Runner(bench, benching.Folder.make(tmp_path / "out"))
    with pytest.raises(ConfigError) as error:
        runner.check(benching.order(bench))
    assert said in str(error.value)


def test_units_are_counted_in_the_output() -> None:
    pattern = Count(pattern="committed ([0-9.e+]+)")
    assert pattern.of("committed 1\ncommitted 2e3", "") == 2000
    assert pattern.of("", "committed 7") == 7
    for output in ("", "commited 3", "committed 0"):
        with pytest.raises(Exception, match="committed"):
            pattern.of(output)
    path = Count(path="jobs.0.ios")
    assert path.of('{"jobs": [{"ios": 12}]}') == 12
    for output, said in (("x", "is no JSON"), ('{"jobs": []}', "no 0"), ('{"a": 1}', "has a")):
        with pytest.raises(Exception, match=said):
            path.of(output)


def test_means_and_paired_differences_are_those_worked_out_by_hand(tmp_path: Path) -> None:
    made = done(tmp_path)
    first, second = made.cells
    # Flash bytes a transaction: 10, 11, 12. Mean 11, deviation 1, t(2) = 4.303.
    mean = first.mean("flash_bytes_per_unit")
    assert mean is not None
    assert mean.half is not None
    assert mean.mean == pytest.approx(11)
    assert mean.half == pytest.approx(4.303 / math.sqrt(3))
    # 9/10 - 1, 10.1/11 - 1 and 10.4/12 - 1: -0.1, -0.081818, -0.133333.
    # Their mean is -0.105051, their deviation 0.026127, half the interval 0.064907.
    change = made.change(second)
    assert change is not None
    assert change.mean == pytest.approx(-0.105051, abs=1e-6)
    assert change.half == pytest.approx(0.064907, abs=1e-6)
    assert change.holds_zero is False
    # The intervals of the two means overlap: only the comparison by repeats shows a difference.
    other = second.mean("flash_bytes_per_unit")
    assert other is not None
    assert other.half is not None
    assert other.mean + other.half > mean.mean - mean.half
    assert made.change(first) is None


def test_changes_are_those_of_one_repeat_whatever_the_order_of_the_values(tmp_path: Path) -> None:
    # By repeat: 600/1200 - 1, 1100/1000 - 1 and 1210/1100 - 1: -0.5, 0.1 and 0.1, mean -0.1. Sorted
    # values would give 600/1000 - 1, 1100/1100 - 1 and 1210/1200 - 1: mean -0.131.
    made = done(tmp_path, ((1200, 1000, 1100), (600, 1100, 1210)))
    change = made.change(made.cells[1])
    assert change is not None
    assert change.mean == pytest.approx(-0.1)
    # The deviation is 0.34641, so half the interval is 4.303 * 0.34641 / sqrt(3) = 0.8606.
    assert change.half == pytest.approx(0.8606, abs=1e-4)
    figures = made.to_dict()["cells"][1]["figures"]["flash_bytes_per_unit"]  # type: ignore[index,call-overload]
    assert figures["values"] == [6, 11, 12.1]  # type: ignore[index,call-overload]


def test_each_cell_is_compared_with_the_first_one(tmp_path: Path) -> None:
    text = SMALL.replace("[4096, 16384]", "[1, 2, 3]")
    bench = benching.read(written(tmp_path, text))
    runs = benching.order(bench)
    flash = (1000, 500, 2000)
    made = benching.outcome(
        bench, runs, {one.name: told(1, flash[one.cell.number]) for one in runs}
    )
    found = [made.change(cell) for cell in made.cells]
    assert [one and one.mean for one in found] == [None, -0.5, 1.0]


THREE = SMALL.replace("[4096, 16384]", "[1, 2, 3]")


def three(tmp_path: Path, against: str) -> Outcome:
    """A bench of three cells, compared with one of them."""
    text = THREE.replace("repeats = 3", f"repeats = 3\nagainst = {against}")
    bench = benching.read(written(tmp_path, text))
    runs = benching.order(bench)
    kept = {one.name: told(1, (1000, 500, 2000)[one.cell.number]) for one in runs}
    return benching.outcome(bench, runs, kept, say=describe.findings)


@pytest.mark.parametrize("against", ["3", '"3"', '"size=3"', '"size=3,"'])
def test_any_cell_may_be_that_with_which_others_are_compared(tmp_path: Path, against: str) -> None:
    made = three(tmp_path, against)
    found = [made.change(cell) for cell in made.cells]
    assert [one and one.mean for one in found] == [-0.5, -0.75, None]
    document: Any = made.to_dict()
    assert document["against"] == {"size": 3}
    assert document["cells"][1]["figures"]["flash_bytes_per_unit"]["change"] == -0.75
    assert "against number 3" in page.page(made)
    assert "against number 3 |" in summary.summary(made, [], [], None)


def test_a_cell_inside_the_noise_of_another_one_is_told_beside_that(tmp_path: Path) -> None:
    bench = benching.read(
        written(tmp_path, THREE.replace("repeats = 3", "repeats = 3\nagainst = 2"))
    )
    runs = benching.order(bench)
    flash = ((900, 910, 920), (1000, 1100, 1200), (1010, 1080, 1230))
    kept = {run.name: told(1, flash[run.cell.number][run.repeat]) for run in runs}
    made = benching.outcome(bench, runs, kept, say=describe.findings)
    [finding] = [one for one in made.findings if one.id == "inside-the-noise"]
    assert finding.claim.startswith("1 of 2 cells write as many flash bytes a unit as number 2,")
    assert finding.claim.endswith(": size=3")


@pytest.mark.parametrize(
    ("against", "said"),
    [
        ("9", "one.toml:7:1: '9' means no cell, expected one; hint: 1 or size=1"),
        ('"size=7"', "'size=7' means no cell"),
        ('"victim=fifo"', "'victim=fifo' means no cell"),
        ('","', "',' means 3 cells, expected one"),
        ('"first"', "found 'first', expected NAME=VALUE of a cell"),
        ("true", "against: found True, expected a text"),
    ],
)
def test_words_that_mean_no_cell_or_several_are_refused(
    tmp_path: Path, against: str, said: str
) -> None:
    with pytest.raises(ConfigError) as error:
        three(tmp_path, against)
    assert said in str(error.value)


def test_the_option_goes_before_the_file(command: Command, tmp_path: Path) -> None:
    file = written(tmp_path, THREE.replace("repeats = 3", "repeats = 3\nagainst = 2"))
    done = command("device", "bench", file, "--out", tmp_path / "out", "--against", "size=9")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--against: 'size=9' means no cell, expected one; hint: 1 or size=1" in done.stderr


def test_bytes_that_stayed_in_the_page_cache_are_told_by_cell(tmp_path: Path) -> None:
    bench = benching.read(written(tmp_path, SMALL))
    runs = benching.order(bench)
    kept = {run.name: told(1, 1000, host=1000) for run in runs}
    for run in runs:
        # In the second cell, 1600, 2000 and 2500 bytes were written, and 1000 reached the drive.
        bytes_ = 990 if run.cell.number == 0 else (1600, 2000, 2500)[run.repeat]
        kept[run.name]["executed"]["written"] = {"bytes": None, "least": bytes_, "most": None}
    made = benching.outcome(bench, runs, kept, say=describe.findings)
    [finding] = [one for one in made.findings if one.id == "stayed-in-the-cache"]
    # 37.5%, 50% and 60%: 49.2% on average.
    assert finding.claim.endswith("in the page cache: size=16384 49%")


def test_a_mean_over_runs_of_which_one_is_unknown_is_unknown(tmp_path: Path) -> None:
    bench = benching.read(written(tmp_path, SMALL))
    runs = benching.order(bench)
    kept = {run.name: told(100, 1000) for run in runs}
    for run in runs:
        written_ = 500 + 100 * run.repeat
        kept[run.name]["executed"]["written"] = dict.fromkeys(("bytes", "least", "most"), written_)
    made = benching.outcome(bench, runs, kept)
    assert [cell.mean("written_bytes_per_unit") for cell in made.cells] == [
        Mean(6.0, pytest.approx(4.303 / math.sqrt(3), abs=1e-3))
    ] * 2
    lost = next(run.name for run in runs if run.cell.number == 1)
    kept[lost]["executed"]["written"] |= {"bytes": None, "most": None}
    first, second = benching.outcome(bench, runs, kept).cells
    assert first.mean("written_bytes_per_unit") is not None
    assert second.mean("written_bytes_per_unit") is second.bounds("written_bytes_per_unit") is None
    assert len(second.values("written_bytes_per_unit")) == 2


def test_written_bytes_with_bounds_are_a_range_in_table_document_and_budget(tmp_path: Path) -> None:
    bench = benching.read(written(tmp_path, SMALL))
    runs = benching.order(bench)
    kept = {run.name: told(100, 1000) for run in runs}
    for run in runs:
        # One run of the second cell has only bounds: 8 to 17 KiB a unit. All others have 5 KiB.
        is_known = run.cell.number == 0 or run.repeat > 0
        least, most = (512_000, 512_000) if is_known else (819_200, 1_740_800)
        exact = least if is_known else None
        kept[run.name]["executed"]["written"] = {"bytes": exact, "least": least, "most": most}
    made = benching.outcome(bench, runs, kept)
    head, first, second = page.page(made).split("<h2>Cells</h2>")[1].split("<tr>")[1:4]
    assert "<th>written bytes per transaction<" in head
    assert "<td>5.00 ± 0.00 KiB<td>" in first
    # Means of 8, 5 and 5, and of 17, 5 and 5; deviations 1.732 and 6.928, t(2) = 4.303.
    assert "<td>6.0 ± 4.3 KiB to 9 ± 17 KiB<td>" in second
    cells: Any = made.to_dict()["cells"]
    assert cells[0]["figures"]["written_bytes_per_unit"]["mean"] == 5120
    assert cells[1]["figures"]["written_bytes_per_unit"] is None
    ends = [cells[1]["figures"][f"written_{one}_per_unit"]["mean"] for one in ("least", "most")]
    assert ends == [6 * 1024, 9 * 1024]
    limits = [f"size=16384: written_bytes_per_unit{text}" for text in ("<10KiB", "<7KiB", ">5KiB")]
    claims = [one.claim for one in benching.missed(made, map(benching.wanted, limits))]
    assert claims == ["written_bytes_per_unit is 6 KiB to 9 KiB, wanted < 7 KiB"]


def test_units_a_second_of_a_short_run_are_not_those_of_a_second(tmp_path: Path) -> None:
    bench = benching.read(written(tmp_path, SMALL))
    runs = benching.order(bench)
    kept = {run.name: told(100, 1000, seconds=0.25) for run in runs}
    for cell in benching.outcome(bench, runs, kept).cells:
        assert cell.values("units_per_second") == {0: 400.0, 1: 400.0, 2: 400.0}


def test_a_cell_inside_the_noise_is_called_so(tmp_path: Path) -> None:
    made = done(tmp_path, ((1000, 1100, 1200), (1010, 1000, 1250)))
    change = made.change(made.cells[1])
    assert change is not None
    assert change.holds_zero
    [finding] = [one for one in made.findings if one.id == "inside-the-noise"]
    assert "1 of 1 cells" in finding.claim
    assert "inside the noise" in summary.summary(made, [], [], None)
    assert "inside the noise" in page.page(made)
    beyond = done(tmp_path)
    assert "inside-the-noise" not in {one.id for one in beyond.findings}


def test_findings_count_runs(tmp_path: Path) -> None:
    bench = benching.read(written(tmp_path, SMALL))
    runs = benching.order(bench)
    kept = {run.name: told(100, 1000) for run in runs[:4]}
    first = kept[runs[0].name]
    first["executed"] |= {"collections": 0, "left_ended": True}
    first["past"] = {"is_settled": False, "overwritten": 9}
    kept[runs[1].name]["executed"]["steady"] = False
    claims = {one.id: one.claim for one in describe.findings(benching.outcome(bench, runs, kept))}
    assert claims["runs-missing"] == "2 of 6 runs are missing"
    for rule in ("runs-never-collected", "runs-not-steady", "runs-left-behind", "past-not-settled"):
        assert claims[rule].startswith("in 1 of 4 runs "), rule
    once = benching.read(written(tmp_path, SMALL.replace("repeats = 3", "repeats = 1")))
    made = benching.outcome(once, benching.order(once), {})
    assert "one-repeat" in {one.id for one in describe.findings(made)}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("flash_bytes_per_unit<11B", 1),  # 11 and 9.833
        ("flash_bytes_per_unit<=11B", 0),
        ("flash_bytes_per_unit<9B", 2),
        ("flash_bytes_per_unit>10B", 1),
        ("size=4096: flash_bytes_per_unit<9B", 1),
        ("units_per_second>=10", 0),
        ("units_per_second>10", 2),
        ("write_p99<1ms", 0),
        ("write_p99<5us", 2),
        ("written_bytes_per_unit<1MiB", 2),  # unknown
    ],
)
def test_limits_are_missed_by_means(tmp_path: Path, text: str, count: int) -> None:
    assert len(list(benching.missed(done(tmp_path), [benching.wanted(text)]))) == count


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("flash_bytes_per_units<1KiB", "did you mean 'flash_bytes_per_unit'?"),
        ("flash_bytes_per_unit=1KiB", "expected a figure, <"),
        ("write_p99<2", "expected a time with its unit"),
        ("write_amplification<2ms", "expected a plain number"),
        ("flash_bytes<many", "many"),
        ("greedy: flash_bytes<1MiB", "expected NAME=VALUE"),
    ],
)
def test_a_wrong_limit_is_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        benching.wanted(text)
    assert said in str(error.value)


def test_a_limit_for_no_cell_is_refused_before_anything_runs(tmp_path: Path) -> None:
    limits = [benching.wanted("size=5: flash_bytes<1MiB")]
    with pytest.raises(ConfigError, match="no cell is meant"):
        budget.check(done(tmp_path), limits, None)


def baseline(tmp_path: Path, made: Outcome) -> budget.Baseline:
    file = tmp_path / "baseline.json"
    file.write_text(json.dumps(made.to_dict()))
    return budget.Baseline.read(file)


def test_a_figure_is_worse_if_its_whole_interval_is_beyond_the_tolerance(tmp_path: Path) -> None:
    before = baseline(tmp_path, done(tmp_path, ((1000, 1010, 1020), (1000, 1010, 1020))))
    # The second cell: +10.0%. Both deviations are 10 of 1010, so Welch's interval with 4 degrees
    # of freedom is 2.776 * sqrt(2 * 100 / 3) = 22.7 of 1010: 2.2%, so it begins at 7.7%.
    after = done(tmp_path, ((1000, 1010, 1020), (1101, 1111, 1121)))
    worse = benching.against(after, before, ["flash_bytes_per_unit"], 0.05).worse
    assert [one.cell for one in worse] == ["size=16384"]
    assert "+10.0% ± 2.2%, beyond 5.0%" in worse[0].claim
    assert benching.against(after, before, ["flash_bytes_per_unit"], 0.08).worse == []
    # An improvement is not reported. For transactions per second, higher is better.
    assert benching.against(done(tmp_path, ((500, 510, 520),) * 2), before).worse == []
    slower = done(tmp_path)
    for cell in slower.cells:
        for at, run in cell.runs.items():
            run["executed"]["seconds"] = 20.0 + 0.1 * at
    assert len(benching.against(slower, before, ["units_per_second"]).worse) == 2


def test_a_baseline_without_these_cells_is_refused(tmp_path: Path) -> None:
    before = baseline(tmp_path, done(tmp_path))
    bench = benching.read(written(tmp_path, SMALL.replace("4096, 16384", "1, 2")))
    made = benching.outcome(bench, benching.order(bench), {})
    with pytest.raises(ConfigError, match="has none of these cells"):
        budget.check(made, [], before)
    for text in ("{}", "[]", "no", '{"format": 99, "cells": []}'):
        (tmp_path / "baseline.json").write_text(text)
        with pytest.raises(ConfigError, match="--baseline"):
            budget.Baseline.read(tmp_path / "baseline.json")


def test_finished_runs_are_used_again_and_damaged_ones_are_not(tmp_path: Path) -> None:
    runs = benching.order(benching.read(written(tmp_path)))
    folder = benching.Folder.make(tmp_path / "out")
    for run in runs[:3]:
        folder.keep(run, told(1, 1))
    assert set(folder.all_kept(runs)) == {run.name for run in runs[:3]}
    folder.document(runs[0]).write_text('{"format": 1, "units"')
    folder.document(runs[1]).write_text('{"format": 99}')
    assert set(folder.all_kept(runs)) == {runs[2].name}
    folder.forget(runs)
    assert folder.all_kept(runs) == {}


def test_the_page_and_the_picture_show_every_cell(tmp_path: Path) -> None:
    made = done(tmp_path)
    assert picture.picture(made).count("<circle") == 3 * 6
    shown = page.page(made, [budget.Missed("size=4096", "write_p99", "write_p99 is <long>")])
    assert "write_p99 is &lt;long&gt;" in shown
    for text in ("4096", "16384", "flash bytes per transaction", "-10.5% ± 6.5%"):
        assert text in shown
    nothing = benching.outcome(made.bench, benching.order(made.bench), {})
    assert picture.picture(nothing) == ""
    assert "<table>" in page.page(nothing)


def test_a_summary_begins_with_what_was_missed(tmp_path: Path) -> None:
    made = done(tmp_path)
    limits = [benching.wanted("flash_bytes_per_unit<10B")]
    text = summary.summary(made, limits, list(benching.missed(made, limits)), None)
    assert text.index("**1 missed.**") < text.index("| size |")
    assert r"flash\_bytes\_per\_unit is 11 B, wanted \< 10 B" in text
    kept = [benching.wanted("flash_bytes_per_unit<1KiB")]
    assert "It holds." in summary.summary(made, kept, [], None)


def test_one_repeat_has_no_interval() -> None:
    assert Mean.of([3.0]) == Mean(3.0, None)
    assert Mean.of([3.0]).holds_zero is None


EXAMPLES = sorted(Path(__file__).parents[2].glob("docs/examples/bench/*.toml"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_files_of_the_document_are_read(file: Path) -> None:
    bench = benching.read(file)
    assert len(benching.order(bench)) == len(benching.cells_of(bench)) * bench.repeats


MOUNTED = """
[bench]
command = "cat {here}/begin; ./write.sh {mib} && echo committed {mib}"
setup = "echo 'head -c ${1}M /dev/urandom >data; sync' >write.sh; chmod a+x write.sh"
unit = "megabytes"
count = 'committed ([0-9]+)'
repeats = 2
[axes]
mib = [4, 8]
[drive]
capacity = "96MiB"
pages_per_block = 32
victim = "greedy"
fill = "60%"
aged = "1x"
"""


@pytest.fixture
def _everything_in_one_folder(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    state = tmp_path_factory.mktemp("state") / "state"
    monkeypatch.setenv("FLASHGC_STATE", str(state))
    yield
    assert leftovers(state) == []
    assert leftovers(tmp_path) == []


@needs_mounts
@pytest.mark.xdist_group(__name__)
@pytest.mark.usefixtures("_everything_in_one_folder")
def test_a_bench_measures_goes_on_and_judges(command: Command, tmp_path: Path) -> None:
    file = written(tmp_path, MOUNTED)
    (tmp_path / "begin").write_text("")
    first = command("device", "bench", file, "--json", "--out", tmp_path / "out")
    assert first.returncode == 0, first.stderr
    found = json.loads(first.stdout)
    assert [cell["repeats"] for cell in found["cells"]] == [[0, 1]] * 2
    for cell in found["cells"]:
        # Writes of the setup do not count, and the file system adds little.
        figures = {name: figure and figure["mean"] for name, figure in cell["figures"].items()}
        assert figures["written_bytes_per_unit"] == 1 << 20
        assert 1 << 20 <= figures["host_bytes_per_unit"] < 1.2 * (1 << 20)
        assert figures["flash_bytes_per_unit"] > figures["host_bytes_per_unit"]
    # Both cells share one drive image.
    assert len(list((tmp_path / "out" / "images").glob("*.flash"))) == 1
    assert "<svg" in (tmp_path / "out" / "page.html").read_text()
    # A second call runs nothing, and judges the stored results.
    budget_ = ("--wanted", "flash_bytes_per_unit<1MiB", "--summary", tmp_path / "summary.md")
    again = command("device", "bench", file, "--out", tmp_path / "out", *budget_)
    assert again.returncode == 3, again.stderr
    assert "4 of 4 runs are in" in again.stderr
    assert again.stderr.count("missed: mib=") == 2
    assert "**2 missed.**" in (tmp_path / "summary.md").read_text()
    assert max(map(len, again.stdout.splitlines()[:-1])) <= 80
    beside = ("--baseline", tmp_path / "out" / "bench.json")
    same = command("device", "bench", file, "--out", tmp_path / "out", *beside)
    assert same.returncode == 0, same.stderr


@needs_mounts
@pytest.mark.xdist_group(__name__)
@pytest.mark.usefixtures("_everything_in_one_folder")
@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_bench_keeps_what_is_finished(
    command: Command, tmp_path: Path, which: signal.Signals
) -> None:
    # The second run waits, and ignores both signals.
    text = MOUNTED.replace(
        "cat {here}/begin;", "trap : INT TERM; test {mib} = 4 || cat {here}/begin;"
    )
    # A path replaces {here}, so that runs do not depend on the content of the pipe.
    text = text.replace("{here}", str(tmp_path)).replace("repeats = 2", "repeats = 1")
    file = written(tmp_path, text)
    os.mkfifo(tmp_path / "begin")
    process = begun(file, tmp_path)
    with reached(process, tmp_path / "begin"):
        os.killpg(process.pid, which) if which is signal.SIGINT else process.send_signal(which)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "error: interrupted" in errors
    (tmp_path / "begin").unlink()
    (tmp_path / "begin").write_text("")
    kept = list((tmp_path / "out" / "runs").glob("*.json"))
    assert len(kept) <= 1
    again = command("device", "bench", file, "--out", tmp_path / "out")
    assert again.returncode == 0, again.stderr
    assert (f"{len(kept)} of 2 runs are in" in again.stderr) == bool(kept)


@needs_mounts
@pytest.mark.xdist_group(__name__)
@pytest.mark.usefixtures("_everything_in_one_folder")
def test_a_server_of_the_setup_does_not_outlive_a_bench_that_was_killed(
    command: Command, tmp_path: Path
) -> None:
    text = MOUNTED.replace("{here}", str(tmp_path)).replace("mib = [4, 8]", "mib = 4")
    text = text.replace('setup = "', 'setup = "setsid sleep 1000 & echo x >$FLASHGC_MARK; ')
    file = written(tmp_path, text.replace("repeats = 2", "repeats = 1"))
    os.mkfifo(tmp_path / "begin")
    process = begun(file, tmp_path)
    with reached(process, tmp_path / "begin"):
        process.kill()
        process.communicate()
    assert sleeping(tmp_path)
    (tmp_path / "begin").unlink()
    (tmp_path / "begin").write_text("")
    # The next bench undoes what the killed one left, and ends its own server.
    done = command("device", "bench", file, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "outlived the command and were ended" in done.stderr
    until = time.monotonic() + 60
    while sleeping(tmp_path):
        assert time.monotonic() < until
        time.sleep(0.05)


def begun(file: Path, tmp_path: Path) -> subprocess.Popen[str]:
    """A bench that was started, in a process group of its own."""
    program = "from flashgc.command import main; main()"
    words = (sys.executable, "-c", program, "device", "bench", file, "--out", tmp_path / "out")
    return subprocess.Popen(
        words,
        env={**environment(), "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@contextlib.contextmanager
def reached(process: subprocess.Popen[str], pipe: Path) -> Iterator[None]:
    """Waits until a command of the bench reads ``pipe``, and lets it go on at the end."""
    opened, until = -1, time.monotonic() + 60
    while opened < 0:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < until
        # A pipe cannot be opened for writing before somebody reads it.
        with contextlib.suppress(OSError):
            opened = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        time.sleep(0.02)
    try:
        yield
    finally:
        os.close(opened)


def sleeping(folder: Path) -> list[str]:
    """The processes of commands and setups below ``folder``."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"FLASHGC_MARK={folder}".encode() in environ.read_bytes():
                found.append(environ.parent.name)
    return found


@needs_mounts
@pytest.mark.xdist_group(__name__)
@pytest.mark.usefixtures("_everything_in_one_folder")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("&& echo committed", "&& echo commited", "is not in the command's output, which ends"),
        ("&& echo committed {mib}", "; echo oh dear >&2; exit 3", "exit code 3: oh dear; hint: "),
        ("chmod a+x write.sh", "exit 4", "setup: exit code 4"),
    ],
)
def test_a_run_that_fails_is_named_with_its_last_words(
    command: Command, tmp_path: Path, old: str, new: str, said: str
) -> None:
    (tmp_path / "begin").write_text("")
    assert old in MOUNTED
    file = written(tmp_path, MOUNTED.replace(old, new))
    failed = command("device", "bench", file, "--out", tmp_path / "out")
    assert failed.returncode == 1, failed.stderr
    assert "error: mib=" in failed.stderr
    assert said in failed.stderr


WITH_STREAMS = """
[bench]
command = "for f in a b a b; do head -c 1048576 /dev/zero >$f; sync; done; echo did 4"
unit = "files"
count = 'did ([0-9]+)'
repeats = 1

[drive]
capacity = "64MiB"
pages_per_block = 32

[run]
streams_by_file = ["", "a=1,b=2"]
"""


def test_a_cell_with_streams_has_a_drive_with_handles(tmp_path: Path) -> None:
    plain, named = benching.cells_of(benching.read(written(tmp_path, WITH_STREAMS)))
    assert "placement" not in plain.drive
    assert named.drive["placement"] == "fdp:handles=3"
    assert named.image != plain.image
    assert named.name == "streams_by_file=a=1,b=2"


@needs_mounts
@pytest.mark.xdist_group(__name__)
def test_files_have_streams_in_the_cells_that_ask_for_them(
    command: Command, tmp_path: Path
) -> None:
    file = written(tmp_path, WITH_STREAMS)
    done = command("device", "bench", file, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    runs = [json.loads(one.read_text()) for one in (tmp_path / "out" / "runs").glob("*.json")]
    streams = {one["name"]: one["executed"]["streams"] for one in runs}
    assert streams.pop("streams_by_file=") is None
    [found] = streams.values()
    assert [one["written_pages"] for one in found["streams"][:2]] == [512, 512]
