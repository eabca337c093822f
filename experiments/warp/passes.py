"""Replays WARP's one stream of random writes: passes that write every block once.

    python experiments/warp/passes.py ARCHIVE [--whole]

ARCHIVE is a clone of WARP's artifact (github.com/MoatLab/WARP-FAST26-AE). Its job
``FIO-scripts/1stream/1stream.fio`` writes 128 KiB at random and keeps fio's map of blocks, so each
pass over a drive writes each block once. The logs of two real drives and of WARP-A2 show it:
amplification repeats with the capacity as its period. ``--whole`` simulates WARP-A2 in its size,
which takes two minutes and 2 GB of memory; otherwise it is simulated at 1/8.
"""

from __future__ import annotations

import argparse
import itertools
import math
import re
import statistics
import subprocess
import sys
import tempfile
from bisect import bisect_left
from pathlib import Path

#: The log of each drive and its capacity.
LOGS = {
    "WARP-A2": ("archive/result-FIO/1syn-all-fig11/femu448_lazy05_128M.txt", 448 << 30),
    "SSD-A": ("archive/result-FIO/ssda/warmup/samsung_waf_1min.txt", 7_680_000_000_000),
    "SSD-B": ("archive/result-FIO/ssdb/warmup/fadu_waf_1min.txt", 3_840_000_000_000),
}
#: A drive without the emulator's own rules. A page stands for a block of 128 KiB.
PLAIN = ("logical=1000", "request=1", "by_die=0", "lazy=0", "idle=0", "reserve=2", "passes=10")
#: Blocks of 128 KiB in a unit of 64 MiB. With half as many, amplification is 1% less.
BLOCKS = 512


class Log:
    """Bytes of host and flash, line by line."""

    def __init__(self, path: Path, capacity: int) -> None:
        text = path.read_text()
        self.host, self.flash = (
            [int(value.replace(",", "")) for value in re.findall(rf"\({name}\): ([\d,]+)", text)]
            for name in ("HBMW", "MBMW")
        )
        self.capacity = capacity
        #: The last half of the log, in whole passes.
        self.passes = int((self.host[-1] - self.host[0]) / 2 // capacity)
        self.begin = self.host[-1] - self.passes * capacity

    def flash_at(self, host: float) -> float:
        """Bytes of flash when the host had written so many, interpolated."""
        at = max(1, bisect_left(self.host, host))
        low, high = self.host[at - 1], self.host[at]
        part = (host - low) / (high - low) if high > low else 0
        return self.flash[at - 1] + part * (self.flash[at] - self.flash[at - 1])

    def amplification(self, parts: int) -> list[float]:
        """Amplification of each of so many parts of each pass."""
        step = self.capacity / parts
        flash = [self.flash_at(self.begin + at * step) for at in range(parts * self.passes + 1)]
        return [(end - begin) / step for begin, end in itertools.pairwise(flash)]

    def period(self) -> float:
        """The period of amplification, in capacities: where it resembles itself most."""
        parts = 256
        figures = self.amplification(parts)
        mean = statistics.fmean(figures)

        def likeness(lag: int) -> float:
            pairs = zip(figures, figures[lag:], strict=False)
            return statistics.fmean((one - mean) * (other - mean) for one, other in pairs)

        return max(range(parts // 2, parts * 3 // 2), key=likeness) / parts

    def eighths(self, like: list[float]) -> list[float]:
        """Amplification of each eighth of a pass. Where it begins is chosen to be near ``like``."""
        parts = 256
        figures = self.amplification(parts)
        one = [statistics.fmean(figures[at::parts]) for at in range(parts)]

        def turned(begin: int) -> list[float]:
            whole = one[begin:] + one[:begin]
            return [statistics.fmean(whole[at * 32 : at * 32 + 32]) for at in range(8)]

        return min(map(turned, range(parts)), key=lambda figures: math.dist(figures, like))


def simulate(drive: Path, *arguments: str) -> tuple[float, list[float]]:
    """Amplification of passes, and each eighth of the last one."""
    ran = subprocess.run(
        [str(drive), "jumper=0", "randoms=0", *arguments],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
    )  # fmt: skip
    eighths, _, mean = ran.stdout.partition("last ")
    return float(mean.split()[0]), [float(figure) for figure in eighths.split()]


def spare_of(drive: Path, wanted: float) -> tuple[float, list[float]]:
    """The spare factor, less what stays erased or open, with which passes cost ``wanted``."""
    low, high = 1020, 1430
    while high - low > 1:
        units = (low + high) // 2
        found, _ = simulate(drive, *PLAIN, f"units={units}", f"pages={BLOCKS}")
        low, high = (units, high) if found > wanted else (low, units)
    _, eighths = simulate(drive, *PLAIN, f"units={high}", f"pages={BLOCKS}")
    # Two units are open, and two or three stay erased.
    return 1 - 1000 / (high - 4.5), eighths


def main() -> int:
    """The command."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--whole", action="store_true")
    given = parser.parse_args()
    if not (given.archive / LOGS["WARP-A2"][0]).is_file():
        hint = "clone github.com/MoatLab/WARP-FAST26-AE"
        print(f"error: {given.archive} has no {LOGS['WARP-A2'][0]}; hint: {hint}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        drive = Path(folder) / "lines"
        source = Path(__file__).with_name("lines.c")
        subprocess.run(["cc", "-O2", "-o", drive, source, "-lm"], check=True)
        for name, (path, capacity) in LOGS.items():
            log = Log(given.archive / path, capacity)
            mean = statistics.fmean(log.amplification(8))
            of_log = f"{mean:.3f} in {log.passes} passes, period {log.period():.3f} capacities"
            print(f"{name}: {of_log}")
            if name == "WARP-A2":
                pages = 32768 if given.whole else 4096
                found, eighths = simulate(drive, f"pages={pages}", "passes=6")
                print(f"  simulated {found:.3f}, {found / mean - 1:+.1%}")
            else:
                spare, eighths = spare_of(drive, mean)
                print(f"  simulated with {spare:.1%} spare")
            for source_of, figures in (("log", log.eighths(eighths)), ("simulated", eighths)):
                print(f"  {source_of:10}", " ".join(f"{figure:.2f}" for figure in figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
