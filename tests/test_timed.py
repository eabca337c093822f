"""Drives with a clock: from Python and from the command."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flashgc
from conftest import Command
from flashgc import ConfigError, plot
from flashgc.presets import devices

SMALL: dict[str, Any] = {
    "kind": "timed",
    "times": "read=25us,program=200us,erase=1.5ms,transfer=10us",
    "blocks": 256,
    "pages_per_block": 16,
    "spare": "15%",
    "victim": "greedy",
    "arrivals": "poisson:rate=800",
    "requests": 3000,
}
TIMES = "read=25us,program=200us,erase=1.5ms,transfer=10us"
FLAGS = ["--drive", "timed", "--times", TIMES, "--blocks", "256", "--pages-per-block", "16"]
FLAGS += ["--spare", "15%", "--victim", "greedy"]


def test_a_result_has_its_timing_and_a_counting_one_has_none() -> None:
    result = flashgc.run("uniform:read=0.4", preemption="pgc", runs=2, **SMALL)
    timing = result.timing
    assert timing is not None
    assert result.measured
    assert timing.latency_us.all.requests == 6000
    both = [timing.latency_us.of(side).requests for side in ("read", "write")]
    assert sum(both) == 6000
    assert result.reads == both[0]
    assert result.host_pages == both[1]
    assert len(timing.mean_us_runs) == 2
    mean = timing.latency_us.all.mean
    assert math.isclose(sum(timing.mean_us_runs) / 2, mean, rel_tol=1e-12)
    assert timing.collecting.preempted > 0
    document = json.loads(result.to_json())
    assert document["latency_us"]["read"]["p99"] == timing.latency_us.read.p99
    assert document["config"]["timed"]["preemption"] == "pgc"
    counting = flashgc.run(blocks=200, pages_per_block=16, writes="2x")
    assert counting.timing is None
    assert "latency_us" not in counting.to_dict()


def test_a_write_cache_has_a_size_or_pages() -> None:
    pages = flashgc.run("uniform:read=0.4", write_cache=64, **SMALL)
    size = flashgc.run("uniform:read=0.4", write_cache="256KiB", **SMALL)
    assert pages.digest == size.digest
    assert pages.timing == size.timing
    without = flashgc.run("uniform:read=0.4", **SMALL)
    assert pages.digest != without.digest


def test_preemption_bounds_what_a_read_waits_for() -> None:
    # Requests are 3 ms apart, so they do not wait for each other. With preemption, a read waits for
    # at most one operation of a collection, then reads the page and moves it over the bus.
    workload = "disksim:size=constant:4KiB,gap=constant:3ms,sequential=0,reads=0.5"
    options = {**SMALL, "arrivals": None}
    longest = {
        preemption: flashgc.run(workload, preemption=preemption, **options)
        for preemption in ("none", "pgc", "suspend")
    }
    met = {}
    for preemption, result in longest.items():
        assert result.timing is not None
        met[preemption] = result.timing.latency_us.read.during_collection.max
    assert met["pgc"] <= 1500 + 25 + 10
    # The read of a copy and its transfer cannot be suspended: 25 + 10 us. The host's read goes
    # before the copy's program. A suspend takes 20 us.
    assert 25 + 10 < met["suspend"] <= 25 + 10 + 25 + 10
    # The read waits for a whole collection: an erase, and copies of 245 us each.
    assert met["none"] > 2000


def test_a_map_on_flash_is_read_and_programmed_on_the_dies() -> None:
    options = {**SMALL, "spare": "30%", "arrivals": "closed:threads=1,think=1s", "warmup": 0}
    whole = flashgc.run("uniform:read=0.4", **options)
    assert whole.map_traffic is None
    results = [
        flashgc.run("uniform:read=0.4", mapping=f"dftl:entries={entries},per_page=64", **options)
        for entries in (100_000, 500, 5)
    ]
    misses, means = [], []
    for result in results:
        traffic, timing = result.map_traffic, result.timing
        assert traffic is not None
        assert timing is not None
        # One lookup per page; each request has one page here.
        assert traffic.hits + traffic.misses == result.reads + result.host_pages == 3000
        assert traffic.reads >= traffic.misses
        # Translation pages are counted as copies.
        assert result.copied_pages >= traffic.writes > 0
        misses.append(traffic.misses)
        means.append(timing.latency_us.all.mean)
    assert misses == sorted(misses)
    assert means == sorted(means)
    # A miss reads a page, 25 + 10 us, and may write one back, 25 + 10 + 10 + 200 us.
    smallest = results[-1].timing
    assert smallest is not None
    assert smallest.latency_us.read.p50 >= 2 * (25 + 10)
    again = flashgc.run("uniform:read=0.4", mapping="dftl:entries=5,per_page=64", **options)
    assert again.digest == results[-1].digest


@pytest.mark.parametrize("mapping", ["fast", "bast:log_blocks=8"])
def test_log_blocks_have_no_clock(mapping: str) -> None:
    options = {key: value for key, value in SMALL.items() if key != "victim"}
    with pytest.raises(ConfigError, match='only applies to kind="counting": its merges'):
        flashgc.run("uniform:read=0.4", mapping=mapping, **options)


def test_a_ranking_is_by_mean_response_time() -> None:
    ranking = flashgc.compare(
        "greedy", "uniform:read=0.4", preemption=["none", "pgc"], runs=3,
        **{key: value for key, value in SMALL.items() if key != "victim"},
    )  # fmt: skip
    assert [rank.result.preemption for rank in ranking] == ["pgc", "none"]
    first, second = ranking.ranking
    assert first.result.timing is not None
    assert second.result.timing is not None
    means = [rank.result.timing.latency_us.all.mean for rank in (first, second)]  # type: ignore[union-attr]
    assert math.isclose(second.ratio, means[1] / means[0], rel_tol=1e-12)
    assert not second.inside_noise


#: The presets without superblocks; tests/test_whole_drives.py has the others.
OF_BLOCKS = [device for device in devices() if "superblock" not in device.values["drive"]]


@pytest.mark.parametrize("device", OF_BLOCKS, ids=lambda device: device.name)
def test_every_device_runs_and_what_is_given_wins(device: Any) -> None:
    planes = math.prod(device.values["drive"].get(key, 1) for key in ("channels", "ways", "planes"))
    result = flashgc.run(
        kind="timed", device=device.name, blocks=128 * planes, pages_per_block=32, requests=300,
        warmup="0",
    )  # fmt: skip
    assert result.config.pages_per_block == 32
    assert result.config.times.startswith("read=")
    policy = device.values.get("gc", {}).get("victim", "d-choices:d=10,c=0")
    assert result.config.victim.startswith(policy)
    timing = result.timing
    assert timing is not None
    # One thread and no collection, so a write is the command, a transfer and a program.
    times = {"command": "0us", **dict(part.split("=") for part in result.config.times.split(","))}
    # All of these few pages fit in an SLC region.
    if slc_times := (result.config.timed or {}).get("slc_times"):
        times["program"] = dict(part.split("=") for part in str(slc_times).split(","))["program"]
    parts = ("command", "program", "transfer")
    write = sum(float(times[key].removesuffix("us")) for key in parts)
    if device.values["drive"].get("write_cache"):
        # All of these few writes fit in the cache.
        assert timing.latency_us.write.max == 0
        return
    # If a flash page holds several mapping units, only the write that fills the page takes time.
    units = result.config.page_size // result.config.unit
    slowest = timing.latency_us.write.max
    assert math.isclose(slowest, write, rel_tol=1e-9)
    if units == 1:
        assert math.isclose(timing.latency_us.write.mean, write, rel_tol=1e-9)
    else:
        assert timing.latency_us.write.p50 == 0
        assert timing.latency_us.write.mean <= write / units


def test_an_experiment_file_has_the_keys(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "timed.toml"
    file.write_text(
        '[drive]\nkind = "timed"\ndevice = "mlc"\nblocks = 128\n[gc]\npreemption = "pgc"\n'
        '[workload]\nsource = "uniform:read=50%"\narrivals = "poisson:rate=100"\n'
        "[run]\nrequests = 500\n"
    )
    made = command("run", str(file), "--json")
    document = json.loads(made.stdout)
    assert document["config"]["timed"]["arrivals"] == "gaps:gap=exponential:10000us"
    assert document["latency_us"]["all"]["requests"] == 500


def test_the_command_shows_where_the_time_went(command: Command) -> None:
    made = command(
        "run", *FLAGS, "--workload", "uniform:read=0.5", "--arrivals", "poisson:rate=800",
        "--requests", "3000", "--preemption", "pgc", "-q",
    )  # fmt: skip
    assert made.returncode == 0
    lines = made.stdout.splitlines()
    assert lines[0].startswith("response time  ")
    heads = [line.split("  ")[0] for line in lines]
    for head in ("time of reads", "time of writes", "throughput", "in use", "collections"):
        assert head in heads


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--channels", "4"],
            "--channels only applies to --drive timed: a counting drive has one plane, and its "
            "operations take no time; hint: add --drive timed",
        ),
        (
            ["--drive", "timed"],
            "a drive with a clock needs --times: every operation takes its time; hint: add --times "
            "read=60us,program=800us,erase=1.5ms,transfer=20us, or --device tlc",
        ),
        (
            ["--drive", "tiemd"],
            "--drive: found 'tiemd', expected counting or timed; hint: did you mean 'timed'?",
        ),
        (
            ["--device", "tcl", "--drive", "timed"],
            "--device: unknown device 'tcl'; hint: did you mean 'tlc'?",
        ),
        (
            [*FLAGS, "--preemption", "pgc+merge", "--copy-back", "yes"],
            "--copy-back yes does not go with +merge in --preemption: merging puts data of the "
            "host between pages on the bus, and pages that are copied back do not cross it; hint: "
            "--copy-back no, or --preemption pgc",
        ),
        (
            [*FLAGS, "--preemption", "pcg"],
            "--preemption: found 'pcg' in 'pcg', expected none, pgc, pgc+merge, "
            "pgc+pipeline, pgc+merge+pipeline, pgc+merge+pipeline+erase-suspend, suspend; hint: "
            "did you mean 'pgc'?",
        ),
        (
            [
                *["--drive", "timed", "--blocks", "256"],
                *["--times", "read=0us,program=1us,erase=1us"],
            ],
            "read time: found 0 ns, expected 1 ns to an hour; hint: for example 25us, 200us or "
            "1.5ms",
        ),
        (
            [*FLAGS, "--host-bandwidth", "3.5GB"],
            "--host-bandwidth: found '3.5GB', expected a size a second; hint: write 3.5GB/s, "
            "550MB/s or 1GiB/s",
        ),
        (
            [*FLAGS, "--read-retry", "from=1000"],
            "--read-retry: 'from' without 'every' in 'from=1000'; hint: write "
            "from=1000,every=500 (erases), after=1s,each=500ms (age), or both",
        ),
        (
            [*FLAGS, "--channels", "64", "--planes", "8"],
            "found 256 blocks for 512 planes, expected a multiple of 512 and at least two "
            "blocks a plane; hint: --blocks 1024",
        ),
        (
            [*FLAGS, "--frontier", "single"],
            "--frontier only applies to --drive counting: the planes of a timed drive always have "
            "a pool; hint: leave it out; --gc-low says how many blocks the pool of a plane keeps",
        ),
        (
            [*FLAGS, "--writes", "2x"],
            "--writes only applies to --drive counting: a run with a clock ends between two "
            "requests; hint: give --requests, or --passes of a trace",
        ),
        (
            [*FLAGS, "--arrivals", "poison:rate=1"],
            "--arrivals: unknown arrivals 'poison'; hint: did you mean 'poisson'?",
        ),
        (
            [*FLAGS, "--timeline", "line.gif"],
            "--timeline: line.gif: found '.gif', expected .json, .svg, .pdf or .png; hint: name it "
            "line.svg",
        ),
        (
            [*FLAGS, "--write-cache", "6KiB"],
            "--write-cache: 6KiB are 1.5 pages of 4 KiB, expected whole ones; hint: write 8KiB, or "
            "2 for as many pages",
        ),
        (
            [*FLAGS, "--write-cache", "1PiB"],
            "--write-cache: found 274877906944, expected 0 to 4294967295",
        ),
        (
            [*FLAGS, "--window", "0ms:1ms"],
            "--window only applies with --timeline: nothing else of a run shows a part of it; "
            "hint: add --timeline timeline.json",
        ),
        (
            ["--workload", "disksim"],
            "--workload: disksim only applies to --drive timed: its requests have arrival times; "
            "hint: add --drive timed",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(
    command: Command, flags: list[str], message: str
) -> None:
    made = command("run", *flags)
    assert (made.returncode, made.stderr) == (2, f"error: {message}\n")
    assert made.stdout == ""


def trace(folder: Path, times: list[int]) -> Path:
    file = folder / "trace.csv"
    rows = [f"{at},W,{index % 64 * 4096},4096,0" for index, at in enumerate(times)]
    file.write_text("\n".join(["time_us,op,offset_bytes,size_bytes,dev", *rows]) + "\n")
    return file


def test_times_that_go_back_are_refused_or_sorted(tmp_path: Path, command: Command) -> None:
    file = trace(tmp_path, [*range(0, 64000, 1000), 500])
    flags = [*FLAGS[:4], "--pages-per-block", "4", "--workload", str(file)]
    made = command("run", *flags)
    assert made.returncode == 2
    assert "the time goes back by 62500000 ns at request 65" in made.stderr
    assert "hint: --disorder sort" in made.stderr
    made = command("run", *flags, "--disorder", "sort", "--json")
    assert made.returncode == 0, made.stderr
    document = json.loads(made.stdout)
    assert document["latency_us"]["all"]["requests"] == 65
    assert "1 request of the trace went back in time and were sorted" in [
        one["claim"] for one in document["findings"]
    ]


def test_a_timeline_is_written_for_one_run_alone(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "line.json"
    made = command("run", *FLAGS, "--requests", "200", "--timeline", str(file), "-q")
    assert made.returncode == 0, made.stderr
    events = json.loads(file.read_text())["traceEvents"]
    assert {"M", "X", "C", "s", "f"} == {event["ph"] for event in events}
    made = command(
        "compare", *FLAGS, "--preemption", "none", "--preemption", "pgc", "--timeline", str(file)
    )
    assert made.returncode == 2
    assert "--timeline: 2 configurations, expected one; hint: flashgc run" in made.stderr


def test_the_window_of_the_worst_shows_the_slowest_request(
    tmp_path: Path, command: Command
) -> None:
    file = tmp_path / "worst.json"
    made = command(
        *["run", *FLAGS, "--requests", "2000", "--timeline", str(file)],
        *["--window", "worst:300ms", "--json"],
    )
    assert made.returncode == 0, made.stderr
    longest = json.loads(made.stdout)["latency_us"]["all"]["max"]
    events = json.loads(file.read_text())["traceEvents"]
    lasted = [event["dur"] for event in events if event.get("cat") == "request"]
    assert math.isclose(max(lasted), longest, abs_tol=0.001)


def test_a_timeline_is_drawn_bar_by_bar(tmp_path: Path, command: Command) -> None:
    file, picture = tmp_path / "line.json", tmp_path / "line.svg"
    for name in (file, picture):
        made = command("run", *FLAGS, "--requests", "200", "--timeline", str(name), "-q")
        assert made.returncode == 0, made.stderr
    figure = plot.timeline(file)
    plot.save(figure, tmp_path / "again.svg")
    assert picture.read_text() == (tmp_path / "again.svg").read_text()
    waiting, below = figure.axes
    assert [tick.get_text() for tick in below.get_yticklabels()] == ["bus of channel 0", "die 0"]
    events = json.loads(file.read_text())["traceEvents"]
    spans = sorted(
        (event["ts"] / 1e3, (event["ts"] + event["dur"]) / 1e3)
        for event in events
        if event["ph"] == "X" and event["cat"] in ("host", "collection")
    )
    paths = [path for bars in below.collections for path in bars.get_paths()]
    drawn = sorted((path.vertices[:, 0].min(), path.vertices[:, 0].max()) for path in paths)
    np.testing.assert_allclose(drawn, spans)
    # All requests have left at the end.
    assert [line.get_ydata()[-1] for line in waiting.lines] == [0]


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"traceEvents": 3}', '{"traceEvents": [{"ph": "X", "ts": "soon"}]}'],
)
def test_what_is_no_timeline_is_not_drawn(tmp_path: Path, content: str) -> None:
    file = tmp_path / "line.json"
    file.write_text(content)
    with pytest.raises(ConfigError, match=r"line.json: this is not a timeline of flashgc; hint"):
        plot.timeline(file)


def test_an_empty_window_is_drawn_as_such(tmp_path: Path, command: Command) -> None:
    picture = tmp_path / "line.svg"
    made = command(
        "run",
        *FLAGS,
        "--requests",
        "20",
        "--arrivals",
        "periodic:mean=1s",
        "-q",
        *["--timeline", str(picture), "--window", "1ns:2ns"],
    )
    assert made.returncode == 0, made.stderr
    assert picture.exists()


def test_pictures_draw_what_the_timing_says() -> None:
    result = flashgc.run("uniform:read=0.4", preemption="pgc", **SMALL)
    timing = result.timing
    assert timing is not None
    (axes,) = plot.distribution(result).axes
    read, write = axes.lines
    points = timing.latency_us.read.distribution
    assert [tuple(point) for point in zip(*read.get_data(), strict=True)] == [
        tuple(point) for point in points
    ]
    assert write.get_ydata()[-1] == 1.0
    (axes,) = plot.percentiles({"pgc": result}).axes
    labels = [tick.get_text() for tick in axes.get_xticklabels()]
    assert labels[:3] == ["50%", "90%", "99%"]
    # The axis is 1 / (1 - share): at 2, half of the requests are slower.
    x, y = axes.lines[0].get_data()
    at = next(index for index, beyond in enumerate(x) if beyond >= 2)
    assert math.isclose(y[at], timing.latency_us.all.p50, rel_tol=0.05)
    upper, lower = plot.over_time(result).axes
    assert len(upper.lines[0].get_xdata()) == len(timing.over_time.read.mean_us)
    assert lower.get_ylim()[0] == 0
    with pytest.raises(ConfigError, match="found no series over time"):
        plot.over_time(flashgc.run(blocks=200, pages_per_block=16, writes="2x"))
    with pytest.raises(ConfigError, match="unknown requests 'raed'; hint: did you mean 'read'"):
        plot.percentiles(result, of="raed")


def test_a_limit_of_power_is_shown_with_the_waits_for_it(command: Command) -> None:
    shape: dict[str, Any] = {
        "dies": 4,
        "arrivals": "closed:threads=16",
        "fill": "empty",
        "warmup": "0",
    }
    load = {**SMALL, **shape, "times": "program=200us,read=25us,erase=1.5ms", "requests": 400}
    without = flashgc.run("sequential", **load).timing
    assert without is not None
    assert without.power is None
    timing = flashgc.run("sequential", power_limit="dies=1", **load).timing
    assert timing is not None
    power = timing.power
    assert power is not None
    # The 400 programs follow each other, and three dies wait meanwhile. Four at a time take a
    # fourth. The last writes are one to each die, so fewer wait at the end.
    assert math.isclose(timing.simulated_seconds, 400 * 200e-6)
    assert math.isclose(without.simulated_seconds, 100 * 200e-6)
    assert (power.dies, power.waits, power.full) == (1, 399, 1.0)
    wait_us = 3 * 200.0 * 396 / 400
    assert power.mean_wait_us is not None
    assert math.isclose(power.mean_wait_us, wait_us, rel_tol=0.01)
    assert math.isclose(power.waiting, 0.75, rel_tol=0.01)
    flags = [*FLAGS, "--dies", "4", "--requests", "500", "--power-limit"]
    made = command("run", *flags, "dies=2", "--arrivals", "closed:threads=16")
    line = next(line for line in made.stdout.splitlines() if line.startswith("power "))
    assert "limit dies=2, reached " in line
    assert " of the dies' time" in line
    none = command("run", *flags, "4")
    assert "limit dies=4, reached 0% of the time\n" in none.stdout


def test_reads_that_fail_are_counted_and_shown(command: Command) -> None:
    wide: dict[str, Any] = {"dies": 4, "superblock": "dies=4,planes=1", "parity": "1/4"}
    load: dict[str, Any] = {**SMALL, **wide, "requests": 20_000}
    without = flashgc.run("uniform:read=1", **load).timing
    assert without is not None
    assert without.failures is None
    failing = flashgc.run("uniform:read=1", read_failures="0.1", **load).timing
    assert failing is not None
    counts = failing.failures
    assert counts is not None
    assert math.isclose(counts.failed / counts.reads, 0.1, rel_tol=0.1)
    assert counts.others_read == 3 * counts.failed
    assert math.isclose(counts.lost / counts.failed, 1 - 0.9**3, rel_tol=0.1)
    # The drive is nearly idle. A rebuild takes 25 us, and three transfers of 10 us on one bus.
    added = failing.latency_us.all.mean - without.latency_us.all.mean
    assert math.isclose(added, 0.1 * (25 + 3 * 10), rel_tol=0.15)
    flags = [*FLAGS, "--dies", "4", "--superblock", "dies=4,planes=1", "--requests", "500"]
    flags += ["--workload", "uniform:read=0.5", "--read-failures", "0.2"]
    made = command("run", *flags, "--parity", "1/4")
    line = next(line for line in made.stdout.splitlines() if line.startswith("failed reads "))
    assert re.search(r"\d+ pages read, \d+ reads failed, .* read to rebuild, \d+ lost$", line)
    assert re.search(
        r"warning: \d+ of \d+ page reads that failed could not be rebuilt", made.stderr
    )
    refused = command("run", *flags)
    assert refused.returncode == 2
    assert "--read-failures needs --parity: without it nothing on the flash" in refused.stderr


def test_the_limit_of_suspensions_is_shown_and_told_when_it_is_reached(command: Command) -> None:
    load = {**SMALL, "preemption": "suspend"}
    result = flashgc.run("uniform:read=0.5", suspend="20us,most=1", **load)
    assert result.timing is not None
    rule = result.timing.suspension
    assert rule is not None
    assert (rule.most, rule.erases, rule.programs) == (1, True, True)
    assert (
        rule.rule == "an erase or a program, at most once and for 5.00 ms; each time takes 20.0 us"
    )
    (told,) = (one for one in result.findings if one.id == "suspended-no-more")
    assert told.gravity == "note"
    assert told.evidence["erases"] == rule.spent_erases > 0
    assert told.evidence["longest_wait_us"] == rule.longest_wait_us <= 1500
    said = f"{rule.spent_erases} erases and {rule.spent_programs} programs gave way once or for"
    assert told.claim.startswith(said)
    # The slowest read waited for an erase that could not be suspended again. With a higher limit,
    # none does.
    often = flashgc.run("uniform:read=0.5", suspend="20us,most=100", **load)
    assert "suspended-no-more" not in [one.id for one in often.findings]
    slowest = [one.timing.latency_us.read.max for one in (result, often) if one.timing]
    assert slowest[0] >= rule.longest_wait_us > 3 * slowest[1]
    given = "suspend=10us,resume=5us,most=3,least-erase=700us"
    flags = ["--preemption", "pgc+erase-suspend", "--suspend", given, "--requests", "500"]
    made = command("run", *FLAGS, *flags)
    line = "an erase with 700 us or more left, at most 3 times and for 5.00 ms; each time"
    assert line in made.stdout
    made = command("run", *FLAGS, "--preemption", "pgc", "--requests", "500")
    assert "\nsuspended " not in made.stdout
    assert "\ncollections " in made.stdout


def test_marks_that_leave_no_room_to_collect_are_refused_before_the_run() -> None:
    """Seven erased and two open blocks leave 91 blocks of 4 pages, but data need 372 pages."""
    drive: dict[str, Any] = {"blocks": 100, "pages_per_block": 4, "spare": "7%", "planes": 1}
    drive |= {"channels": 1, "ways": 1, "dies": 1, "kind": "timed", "requests": 2000}
    drive |= {"victim": "random", "gc_low": "3", "runs": 1, "device": "mlc"}
    with pytest.raises(ConfigError, match="no room to collect beside 372 pages of data"):
        flashgc.run("uniform", gc_high="6", **drive)
    for change in ({"gc_high": "4"}, {"gc_high": "6", "spare": "12%"}):
        assert flashgc.run("uniform", **{**drive, **change}).measured


def test_superblocks_are_shown_and_counted_as_one(command: Command) -> None:
    joined = {**SMALL, "superblock": "die", "planes": 4, "blocks": 400, "warmup": "2x"}
    result = flashgc.run("uniform", **joined)
    assert (result.config.blocks, result.config.blocks_together) == (400, 4)
    assert result.wear is not None
    # 100 superblocks of 64 pages: each is erased as one.
    assert sum(count for _, count in result.wear.histogram) == 100
    assert f"{result.erases} superblocks" in result._repr_html_()
    flags = ["--superblock", "die", "--planes", "4", "--blocks", "400", "--requests", "3000"]
    made = command("run", *FLAGS[:4], *FLAGS[6:], *flags, "--arrivals", "poisson:rate=800")
    assert "400 blocks of 16 pages of 4 KiB: 25 MiB, in superblocks of 4" in made.stdout
    again = flashgc.run("uniform", **{**joined, "blocks": result.config.blocks})
    assert again.config_digest == result.config_digest
    apart = flashgc.run("uniform", **{**joined, "superblock": "plane"})
    assert apart.config_digest != result.config_digest


def test_the_survival_of_superblocks_ends_where_their_reserve_does() -> None:
    worn = {**SMALL, "superblock": "die", "planes": 4, "blocks": 400, "requests": None}
    life = flashgc.run("uniform", endurance=20, until="system-failure", warmup=0, **worn)
    assert life.lifetime is not None
    (axes,) = plot.survival(life).axes
    # One of 100 superblocks is one percent.
    assert axes.lines[0].get_ydata()[-1] == 100 - life.lifetime.failures[-1][1]
