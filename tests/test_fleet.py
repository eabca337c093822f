"""Fleets: each volume has the result of a run alone, and no data or files are left over."""

from __future__ import annotations

import json
import math
import os
import random
import runpy
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import flashgc
from conftest import Command, environment, keeping, kept_results, started
from documents import ROOT
from flashgc.studies.fleets.outcome import FleetCell, at_rank, policies_of, sign_test, signs

SMALL = {"pages_per_block": 8, "spare": "10%", "passes": 4}
POLICIES = ["greedy", "fifo"]
ARGUMENTS = [
    "--victim", "greedy", "--victim", "fifo", "--pages-per-block", "8", "--spare", "10%",
]  # fmt: skip


def row(volume: int, page: int, op: str = "W") -> str:
    """A request of the Alibaba format."""
    return f"{volume},{op},{page * 4096},4096,0\n"


def written(path: Path, volumes: dict[int, int], writes: int = 400, seed: int = 1) -> Path:
    """A trace of volumes with the given numbers of pages, whose requests alternate at random."""
    draw = random.Random(seed)
    owners = [volume for volume in volumes for _ in range(writes)]
    draw.shuffle(owners)
    path.write_text("".join(row(one, draw.randrange(volumes[one])) for one in owners))
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return written(tmp_path / "fleet.csv", {7: 60, 4294967295: 100, 3: 130})


