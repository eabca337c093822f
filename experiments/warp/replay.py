"""Replays the recorded mixes of WARP's archived runs on a naive drive, without each of its rules.

    python experiments/warp/replay.py ARCHIVE [--json FILE]

ARCHIVE is a clone of WARP's artifact (github.com/MoatLab/WARP-FAST26-AE). Its folder
``archive/result-FIO/cylon448-II/3syn`` has twelve runs on an emulated drive. fio wrote down the
bandwidth of each stream every 100 ms, and ``nvme fdp stats`` the bytes of host and flash every
second. The drive is ``lines.c``, which needs a C compiler. Nothing is fitted: every number stands
in the artifact's scripts or in FEMU's code.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from bisect import bisect_left
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

RUNS = Path("archive/result-FIO/cylon448-II/3syn")
#: fio's logs of the sequential stream, the jumper and the random stream.
LOGS = (
    "1threadQD4_4Kwrite_bw.3.log",
    "1threadQD4_4Krandwrite_bw.4.log",
    "1threadQD4_4Krandwrite_bw.5.log",
)
#: The jumper's addresses.
JUMPERS = {
    "uniform": [],
    "zipf_1.2": ["theta=1.2"],
    "zipf_2.2": ["theta=2.2"],
    "zoned": ["zoned=1"],
}
#: The handles of the jumper and the random stream. Without FDP all writes go to handle 0.
HANDLES = {"fdp": (2, 1), "fdp_share": (0, 1), "nofdp": (0, 0)}
#: The rules, each left out: the arguments of ``lines``. ``mix`` is replayed as its mean.
LEFT_OUT = {
    "nothing": [],
    "die by die": ["by_die=0"],
    "lazy": ["lazy=0"],
    "mix": [],
    "idle handles": ["idle=0"],
    "reserve of 1%, 5% instead": ["reserve=204"],
}
#: The bytes of the namespace, which the fill writes once.
NAMESPACE = 458_752 << 20


def mix_of(run: Path) -> list[list[float]]:
    """Pages of 4 KiB that each stream wrote in each 100 ms."""
    written: dict[int, list[float]] = {}
    for stream, name in enumerate(LOGS):
        for line in (run / name).read_text().splitlines():
            time, rate = line.split(",")[:2]  # milliseconds, KiB/s
            written.setdefault(int(time) // 100, [0.0] * 3)[stream] += float(rate) * 0.1 / 4
    return [written[time] for time in sorted(written)]


def archived(run: Path, pages: float) -> float:
    """Amplification of the last ``pages`` pages that the host wrote, by the drive's own log."""
    log = (run / "samsung_waf_1sec.txt").read_text()
    host, flash = (
        [int(value.replace(",", "")) for value in re.findall(rf"\({name}\): ([\d,]+)", log)]
        for name in ("HBMW", "MBMW")
    )
    begin = len(host) - 1 - host[::-1].index(0) if 0 in host else 0
    host, flash = host[begin:], flash[begin : len(host)]
    end = len(host) - 1
    quarter = bisect_left(host, host[end] - pages * 4096)
    return (flash[end] - flash[quarter]) / (host[end] - host[quarter])


def replay(drive: Path, arguments: list[str], mix: list[list[float]]) -> float:
    """Amplification of the last quarter of a mix on the naive drive."""
    text = "\n".join(" ".join(f"{pages:.0f}" for pages in line) for line in mix)
    command = [str(drive), *arguments]
    ran = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return float(ran.stdout.split("last ")[1].split()[0])


def cell(drive: Path, runs: Path, name: str, mode: str) -> dict[str, float]:
    """A cell: what the archive has, and the drive with each rule left out."""
    mix = mix_of(runs / name / mode)
    quarter = mix[len(mix) * 3 // 4 :]
    row = {"archived": archived(runs / name / mode, sum(map(sum, quarter)))}
    jumper, randoms = HANDLES[mode]
    mean = [statistics.fmean(line[stream] for line in mix) for stream in range(3)]
    for rule, arguments in LEFT_OUT.items():
        played = [mean] * len(mix) if rule == "mix" else mix
        given = [*JUMPERS[name], f"jumper={jumper}", f"randoms={randoms}", *arguments]
        row[rule] = replay(drive, given, played)
    return row


def main() -> int:
    """The command."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    runs = given.archive / RUNS
    if not runs.is_dir():
        hint = "clone github.com/MoatLab/WARP-FAST26-AE"
        print(f"error: {runs} is no folder; hint: {hint}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        drive = Path(folder) / "lines"
        source = Path(__file__).with_name("lines.c")
        subprocess.run(["cc", "-O2", "-o", drive, source, "-lm"], check=True)
        cells = [(name, mode) for name in JUMPERS for mode in HANDLES]
        with ThreadPoolExecutor(2) as pool:
            rows = list(pool.map(lambda which: cell(drive, runs, *which), cells))
    without = ", ".join(list(LEFT_OUT)[1:])
    print(f"{'':20}{'archived':>9}{'replayed':>9}{'error':>8}   error without: {without}")
    for (name, mode), row in zip(cells, rows, strict=True):
        errors = [f"{row[rule] / row['archived'] - 1:+7.1%}" for rule in LEFT_OUT]
        label = f"{name} {mode}"
        figures = f"{row['archived']:9.3f}{row['nothing']:9.3f}{errors[0]:>8}"
        print(f"{label:20}{figures}   {' '.join(errors[1:])}")
    if given.json:
        table = {f"{name} {mode}": row for (name, mode), row in zip(cells, rows, strict=True)}
        given.json.write_text(json.dumps(table, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
