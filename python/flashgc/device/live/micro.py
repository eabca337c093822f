"""The micro-benchmark of Zombie Chasing (section 5.2.1), as a job that fio does.

Threads read and write blocks at random places through the page cache. Reads go anywhere. Of the
writes, (100 - h)% go to the first h% of the space, the others behind them; within its part, a write
goes anywhere.

The requests of each thread are drawn here and written to a log that fio replays. fio cannot draw
them itself: 3.33 refuses a ``random_distribution`` of reads beside one of writes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from flashgc._core import ConfigError

#: The paper's threads, and the bytes of a request, which is aligned to its size.
THREADS, BLOCK = 16, 16 << 10

#: The name of the job among the files that are written.
JOB = "micro.fio"

#: Characters of a file's name that a log of fio may have.
LONGEST = 255


def write_job(
    folder: Path,
    file: Path,
    size: int,
    h: float,
    write_bytes: int,
    reads_per_write: float,
    *,
    threads: int = THREADS,
    block: int = BLOCK,
    seed: int = 1,
) -> Path:
    """Writes a job into ``folder``, and the log of each thread; ``fio`` is called with the result.

    ``file`` is a file or a device with ``size`` bytes of data, of which whole blocks count. ``h``
    is in percent. All threads together write ``write_bytes`` bytes, in whole blocks, and make
    ``reads_per_write`` times as many reads. They sync nothing: at their end, the page cache keeps
    what it has. The same seed makes the same requests.
    """
    name = str(file.absolute())
    _check(name, size, h, write_bytes, reads_per_write, threads, block)
    blocks = size // block
    writes = write_bytes // block
    reads = round(writes * reads_per_write)
    lines = [
        "[global]",
        "ioengine=psync",
        "thread=1",
        "direct=0",
        # Neither does fio throw away what is cached, nor does it tell the kernel what will be read.
        "invalidate=0",
        "fadvise_hint=0",
        "group_reporting=1",
    ]
    for thread in range(threads):
        log = folder.absolute() / f"thread-{thread:02}.log"
        draw = np.random.default_rng([seed, thread])
        counts = [(total + thread) // threads for total in (writes, reads)]
        log.write_text(_log(name, *_requests(draw, blocks, h, *counts), block), encoding="utf-8")
        lines += [f"[thread-{thread:02}]", f"read_iolog={_escaped(log)}"]
    path = folder / JOB
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _requests(
    draw: np.random.Generator, blocks: int, h: float, writes: int, reads: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each request of a thread if it writes, and its block."""
    hot = round(blocks * h / 100)
    is_hot = draw.random(writes) < 1 - h / 100
    written = np.where(is_hot, draw.integers(0, hot, writes), draw.integers(hot, blocks, writes))
    is_write = draw.permutation(np.arange(writes + reads) < writes)
    places = np.empty(writes + reads, dtype=np.int64)
    places[is_write] = written
    places[~is_write] = draw.integers(0, blocks, reads)
    return is_write, places


def _log(name: str, is_write: np.ndarray, places: np.ndarray, block: int) -> str:
    """The requests in fio's format, version 2: they follow each other at once."""
    requests = (
        f"{name} {'write' if writes else 'read'} {place * block} {block}"
        for writes, place in zip(is_write.tolist(), places.tolist(), strict=True)
    )
    begin = ("fio version 2 iolog", f"{name} add", f"{name} open")
    return "\n".join((*begin, *requests, f"{name} close")) + "\n"


def _escaped(log: Path) -> str:
    """The name of a log in a job: fio takes a colon for the border of two names."""
    return str(log).replace("\\", "\\\\").replace(":", "\\:")


def _check(
    name: str,
    size: int,
    h: float,
    write_bytes: int,
    reads_per_write: float,
    threads: int,
    block: int,
) -> None:
    is_name = len(name) <= LONGEST and not any(letter.isspace() for letter in name)
    for what, found, is_right, expected in (
        ("h", h, 0.1 <= h <= 99.9, "0.1 to 99.9 percent"),
        ("reads per write", reads_per_write, 0 <= reads_per_write < 1e6, "0 or more"),
        ("threads", threads, threads >= 1, "1 or more"),
        ("a block", block, block >= 512 and block % 512 == 0, "a multiple of 512 bytes"),
        ("the size", size, size >= 1000 * block, f"1000 blocks of {block} bytes or more"),
        ("bytes to write", write_bytes, write_bytes >= threads * block, "a block a thread or more"),
        ("the file", repr(name), is_name, f"{LONGEST} letters or less, without white space"),
    ):
        if not is_right:
            raise ConfigError(
                f"the micro-benchmark: {what}: found {found}, expected {expected}; "
                "hint: the paper writes 5.12 GB with h=10 by 16 threads in blocks of 16384 bytes"
            )
