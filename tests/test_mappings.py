"""Mappings and page caches, in the command and the API."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import flashgc
from conftest import Command
from flashgc import plot
from test_bad_input import refused

DRIVE = {"blocks": 200, "pages_per_block": 32, "spare": 0.15, "runs": 2, "frontier": "pool"}
TIMES = "read=60us,program=800us,erase=1.5ms,transfer=20us"
TYPED = ("--blocks", 200, "--pages-per-block", 32, "--spare", "15%", "--runs", 2)
CACHED = {
    "blocks": 240, "pages_per_block": 64, "page_size": "2KiB", "spare": 1 / 6,
    "vm_page_cache": "4MiB", "requests": 300_000, "runs": 1,
}  # fmt: skip


def test_mappings_are_ranked_with_what_their_maps_take() -> None:
    ranking = flashgc.compare(
        "greedy", "zipf:theta=0.8", mapping=["page", "fast", "bast", "dftl:entries=2000"], **DRIVE
    )
    assert [rank.result.mapping.split(":")[0] for rank in ranking] == [
        "page", "dftl", "fast", "bast",
    ]  # fmt: skip
    page, dftl, fast, bast = ranking.results
    # Page map: 4 bytes per page of 170 blocks. DFTL: 8 per entry and 4 per translation page. Log
    # blocks: 4 per data block, and 4 per page of the 29 blocks that are left for the log.
    assert page.map_bytes == 4 * 170 * 32
    assert dftl.map_bytes == 8 * 2000 + 4 * 6
    assert fast.map_bytes == bast.map_bytes == 4 * (170 + 29 * 32)
    assert page.merges is None
    assert page.map_traffic is None
    assert dftl.map_traffic is not None
    assert dftl.map_traffic.misses > dftl.map_traffic.writes > 0
    for result in (fast, bast):
        assert result.merges is not None
        assert result.merges.total == result.collections
        assert result.policy == result.mapping
        assert result.frontier == "none"


def test_a_map_in_blocks_of_its_own_costs_less() -> None:
    drive: dict[str, Any] = {
        "blocks": 500, "pages_per_block": 64, "spare": 0.15, "frontier": "pool", "victim": "greedy",
        "writes": "6x", "runs": 1,
    }  # fmt: skip
    shared, own = (
        flashgc.run("uniform", mapping=f"dftl:entries=4096,fetch=64,blocks={blocks}", **drive)
        for blocks in ("shared", "own")
    )
    assert shared.map_traffic is not None
    assert own.map_traffic is not None
    # Which entries are in memory does not depend on where their pages are.
    assert own.map_traffic.misses == shared.map_traffic.misses
    assert own.write_amplification < 0.85 * shared.write_amplification


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ("--frontier double --blocks 300", "needs the pool frontier, found --frontier double"),
        (
            "--frontier pool --blocks 300 --mapping-unit 1KiB --power-protection no",
            "--mapping dftl with blocks=own does not go with --power-protection no: pages are "
            "padded before an erase, and padding would take the room that copies of a class need; "
            "hint: --mapping dftl:blocks=shared, or --power-protection yes",
        ),
        (
            "--frontier pool --blocks 12",
            "frontier, which with --mapping dftl with blocks=own keeps 6 blocks of 64 pages; "
            "hint: --spare 50%",
        ),
    ],
)
def test_a_map_in_blocks_of_its_own_needs_room_for_its_class(
    command: Command, others: str, message: str
) -> None:
    drive = "--mapping dftl:blocks=own --victim greedy --pages-per-block 64 --spare 20%"
    done = command("run", *drive.split(), *others.split())
    assert done.returncode == 2
    assert message in done.stderr


def test_a_mapping_without_victims_is_run_once_beside_all_of_them() -> None:
    ranking = flashgc.compare(["greedy", "fifo"], mapping=["page", "fast"], writes="2x", **DRIVE)
    named = sorted(rank.result.policy.split(":")[0] for rank in ranking)
    assert named == ["fast", "fifo", "greedy"]


def test_schemes_are_ranked_by_the_time_that_flash_takes() -> None:
    ranking = flashgc.compare(
        "d-choices:d=10", "zipf:theta=0.9,read=0.7", mapping="fast:log_blocks=32,log_only=yes",
        vm_scheme=["du-gc", "da-gc", "lda-gc5"], **CACHED,
    )  # fmt: skip
    seconds = [rank.result.swap.io_seconds for rank in ranking if rank.result.swap is not None]
    assert seconds == sorted(seconds)
    assert ranking.best.vm_scheme == "lda-gc5"
    assert ranking.ranking[2].ratio == pytest.approx(seconds[2] / seconds[0])
    best = ranking.best
    assert best.swap is not None
    assert best.reads == best.swap.swap_ins
    time = 200e-6 * best.swap.swap_outs + best.swap.collection_seconds
    assert best.swap.io_seconds == pytest.approx(time)
    # The cache has 4 MiB in pages of 2 KiB.
    assert best.config.swap.cache_pages == 2048


def test_a_picture_of_schemes_names_them_and_has_their_io_times() -> None:
    ranking = flashgc.compare(
        "d-choices:d=10", "zipf:theta=0.9,read=0.7", mapping="fast:log_blocks=32",
        vm_scheme=["du-gc", "lda-gc5"], **{**CACHED, "requests": 100_000},
    )  # fmt: skip
    (axes,) = plot.compare(ranking).axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["lda-gc5", "du-gc"]
    assert axes.get_xlabel() == "I/O time (s)"
    drawn = [float(points[0].get_xdata()[0]) for points in axes.containers]
    assert drawn == [rank.result.swap.io_seconds for rank in ranking if rank.result.swap]


def test_times_are_weighed_as_they_are_given() -> None:
    slow = flashgc.run(
        "zipf:theta=0.9,read=0.7", mapping="fast:log_blocks=32,log_only=yes", vm_scheme="lda-p",
        times="read=25us,program=200us,erase=2ms,memory=5ms", **CACHED,
    )  # fmt: skip
    usual = flashgc.run(
        "zipf:theta=0.9,read=0.7", mapping="fast:log_blocks=32,log_only=yes", vm_scheme="lda-p",
        **CACHED,
    )  # fmt: skip
    assert slow.swap is not None
    assert usual.swap is not None
    # If a page in memory costs 5 ms, writing it back never pays.
    assert slow.swap.flushed == 0 < usual.swap.flushed


def test_a_run_prints_its_map_and_its_merges(command: Command) -> None:
    made = command("run", *TYPED, "--mapping", "fast:log_blocks=8", "--workload", "sequential")
    assert made.returncode == 0, made.stderr
    assert re.search(r"^policy +fast:log_blocks=8,sequential=1,", made.stdout, re.M)
    assert "frontier" not in made.stdout
    assert re.search(r"^merges +[\d\s]+ switch$", made.stdout, re.M)
    # 170 data blocks and 8 log blocks of 32 pages, 4 bytes each.
    assert re.search(r"^map +1\.66 KiB of the controller's memory$", made.stdout, re.M)


def test_a_run_under_a_page_cache_prints_what_passed(command: Command) -> None:
    arguments = (
        "run", "--blocks", 240, "--pages-per-block", 64, "--page-size", "2KiB", "--spare", "17%",
        "--vm-page-cache", "4MiB", "--mapping", "fast:log_blocks=32", "--vm-scheme", "lda-gc5",
        "--workload", "zipf:theta=0.9,read=0.7", "--requests", 300000, "--warmup", 0,
    )  # fmt: skip
    made = command(*arguments)
    assert made.returncode == 0, made.stderr
    assert re.match(r"I/O time  \d+\.\d{4} s  mean, 1 run\n", made.stdout)
    assert ", scheme lda-gc5\n" in made.stdout
    assert re.search(r"^references +300\D000, \d+\D\d+ of them writes; \d+\.\d+% in memory$",
                     made.stdout, re.M), made.stdout  # fmt: skip
    assert "log blocks weighed a pick" in made.stdout
    document = json.loads(command(*arguments, "--json").stdout)
    assert document["swap"]["references"] == 300_000
    assert document["config"]["swap"]["scheme"] == "lda-gc5"


def test_a_comparison_under_a_page_cache_has_columns_of_its_own(command: Command) -> None:
    shown = command(
        "compare", "--blocks", 240, "--pages-per-block", 64, "--page-size", "2KiB", "--spare",
        "17%", "--vm-page-cache", "4MiB", "--mapping", "fast:log_blocks=32", "--vm-scheme", "du-gc",
        "--vm-scheme", "lda-gc5", "--workload", "zipf:theta=0.9,read=0.7", "--requests", 200000,
        "--runs", 1,
    ).stdout  # fmt: skip
    headings = next(line for line in shown.splitlines() if line.startswith("#"))
    assert headings.split() == [
        "#", "policy", "vm", "scheme", "I/O", "s", "ratio", "swap-outs", "moved", "erases"
    ]  # fmt: skip
    # One run has no interval, and so no difference is claimed.
    assert "keeps flash busy for" not in shown
    assert "One run: no interval" in shown


@pytest.mark.parametrize(
    "drive", [(), ("--drive", "timed", "--times", TIMES, "--arrivals", "poisson:rate=1000")]
)
def test_references_to_memory_without_a_memory_are_warned_of(
    command: Command, tmp_path: Path, drive: tuple[str, ...]
) -> None:
    trace = tmp_path / "made.lackey"
    trace.write_text("".join(f" S {page << 12:x},8\n" for page in [*range(64), *range(64)] * 5))
    typed = ("run", "--workload", trace, "--pages-per-block", 4, "--runs", 1)
    said = "without a VM page cache every one that writes is a host write; hint: --vm-page-cache"
    assert said in command(*typed, *drive).stderr
    assert said not in command(*typed, "--vm-page-cache", "64KiB").stderr


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--mapping", "fsat"], ["--mapping", "unknown mapping 'fsat'", "'fast'"]),
        (["--mapping", "fast:log_blocks=1"], ["log_blocks=1", "expected at least 2"]),
        (
            ["--mapping", "fast:log_blocks=5000"],
            ["need 5001 spare blocks", "hint: more --blocks, or a smaller"],
        ),
        (["--mapping", "fast:window=0"], ["--mapping", "victim window '0'", "adaptive"]),
        (["--mapping", "fast", "--victim", "greedy"], ["--victim", "chooses its own blocks"]),
        (["--mapping", "bast", "--frontier", "double"], ["--frontier", "chooses its own blocks"]),
        (
            ["--mapping", "fast", "--fill", "random"],
            ["--fill random does not go with --mapping fast", "sequential"],
        ),
        (["--mapping", "dftl:entries=0"], ["--mapping", "entries=0"]),
        (
            ["--vm-scheme", "da-gc"],
            ["--vm-scheme", "only applies with --vm-page-cache", "--vm-page-cache"],
        ),
        (["--page-policy", "lru"], ["--page-policy", "only applies with --vm-page-cache"]),
        (["--vm-page-cache", "0B"], ["page cache", "capacity of 0 pages"]),
        (["--vm-page-cache", "4"], ["--vm-page-cache", "has no unit", "4MiB"]),
        (["--vm-page-cache", "4MiB", "--page-policy", "rlu"], ["--page-policy", "'lru'"]),
        (["--vm-page-cache", "4MiB", "--vm-scheme", "lda-gc6"], ["--vm-scheme", "'lda-gc1'"]),
        (
            ["--vm-page-cache", "4MiB", "--vm-scheme", "lda-gc5"],
            ["--vm-scheme lda-gc5 does not go with --mapping page", "hint"],
        ),
        (
            ["--vm-page-cache", "4MiB", "--writes", "2x"],
            ["--writes does not go with --vm-page-cache", "--requests"],
        ),
        (
            ["--vm-page-cache", "4MiB", "--mapping", "dftl", "--vm-scheme", "da-gc"],
            ["--vm-scheme da-gc needs collections that know", "--vm-scheme du-gc"],
        ),
    ],
)
def test_what_cannot_be_is_refused(
    command: Command, arguments: list[str], parts: list[str]
) -> None:
    refused(command("run", *arguments), *parts)


@pytest.mark.parametrize("option", [{"placement": "sepbit"}, {"scheme": "gc-cb"}])
def test_a_mapping_with_its_own_blocks_takes_no_placement(option: dict[str, str]) -> None:
    with pytest.raises(flashgc.ConfigError, match='fast", which chooses its own blocks; hint'):
        flashgc.run(mapping="fast", blocks=200, writes="1x", **option)  # type: ignore[arg-type]


def test_a_map_that_is_written_without_end_is_an_error_in_words(command: Command) -> None:
    drive = (
        "--victim fifo --frontier pool:low=2 --mapping dftl:entries=64,per_page=16 --blocks 256 "
        "--pages-per-block 32 --spare 30% --writes 8000 --warmup 0"
    )
    done = command("run", *drive.split(), "--quiet")
    assert done.returncode == 1
    assert done.stderr.endswith(
        "hint: --victim greedy, or --mapping dftl with more entries in memory\n"
    )
