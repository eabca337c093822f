"""SLC regions: their counts, the cliff of response times, and excluded options."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import flashgc
from conftest import Command
from flashgc import results

FLAGS = [
    *["--drive", "timed", "--times", "read=60us,program=700us,erase=3.5ms,transfer=10us"],
    *["--blocks", "256", "--pages-per-block", "24", "--spare", "25%"],
]
SLC = ["--slc", "static:blocks=16", "--slc-times", "read=25us,program=200us,erase=2ms"]


def test_what_went_through_the_region_is_counted_and_shown(command: Command) -> None:
    flags = [*FLAGS, *SLC, "--workload", "uniform:read=0.3", "--requests", "2000", "--quiet"]
    made = command("run", *flags, "--json")
    document = json.loads(made.stdout)
    counts = document["slc"]
    assert set(counts) == set(results.Slc.__dataclass_fields__)
    result = flashgc.Result.from_dict(document)
    assert result.timing is not None
    assert result.timing.slc == results.Slc(**counts)
    assert counts["host_pages"] + counts["direct_pages"] == result.host_pages
    assert counts["host_pages"] > 0
    # There is no busy time, because it would need the times of both kinds of cells.
    assert result.busy is None
    shown = " ".join(command("run", *flags).stdout.split())
    assert f"SLC region {counts['host_pages']} pages written" in shown
    without = json.loads(command("run", *FLAGS, "--requests", "100", "--quiet", "--json").stdout)
    assert "slc" not in without
    assert not {"slc", "slc_times", "bits_per_cell"} & set(without["config"]["timed"])


@pytest.mark.parametrize(("bits", "pages"), [(3, 8), (4, 6)])
def test_the_series_over_time_has_the_cliff(bits: int, pages: int) -> None:
    """Pages in the region of 16 blocks of 24 / bits pages take 210 us, all others 710 us."""
    result = flashgc.run(
        "sequential",
        kind="timed",
        times="read=60us,program=700us,erase=3.5ms,transfer=10us",
        blocks=256,
        pages_per_block=24,
        spare="25%",
        fill="empty",
        slc="static:blocks=16",
        slc_times="read=25us,program=200us,erase=2ms",
        bits_per_cell=bits,
        requests=1000,
        warmup="0",
        resolution="2.1ms",
    )
    assert result.timing is not None
    assert result.timing.slc == results.Slc(
        16 * pages,
        1000 - 16 * pages,
        0,
        0,
        0,
        0,
        normal_pages=1000 - 16 * pages,
        erases=0,
        normal_erases=0,
    )
    rate = np.asarray(result.timing.over_time.write.requests_per_second)
    fast = int(16 * pages * 0.21 / 2.1)
    assert np.allclose(rate[1:fast], 1e6 / 210, rtol=0.001)
    assert math.isclose(rate[fast + 1 : -1].mean(), 1e6 / 710, rel_tol=0.01)


@pytest.mark.parametrize(
    "options",
    [
        {"wear_levelling": "static:threshold=3,interval=2"},
        {"endurance": "normal:mean=40,cv=0.2"},
        {"placement": "sepbit"},
        {"placement": "fdp:handles=2", "workload": "zipf:theta=1,read=0.3,stream=1"},
        {"page_size": "16KiB", "mapping_unit": "4KiB"},
        {"page_size": "16KiB", "mapping_unit": "4KiB", "power_protection": "no"},
        *({"victim": name} for name in ("mdc", "scata", "2r-greedy", "z-greedy", "z-cost-benefit")),
        {"mapping": "dftl:entries=200"},
        {"mapping": "dftl:entries=200,blocks=own"},
        {"program": "one-shot:pages=3"},
        {
            "program": "two-pass:pages=3",
            "times": "read=60us,program=350us+350us,erase=3.5ms,transfer=10us",
        },
        {"endurance": "300:slc=3000"},
        {"preemption": "pgc", "write_pacing": "yes", "gc_low": "3"},
        {"preemption": "suspend"},
        {"superblock": "die"},
        {"mapping": "dftl:entries=200", "placement": "dac", "victim": "mdc", "endurance": "300"},
    ],
)
@pytest.mark.parametrize(
    "region",
    [
        "static:blocks=16",
        "dynamic:most=10,full=fold",
        "static:blocks=3+dynamic:most=10,full=both,pace=0.5",
    ],
)
def test_whatever_the_region_goes_with_its_counts_add_up(
    options: dict[str, str], region: str
) -> None:
    result = flashgc.run(
        **{  # type: ignore[arg-type]
            "workload": "zipf:theta=1,read=0.3",
            "times": "read=60us,program=700us,erase=3.5ms,transfer=10us",
        }
        | options,
        kind="timed",
        arrivals="poisson:rate=400",
        blocks=256,
        pages_per_block=24,
        spare="40%",
        slc=f"{region},after=3ms",
        slc_times="read=25us,program=200us,erase=2ms",
        requests=8000,
        warmup="0",
    )
    assert result.timing is not None
    counts = result.timing.slc
    assert counts is not None
    assert counts.host_pages + counts.direct_pages == result.host_pages
    assert 0 < counts.folded_pages <= result.copied_pages
    assert counts.folded_pages <= counts.host_pages
    if "power_protection" not in options:  # otherwise, padding is programmed, too
        expected = 1 + result.copied_pages / result.host_pages
        assert result.write_amplification == pytest.approx(expected)
        assert counts.host_pages + counts.normal_pages == result.host_pages + result.copied_pages
    assert counts.erases + counts.normal_erases == result.erases
    assert counts.folds > 20
    assert counts.reads > 20


CONSUMER = {"kind": "timed", "device": "consumer", "request_size": "1MiB", "resolution": "100ms"}


def rates(result: flashgc.Result) -> list[float]:
    """The GB a second that were written in each slice of 100 ms, without the last one."""
    assert result.timing is not None
    return [rate / 1e9 for rate in result.timing.over_time.write.bytes_per_second[:-1]]


def test_a_paced_burst_never_stops() -> None:
    """Past the cliff of a new drive and of an aged one, each slice of 100 ms has writes.

    The aged drive was written twice over. Its pool lends no block, so the region is its static
    part: 8 blocks a plane of 85 pages. Its collections give way to the host, too.
    """
    burst: dict[str, object] = {"arrivals": "closed:threads=8", "requests": 6000}
    region = "static:blocks=1.6%+dynamic:most=9.9%,keep=5%,full={},after=100ms"
    new = flashgc.run(
        "sequential", **CONSUMER, **burst, fill="empty", warmup="0", slc=region.format("both")
    )
    assert min(rates(new)) > 0.2
    assert new.timing is not None
    assert new.timing.slc is not None
    assert new.timing.slc.folds > 1000
    aged = {"warmup": "2x", "preemption": "pgc", "write_pacing": "yes", "gc_low": 3}
    paced = flashgc.run("sequential", **CONSUMER, **burst, **aged, slc=region.format("both"))
    assert min(rates(paced)) > 0.05
    assert paced.timing is not None
    assert paced.timing.slc is not None
    assert paced.timing.slc.host_pages > 8 * 85 * 32
    # What waits for whole folds stops.
    folds = flashgc.run("sequential", **CONSUMER, **burst, **aged, slc=region.format("fold"))
    assert min(rates(folds)) < min(rates(paced))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--slc", "static:blocks=16"],
            "--slc only applies to --drive timed: blocks in SLC mode are emptied in idle time, "
            "which only a drive with a clock has; hint: add --drive timed",
        ),
        (
            [*FLAGS, "--slc", "static:blocks=16"],
            "--slc only applies with --slc-times: the cells of its blocks are faster than others; "
            "hint: add --slc-times read=25us,program=200us,erase=2ms",
        ),
        (
            [*FLAGS, *SLC[2:]],
            "--slc-times only applies with --slc: no other block is in SLC mode; hint: add --slc "
            "static:blocks=5%",
        ),
        (
            [*FLAGS, *SLC[2:], "--slc", "statik:blocks=16"],
            "--slc: found 'statik', expected static or dynamic; hint: did you mean 'static'?",
        ),
        (
            [*FLAGS, *SLC[2:], "--slc", "static"],
            "--slc: 'blocks' is missing in 'static'; hint: write static:blocks=16 or "
            "static:blocks=5%",
        ),
        (
            [*FLAGS, *SLC[2:], "--slc", "dynamic:full=flod"],
            "--slc: found full=flod, expected direct, fold or both; hint: did you mean 'fold'?",
        ),
        (
            [*FLAGS, *SLC[2:], "--slc", "static:blocks=4+static:blocks=5"],
            "--slc: 'static' is given twice in 'static:blocks=4+static:blocks=5'; hint: one static "
            "part and one dynamic part, as static:blocks=4+dynamic:keep=5%",
        ),
        (
            [*FLAGS, *SLC[2:], "--slc", "static:blocks=4,full=fold+dynamic:full=both"],
            "--slc: 'full' is given twice in 'static:blocks=4,full=fold+dynamic:full=both'",
        ),
        (
            [*FLAGS, *SLC[2:], "--slc", "static:blocks=0.1%+dynamic"],
            "--slc has no static block in a plane of 256 blocks; hint: more blocks, or leave --slc "
            "out",
        ),
        (
            [*FLAGS, *SLC[2:], "--slc", "dynamic:pace=2"],
            "--slc: pace in 'dynamic:pace=2' only applies with full=both: no other write goes "
            "beside a fold by this rule; hint: full=both, or leave pace out",
        ),
        (
            [*FLAGS, *SLC[2:], "--slc", "dynamic:full=both,pace=0"],
            "--slc: found pace=0, expected 0.01 to 1000 folded pages for each page of the host; "
            "hint: write pace=1",
        ),
        (
            [*FLAGS, "--endurance", "3000:slc=30000"],
            "--endurance has slc, and no block of the drive holds one bit a cell; hint: --slc "
            "static:blocks=5%, or --endurance without slc",
        ),
        (
            [*FLAGS, *SLC[2:], "--slc", "dynamic:blocks=3"],
            "--slc: unknown 'blocks' in 'blocks=3'; hint: known: keep, most, full, pace, after",
        ),
        (
            [*FLAGS, *SLC[:2], "--slc-times", "read=25us,program=200us"],
            "--slc-times: found 'read=25us,program=200us', expected the times of read, program and "
            "erase; hint: write read=25us,program=200us,erase=2ms",
        ),
        (
            [*FLAGS, *SLC, "--gc-domain", "drive"],
            "--slc needs the GC domain plane, found the drive: a fold stays inside its plane; "
            "hint: --gc-domain plane",
        ),
        (
            [*FLAGS, *SLC, "--idle", "below=10%,after=1ms"],
            "--idle and --slc have two idle times, expected one: a die takes both from its idle "
            "time; hint: the same after= in both",
        ),
        (
            [*FLAGS, *SLC, "--mapping", "bast"],
            "--mapping bast only applies to --drive counting: its merges are not cut into "
            "operations of dies; hint: --mapping page, --mapping dftl, or --drive counting",
        ),
        (
            [*FLAGS, *SLC, "--gc-low", "1"],
            "--slc needs at least 2 erased blocks a plane: a collection fills one, and a fold "
            "another; hint: --gc-low 2",
        ),
        (
            [*FLAGS, *SLC[2:], "--slc", "static:blocks=90"],
            "plane 0 has 256 blocks of 24 pages for 4608 logical pages, expected 95 more "
            "blocks than these pages fill, for open blocks and the pool; hint: a larger --spare, "
            "more --blocks, or a lower --gc-low",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(
    command: Command, flags: list[str], message: str
) -> None:
    made = command("run", *flags, "--requests", "100")
    assert (made.returncode, made.stderr) == (2, f"error: {message}\n")
    assert made.stdout == ""
