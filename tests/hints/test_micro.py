"""The micro-benchmark of the Zombie Chasing paper, as fio runs it."""

from __future__ import annotations

import collections
import math
import shutil
import subprocess
from pathlib import Path

import pytest

from flashgc import ConfigError
from flashgc.device.live.image import BLOCK, write_job

SIZE, WRITTEN, RATIO = 32 << 20, 256 << 20, 0.5
BLOCKS, WRITES = SIZE // BLOCK, WRITTEN // BLOCK


def done(folder: Path, h: float) -> list[list[tuple[bool, int, int]]]:
    """The requests of each thread in fio's log: whether it is a write, its offset, its bytes."""
    file = folder / "data"
    with open(file, "wb") as made:
        made.truncate(SIZE)
    job = write_job(folder, file, SIZE, h, WRITTEN, RATIO)
    logging = f"[global]\nwrite_lat_log={folder}/did\nlog_offset=1\n"
    job.write_text(job.read_text().replace("[global]\n", logging))
    subprocess.run(["fio", job], check=True, capture_output=True, cwd=folder)
    assert file.stat().st_size == SIZE
    threads = []
    for log in folder.glob("did_clat.*.log"):
        lines = [line.split(",") for line in log.read_text().splitlines()]
        threads.append([(int(kind) == 1, int(at), int(size)) for _, _, kind, size, at, *_ in lines])
    return threads


def is_binomial(found: int, of: int, share: float) -> bool:
    """Whether a count is within five standard deviations of its mean."""
    return abs(found - of * share) <= 5 * math.sqrt(of * share * (1 - share))


def is_uniform(counts: list[int]) -> bool:
    """Whether chi square for equal chances is within five standard deviations of its mean."""
    mean, free = sum(counts) / len(counts), len(counts) - 1
    return abs(sum((n - mean) ** 2 / mean for n in counts) - free) <= 5 * math.sqrt(2 * free)


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
@pytest.mark.parametrize("h", [10, 40])
def test_fio_does_what_the_paper_says(tmp_path: Path, h: int) -> None:
    threads = done(tmp_path, h)
    assert len(threads) == 16
    every = [one for thread in threads for one in thread]
    assert {(at % BLOCK, size) for _, at, size in every} == {(0, BLOCK)}
    # The numbers of writes and reads are exact, and equal for all threads.
    assert sum(writes for writes, *_ in every) == WRITES
    assert len(every) == WRITES * 1.5
    assert len({len(thread) for thread in threads}) == 1
    # A thread mixes reads and writes: the first half of its requests has two thirds of writes.
    [first, *_] = threads
    half = first[: len(first) // 2]
    assert is_binomial(sum(writes for writes, *_ in half), len(half), 2 / 3)

    written = collections.Counter(at // BLOCK for writes, at, _ in every if writes)
    read = collections.Counter(at // BLOCK for writes, at, _ in every if not writes)
    hot = round(BLOCKS * h / 100)
    assert is_binomial(sum(written[block] for block in range(hot)), WRITES, 1 - h / 100)
    assert is_uniform([written[block] for block in range(hot)])
    assert is_uniform([written[block] for block in range(hot, BLOCKS)])
    assert is_uniform([read[block] for block in range(BLOCKS)])


def test_the_same_seed_makes_the_same_requests(tmp_path: Path) -> None:
    logs = []
    for number, seed in enumerate((1, 1, 2)):
        folder = tmp_path / str(number)
        folder.mkdir()
        write_job(folder, tmp_path / "data", SIZE, 10, WRITTEN, RATIO, seed=seed)
        logs.append([path.read_text() for path in sorted(folder.glob("thread-*"))])
    assert logs[0] == logs[1]
    assert len(set(logs[0] + logs[2])) == 32


def test_numbers_that_make_no_job_are_refused(tmp_path: Path) -> None:
    for change, said in (
        ({"h": 100}, "h: found 100, expected 0.1 to 99.9 percent; hint: "),
        ({"size": BLOCK}, "the size: found 16384, expected 1000 blocks"),
        ({"block": 100}, "a block: found 100"),
        ({"write_bytes": BLOCK}, "bytes to write: found 16384"),
        ({"file": Path("/a b")}, "the file: found '/a b'"),
    ):
        usual = {"file": tmp_path / "data", "size": SIZE, "h": 10, "write_bytes": WRITTEN}
        with pytest.raises(ConfigError, match=said):
            write_job(tmp_path, **{**usual, **change}, reads_per_write=1)  # type: ignore[arg-type]
