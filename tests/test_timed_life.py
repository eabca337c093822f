"""Features of timed drives that counting drives have, too: wear, lifetimes, precision, Python."""

from __future__ import annotations

from typing import Any

import flashgc
from conftest import Command
from flashgc import Blocks

DRIVE: dict[str, Any] = {
    "blocks": 300,
    "pages_per_block": 16,
    "spare": 0.2,
    "victim": "greedy:ties=lowest",
    "frontier": "pool:low=2",
}
CLOCK: dict[str, Any] = {"kind": "timed", "times": "read=25us,program=200us,erase=1.5ms"}
HOT = "hotcold:f=0.1,r=0.9"


def timed(workload: str, **options: Any) -> flashgc.Result:
    drive = {name: value for name, value in DRIVE.items() if name != "frontier"}
    return flashgc.run(workload, **(drive | CLOCK | {"arrivals": "closed"} | options))


def test_both_drives_live_equally_long() -> None:
    life = {
        "endurance": "normal:mean=30,cv=0.2",
        "until": "system-failure",
        "wear_levelling": "static:threshold=3,interval=4",
        "runs": 2,
    }
    counting, clocked = flashgc.run(HOT, **DRIVE, **life), timed(HOT, **life)
    assert clocked.lifetime is not None
    assert counting.lifetime is not None
    assert clocked.lifetime.failures == counting.lifetime.failures
    for end in ("first_failure", "system_failure"):
        ours, theirs = clocked.lifetime.of(end), counting.lifetime.of(end)
        assert ours is not None
        assert theirs is not None
        assert (ours.run_values, ours.erases) == (theirs.run_values, theirs.erases)
    assert clocked.levelling == counting.levelling
    assert clocked.levelling is not None
    assert clocked.levelling.collections > 0
    assert clocked.erases == counting.erases


def test_a_clock_shows_the_life_of_its_drive(command: Command) -> None:
    text = command(
        "run", "--drive", "timed", "--times", CLOCK["times"], "--blocks", "100",
        "--pages-per-block", "16", "--spare", "30%", "--endurance", "10",
        "--until", "first-failure", "-q",
    ).stdout  # fmt: skip
    assert "first failure" in text
    assert "reserve" in text


def lowest_greedy(blocks: Blocks) -> int:
    return int(blocks.valid.argmin())


def test_a_policy_in_python_decides_as_the_built_in_one_on_every_plane() -> None:
    def run(victim: object) -> flashgc.Result:
        return timed(HOT, victim=victim, planes=2, dies=2, requests=20_000, warmup="2x")

    mine, built_in = run(lowest_greedy), run("greedy:ties=lowest")
    assert mine.erases == built_in.erases > 0
    assert mine.run_values == built_in.run_values
    assert mine.timing is not None
    assert built_in.timing is not None
    assert mine.timing.latency_us == built_in.timing.latency_us


def test_a_timed_run_goes_on_until_it_is_precise() -> None:
    once = timed("uniform", requests=3_000, warmup="3x", runs=2)
    precise = timed("uniform", requests=3_000, warmup="3x", runs=2, until="precision=0.5%")
    assert once.write_amplification_ci95 is not None
    assert once.write_amplification_ci95 > 0.005 * once.write_amplification
    half = precise.write_amplification_ci95
    assert half is not None
    assert half <= 0.005 * precise.write_amplification
    assert precise.host_pages > once.host_pages


def test_a_run_until_a_failure_that_never_comes_ends() -> None:
    result = timed("uniform:read=1", requests=None, endurance=5, until="first-failure")
    assert result.lifetime is not None
    assert result.lifetime.of("first_failure") is None
