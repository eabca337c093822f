"""``find``: bisection finds the value that a search of all values finds."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import flashgc
from conftest import COMMAND, Command, environment, kept_results
from flashgc.model import evaluate

SMALL: dict[str, Any] = {"blocks": 256, "pages_per_block": 32, "writes": "5x"}


def _each(key: str, values: list[Any], **more: Any) -> list[flashgc.Result]:
    return [flashgc.run(**{**SMALL, "runs": 5, **more, key: value}) for value in values]


def test_the_spare_factor_is_that_of_a_look_at_every_value() -> None:
    values = [f"{percent}%" for percent in range(10, 41)]
    results = _each("spare", values, victim="greedy")
    found = flashgc.find(
        "spare", "WA<2", low="10%", high="40%", step="1%", victim="greedy", **SMALL
    )
    means = [one.write_amplification for one in results]
    halves = [one.write_amplification_ci95 or 0.0 for one in results]
    first = [mean < 2 for mean in means].index(True)
    assert found.value == values[first]
    assert found.side == "least"
    better = [mean - half < 2 for mean, half in zip(means, halves, strict=True)].index(True)
    worse = [mean + half < 2 for mean, half in zip(means, halves, strict=True)].index(True)
    assert found.interval == (values[better], values[worse])
    assert found.result is not None
    assert found.result.digest == results[first].digest
    assert len(found.tried) < 12 < len(values)
    for one in found.tried:
        same = results[values.index(str(one.value))]
        assert one.figures["write_amplification"] == same.write_amplification


def test_a_parameter_of_a_policy_is_found_from_above_and_from_below() -> None:
    results = [flashgc.run(victim=f"d-choices:d={d}", runs=5, **SMALL) for d in range(1, 33)]
    means = [one.write_amplification for one in results]
    limit = (means[5] + means[6]) / 2
    for condition, value, side in ((f"WA<{limit}", 7, "least"), (f"WA>={limit}", 6, "most")):
        found = flashgc.find("victim.d", condition, low=1, high=32, victim="d-choices", **SMALL)
        assert (found.value, found.side) == (value, side)


def test_the_spare_factor_of_greedy_is_that_of_the_mean_field() -> None:
    """At the found value, the closed form for greedy and uniform writes gives 3 within 2%."""
    drive: dict[str, Any] = {"blocks": 1000, "pages_per_block": 64, "writes": "10x", "runs": 2}
    found = flashgc.find("spare", "WA<3", victim="greedy", low="5%", high="30%", **drive)
    spare = float(str(found.value).rstrip("%")) / 100
    model = evaluate("greedy", spare=spare, pages_per_block=64)
    assert model.write_amplification == pytest.approx(3, rel=0.02)


def test_all_that_is_wanted_holds() -> None:
    timed: dict[str, Any] = {
        "kind": "timed", "times": "read=60us,program=800us,erase=1.5ms,transfer=20us",
        "workload": "uniform:read=0.5", "blocks": 256, "pages_per_block": 64, "requests": 2000,
        "runs": 1, "victim": "greedy", "low": "10%", "high": "40%", "step": "2%",
    }  # fmt: skip
    alone = flashgc.find("spare", "WA<2", **timed)
    both = flashgc.find("spare", ["WA<2", "read_mean_us<30000"], **timed)
    assert both.result is not None
    assert alone.result is not None
    assert both.result.timing is not None
    assert both.result.write_amplification < 2
    read = both.result.timing.latency_us.read
    assert read is not None
    assert read.mean < 30000


@pytest.mark.parametrize(("condition", "status"), [("WA<1.01", "nowhere"), ("WA<9", "everywhere")])
def test_a_range_without_a_boundary_is_said(condition: str, status: str) -> None:
    found = flashgc.find("spare", condition, low="20%", high="40%", step="5%", **SMALL)
    assert (found.status, found.value, len(found.tried)) == (status, None, 2)


def test_values_that_cannot_be_do_not_hold() -> None:
    found = flashgc.find(
        "spare", "WA<20", low="0.1%", high="30.1%", step="1%", victim="greedy", **SMALL
    )
    first = found.tried[0]
    assert "cannot run" in found.findings[1].claim
    assert (first.value, first.holds) == ("0.1%", False)
    assert found.side == "least"


def test_several_boundaries_are_warned_of() -> None:
    from flashgc.studies.finding.find import Search, _Evaluated
    from flashgc.studies.finding.subject import subject
    from flashgc.studies.finding.wanted import wanted
    from flashgc.studies.study import Study

    sought = subject("victim.d", {"from": 1, "to": 9})
    search = Search(sought, wanted("WA<2"), {}, {}, {}, None, Study(None, None))
    for index, value in enumerate([3, 3, 1, 3, 3, 3, 1, 1, 1]):
        search._done[index] = _Evaluated(None, {"write_amplification": float(value)}, "")
    found = search.found()
    assert found.value == 7
    assert "starts or stops to hold at several values (3, 4, 7)" in found.findings[1].claim


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["spare", "--wanted", "WA2"], "--wanted: 'WA2' is not understood; hint: write"),
        (["spare", "--wanted", "W<2"], "--wanted: unknown figure 'W'; hint: "),
        (["spare", "--wanted", "WA<nan"], "--wanted: 'nan' is no number; hint: "),
        (["spare", "--wanted", "WA<inf"], "--wanted: 'inf' is no number; hint: "),
        (
            ["spare", "--wanted", "WA<2", "--wanted", "WA>1.5", "--runs", "1"],
            "wanted: write_amplification > 1.5 holds at 2% and write_amplification < 2 at 60%, so "
            "all may hold between; hint: find each alone",
        ),
        (["spare", "--wanted", "WA<x"], "--wanted: 'x' is no number; hint: "),
        (["sapre", "--wanted", "WA<2"], "OPTION: unknown option 'sapre'; hint: did you mean"),
        (["victim", "--wanted", "WA<2"], "OPTION: victim is no number; hint: write victim.d"),
        (["fill", "--wanted", "WA<2"], "OPTION: fill is no number; hint: "),
        (["blocks", "--wanted", "WA<2"], "OPTION: blocks needs a range; hint: give --from"),
        (
            ["spare", "--wanted", "WA<2", "--from", "5", "--to", "9"],
            "spare 5: spare factor is 500%",
        ),
        (["spare", "--wanted", "read_p99_us<9"], "wanted: no result has read_p99_us; hint: "),
        (["capacity", "--wanted", "WA<2", "--from", "1GiB", "--to", "4GiB"], "--step: capacity"),
        (["spare", "--wanted", "WA<2", "--victim", "gredy"], "--victim: unknown victim policy"),
    ],
)
def test_bad_questions_are_refused(arguments: list[str], error: str, command: Command) -> None:
    done = command("find", *arguments, "--blocks", "64", "--pages-per-block", "16")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {error}")
    assert done.stderr.count("\n") == 1


def test_stopped_work_goes_on_from_what_was_kept(tmp_path: Path) -> None:
    words = [
        *COMMAND, "find", "spare", "--wanted", "WA<2", "--blocks", "1000", "--from", "10%", "--to",
        "40%", "--writes", "15x", "--results", "r", "--json",
    ]  # fmt: skip
    process = subprocess.Popen(
        words, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while not kept_results(tmp_path / "r"):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    stopped = json.loads(out)
    assert stopped["status"] == "interrupted"
    before = kept_results(tmp_path / "r")
    assert len(stopped["tried"]) <= len(before)
    again = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, check=True)
    assert json.loads(again.stdout)["status"] == "found"
    after = kept_results(tmp_path / "r")
    assert {key: after[key] for key in before} == before
