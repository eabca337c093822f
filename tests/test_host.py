"""Placements, schemes, and hosts that hint: from the options to the result."""

from __future__ import annotations

import json

import pytest

import flashgc
from conftest import Command
from flashgc import ConfigError

#: A drive of 8000 pages, and a cache of a sixteenth of them: 500 pages of 4 KiB.
DRIVE = {"blocks": 300, "pages_per_block": 32, "spare": "15%", "frontier": "pool", "writes": "8x"}
CACHE = "page-cache:size=2000KiB,rate=10000,speed=100000"
TYPED = ("--blocks", 300, "--pages-per-block", 32, "--spare", "15%", "--frontier", "pool")


def test_dac_separates_hot_from_cold_and_the_default_leaves_results_as_they_were() -> None:
    ranking = flashgc.compare(
        "cost-benefit", "hotcold:f=0.1,r=0.9", placement=["none", "dac"], runs=2, **DRIVE
    )
    names = [rank.result.placement for rank in ranking]
    assert names == ["dac:regions=3,threshold=0,zombie-block=no", "none"]
    plain = ranking.ranking[1].result
    written = plain.to_dict()["config"]
    assert "placement" not in written
    assert "host" not in written
    assert (plain.config.placement, plain.config.host) == ("none", None)
    assert plain.host is None
    assert plain.zombies is None


def test_a_scheme_is_its_policy_with_its_placement() -> None:
    for preset in flashgc.schemes():
        options = {**DRIVE, "writes": "2x"}
        named = flashgc.run("uniform", scheme=preset.name, **options)
        spelt = flashgc.run("uniform", victim=preset.victim, placement=preset.placement, **options)
        assert named.digest == spelt.digest, preset.name


def test_hints_spare_copies_and_the_result_says_what_became_of_them() -> None:
    ranking = flashgc.compare(
        [],
        "hotcold:f=0.1,r=0.9",
        scheme=["gc-gd", "zgc-gd"],
        host_cache=CACHE,
        hints="perfect",
        runs=2,
        **DRIVE,
    )
    best, plain = (rank.result for rank in ranking)
    assert best.policy == "z-greedy:ties=latest"
    # The cache behaves equally in front of both drives.
    assert best.host == plain.host
    assert plain.zombies is None
    host, zombies = best.host, best.zombies
    assert host is not None
    assert zombies is not None
    assert host.known_share == 1
    assert 50 < host.mean_dirty_pages < 110  # between 10% and 20% of 500, and a little
    assert host.drive_writes < host.writes
    # The drive's host bytes are those that the cache wrote, but for one batch.
    assert abs(host.drive_writes - best.host_pages) <= 2 * 4096
    assert 0.95 < zombies.overwritten / zombies.marked <= 1.05
    assert 0 <= zombies.share_of_copies < 1


@pytest.mark.parametrize(
    ("way", "low", "high"),
    # There are no reads. Each write carries one hint, of a page or a run of pages, in the order in
    # which they became dirty. With `none` there are no hints.
    [("none", 0, 0), ("piggyback", 0.2, 1), ("perfect:lost=50%", 0.4, 0.6), ("perfect", 1, 1)],
)
def test_the_share_that_the_drive_knows_is_that_of_the_way(
    way: str, low: float, high: float
) -> None:
    result = flashgc.run(
        "hotcold:f=0.1,r=0.9", victim="z-greedy", host_cache=CACHE, hints=way, **DRIVE
    )
    assert result.host is not None
    assert low <= result.host.known_share <= high


def test_foresight_is_worth_more_than_hints_and_sees_what_is_not_dirty_yet() -> None:
    options = {**DRIVE, "scheme": "zgc-gd", "host_cache": CACHE, "runs": 2}
    told = flashgc.run("hotcold:f=0.1,r=0.9", hints="perfect", **options)
    foretold = flashgc.run("hotcold:f=0.1,r=0.9", hints="oracle:horizon=5%", **options)
    assert foretold.write_amplification < told.write_amplification
    assert foretold.host is not None
    assert told.host is not None
    # The oracle sees 408 writes ahead, 5% of 8160 pages, and hints each write once.
    assert foretold.host.known_share == 1
    sent = foretold.host.hints.sent
    assert abs(sent - foretold.host.drive_writes) <= 2 * 4096
    assert foretold.host.hints.wrong == 0


def test_more_reads_carry_more_hints() -> None:
    shares = []
    for reads in ("0", "30%", "60%"):
        workload = f"hotcold:f=0.1,r=0.9,read={reads}"
        options = {**DRIVE, "writes": "4x"}
        result = flashgc.run(
            workload, victim="z-greedy", host_cache=CACHE, hints="piggyback", **options
        )
        assert result.host is not None
        shares.append(result.host.known_share)
    assert shares == sorted(shares)
    assert shares[0] < shares[-1]


