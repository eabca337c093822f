"""Drives whose blocks wear out: lifetimes, wear and busy times, in the command and the API."""

from __future__ import annotations

import json
import re

import pytest

import flashgc
from conftest import Command

DRIVE = {"blocks": 200, "pages_per_block": 16, "spare": 0.15, "frontier": "pool:low=10"}
TIMES = "read=60us,program=800us,erase=1.5ms"
TYPED = (
    "--blocks", 200, "--pages-per-block", 16, "--spare", "15%", "--frontier", "pool:low=10",
    "--endurance", "normal:mean=40,cv=0.1", "--until", "system-failure",
)  # fmt: skip


def test_a_life_is_told_in_every_unit() -> None:
    result = flashgc.run(
        endurance=40, until="system-failure", times=TIMES, victim="greedy", allocation="sfl",
        runs=2, **DRIVE,
    )  # fmt: skip
    assert result.lifetime is not None
    assert result.wear is not None
    assert result.busy is not None
    end = result.lifetime.system_failure
    assert (end.runs, len(end.run_values)) == (2, 2)
    # The logical capacity is 170 of 200 blocks of 16 pages of 4 KiB.
    assert end.drive_writes == pytest.approx(end.host_pages / (170 * 16))
    assert end.terabytes_written == pytest.approx(end.host_pages * 4096 / 1e12)
    assert end.drive_writes_per_day == pytest.approx(end.drive_writes / 5 / 365)
    seconds = 800e-6 * result.host_pages + 860e-6 * result.copied_pages + 1.5e-3 * result.erases
    assert result.busy.total_seconds == pytest.approx(seconds)
    assert end.busy_seconds == pytest.approx(seconds / 2)
    # With uniform writes and the least worn block first, nearly all erases are used.
    assert result.wear.max == 40
    assert result.lifetime.first_failure.drive_writes < end.drive_writes
    assert sum(blocks for _, blocks in result.wear.histogram) == 2 * 200


def test_the_least_worn_block_first_makes_a_drive_live_longer() -> None:
    ranking = flashgc.compare(
        "greedy", "hotcold:f=0.1,r=0.9", allocation=["fifo", "sfl"], endurance=100,
        until="first-failure", runs=3, **DRIVE,
    )  # fmt: skip
    first = {
        result.allocation: result.lifetime.first_failure.drive_writes
        for result in ranking.results
        if result.lifetime is not None
    }
    assert first["sfl"] > 1.05 * first["fifo"]


def test_a_run_prints_its_life_and_its_wear(command: Command) -> None:
    made = command("run", *TYPED, "--times", TIMES, "--runs", 2)
    assert made.returncode == 0, made.stderr
    assert made.stderr == ""
    failure = (
        r"\d+\.\d+ ±\S+ drive writes, \S+ a day for 5 years, \S+ TB, (\d+ h )?\d+ min( \d+ s)? busy"
    )
    assert re.search(rf"^first failure   {failure}$", made.stdout, re.M), made.stdout
    assert re.search(rf"^system failure  {failure}$", made.stdout, re.M), made.stdout
    assert "reserve         18 blocks, used up in 2 of 2 runs\n" in made.stdout
    assert re.search(r"^wear +\d+\.\d+ erases a block, \d+ to \d+, cv 0\.\d+", made.stdout, re.M)
    assert re.search(r"^busy .* of which collections .*, \S+ ms a collection$", made.stdout, re.M)


def test_a_comparison_has_columns_for_lives(command: Command) -> None:
    arguments = ("compare", *TYPED, "--victim", "greedy", "--victim", "fifo", "--runs", 2)
    shown = command(*arguments).stdout
    headings = next(line for line in shown.splitlines() if line.startswith("#"))
    assert headings.split("  ")[-3:] == ["first fail.", "sys. fail.", "wear cv"]
    assert max(map(len, shown.splitlines()[:9])) <= 80
    document = json.loads(command(*arguments, "--json").stdout)
    for rank in document["ranking"]:
        life = rank["result"]["lifetime"]
        for end in ("first_failure", "system_failure"):
            assert f"{life[end]['drive_writes']:.5g}" in shown
        assert f"{rank['result']['wear']['cv']:.4f}" in shown
    best = document["ranking"][0]["result"]
    assert f"{best['config']['victim']} lives longest: " in shown


def test_a_drive_that_does_not_fail_says_so(command: Command) -> None:
    made = command("run", *TYPED[:-4], "--endurance", 1000, "--writes", "3x")
    assert "first failure   not reached\n" in made.stdout
    assert "reserve         18 blocks\n" in made.stdout


def test_a_python_policy_wears_a_drive_out_too() -> None:
    def fewest(blocks: flashgc.Blocks) -> int:
        """The block with the fewest valid pages."""
        return min(range(len(blocks)), key=blocks.count)

    options = {**DRIVE, "endurance": 20, "until": "system-failure"}
    ours = flashgc.run(victim=fewest, **options)
    built_in = flashgc.run(victim="greedy:ties=lowest", **options)
    assert ours.lifetime == built_in.lifetime
    assert ours.lifetime is not None
    assert ours.lifetime.system_failure is not None


