"""Replays WARP's archived runs on persistently isolated handles, by whose units copies go to.

    python experiments/warp/isolated.py ARCHIVE [--json FILE]

ARCHIVE is a clone of WARP's artifact (github.com/MoatLab/WARP-FAST26-AE). The folder
``archive/result-FIO/cylon224-PI/GCe/3stream`` has nine runs, in which ``nvme fdp stats`` tells the
bytes of each handle about twice a second. So the streams are known where each has its handle. With
the jumper on handle 0 its writes are taken to be as many as those of the random stream: both write
4 KiB at the same queue depth, and fio's logs of ``warpb-cylon224-PI`` have them equal within 3%.
Without handles the log does not tell. The mixes of the two other runs are tried, then that of the
shared run with another share of sequential writes.

``archive/ops-log/log-gc-zoned-fdpOP20`` has each collection of one more run, with 1075 units.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from pathlib import Path

RUNS = Path("archive/result-FIO/cylon224-PI/GCe/3stream")
COLLECTIONS = Path("archive/ops-log/log-gc-zoned-fdpOP20")
JUMPERS = {"zipf_1.2": "theta=1.2", "zipf_2.2": "theta=2.2", "zoned": "zoned=1"}
#: Handles of the jumper and the random stream.
HANDLES = {"fdp": (2, 1), "fdp_share": (0, 1), "nofdp": (0, 0)}
#: femu-scripts/run_fdp_WARP256PI10.sh: 224 GiB in 985 units of 256 MiB, 1% of them in reserve.
DRIVE = ("units=985", "logical=896", "reserve=9", "pages=1024", "scale=64")
#: run_fdp_WARP256PI10.sh as its comment has it for 20%.
DRIVE_20 = ("units=1075", "logical=896", "reserve=10", "pages=1024", "scale=64")
NAMESPACE = 224 << 30
#: Shares of sequential writes that are tried where the log does not tell them.
SHARES = (0.82, 0.84, 0.86, 0.88, 0.9)

#: Pages that the sequential stream, the jumper and the random stream write in an interval.
Mix = list[tuple[float, float, float]]


class Run:
    """The counters of a run, line by line of its log."""

    def __init__(self, host: list[int], flash: list[int], handles: list[list[int]]) -> None:
        self.host, self.flash, self.handles = host, flash, handles

    @classmethod
    def of_stats(cls, log: Path) -> Run:
        """From the lines of ``nvme fdp stats``."""
        text = log.read_text()
        host, flash = (
            [int(value.replace(",", "")) for value in re.findall(rf"\({name}\): ([\d,]+)", text)]
            for name in ("HBMW", "MBMW")
        )
        handles = [
            [int(value) for value in re.findall(rf"Handle {at} Attributes: [^)]*\) (\d+)", text)]
            for at in range(3)
        ]
        end = min(map(len, (host, flash, *handles)))
        return cls(host[:end], flash[:end], [handle[:end] for handle in handles])

    @classmethod
    def of_collections(cls, log: Path) -> Run:
        """From the emulator's lines, one for each collection."""
        lines = re.findall(r"hb/mb\) 0/(\d+)/(\d+) 1/(\d+)/(\d+) 2/(\d+)/(\d+)", log.read_text())
        rows = [[int(value) for value in line] for line in lines]
        return cls(
            [sum(row[::2]) for row in rows],
            [sum(row[1::2]) for row in rows],
            [[row[2 * at] for row in rows] for at in range(3)],
        )

    def last_quarter(self) -> float:
        """Amplification of the last quarter of the lines."""
        begin = len(self.host) * 3 // 4
        return (self.flash[-1] - self.flash[begin]) / (self.host[-1] - self.host[begin])

    def mix(self, begin: float, mode: str) -> Mix:
        """The mix of each interval, from ``begin`` bytes on."""
        pages = [[value / 4096 for value in handle] for handle in self.handles]
        rows: Mix = []
        for at in range(bisect_left(self.host, begin), len(self.host) - 1):
            first, random, third = (handle[at + 1] - handle[at] for handle in pages)
            rows.append(
                (first, third, random) if mode == "fdp" else (first - random, random, random)
            )
        return rows