def test_a_host_is_shown_and_repeated_to_the_digit(command: Command) -> None:
    typed = (*TYPED, "--writes", "3x", "--scheme", "zgc-cb", "--host-cache", CACHE)
    typed = (*typed, "--hints", "piggyback:lost=10%,late=50", "--workload", "zipf:read=20%")
    shown = command("run", *typed).stdout
    for word in ("cache", "traffic", "dirty", "known to the drive", "hints", "lost", "zombies"):
        assert word in shown, shown
    documents = [json.loads(command("run", *typed, "--json").stdout) for _ in range(2)]
    assert documents[0]["digest"] == documents[1]["digest"]
    assert documents[0]["host"] == documents[1]["host"]
    config = documents[0]["config"]
    assert config["host"]["hints"] == "piggyback:lost=0.1,wrong=0,adverse=0,late=50"
    assert config["placement"] == "dac:regions=3,threshold=0,zombie-block=yes"


def test_a_background_above_the_limit_is_halved_with_a_warning(command: Command) -> None:
    cache = "page-cache:size=2000KiB,background=30%,limit=20%"
    made = command("run", *TYPED, "--writes", "1x", "--host-cache", cache)
    assert made.returncode == 0
    assert "the cache uses half of limit, as Linux does" in " ".join(made.stderr.split())


