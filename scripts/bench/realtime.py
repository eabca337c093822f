"""A drive that answers in real time against the same requests simulated.

    PYTHONPATH=python .venv/bin/python scripts/bench/realtime.py [--device mlc] [--slower 1x]
        [--seconds 5] [--depths 1,32] [--kinds randread,randwrite,randrw] [--front fuse]

For each kind and queue depth fio works on a full drive of its own, served by FUSE with
``--realtime``, and the requests are recorded. The recording is then replayed on the simulated timed
drive, whose time of arrival is that of the recording. Each line compares what the server measured,
from the arrival of a request to its answer, with the simulation and with what fio itself saw, which
has the way through the kernel as well: mean, p50, p99 and p99.9. ``late`` is the share of answers
that left more than 50 us after their time. With ``--front nvme-tcp`` a host of this process reads
and writes by NVMe/TCP in place of fio.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import flashgc
from flashgc.device.campaign.nvme import PAGE, Queue, connected
from flashgc.device.control import Client
from flashgc.units import format_share

#: The folder of the drive's file, in memory because a disk would delay answers.
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
BLOCKS, PAGES_PER_BLOCK, SPARE = 512, 64, "15%"
#: The mean and the percentiles: each key here, in a simulated result, and in fio's output.
FIGURES = (
    ("mean", "mean", "mean"),
    ("p50", "p50", "50.000000"),
    ("p99", "p99", "99.000000"),
    ("p999", "p99_9", "99.900000"),
)
KINDS = {"randread": ("read",), "randwrite": ("write",), "randrw": ("read", "write")}


def arguments() -> argparse.Namespace:
    """The parsed arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("--device", default="mlc")
    parser.add_argument("--slower", default="1x")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--depths", default="1,32")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--front", default="fuse", choices=("fuse", "nvme-tcp"))
    return parser.parse_args()


@contextlib.contextmanager
def served(
    folder: Path, device: str, slower: str, front: str = "fuse"
) -> Iterator[tuple[Path, str]]:
    """Serves a full drive in real time; yields its file and the place of its data."""
    file, mount = folder / "drive.flash", folder / "mount"
    mount.mkdir()
    with flashgc.Device.create(
        file, blocks=BLOCKS, pages_per_block=PAGES_PER_BLOCK, spare=SPARE, victim="greedy"
    ) as drive:
        for at in range(0, drive.size, 1 << 20):
            drive.write(at, bytes(min(1 << 20, drive.size - at)))
    name = shutil.which("flashgc", path=str(Path(sys.executable).parent)) or "flashgc"
    where = str(mount) if front == "fuse" else "127.0.0.1:0"
    words = [name, "device", "serve", str(file), f"--{front}", where, "--realtime"]
    words += ["--device", device, "--slower", slower, "--record", str(folder / "asked.flashgc")]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        line = server.stdout.readline().strip()
        if not line:
            raise SystemExit("the drive was not served")
        yield file, str(mount / "disk") if front == "fuse" else line
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)


def fio(disk: Path, kind: str, depth: int, seconds: int) -> dict[str, Any]:
    """Runs fio on the disk, and returns its figures."""
    words = ["fio", "--name=bench", f"--filename={disk}", f"--rw={kind}", "--bs=4k", "--direct=1"]
    words += ["--ioengine=libaio", f"--iodepth={depth}", "--time_based", f"--runtime={seconds}"]
    words += ["--randseed=1", "--norandommap", "--output-format=json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=disk.parent.parent)
    job: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]
    return job


