"""Trace events: a file that Perfetto shows, with every request and flash operation of a run."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from flashgc import plot

TIMES = "read=25us,program=200us,erase=1.5ms,transfer=10us"
FLAGS = ["run", "--drive", "timed", "--times", TIMES, "--blocks", "512", "--pages-per-block", "16"]
FLAGS += ["--spare", "15%", "--workload", "uniform:read=0.4", "--arrivals", "poisson:rate=2000"]
FLAGS += ["--channels", "2", "--dies", "2"]

Event = dict[str, Any]


def events(file: Path) -> list[Event]:
    found: list[Event] = json.loads(file.read_text())["traceEvents"]
    return found


def check(all_of: list[Event]) -> None:
    """Checks the format's rules: times in us, no overlap in a track, arrows with both ends."""
    tracks: dict[tuple[int, int], list[tuple[float, float]]] = {}
    named = {(one["pid"], one["tid"]) for one in all_of if one["name"] == "thread_name"}
    for one in all_of:
        assert one["ph"] in ("M", "X", "C", "s", "f"), one
        assert one["ph"] == "M" or one["ts"] >= 0, one
        if one["ph"] == "X":
            assert one["dur"] >= 0, one
            track = one["pid"], one["tid"]
            assert track in named, one
            tracks.setdefault(track, []).append((one["ts"], one["ts"] + one["dur"]))
    for slices in tracks.values():
        slices.sort()
        for (_, end), (begin, _) in itertools.pairwise(slices):
            assert end <= begin + 1e-6
    # Both ends of an arrow lie in a slice of their track.
    ends: dict[int, list[Event]] = {}
    for one in all_of:
        if one["ph"] in ("s", "f"):
            ends.setdefault(one["id"], []).append(one)
            slices = tracks[one["pid"], one["tid"]]
            assert any(begin - 1e-6 <= one["ts"] <= end + 1e-6 for begin, end in slices), one
    for pair in ends.values():
        assert [one["ph"] for one in pair] == ["s", "f"], pair
        assert (pair[0]["name"], pair[0]["cat"]) == (pair[1]["name"], pair[1]["cat"])
        assert pair[0]["ts"] <= pair[1]["ts"]
        assert pair[1]["bp"] == "e"


@pytest.mark.parametrize(
    "more",
    [
        ["--preemption", "none"],
        ["--preemption", "pgc+merge+pipeline"],
        ["--preemption", "suspend"],
        ["--write-cache", "64", "--multi-plane", "yes", "--planes", "2"],
    ],
    ids=" ".join,
)
def test_a_file_keeps_the_rules_of_the_format_and_has_every_request(
    tmp_path: Path, command: Command, more: list[str]
) -> None:
    file = tmp_path / "events.json"
    made = command(*FLAGS, *more, "--requests", "1500", "--trace-events", str(file), "--json")
    assert made.returncode == 0, made.stderr
    all_of = events(file)
    check(all_of)
    document = json.loads(made.stdout)
    slices = [one for one in all_of if one["ph"] == "X"]
    requests = [one for one in slices if one["cat"] == "request"]
    assert sorted(one["args"]["number"] for one in requests) == list(range(1500))
    longest = max(one["dur"] for one in requests)
    assert longest == pytest.approx(document["latency_us"]["all"]["max"], abs=1e-3)
    for one in requests:
        parts = sum(one["args"][f"{part}_us"] for part in ("queue", "collection", "bus", "cell"))
        assert parts == pytest.approx(one["dur"], abs=1e-3)
    erases = [one for one in slices if one["name"] == "erase"]
    whole = [one for one in slices if one["cat"] == "collections"]
    # With multi-plane operations a collection may have a victim on each plane of its die, and one
    # erase for all of them.
    planes = 2 if "--planes" in more else 1
    assert len(whole) <= document["collecting"]["started"] <= planes * len(whole)
    assert planes * len(erases) >= document["collecting"]["ended"]
    # A request that waited for a collection has an arrow from it, unless it was on another die.
    held = sum(one["name"] == "held by" and one["ph"] == "s" for one in all_of)
    assert held == sum(one["args"]["collection_us"] > 0 for one in requests)
    # The number of requests in the system returns to 0.
    system = [one for one in all_of if one["name"] == "requests in the system"]
    assert max(system, key=lambda one: one["ts"])["args"] == {"requests": 0}
    assert any(one["name"].startswith("erased blocks of plane") for one in all_of)


def test_a_window_has_the_requests_that_come_in_it(tmp_path: Path, command: Command) -> None:
    whole, part = tmp_path / "whole.json", tmp_path / "part.json"
    for file, more in ((whole, []), (part, ["--window", "100ms:200ms"])):
        made = command(*FLAGS, "--requests", "1000", "--trace-events", str(file), *more, "-q")
        assert made.returncode == 0, made.stderr
    check(events(part))

    def arrivals(file: Path) -> list[float]:
        return sorted(one["ts"] for one in events(file) if one.get("cat") == "request")

    inside = [at for at in arrivals(whole) if 100e3 <= at < 200e3]
    assert arrivals(part) == inside
    assert 100 < len(inside) < 300


def test_a_timeline_has_the_same_events_and_is_drawn(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "line.json"
    made = command(*FLAGS, "--requests", "500", "--timeline", str(file), "--window", "worst", "-q")
    assert made.returncode == 0, made.stderr
    check(events(file))
    waiting, _ = plot.timeline(file).axes
    assert [line.get_ydata()[-1] for line in waiting.lines] == [0, 0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ["--trace-events", "a.svg"],
            "--trace-events: a.svg: found '.svg', expected .json; hint: name it a.json",
        ),
        (
            ["--trace-events", "a.json", "--timeline", "a.json"],
            "--trace-events a.json is also the file of --timeline; hint: give another file",
        ),
        (
            ["--trace-events", "a.json", "--window", "worst"],
            "--window worst does not go with --trace-events: they are written while the run goes, "
            "and which request is the slowest is known at its end; hint: --window 20ms:60ms, or "
            "leave --trace-events out",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(command: Command, more: list[str], message: str) -> None:
    made = command(*FLAGS, *more)
    assert (made.returncode, made.stderr) == (2, f"error: {message}\n")