@pytest.fixture
def spools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, in which nothing may be left."""
    folder = tmp_path / "spools"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def test_a_volume_has_the_digits_that_it_has_alone(trace: Path, tmp_path: Path) -> None:
    fleet = flashgc.fleet(trace, POLICIES, results=tmp_path / "r", **SMALL)  # type: ignore[arg-type]
    assert [(cell.volume, cell.policy) for cell in fleet] == [
        (volume, policy) for volume in (3, 7, 4294967295) for policy in POLICIES
    ]
    for cell in fleet:
        alone = flashgc.run(
            str(trace),
            devices=str(cell.volume),
            victim=cell.policy,
            **SMALL,  # type: ignore[arg-type]
        )
        assert cell.digest == alone.digest
        assert cell.write_amplification == alone.write_amplification
        assert cell.blocks == alone.config.blocks
        # Life is drive writes per mean erases of a block, from the run's own counts.
        drive_writes = alone.host_pages / alone.config.logical_pages
        assert cell.life == pytest.approx(drive_writes / (alone.erases / alone.config.blocks))
        assert cell.bytes_written == 400 * 4096


@pytest.mark.skipif("FLASHGC_TRACES" not in os.environ, reason="FLASHGC_TRACES is not set")
def test_public_volumes_have_the_digits_that_they_have_alone(tmp_path: Path) -> None:
    traces = Path(os.environ["FLASHGC_TRACES"])
    source = traces / "tencent_cbs_sample" / "raw_tencent_block_sample.bz2.zst"
    fleet = flashgc.fleet(source, "greedy", pages_per_block=16, passes=3, results=tmp_path / "r")
    # Of 2,038 volumes, 794 have two or more blocks.
    assert fleet.volumes == 2038
    measured = fleet.of("result")
    for cell in random.Random(1).sample(measured, 5):
        alone = flashgc.run(
            str(source), devices=str(cell.volume), victim="greedy", pages_per_block=16, passes=3
        )
        assert cell.digest == alone.digest


def test_a_trace_is_read_once_even_from_a_pipe(trace: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with subprocess.Popen(["cp", str(trace), str(pipe)]):
        piped = flashgc.fleet(pipe, "greedy", results=tmp_path / "p", **SMALL)  # type: ignore[arg-type]
    fleet = flashgc.fleet(trace, "greedy", results=tmp_path / "r", **SMALL)  # type: ignore[arg-type]
    assert [cell.write_amplification for cell in piped] == [
        cell.write_amplification for cell in fleet
    ]


def test_files_follow_each_other_by_volume_and_are_volumes_by_file(tmp_path: Path) -> None:
    rows = written(tmp_path / "all.csv", {1: 60, 2: 90}).read_text().splitlines(keepends=True)
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    first.write_text("".join(rows[:300]))
    second.write_text("".join(rows[300:]))
    whole = flashgc.fleet(tmp_path / "all.csv", "greedy", results=tmp_path / "r", **SMALL)  # type: ignore[arg-type]
    parts = flashgc.fleet([first, second], "greedy", results=tmp_path / "r", **SMALL)  # type: ignore[arg-type]
    figures = [cell.write_amplification for cell in whole]
    assert [cell.write_amplification for cell in parts] == figures
    files = flashgc.fleet(
        [first, second],
        "greedy",
        by="file",
        results=tmp_path / "r",
        **SMALL,  # type: ignore[arg-type]
    )
    assert [cell.volume for cell in files] == [str(first), str(second)]
    for cell in files:
        alone = flashgc.run(str(cell.volume), victim="greedy", **SMALL)  # type: ignore[arg-type]
        assert cell.digest == alone.digest


def test_what_is_kept_is_found_by_the_content_of_each_volume(trace: Path, tmp_path: Path) -> None:
    def ran(**more: Any) -> tuple[int, int]:
        fleet = flashgc.fleet(trace, POLICIES, results=tmp_path / "r", **{**SMALL, **more})
        return fleet.ran, fleet.found

    assert ran() == (6, 0)
    assert ran() == (0, 6)
    assert ran(spare="20%") == (6, 0)
    # Volume 7 gets one more write; the other volumes do not change.
    trace.write_text(trace.read_text() + row(7, 1))
    assert ran() == (2, 4)


def test_volumes_without_a_result_are_counted_with_their_reasons(
    tmp_path: Path, command: Command
) -> None:
    trace = written(tmp_path / "fleet.csv", {1: 60, 2: 90})
    read = "".join(row(9, page, "R") for page in range(64))
    trace.write_text(trace.read_text() + row(5, 0, "R") + row(6, 0) + read + row(9, 0))
    fleet = flashgc.fleet(
        trace,
        "greedy",
        results=tmp_path / "r",
        pages_per_block=8,
        passes=1,
        warmup="0x",
    )
    by_status = {
        status: [cell.volume for cell in fleet.of(status)]
        for status in ("result", "cannot", "idle")
    }
    assert by_status["result"] == [1, 2]
    assert by_status["cannot"] == [5, 6]
    assert by_status["idle"] == [9], "one write to a drive with a spare block"
    assert fleet.never_written == 1
    reasons = {cell.volume: cell.reason for cell in fleet}
    assert reasons[5] == "it is never written (1 reads, 0 discards)"
    assert "expected at least two blocks of 8 pages" in reasons[6]
    shown = command(
        "fleet", str(trace), "--victim", "greedy", "--pages-per-block", "8", "--passes", "1",
        "--warmup", "0x", "--results", str(tmp_path / "r"),
    )  # fmt: skip
    assert "volume 5 cannot run: it is never written (1 reads, 0 discards)" in shown.stdout
    assert len(fleet) == 5, "nothing is dropped"
    assert len(fleet.rows()) == 5


def test_drives_with_more_spare_space_than_asked_for_are_counted(
    tmp_path: Path, command: Command
) -> None:
    # At 10%, data of 7 blocks need a drive of 8, with 12.5% spare; data of 4 need 5, with 20%.
    pages = {1: 7 * 8, 2: 4 * 8, 3: 4 * 8}
    text = "".join(row(volume, page) for volume, most in pages.items() for page in range(most))
    (tmp_path / "fleet.csv").write_text(2 * text)
    fleet = flashgc.fleet(
        tmp_path / "fleet.csv",
        ["greedy", "fifo"],
        results=tmp_path / "r",
        **SMALL,  # type: ignore[arg-type]
    )
    assert [cell.spare_factor for cell in fleet][::2] == pytest.approx([0.125, 0.2, 0.2])
    assert fleet.rounded == 2
    run = command("fleet", "fleet.csv", *ARGUMENTS, "--passes", "4", "--results", "r")
    assert "2 volumes with a result: blocks are whole, so their drives have 1.5 times" in run.stderr


def test_a_policy_with_results_of_fewer_volumes_is_compared_on_those(
    tmp_path: Path, command: Command
) -> None:
    # With sepbit, the pool needs 11 spare blocks, which only the large volume has.
    trace = written(tmp_path / "fleet.csv", {1: 60, 2: 2000}, writes=3000)
    run = command(
        "fleet", trace, "--victim", "greedy", "--frontier", "pool", "--placement", "none",
        "--placement", "sepbit", "--pages-per-block", "8", "--passes", "2", "--spare", "40%",
        "--json",
    )  # fmt: skip
    found = json.loads(run.stdout)
    first, second = found["policies"]
    assert (first["volumes"], second["volumes"]) == (2, 1)
    against = second["against_first"]
    assert against["less"] + against["same"] + against["more"] == 1
    on_both = [cell["write_amplification"] for cell in found["cells"] if cell["volume"] == 2]
    assert second["ratio"] == pytest.approx(on_both[1] / on_both[0])
    assert "the policies have results of different volumes" in run.stderr


def cells(policy: str, figures: list[tuple[float, float]]) -> list[FleetCell]:
    """Cells on drives of 10 blocks and 1,000 bytes, from pairs of amplification and bytes."""
    return [
        FleetCell(
            volume=at, policy=policy, status="result", write_amplification=value, life=1 / value,
            bytes_written=written, blocks=10, logical_bytes=1000,
        )
        for at, (value, written) in enumerate(figures)
    ]  # fmt: skip


def test_the_distribution_is_that_of_a_hand_worked_example() -> None:
    one = cells("a", [(1.0, 100.0), (2.0, 300.0), (4.0, 100.0)])
    two = cells("b", [(1.5, 100.0), (2.0, 300.0), (6.0, 100.0)])
    interleaved = [cell for pair in zip(one, two, strict=True) for cell in pair]
    first, second = policies_of(["a", "b"], interleaved)
    assert (first.median, first.p95, first.worst, first.worst_volume) == (2.0, 4.0, 4.0, 2)
    # (1 * 100 + 2 * 300 + 4 * 100) / 500
    assert first.per_byte == pytest.approx(2.2)
    assert (first.life_median, first.life_p95, first.life_worst) == (0.5, 0.25, 0.25)
    # A pass erases 100/1000*1*10 + 300/1000*2*10 + 100/1000*4*10 = 11 of 30 blocks. It is 500/3000
    # of a drive write of all drives together.
    assert first.life_per_byte == pytest.approx((500 / 3000) / (11 / 30))
    assert second.ratio == pytest.approx((150 + 600 + 600) / 1100)
    assert second.against_first == signs([1.5, 2.0, 6.0], [1.0, 2.0, 4.0])
    assert (second.against_first.less, second.against_first.same) == (0, 1)
    assert second.differs is False, "two of two by chance: p is 1/2"
    assert first.against_first is None


def test_ranks_and_signs() -> None:
    assert at_rank(list(range(1, 101)), 0.95) == 95
    assert at_rank([5.0], 0.95) == 5.0
    assert at_rank(list(range(1, 101)), 0.07) == 7, "0.07 * 100 is 7.000000000000001"
    # 9 heads of 10: 2 (1 + 10) / 2^10.
    assert sign_test(9, 1) == pytest.approx(22 / 1024)
    assert sign_test(3, 3) == 1.0
    assert sign_test(10_000, 0) == 0.0
    assert math.isclose(sign_test(5_100, 4_900), 0.0466, abs_tol=2e-4)  # z = 1.99


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (row(7, 0) * 3, [], "found a single volume (7), expected several; hint: flashgc compare"),
        ("", [], "the trace is empty"),
        (row(1, 0) + row(2, 0) + "1,W,x,4096,0\n", [], "fleet.csv:3:5: found 'x', expected"),
        (row(1, 0) + row(2, 0), ["--by", "volumes"], "--by: unknown word 'volumes'; hint: did"),
        (row(1, 0) + row(2, 0), ["--by", "file"], "found a single file, expected several"),
        (row(1, 0) + row(2, 0), ["--devices", "9"], "found no requests to any volume"),
        (
            row(1, 0, "R") + row(2, 0, "R"),
            [],
            "no volume has a result: 2 volumes, such as 1, cannot run",
        ),
        (row(1, 0) + row(2, 0), ["--victim", "gredy"], "did you mean 'greedy'?"),
        ("", ["--results", "none/r"], "--results: none/r: there is no such folder"),
        (row(1, 0) + row(2, 0), ["--out", "table.txt"], "--out: table.txt ends in no form"),
    ],
)
def test_bad_input_is_one_line(
    content: str, arguments: list[str], message: str, tmp_path: Path, command: Command
) -> None:
    trace = tmp_path / "fleet.csv"
    trace.write_text(content)
    said = command("fleet", str(trace), "--format", "alibaba", *ARGUMENTS, *arguments, "--quiet")
    assert (said.returncode, message in said.stderr) == (2, True), said.stderr
    assert len(said.stderr.splitlines()) == 1


def test_no_such_file_and_options_of_a_single_drive(tmp_path: Path, trace: Path) -> None:
    with pytest.raises(flashgc.TraceError, match="No such file"):
        flashgc.fleet(tmp_path / "none.csv", "greedy", results=tmp_path / "r")
    with pytest.raises(flashgc.ConfigError, match="blocks cannot be given to a fleet"):
        flashgc.fleet(trace, "greedy", results=tmp_path / "r", blocks=100)
    with pytest.raises(flashgc.ConfigError, match="traces: found none, expected at least one"):
        flashgc.fleet([], "greedy", results=tmp_path / "r")
    with pytest.raises(flashgc.ConfigError, match="is given 2 times"):
        flashgc.fleet([trace, trace], "greedy", results=tmp_path / "r")
    with pytest.raises(flashgc.ConfigError, match="hint: write python:FILE"):
        flashgc.fleet(trace, [max], results=tmp_path / "r")  # type: ignore[list-item]
    assert not (tmp_path / "r").exists()


#: A policy that fails as long as a certain file exists.
FRAGILE = """
from pathlib import Path

