"""Job files of fio: what they mean here, compared with the requests of fio itself.

``tests/fio/recorded.json`` has the requests of fio for each job file of that folder, counted by
``tests/fio/record.py``. Where fio is installed, they are counted again.
"""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from pathlib import Path

import pytest

from conftest import Command
from fio.record import REQUESTS, SPACES, Counts, counted, requests_of_fio
from flashgc import ConfigError, trace_synth
from flashgc.fio.plans import Plan, plan

FOLDER = Path(__file__).parent / "fio"
JOBS = sorted(SPACES)


def planned(text: str, **options: str | int | None) -> Plan:
    """The plan of a job file with this text."""
    return plan(text, "job.fio", **options)  # type: ignore[arg-type]


def requests_here(workload: str, space: int, folder: Path) -> list[tuple[str, int, int]]:
    """The first requests of our generator."""
    trace = folder / "trace.csv"
    trace_synth(workload, trace, pages=space // 4096, requests=REQUESTS, seed=1)
    rows = [line.split(",") for line in trace.read_text().splitlines()[1:]]
    words = {"R": "read", "W": "write", "D": "trim"}
    return [(words[row[1]], int(row[2]), int(row[3])) for row in rows]


def chi_square(one: dict[str, int], other: dict[str, int]) -> tuple[float, float]:
    """Pearson's chi-square of two samples of equal size, and its 0.1% point (Wilson-Hilferty).

    Cells with fewer than 20 draws in both together are joined.
    """
    cells, rest = [], (0, 0)
    for cell in sorted(one.keys() | other.keys()):
        pair = (one.get(cell, 0), other.get(cell, 0))
        if sum(pair) < 20:
            rest = (rest[0] + pair[0], rest[1] + pair[1])
        else:
            cells.append(pair)
    if sum(rest):
        cells.append(rest)
    found = sum((a - b) ** 2 / (a + b) for a, b in cells)
    free = max(len(cells) - 1, 1)
    point = free * (1 - 2 / (9 * free) + 3.0902 * math.sqrt(2 / (9 * free))) ** 3
    return found, point


def differences(job: str, theirs: Counts, ours: Counts) -> dict[str, bool]:
    """Compare the places, sizes and operations of requests, and their boundaries.

    A sequential job does not draw its places: only sizes and operations count.
    """
    if job == "sequential":
        theirs, ours = without_places(theirs), without_places(ours)
    return {
        what: found > point
        for what in theirs
        for found, point in [chi_square(theirs[what], ours[what])]
    }


def without_places(counts: Counts) -> Counts:
    joined: Counter[str] = Counter()
    for cell, number in counts["places"].items():
        joined[cell.rpartition(" ")[0]] += number
    return {"places": dict(joined)}


def recorded(job: str) -> Counts:
    """The requests of fio as they were recorded."""
    counts: dict[str, Counts] = json.loads((FOLDER / "recorded.json").read_text())
    return counts[job]


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("source", ["recorded", "now"])
def test_the_requests_have_the_distribution_of_fio(job: str, source: str, tmp_path: Path) -> None:
    theirs = recorded(job)
    if source == "now" and shutil.which("fio"):
        theirs = counted(requests_of_fio(FOLDER / f"{job}.fio", tmp_path), SPACES[job])
    made = planned((FOLDER / f"{job}.fio").read_text())
    assert made.capacity == SPACES[job]
    ours = counted(requests_here(made.workload, SPACES[job], tmp_path), SPACES[job])
    assert not any(differences(job, theirs, ours).values()), made.workload


@pytest.mark.parametrize(
    ("job", "typed", "wrong", "seen"),
    [
        ("enterprise", "rwmixread=40", "rwmixread=42", "places"),
        ("enterprise", "4k/67:8k/10", "4k/65:8k/12", "places"),
        ("enterprise", "50/5:30/15", "48/5:32/15", "places"),
        ("enterprise", "blockalign=4k", "blockalign=8k", "boundaries"),
        ("directions", "6k/20", "8k/20", "places"),
        ("directions", "16k/,8k/60:64k/40", "16k/,8k/56:64k/44", "places"),
        ("directions", "blockalign=8k,16k", "blockalign=8k", "boundaries"),
        ("range", "4k-22k", "4k-20k", "places"),
        ("range", "offset=64m", "offset=63m", "places"),
        ("absolute", "70/16m:20/64m", "70/18m:20/62m", "places"),
        ("sequential", "rwmixread=25", "rwmixread=27", "places"),
    ],
)
def test_a_wrong_rule_is_seen(job: str, typed: str, wrong: str, seen: str, tmp_path: Path) -> None:
    text = (FOLDER / f"{job}.fio").read_text()
    assert typed in text
    wrong = text.replace(typed, wrong)
    made = planned(wrong)
    ours = counted(requests_here(made.workload, SPACES[job], tmp_path), SPACES[job])
    assert differences(job, recorded(job), ours)[seen], made.workload


def test_reads_and_writes_go_on_behind_their_own_last_requests(tmp_path: Path) -> None:
    def check(requests: list[tuple[str, int, int]]) -> None:
        ends = {"read": 0, "write": 0}
        for op, offset, size in requests:
            assert offset in (ends[op], 0), f"{op} at {offset}, expected {ends[op]}"
            ends[op] = offset + size

    made = planned((FOLDER / "sequential.fio").read_text())
    check(requests_here(made.workload, SPACES["sequential"], tmp_path)[:5000])
    if shutil.which("fio"):
        check(requests_of_fio(FOLDER / "sequential.fio", tmp_path)[:5000])


def test_the_enterprise_workload_is_one_generator() -> None:
    made = planned((FOLDER / "enterprise.fio").read_text())
    assert made.workload == (
        "zoned:shares=50/5:30/15:20/80,read=0.4,size=512B:4/1KiB:1/1536B:1/2KiB:1/2560B:1/3KiB:1/"
        "3584B:1/4KiB:67/8KiB:10/16KiB:7/32KiB:3/64KiB:3,align=4KiB"
    )
    # Four processes with 256 requests each.
    assert made.arrivals == "closed:threads=1024"
    assert made.changes == ()


@pytest.mark.parametrize(
    ("body", "workload"),
    [
        ("rw=write\nbs=128k", "sequential:size=128KiB"),
        ("rw=randwrite", "uniform:size=4KiB"),
        ("rw=randread\nbs=8k", "uniform:read=1,size=8KiB"),
        ("rw=randtrim\nbs=1m", "uniform:trim=1,size=1MiB"),
        ("readwrite=randrw\nrwmixwrite=25\nblocksize=4kib", "uniform:read=0.75,size=4000B"),
        ("rw=randrw\nrwmixread=100", "uniform:read=1,size=4KiB"),
        (
            "rw=rw\nbs=4k,64k",
            "0.5*sequential:read=1,size=4KiB + 0.5*sequential:size=64KiB",
        ),
        ("rw=randwrite\nbsrange=4k-64k", "uniform:size=4KiB-64KiB"),
        ("rw=randwrite\nbsrange=4k-10k", "uniform:size=4KiB:4096/8KiB:4096/10KiB:2048"),
        ("rw=randwrite\nsize=25%\noffset=50%", "uniform:size=4KiB,from=0.5,to=0.75"),
        ("rw=randwrite\nbs=8k\nba=4k", "uniform:size=8KiB,align=4KiB"),
        ("rw=randwrite\npercentage_random=0", "sequential:size=4KiB"),
        ("rw=randwrite\nfdp=1\nfdp_pli=3", "uniform:size=4KiB,stream=3"),
        (
            "rw=randwrite\ndataplacement=fdp\nplids=0,2-3\nplid_select=random",
            "0.333333333333333*uniform:size=4KiB,stream=0 + "
            "0.333333333333333*uniform:size=4KiB,stream=2 + "
            "0.333333333333333*uniform:size=4KiB,stream=3",
        ),
        (
            "rw=write\nnumjobs=2\nsize=1m\noffset_increment=1m\nbs=64k",
            "0.5*sequential:size=64KiB,to=0.5 + 0.5*sequential:size=64KiB,from=0.5",
        ),
    ],
)
def test_a_job_is_a_workload(body: str, workload: str) -> None:
    made = planned(f"[job]\nfilename=/dev/x\n{body}\nnorandommap\n")
    assert made.workload == workload
    assert made.changes == ()
    # Nothing is left out in silence: the workload is one that flashgc takes.
    words = made.command().split()
    assert words[:2] == ["flashgc", "run"]


def test_files_of_several_processes_lie_one_behind_the_other() -> None:
    made = planned("[job]\nrw=write\nsize=1m\nnumjobs=2\n")
    expected = "0.5*sequential:size=4KiB,to=0.5 + 0.5*sequential:size=4KiB,from=0.5"
    assert (made.workload, made.capacity) == (expected, 2 << 20)
    assert any("lie one behind the other" in note.text for note in made.notes)


def test_global_settings_hold_for_the_jobs_behind_them() -> None:
    text = "[global]\nfilename=x\nrw=randwrite\nsize=1m\nnorandommap\n[a]\n[global]\nbs=8k\n[b]\n"
    assert planned(text, section="a").workload == "uniform:size=4KiB"
    assert planned(text, section="b").workload == "uniform:size=8KiB"
    both = planned(text)
    assert both.workload == "0.5*uniform:size=4KiB + 0.5*uniform:size=8KiB"
    assert [note.key for note in both.changes] == ["[b]"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("bs=4x", "job.fio:3:4: bs: found '4x', expected a size"),
        ("  bs = 4k,,1x", "job.fio:3:12: bs: found '1x', expected a size"),
        ("bssplit=4k/60:8k/50", "job.fio:3:9: bssplit: the percentages sum to 110"),
        ("bssplit=4k/60:8k/a", "job.fio:3:18: bssplit: found 'a', expected a percentage"),
        ("rw=randwrit", "job.fio:3:4: rw: found 'randwrit', expected one of read, write"),
        ("rw=write:8k", "job.fio:3:9: rw: no generator has the runs or gaps of ':8k'"),
        ("rw=randtrimwrite", "job.fio:3:4: rw: no generator trims a place"),
        ("random_distribution=pareto:0.9", "job.fio:3:21: random_distribution: no generator has"),
        (
            "random_distribution=zoned:50/5:30/15",
            "job.fio:3:27: random_distribution: the requests sum to 80%, expected 100%",
        ),
        ("include other.fio", "job.fio:3:1: an included file is not read"),
        ("!x", "job.fio:3:1: found '!x', expected a key or key=value"),
        ("bs=", "job.fio:3:1: bs has no value"),
        ("zonemode=zbd", "job.fio:3:10: zonemode: no generator has zones of zoned devices"),
        ("[other]\nstonewall", "job.fio:4:1: stonewall: the job waits for those before it"),
        ("offset=3m", "job.fio: the size of '/dev/x' is not known"),
        ("fdp=1", "job.fio:3:5: fdp: the streams of the device are not known"),
        ("fdp=1\nplids=3,255", "job.fio:4:9: plids: found '255', expected streams from 0 to 254"),
        ("[", "job.fio:3:1: found '[', expected a section"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(body: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        planned(
            f"[job]\nfilename=/dev/x\n{body}\nrw=randwrite\n"
            if "rw=" not in body
            else f"[job]\nfilename=/dev/x\n{body}\n"
        )
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ("random_distribution=zipf:1.2", "random_distribution"),
        ("percentage_random=50", "percentage_random"),
        ("verify=crc32c", "verify"),
        ("unheard_of=1", "unheard_of"),
        ("norandommap=0\nrandom_distribution=zoned:50/5:50/95", "norandommap"),
        ("norandommap=0\nbssplit=4k/50:8k/50", "norandommap"),
    ],
)
def test_another_distribution_needs_near(
    body: str, key: str, tmp_path: Path, command: Command
) -> None:
    job = tmp_path / "job.fio"
    job.write_text(f"[job]\nfilename=x\nsize=1m\nrw=randwrite\nnorandommap\n{body}\n")
    refused = command("trace", "from-fio", str(job))
    assert refused.returncode == 2
    assert f": {key}: fio's requests would have another distribution" in refused.stderr
    near = command("trace", "from-fio", str(job), "--near", "--json")
    assert near.returncode == 0
    assert [note["key"] for note in json.loads(near.stdout)["notes"] if note["changes"]] == [key]


def test_a_difference_that_keeps_the_shares_is_only_noted(tmp_path: Path, command: Command) -> None:
    job = tmp_path / "job.fio"
    job.write_text("[job]\nfilename=x\nsize=1m\nrw=randwrite\nruntime=60\ndirect=1\n")
    result = command("trace", "from-fio", str(job))
    assert result.returncode == 0
    lines = result.stderr.splitlines()
    assert lines == [
        f"warning: {job}:5:1: runtime: how long fio runs; here --requests, --writes or --until say "
        "it",
        f"warning: {job}:4:1: rw: without norandommap fio visits every block once before any of "
        "them again; here blocks are drawn independently",
        f"warning: {job}: direct: nothing about operations, places and sizes",
    ]


def test_a_trace_has_the_requests_of_the_workload(tmp_path: Path, command: Command) -> None:
    target = tmp_path / "made.csv"
    job = FOLDER / "enterprise.fio"
    result = command("trace", "from-fio", str(job), "-o", str(target), "--requests", "1000", "-q")
    assert result.returncode == 0, result.stderr
    made = planned(job.read_text())
    again = tmp_path / "again.csv"
    trace_synth(made.workload, again, pages=1 << 18, requests=1000)
    assert target.read_text() == again.read_text()


def test_the_size_of_a_device_is_given() -> None:
    text = "[job]\nfilename=/dev/x\nrw=randwrite\nnorandommap\nsize=50%\n"
    assert planned(text).capacity is None
    assert planned(text, capacity=1 << 30).capacity == 1 << 30
    abs_zones = f"{text}random_distribution=zoned_abs:90/256m:10/256m\n"
    with pytest.raises(ConfigError, match="--capacity"):
        planned(abs_zones)
    made = planned(abs_zones, capacity=1 << 30)
    assert made.workload == "zoned:shares=90/268435456:10/268435456,size=4KiB,to=0.5"