def work(queue: Queue, kind: str, pages: int, depth: int, seconds: float) -> dict[str, list[float]]:
    """Reads or writes random pages, ``depth`` at a time. Returns the latencies in us by operation.

    ``kind`` is `randread`, `randwrite` or `randrw`, with the meaning of fio.
    """
    draw, data = random.Random(1), bytes(PAGE)
    latencies: dict[str, list[float]] = {"read": [], "write": []}
    waiting: dict[int, tuple[str, float]] = {}
    free, until = list(range(depth)), time.monotonic() + seconds
    while free or waiting:
        while free and time.monotonic() < until:
            cid, page = free.pop(), draw.randrange(pages)
            what = kind.removeprefix("rand")
            what = what if what != "rw" else draw.choice(("read", "write"))
            waiting[cid] = what, time.perf_counter()
            if what == "read":
                queue.send(cid, 0x02, 1, (page,), b"", PAGE)
            else:
                queue.send(cid, 0x01, 1, (page,), data, 0)
        if not waiting:
            break
        cid, _, _ = queue.take()
        what, began = waiting.pop(cid)
        latencies[what].append((time.perf_counter() - began) * 1e6)
        free.append(cid)
    return latencies


def by_nvme(line: str, kind: str, depth: int, seconds: int) -> dict[str, Any]:
    """Runs an NVMe/TCP host; returns its figures in the form of fio's output.

    ``line`` is the server's line with the address and the name of the drive.
    """
    _, address, name = line.split()
    pages = BLOCKS * PAGES_PER_BLOCK * 8 // 10
    with connected(address, name) as (_, queue):
        latencies = work(queue, kind, pages, depth, seconds)
    seen = {}
    for what, times in latencies.items():
        times = sorted(times) or [0.0]
        at = {
            key: times[min(int(len(times) * float(key) / 100), len(times) - 1)] * 1e3
            for _, _, key in FIGURES[1:]
        }
        seen[what] = {"clat_ns": {"mean": sum(times) / len(times) * 1e3, "percentile": at}}
    return seen


def simulated(trace: Path, stat: dict[str, Any], device: str) -> dict[str, Any]:
    """Latencies of the recording on the simulated drive, in microseconds of real time."""
    clock = stat["realtime"]["drive"]
    spare = 1 - clock["logical_pages"] / (clock["blocks"] * clock["pages_per_block"])
    result = flashgc.run(
        str(trace),
        kind="timed",
        device=device,
        victim="greedy",
        blocks=clock["blocks"],
        spare=f"{spare:.12%}",
        fill="sequential",
        rate_scale=stat["realtime"]["slower"],
        warmup="0",
        passes=1,
        runs=1,
    )
    latencies: dict[str, Any] = result.to_dict()["latency_us"]
    return latencies


def compared(kind: str, depth: int, given: argparse.Namespace) -> None:
    """Measures one kind at one queue depth, and prints a line each for reads and writes."""
    with tempfile.TemporaryDirectory(prefix="flashgc-bench-", dir=MEMORY) as name:
        folder = Path(name)
        with served(folder, given.device, given.slower, given.front) as (file, where):
            if given.front == "fuse":
                seen = fio(Path(where), kind, depth, given.seconds)
            else:
                seen = by_nvme(where, kind, depth, given.seconds)
            with Client(file) as client:
                stat = client.stat()
        real = stat["realtime"]
        modelled = simulated(folder / "asked.flashgc", stat, given.device)
        for what in KINDS[kind]:
            measured, own = stat["latency_us"][what], modelled[what]
            parts = []
            for key, theirs, in_fio in FIGURES:
                model = own[theirs] * real["slower"]
                clat = seen[what]["clat_ns"]
                of_fio = (clat["mean"] if key == "mean" else clat["percentile"][in_fio]) / 1e3
                off = measured[key] / model - 1 if model else 0.0
                parts.append(f"{key} {measured[key]:.0f}/{model:.0f}/{of_fio:.0f} {off:+.1%}")
            rate = measured["count"] / given.seconds
            print(
                f"{kind:9} qd {depth:2} {what:5} {rate:6.0f}/s  {'  '.join(parts)}  late "
                f"{format_share(real['late_share'])} {'valid' if real['is_valid'] else 'INVALID'}",
                flush=True,
            )


def main() -> None:
    """Prints the comparisons of all kinds and depths."""
    given = arguments()
    theirs = "fio" if given.front == "fuse" else "host"
    print(f"served/simulated/{theirs} in us, and by how much the served drive is off")
    for kind in given.kinds.split(","):
        for depth in given.depths.split(","):
            compared(kind, int(depth), given)


if __name__ == "__main__":
    main()