def pick(blocks):
    if Path("broken").exists():
        raise ValueError("it is broken")
    return min(blocks.draw(5), key=blocks.count)
"""


def test_what_failed_is_kept_and_tried_again_when_asked_for(
    trace: Path, tmp_path: Path, command: Command
) -> None:
    (tmp_path / "mine.py").write_text(FRAGILE)
    (tmp_path / "broken").touch()
    typed = [
        "fleet", trace, "--victim", "greedy", "--victim", "python:mine.py:pick",
        "--pages-per-block", "8", "--passes", "2", "--json",
    ]  # fmt: skip
    run = command(*typed)
    assert run.returncode == 1
    assert "3 cells failed; hint: --retry runs them again" in run.stderr
    reasons = {cell["reason"] for cell in json.loads(run.stdout)["cells"]}
    assert any(reason and reason.endswith("ValueError: it is broken") for reason in reasons)
    (tmp_path / "broken").unlink()
    assert json.loads(command(*typed).stdout)["ran"] == 0
    run = command(*typed, "--retry")
    assert (run.returncode, json.loads(run.stdout)["ran"]) == (0, 3)


def many(tmp_path: Path) -> tuple[Path, list[object]]:
    """A slow fleet of 150 volumes: its file of results, and the words of the command."""
    trace = written(tmp_path / "fleet.csv", dict.fromkeys(range(150), 60), writes=300)
    kept = tmp_path / "r"
    return kept, ["fleet", trace, *ARGUMENTS, "--passes", "400", "--results", kept]


def test_a_killed_fleet_goes_on(tmp_path: Path, spools: Path, command: Command) -> None:
    kept, arguments = many(tmp_path)
    with started(*arguments) as process:
        keeping(process, kept)
        process.kill()
    before = kept_results(kept)
    assert 5 <= len(before) < 300
    found = json.loads(command(*arguments, "--json", "--quiet").stdout)
    assert (found["ran"], found["found"]) == (300 - len(before), len(before))
    after = kept_results(kept)
    assert {key: after[key] for key in before} == before, "none was made again"


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_fleet_says_so_and_leaves_no_spool(
    tmp_path: Path, spools: Path, stop: signal.Signals
) -> None:
    kept, arguments = many(tmp_path)
    with started(*arguments) as process:
        keeping(process, kept)
        process.send_signal(stop)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "give the same command again to go on" in err
    assert "not run" in out
    assert not list(spools.iterdir())


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_fleet_stopped_while_it_splits_leaves_no_spool(
    tmp_path: Path, spools: Path, stop: signal.Signals
) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with started("fleet", pipe, *ARGUMENTS, "--results", tmp_path / "r") as process:
        until = time.monotonic() + 60
        while not list(spools.iterdir()) and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(stop)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err.splitlines()[-1][:18]) == (130, "error: interrupted")
    assert not list(spools.iterdir())


def test_a_full_folder_for_temporary_files_is_one_line(
    trace: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Files are limited to 100 bytes, which stands for a full disk.
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); "
    program = f"{limited}import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    run = subprocess.run(
        [sys.executable, "-c", f"{program}from flashgc.command import main; main()", "fleet",
         str(trace), *ARGUMENTS, "--results", str(tmp_path / "r")],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 1, run.stderr
    assert "hint: free some space, or give another folder by the variable TMPDIR" in run.stderr
    assert len(run.stderr.splitlines()) == 1


#: Runs a fleet of the trace in its argument, and prints the peak of memory in KiB. The system's
#: figure begins with the peak of the parent process.
MEASURED = """
import sys, flashgc
fleet = flashgc.fleet(sys.argv[1], "greedy", results=sys.argv[2], jobs=1,
                      pages_per_block=8, passes=1, warmup="0x")
assert len(fleet.of("result")) > 0.5 * len(fleet)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
#: Bytes of memory that a volume may take: its counts, its cell and key, and the buffered part of
#: its 120 requests.
A_VOLUME = 8192


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the files of Linux")
def test_memory_is_bounded_whatever_the_number_of_volumes(tmp_path: Path) -> None:
    synthesise: Callable[..., int] = runpy.run_path(
        str(ROOT / "docs" / "examples" / "synthesise.py")
    )["synthesise"]

    def peak(volumes: int) -> int:
        trace = tmp_path / f"{volumes}.csv"
        synthesise(trace, volumes=volumes, pages=40, sigma=0.3, overwrite=3, seed=1)
        run = subprocess.run(
            [sys.executable, "-c", MEASURED, str(trace), str(tmp_path / f"{volumes}.results")],
            env=environment(),
            capture_output=True,
            check=True,
            text=True,
        )
        return 1024 * int(run.stdout)

    few, many = peak(200), peak(1700)
    assert many - few < (1700 - 200) * A_VOLUME
