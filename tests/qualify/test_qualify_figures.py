"""The figures of ``qualify`` against closed forms, other runs, and an independent script."""

from __future__ import annotations

import importlib.util
import itertools
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flashgc
from flashgc import Qualification
from flashgc.studies.qualifying import requests, single
from flashgc.studies.qualifying.drive import Drive, parts_of
from flashgc.studies.qualifying.lives import Cell, Lengths, Life
from flashgc.studies.qualifying.phases import Phases
from flashgc.studies.qualifying.steady import window

#: All tests of this module run in one process, so that fixtures are computed once.
pytestmark = pytest.mark.xdist_group(__name__)

SCRIPT = Path(__file__).with_name("snia.py")


def steady(rounds: list[float]) -> bool:
    """The rule of the script that knows nothing of flashgc."""
    spec = importlib.util.spec_from_file_location("snia", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return bool(module.steady(rounds))


#: One die. A page takes 50 or 500 us and 10 us on the bus, an erase 3 ms for 64 pages.
ONE_DIE: dict[str, Any] = {
    "times": "read=50us,program=500us,erase=3ms,transfer=10us", "blocks": 128,
    "pages_per_block": 64, "spare": "25%", "victim": "greedy", "jobs": 1,
}  # fmt: skip
READ, WRITE = 60.0, 510.0
ERASE = 3000 / 64


@pytest.fixture(scope="module")
def sheet() -> Qualification:
    return flashgc.qualify(**ONE_DIE, quick=True, depth=8)


def test_one_die_reads_as_fast_as_its_cells_and_its_bus(sheet: Qualification) -> None:
    for name in ("iops", "throughput-128k", "throughput-1024k", "latency"):
        test = sheet.of(name)
        assert test is not None
        for cell in test.cells:
            if cell.reads == 1:
                pages = -(-cell.size // 4096)
                # The bus transfers a page while the cells read the next one of another request.
                longest, shortest = READ * pages, (READ - 10) * pages
                assert shortest * 0.98 <= 1e6 / cell.requests_per_second <= longest * 1.001, cell
    latency = sheet.of("latency")
    assert latency is not None
    for size in (4096, 512):
        alone = latency.cell(size, 1.0)
        assert alone is not None
        assert alone.read_us is not None
        assert alone.mean_us == pytest.approx(READ)
        assert alone.read_us.max == pytest.approx(READ)


def test_one_die_writes_in_order_as_fast_as_it_programs_and_erases(sheet: Qualification) -> None:
    for kib in (128, 1024):
        test = sheet.of(f"throughput-{kib}k")
        assert test is not None
        assert test.window.met
        cell = test.cell(kib * 1024, 0.0)
        assert cell is not None
        assert 4096e6 / cell.bytes_per_second == pytest.approx(WRITE + ERASE, rel=0.03)


def test_a_power_limit_is_the_rate_of_the_dies_that_may_program() -> None:
    limited = flashgc.qualify(
        **{**ONE_DIE, "blocks": 512}, channels=4, power_limit="dies=1", tests="throughput",
        quick=True,
    )  # fmt: skip
    test = limited.of("throughput-1024k")
    assert test is not None
    cell = test.cell(1 << 20, 0.0)
    assert cell is not None
    # One die at a time programs or erases; transfers to others overlap.
    assert 4096e6 / cell.bytes_per_second == pytest.approx(500 + ERASE, rel=0.03)


def test_random_writes_reach_the_rate_by_hand(sheet: Qualification) -> None:
    assert sheet.worked is not None
    assert sheet.wsat is not None
    test = sheet.of("throughput-128k")
    assert test is not None
    cell = test.cell(128 * 1024, 0.0)
    assert cell is not None
    by_hand = cell.bytes_per_second / (sheet.wsat.write_amplification * 4096)
    assert sheet.worked.requests_per_second == pytest.approx(by_hand)
    assert sheet.worked.ratio == pytest.approx(sheet.wsat.requests_per_second / by_hand)
    # A copy reads, too: a page of a collection takes 60 us more.
    amplification = sheet.wsat.write_amplification
    each = (WRITE + ERASE) * amplification + READ * (amplification - 1)
    assert 1e6 / sheet.wsat.requests_per_second == pytest.approx(each, rel=0.03)


@pytest.fixture(scope="module")
def whole() -> Qualification:
    return flashgc.qualify(**ONE_DIE, tests="wsat")


def test_saturation_is_the_plain_run(whole: Qualification) -> None:
    wsat = whole.wsat
    assert wsat is not None
    pages = whole.logical_bytes // 4096
    options = {**ONE_DIE, "queue_depth": 256}
    result = flashgc.run(
        "uniform", kind="timed", fill="empty", warmup="0", requests=4 * pages,
        request_size="4KiB", arrivals=f"closed:threads={wsat.depth}", **options,
    )  # fmt: skip
    written = sum(at_end - at_begin for at_begin, at_end in zip(
        (0.0, *(at for at, _ in wsat.points)), (at for at, _ in wsat.points), strict=False,
    ))  # fmt: skip
    assert written == pytest.approx(4, rel=0.01)
    steps = [(0.0, 1.0), *wsat.amplification]
    mean = sum((b[0] - a[0]) * b[1] for a, b in itertools.pairwise(steps)) / 4
    assert mean == pytest.approx(result.write_amplification, rel=1e-6)
    assert wsat.write_us.requests == 4 * pages


def test_slices_of_a_quick_saturation_lie_on_the_curve_of_the_whole() -> None:
    quick, full = (
        flashgc.qualify(**{**ONE_DIE, "blocks": 1024}, tests="wsat", quick=quick).wsat
        for quick in (True, False)
    )
    assert quick is not None
    assert full is not None
    assert len(quick.points) == len(single.SLICES) == 7
    assert quick.write_amplification == pytest.approx(full.write_amplification, rel=0.01)
    assert quick.requests_per_second == pytest.approx(full.requests_per_second, rel=0.01)
    # The first writes are programs alone, without erases.
    assert quick.points[0][1] == pytest.approx(1e6 / WRITE, rel=0.001)
    assert quick.amplification[0][1] == 1
    for at, rate in quick.points:
        near = [value for done, value in full.points if abs(done - at) < 0.1]
        assert rate == pytest.approx(sum(near) / len(near), rel=0.02), at


def test_every_test_follows_snias_rule_by_an_independent_script(
    sheet: Qualification, tmp_path: Path
) -> None:
    def told(document: object) -> tuple[int, str]:
        file = tmp_path / "sheet.json"
        file.write_text(json.dumps(document))
        done = subprocess.run(
            [sys.executable, SCRIPT, file], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout

    document = json.loads(sheet.to_json())
    assert told(document) == (0, "every test follows SNIA's rule\n")
    # A round that is 30% higher breaks the rule, and the mean of its cell.
    for test in document["rounds"]:
        before = test["tracked"][-1]
        test["tracked"][-1] = 1.3 * before
        code, text = told(document)
        assert code == 1, text
        assert text.startswith(f"{test['name']}: "), text
        test["tracked"][-1] = before
    document["rounds"][0]["cells"][0]["by_round"][0] *= 1.1
    assert "is not the mean of its rounds" in told(document)[1]


def test_the_window_is_the_first_that_the_independent_rule_calls_steady() -> None:
    drawn = random.Random(1)
    verdicts = set()
    for _ in range(300):
        start, end = drawn.uniform(50, 100), drawn.uniform(50, 100)
        rounds = [start + (end - start) * at / 12 + drawn.uniform(-8, 8) for at in range(13)]
        found = window(rounds)
        assert found is not None
        expected = [steady(rounds[at : at + 5]) for at in range(9)]
        first = expected.index(True) if any(expected) else 8
        assert (found.first, found.last, found.met) == (first + 1, first + 5, any(expected))
        verdicts.add((found.met, found.first > 1, found.excursion <= 0.2))
    # Some are steady at once, some later, some never, and some of these by their slope alone.
    assert verdicts >= {(True, False, True), (True, True, True), (False, True, True)}


LIFE = Life(
    "life", "Life", 4, (Cell(8192, 1.0), Cell(4096, 0.5), Cell(4096, 0.0)), Cell(4096, 0.0),
    "requests_per_second", Lengths(1 / 32, 512, 1024),
)  # fmt: skip


def replayed(trace: requests.Trace) -> flashgc.Result:
    return flashgc.run(
        trace.write(), kind="timed", fill="empty", warmup="0", passes=1, numbering="given",
        arrivals="dependent", **ONE_DIE,
    )  # fmt: skip


def test_labels_change_nothing_and_more_rounds_change_no_earlier_round() -> None:
    capacity = 24 << 20
    whole = requests.labels(LIFE, range(1, 6))
    assert whole is not None
    few = requests.tracked_labels(LIFE, range(1, 6))
    plain = replayed(requests.of_life(LIFE, capacity, 5, {}, 1))
    results = [
        replayed(requests.of_life(LIFE, capacity, rounds, labels, 1))
        for rounds, labels in ((5, whole), (5, few), (7, whole))
    ]
    for result in results[:2]:
        assert result.timing is not None
        assert plain.timing is not None
        assert result.timing.simulated_seconds == plain.timing.simulated_seconds
        assert (result.copied_pages, result.erases) == (plain.copied_pages, plain.erases)
    phases = [Phases(LIFE, capacity, 1) for _ in results]
    for one, labels, result in zip(phases, (whole, few, whole), results, strict=True):
        one.labels = labels
        one.add(json.loads(result.to_json()))
    assert phases[0].tracked == phases[1].tracked == phases[2].tracked


def test_cells_do_not_share_the_drive() -> None:
    """One die does one thing at a time, so the times of all cells sum to that of the run."""
    capacity = 24 << 20
    labels = requests.labels(LIFE, range(1, 6))
    assert labels is not None
    before = replayed(requests.of_life(LIFE, capacity, 0, {}, 1))
    after = replayed(requests.of_life(LIFE, capacity, 5, labels, 1))
    phases = Phases(LIFE, capacity, 1)
    phases.labels = labels
    phases.add(json.loads(after.to_json()))
    cells = [phases._cell(number, cell) for number in range(1, 6) for cell in LIFE.cells]
    assert after.timing is not None
    assert before.timing is not None
    seconds = after.timing.simulated_seconds - before.timing.simulated_seconds
    counts = [LIFE.lengths.of(cell.size, capacity, 4) for cell in cells]
    rates = [cell.requests_per_second for cell in cells]
    sum_of_cells = sum(count / rate for count, rate in zip(counts, rates, strict=True))
    assert sum_of_cells == pytest.approx(seconds, rel=0.03)
    assert {cell.requests for cell in cells} == {count * 3 // 4 - 4 for count in counts}


def test_a_life_that_is_not_steady_is_looked_at_in_25_rounds_and_then_at_its_window() -> None:
    phases = Phases(LIFE, 24 << 20, 1)
    phases.life = Life(
        "wide", "Wide", 4, tuple(Cell(512 * size, 0.5) for size in range(1, 50)),
        Cell(4096, 0.5), "requests_per_second", Lengths(1 / 32, 64, 128),
    )  # fmt: skip
    phases.labels = phases._labelled(range(1, 6))
    assert requests.labels(phases.life, range(1, 6)) is not None

    def result(means: dict[int, float]) -> dict[str, Any]:
        figures = {"requests": 10, "variance": 0.0, "deviation": 0.0}
        names = ("mean", "p50", "p90", "p99", "p99_9", "p99_99", "max")
        return {
            "streams": [
                {
                    "stream": stream,
                    **{
                        kind: {**figures, **dict.fromkeys(names, means[number])}
                        for kind in ("read_us", "write_us")
                    },
                }
                for (number, _), stream in phases.labels.items()
            ]
        }

    means = {number: 1000.0 / number if number < 9 else 100.0 for number in range(1, 26)}
    phases.add(result(means))
    assert (phases.unfinished, phases.rounds, len(phases.labels)) == (True, 25, 25)
    phases.add(result(means))
    assert phases.unfinished
    assert phases.window is not None
    assert (phases.window.first, phases.rounds, len(phases.labels)) == (9, 13, 5 * 49)
    phases.add(result(means))
    outcome = phases.outcome(interrupted=False)
    assert not phases.unfinished
    assert outcome is not None
    assert (len(outcome.tracked), len(outcome.cells), outcome.interrupted) == (13, 49, False)


def test_jesd219_has_the_sizes_the_areas_and_the_mix_of_the_standard(tmp_path: Path) -> None:
    capacity, file = 1 << 30, tmp_path / "jesd219.csv"
    flashgc.trace_synth(
        single.JESD219, file, pages=capacity // 4096, requests=100_000, page_size="4KiB"
    )
    rows = [line.split(",") for line in file.read_text().splitlines()]
    names = rows.pop(0)
    assert len(rows) == 100_000
    column = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    offsets, sizes = (
        np.array([*map(int, column[name])]) for name in ("offset_bytes", "size_bytes")
    )
    shares = {512: 4, 1024: 1, 1536: 1, 2048: 1, 2560: 1, 3072: 1, 3584: 1, 4096: 67, 8192: 10,
              16384: 7, 32768: 3, 65536: 3}  # fmt: skip
    assert set(sizes) == set(shares)
    for size, percent in shares.items():
        assert (sizes == size).mean() == pytest.approx(percent / 100, abs=0.006)
    assert sizes.mean() == pytest.approx(7818, rel=0.03)
    for (low, high), percent in (((0, 5), 50), ((5, 20), 30), ((20, 100), 20)):
        inside = (offsets >= low * capacity / 100 - 4096) & (offsets < high * capacity / 100 - 4096)
        assert inside.mean() == pytest.approx(percent / 100, abs=0.01)
    assert np.mean([op == "R" for op in column["op"]]) == pytest.approx(0.4, abs=0.01)
    assert not (offsets % 4096).any()
    assert (offsets + sizes).max() <= capacity


def test_a_quick_test_takes_the_smallest_part_of_a_preset_that_scale_takes() -> None:
    # 8 TiB of units of 4 KiB are 2048 times a million; blocks have 1536 pages, three of a cell.
    parts = parts_of({"capacity": 8 << 40, "blocks": None, "pages_per_block": 1536,
                      "page_size": 16384, "mapping_unit": 4096})  # fmt: skip
    assert parts[:5] == [2048, 1536, 1024, 768, 512]
    assert parts_of({"blocks": 2048, "pages_per_block": 64}) == []


def test_bytes_written_in_a_life_by_hand() -> None:
    # 3000 erases of 1 TB of flash, of which 20% are spare, at an amplification of 3: 1000 TB.
    subject = Drive({}, {}, 80 * 10**9, 80 * 10**9, 4096, 1, 0, 0.2, 10, 1)
    life = single.endurance(subject, 3000, "wsat", 3.0)
    assert life.terabytes_written == pytest.approx(1000)
    assert life.drive_writes_per_day == pytest.approx(1000 / 0.8 / 365 / 5)


def test_the_document_is_read_back(sheet: Qualification) -> None:
    again = Qualification.from_dict(json.loads(sheet.to_json()))
    assert again.to_json() == sheet.to_json()
    assert [line.name for line in again.lines()] == [line.name for line in sheet.lines()]