def replay(
    drive: Path, mix: Iterable[Sequence[float]], *arguments: str
) -> tuple[float, list[float]]:
    """Amplification of the last quarter of a mix, and that of each handle."""
    text = "\n".join(" ".join(f"{pages:.0f}" for pages in line) for line in mix)
    command = [str(drive), *arguments]
    ran = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    figures = ran.stdout.split("last ")[1].split()
    return float(figures[0]), [float(value) for value in figures[4:]]


def with_share(mix: Mix, sequential: float) -> Mix:
    """The mix with this mean share of sequential writes, which varies as before."""
    ordered, others = sum(row[0] for row in mix), sum(row[1] + row[2] for row in mix)
    factor = ordered * (1 / sequential - 1) / others
    return [(first, jumper * factor, random * factor) for first, jumper, random in mix]


def cells(drive: Path, archive: Path) -> dict[str, dict[str, float]]:
    """Each run: what the archive has, and what each rule gives."""
    table: dict[str, dict[str, float]] = {}
    for name, jumper in JUMPERS.items():
        runs = {
            mode: Run.of_stats(archive / RUNS / name / mode / "samsung_waf_1sec.txt")
            for mode in HANDLES
        }
        # With own handles, the random writes of the fill stand beside the three streams.
        mixes = {
            "fdp": (runs["fdp"].mix(0.9 * NAMESPACE, "fdp"), "fill=0"),
            "fdp_share": (runs["fdp_share"].mix(NAMESPACE, "fdp_share"), "fill=2"),
        }
        for mode, (at, randoms) in HANDLES.items():
            shape: tuple[str, ...] = (*DRIVE, jumper, f"jumper={at}", f"randoms={randoms}")
            row = table[f"{name} {mode}"] = {"archived": runs[mode].last_quarter()}
            if mode == "nofdp":
                for other, (mix, fill) in mixes.items():
                    row[f"mix of {other}"], _ = replay(drive, mix, *shape, fill, "persistent=1")
                shared, fill = mixes["fdp_share"]
                for share in SHARES:
                    given = with_share(shared, share)
                    row[f"{share:.2f}"], _ = replay(drive, given, *shape, fill, "persistent=1")
                continue
            mix, fill = mixes[mode]
            for rule, number in (("victim's", 1), ("writer's", 2)):
                found = replay(drive, mix, *shape, fill, f"persistent={number}")
                row[rule] = found[0]
                row |= {f"{rule}, handle {k}": value for k, value in enumerate(found[1])}
    run = Run.of_collections(archive / COLLECTIONS)
    shape = (*DRIVE_20, JUMPERS["zoned"], "jumper=2", "randoms=1", "fill=0")
    first = [handle[0] / 4096 for handle in run.handles]
    mix = [(first[0] - 0.9 * NAMESPACE / 4096, first[2], first[1]), *run.mix(0, "fdp")]
    row = table["zoned fdp, 1075 units"] = {"archived": run.last_quarter()}
    for rule, number in (("victim's", 1), ("writer's", 2)):
        row[rule], _ = replay(drive, mix, *shape, f"persistent={number}")
    return table


def main() -> int:
    """The command."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if not (given.archive / RUNS).is_dir():
        hint = "clone github.com/MoatLab/WARP-FAST26-AE"
        print(f"error: {given.archive / RUNS} is no folder; hint: {hint}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        drive = Path(folder) / "lines"
        source = Path(__file__).with_name("lines.c")
        subprocess.run(["cc", "-O2", "-o", drive, source, "-lm"], check=True)
        table = cells(drive, given.archive)
    for name, row in table.items():
        archived = row["archived"]
        print(f"{name:22} archived {archived:.3f}")
        for rule, value in row.items():
            if rule != "archived":
                error = "" if "handle" in rule else f"{value / archived - 1:+7.1%}"
                print(f"  {rule:20} {value:8.3f} {error}")
    if given.json:
        given.json.write_text(json.dumps(table, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