def test_an_experiment_file_has_a_host(tmp_path: object, command: Command) -> None:
    from pathlib import Path

    file = Path(str(tmp_path)) / "host.toml"
    file.write_text(
        "[drive]\nblocks = 300\npages_per_block = 32\nspare = '15%'\n"
        "[gc]\nfrontier = 'pool'\nscheme = ['gc-gd', 'zgc-gd']\n"
        f"[host]\nhost_cache = '{CACHE}'\nhints = ['none', 'piggyback']\n"
        "[run]\nwrites = '2x'\nruns = 2\n"
    )
    made = command("compare", file, "--json")
    assert made.returncode == 0, made.stderr
    results = [rank["result"] for rank in json.loads(made.stdout)["ranking"]]
    kinds = {(result["config"]["victim"], result["config"]["host"]["hints"]) for result in results}
    assert len(kinds) == 4
    # Hints that are not sent change nothing.
    values = {
        kind: result["run_values"]
        for result in results
        for kind in [(result["config"]["victim"], result["config"]["host"]["hints"].split(":")[0])]
    }
    greedy = "greedy:ties=latest"
    assert values[greedy, "none"] == values[greedy, "piggyback"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"placement": "dca"}, "placement: unknown placement 'dca'; hint: did you mean 'dac'?"),
        (
            {"placement": "dac", "frontier": "single"},
            "dac needs the pool frontier, found frontier=",
        ),
        (
            {"scheme": "gcgd"},
            "scheme: unknown scheme or victim policy 'gcgd'; hint: did you mean 'gc-gd'",
        ),
        ({"scheme": "gc-gd", "placement": "dac"}, "placement does not go with scheme: "),
        ({"scheme": "gc-gd", "victim": "fifo"}, "victim does not go with scheme: "),
        ({"hints": "piggyback"}, 'are dirty; hint: add host_cache="page'),
        ({"host_cache": "pagecache:size=1MiB"}, "cache: unknown cache 'pagecache'"),
        ({"host_cache": CACHE, "hints": "oracle:horizon=0"}, "horizon=0 is not a number from"),
        ({"host_cache": CACHE, "hints": "oracle:lost=1%"}, "oracle has no parameter 'lost'"),
        ({"host_cache": CACHE, "hints": "pigyback"}, "hints: unknown way of hinting 'pigyback'"),
        ({"host_cache": "page-cache:size=1GiB"}, "everything would stay in memory"),
        ({"host_cache": "page-cache:size=5"}, "cache: size=5 has no unit"),
        (
            {"host_cache": "page-cache:size=4MiB", "hints": "piggyback", "page_size": "128KiB"},
            "hints piggyback: found pages of 131072 bytes, expected 1 to 255 sectors",
        ),
        (
            {"host_cache": CACHE, "hints": "perfect", "mapping": "fast", "frontier": None},
            'hints perfect does not go with mapping="fast"',
        ),
    ],
)
def test_what_does_not_fit_is_said_with_its_place(options: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        flashgc.run("uniform", **{**DRIVE, **options})  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_hints_that_nobody_heeds_and_times_without_a_clock_are_warned_of() -> None:
    options = {**DRIVE, "writes": "1x", "host_cache": CACHE}
    said = "the hints have no effect"
    deaf = flashgc.run("uniform", victim="greedy", hints="perfect", **options)
    assert any(warning.startswith(said) for warning in deaf.warnings)
    # A baseline that ignores hints is intended beside a policy that uses them.
    both = flashgc.compare(["greedy", "z-greedy"], "uniform", hints="perfect", **options)
    for told in [*(rank.result for rank in both), flashgc.run("uniform", **options)]:
        assert not any(warning.startswith(said) for warning in told.warnings)
    options["host_cache"] = f"{CACHE},memory=9us"
    timed = flashgc.run("uniform", victim="z-greedy", hints="command:cost=1ms", **options)
    for name in ("memory=9us", "cost=1ms"):
        assert f"{name} has no effect with a drive without a clock" in timed.warnings


@pytest.mark.parametrize("kind", ["counting", "timed"])
def test_a_databases_pages_are_the_drives(kind: str) -> None:
    options = {"blocks": 400, "pages_per_block": 32, "spare": "15%", "page_size": "8KiB"}
    if kind == "timed":
        options |= {"kind": kind, "times": "read=60us,program=800us,erase=1.5ms,transfer=20us"}
    with pytest.raises(
        ConfigError, match="found pages of 16384 bytes, expected the drive's 8192 bytes"
    ):
        flashgc.run("tpcc", **options)  # type: ignore[arg-type]
    with pytest.raises(
        ConfigError, match="found pages of 16384 bytes, expected the drive's 4096 bytes"
    ):
        flashgc.trace_synth("0.5*tpcc + 0.5*uniform", "never.csv", pages=6000, requests=10)


#: The board of the paper, small: four banks of 200 blocks of 512 KiB.
CLOCK = {
    "kind": "timed",
    "device": "jasmine-4",
    "blocks": 800,
    "pages_per_block": 32,
    "spare": "8%",
    "arrivals": "closed:threads=16",
    "host_cache": "page-cache:size=24MiB",
}
#: The paper's micro-benchmark: 94% of the writes go to 6% of the pages, and reads anywhere.
MICRO = "0.6667*skew:h=6 + 0.3333*uniform:read=100%"


def test_hints_spare_time_before_a_drive_with_a_clock() -> None:
    plain, chasing, alone = (
        flashgc.run(MICRO, scheme=collector, hints=hints, requests=30_000, **CLOCK)
        for collector, hints in (
            ("gc-gd", "piggyback"),
            ("zgc-gd", "piggyback"),
            ("zgc-gd", "command:cost=1ms"),
        )
    )
    assert plain.timing is not None
    assert chasing.timing is not None
    assert alone.timing is not None
    assert chasing.write_amplification < 0.85 * plain.write_amplification
    assert chasing.timing.simulated_seconds < 0.9 * plain.timing.simulated_seconds
    # A separate hint command for each dirty page costs more than it gains: each takes 1 ms, so the
    # run takes at least as many milliseconds.
    host = alone.host
    assert host is not None
    assert host.hints.commands > 0.9 * host.hints.due
    assert alone.timing.simulated_seconds > host.hints.commands / 1000
    assert alone.timing.simulated_seconds > chasing.timing.simulated_seconds


def test_a_host_before_a_drive_with_a_clock_is_shown_and_repeated(command: Command) -> None:
    typed = ["run", "--drive", "timed", "--requests", 20_000, "--warmup", "0x"]
    for key, value in CLOCK.items():
        if key != "kind":
            typed += [f"--{key.replace('_', '-')}", value]
    typed += ["--scheme", "zgc-cb", "--hints", "piggyback:lost=10%", "--workload", MICRO]
    shown = command(*typed).stdout
    for word in (
        "cache",
        "traffic",
        "known to the drive",
        "hints",
        "lost",
        "zombies",
        "for a read",
    ):
        assert word in shown, shown
    documents = [json.loads(command(*typed, "--json").stdout) for _ in range(2)]
    assert documents[0]["digest"] == documents[1]["digest"]
    host = documents[0]["host"]
    assert host == documents[1]["host"]
    assert host["reads"] + host["writes"] == 20_000
    assert 0 < host["known_share"] < 1
    waits = host["waits"]
    assert waits["reads"] == host["drive_reads"]
    assert f"({waits['reads']:,})".replace(",", " ") in shown
    assert waits["rewrites"] == 0, "Linux's page cache lets a page change while it is written"
    assert documents[0]["config"]["host"]["hints"].startswith("piggyback:lost=0.1")
    assert documents[0]["config"]["placement"] == "dac:regions=3,threshold=0,zombie-block=yes"


def test_a_database_waits_for_reads_for_room_and_for_its_own_writes() -> None:
    cache = "buffer-cache:size=24MiB,delay=20ms,scan=5%"
    timed = flashgc.run(MICRO, victim="greedy", requests=20_000, **{**CLOCK, "host_cache": cache})
    assert timed.host is not None
    waits = timed.host.waits
    assert waits is not None
    assert min(waits.reads, waits.rooms, waits.rewrites) > 0
    assert min(waits.read_ns, waits.room_ns, waits.rewrite_ns) > 0
    # On a counting drive, no request waits.
    counted = flashgc.run("uniform", victim="greedy", host_cache=cache, **DRIVE)
    assert counted.host is not None
    assert counted.host.waits is None


def test_an_oracle_has_no_place_before_a_drive_with_a_clock() -> None:
    with pytest.raises(ConfigError, match='hints oracle only applies to kind="counting": '):
        flashgc.run(MICRO, victim="z-greedy", hints="oracle", requests=10, **CLOCK)