def test_levelling_wear_makes_a_drive_live_longer_and_is_counted(command: Command) -> None:
    arguments = (
        "compare", *TYPED[:-4], "--endurance", 100, "--until", "first-failure", "--runs", 2,
        "--workload", "hotcold:f=0.1,r=1", "--victim", "greedy", "--wear-levelling", "none",
        "--wear-levelling", "static:threshold=5,interval=2",
    )  # fmt: skip
    document = json.loads(command(*arguments, "--json").stdout)
    results = [rank["result"] for rank in document["ranking"]]
    spec = "static:threshold=5,interval=2"
    # The configuration leaves out wear levelling if it is off, so old digests stay valid.
    assert [result["config"].get("wear_levelling") for result in results] == [None, spec]
    plain, levelled = results
    assert plain["levelling"] is None
    cost = levelled["levelling"]
    assert 0 < cost["copied_pages"] <= 16 * cost["collections"]
    # Levelling makes at most one collection for two others.
    assert 2 * cost["collections"] <= levelled["collections"] - cost["collections"]
    lives = [result["lifetime"]["first_failure"]["drive_writes"] for result in results]
    # Cold data fill 0.9 * 0.85 of the blocks. Without levelling these do not wear, so levelling
    # gives at most 1 / 0.235 = 4.3 times the erases. Its copies use some of them.
    assert 3 < lives[1] / lives[0] < 4.3
    shown = command(*arguments).stdout
    headings = next(line for line in shown.splitlines() if line.startswith("#")).split()
    assert headings[:3] == ["#", "policy", "levelling"]
    assert f"greedy:ties=latest/{spec} lives longest: " in shown
    alone = command("run", *arguments[1:-4], "--wear-levelling", spec).stdout
    assert f"levelling       {spec}: " in alone


def test_python_policies_are_levelled_like_built_in_ones() -> None:
    def fewest(blocks: flashgc.Blocks) -> int:
        """The block with the fewest valid pages."""
        return min(range(len(blocks)), key=blocks.count)

    options = {
        **DRIVE, "endurance": 20, "until": "system-failure", "workload": "hotcold:f=0.1,r=1",
        "wear_levelling": "static:threshold=3,interval=2",
    }  # fmt: skip
    ours = flashgc.run(victim=fewest, **options)
    built_in = flashgc.run(victim="greedy:ties=lowest", **options)
    assert (ours.lifetime, ours.levelling) == (built_in.lifetime, built_in.levelling)
    assert ours.levelling is not None
    assert ours.levelling.collections > 10


def test_results_of_drives_that_live_for_ever_have_no_life(command: Command) -> None:
    made = command("run", *TYPED[:-4], "--writes", "3x", "--json")
    document = json.loads(made.stdout)
    assert (document["lifetime"], document["busy"]) == (None, None)
    assert document["wear"]["mean"] > 0
    assert flashgc.run(writes="3x", **DRIVE).lifetime is None


#: Superblocks of 16 blocks, each on its own die, which bear 100 erases with a deviation of 20.
MORTAL = {
    "superblock": "dies=16,planes=1", "blocks": 16 * 128, "pages_per_block": 16, "spare": 0.25,
    "frontier": "pool:low=2", "endurance": "normal:mean=100,cv=0.2", "until": "system-failure",
    "warmup": "0", "victim": "greedy",
}  # fmt: skip


def test_superblocks_that_go_on_without_bad_blocks_make_a_drive_live_longer(
    command: Command,
) -> None:
    retire, shrink = (
        flashgc.run("uniform", bad_blocks=fate, **MORTAL).lifetime for fate in ("retire", "shrink")
    )
    assert retire is not None
    assert shrink is not None
    assert retire.system_failure is not None
    assert shrink.system_failure is not None
    # The first block goes bad at the same moment. Then its superblock is lost, or one block of it.
    assert retire.first_failure is not None
    assert shrink.first_failure is not None
    assert retire.first_failure.host_pages == shrink.first_failure.host_pages
    assert shrink.system_failure.drive_writes > 1.1 * retire.system_failure.drive_writes
    assert (retire.smaller_superblocks, retire.lost_pages) == (None, None)
    # The drive bears the loss of 128 superblocks, less those that its data and the frontier fill.
    assert shrink.reserve_blocks == 128 - 96 - 4
    assert shrink.smaller_superblocks is not None
    assert shrink.lost_pages is not None
    assert shrink.lost_pages % 16 == 0
    lost = shrink.lost_pages + 256 * shrink.system_failure.bad_blocks
    assert 28 * 256 < lost <= 29 * 256
    typed = [f"--{key.replace('_', '-')}={value}" for key, value in MORTAL.items()]
    shown = command("run", *typed, "--workload", "uniform", "--bad-blocks", "shrink").stdout
    assert f"smaller         {shrink.smaller_superblocks:.0f} superblocks at the end, " in shown


def test_parity_takes_turns_among_the_dies_that_are_left() -> None:
    striped = MORTAL | {"parity": "1/16", "bad_blocks": "shrink:least=75%"}
    result = flashgc.run("uniform", **striped)
    plain = flashgc.run("uniform", **striped | {"bad_blocks": "retire"})
    with_parity = [
        one.write_amplification_with_parity / one.write_amplification for one in (result, plain)
    ]
    assert with_parity[1] == pytest.approx(16 / 15)
    # A smaller superblock has a program of parity for fewer of data: at most one for 11 of them.
    assert 16 / 15 < with_parity[0] < 12 / 11


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"endurance": None}, "bad_blocks shrink needs endurance"),
        ({"superblock": "plane"}, "bad_blocks shrink needs superblocks"),
        ({"until": "first-failure"}, "the run ends with the first bad block"),
        ({"times": "read=60us,program=700us,erase=3.5ms"}, "on a drive without a clock"),
        ({"bad_blocks": "shrink:least=20%"}, "expected 50% to 100%"),
    ],
)
def test_what_does_not_go_with_smaller_superblocks_is_said(
    options: dict[str, object], message: str
) -> None:
    if options.get("endurance", "") is None:
        options = {**options, "until": None}
    with pytest.raises(flashgc.ConfigError, match=message):
        flashgc.run("uniform", **MORTAL | {"bad_blocks": "shrink"} | options)
