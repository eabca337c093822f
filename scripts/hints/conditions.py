"""What decides how much a database's hints save: ``python scripts/hints/conditions.py``, as root.

The study of ``flashgc reproduce zombie.live --quick`` is repeated for GC-GD and ZGC-GD with one
thing changed at a time, and a row is printed for each: write amplification of both, the gain, which
share of the dirty pages the drive knew, and how many zombies it had, as a share of its pages.

At the end, the recorded trace of the usual session is replayed with other hints: with none, with
those that were recorded, and with those of an oracle. The oracle tells the drive of each overwrite
when it is so many page writes ahead. The counts are those of history and session together.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import flashgc
from flashgc._core import Control
from flashgc.device.live.plan import MIB, Plan
from flashgc.device.pace import Pace
from flashgc.terminal.progress import Bars
from flashgc_papers.reproduce.runner import Size
from flashgc_papers.zombie.live import PLANS
from flashgc_papers.zombie.living import session

PAGE = 4096
PAIR = ("GC-GD", "ZGC-GD")
USUAL = replace(PLANS[Size.QUICK], collectors=PAIR)

#: The server may go beyond ``max_wal_size``, and a full drive ends it.
LOGGED: dict[str, Any] = {
    "log_on_drive": True,
    "max_wal_size": 48 * MIB,
    "free": 54 * MIB,
    "warehouses": 2,
}

CONDITIONS: dict[str, dict[str, Any]] = {
    "usual": {},
    "half the buffers": {"shared_buffers": 24 * MIB},
    "twice the buffers": {"shared_buffers": 96 * MIB},
    "a checkpoint every 30 s": {"checkpoint_timeout": 30},
    "spare 10%": {"spare": 0.10, "warehouses": 2},
    "a page cache without a limit": {"database_dirty": 1024 * MIB},
    "log on the drive": LOGGED,
    "the same, full_page_writes off": {**LOGGED, "full_page_writes": False},
}

#: How far the oracle sees, as shares of the drive's pages.
HORIZONS = (0.01, 0.05, 0.1, 0.25, 1.0)


def measured(plan: Plan, folder: Path, repetitions: int, keep: Path | None, pace: Pace) -> str:
    """The cells of a condition."""
    state = session.image_of(plan, "tpcc", folder, pace)
    done: dict[str, list[dict[str, Any]]] = {name: [] for name in PAIR}
    for repetition in range(repetitions):
        for name in PAIR:
            kept = keep if (repetition, name) == (0, "ZGC-GD") else None
            told = session.run(plan, "tpcc", name, repetition, state, pace, kept)
            done[name].append(told)
    [without, hinted] = [[one["write_amplification"] for one in done[name]] for name in PAIR]
    gains = [100 * (1 - one / other) for one, other in zip(hinted, without, strict=True)]
    known = statistics.fmean(one["known_share"] for one in done["ZGC-GD"])
    counts = [sample[3] for one in done["ZGC-GD"] for sample in one["samples"][3:]]
    zombies = statistics.fmean(counts) * PAGE / plan.capacity
    return (
        f"{statistics.fmean(without):.2f} | {statistics.fmean(hinted):.2f} | "
        f"{statistics.fmean(gains):.1f} ({min(gains):.1f} to {max(gains):.1f}) | "
        f"{100 * known:.0f} | {100 * zombies:.1f}"
    )


def events(trace: Path, horizon: int | None, to: Path) -> None:
    """Writes a trace, a normalised CSV, with the hints of an oracle, or with none, to ``to``."""
    lines = [line for line in trace.read_text().splitlines() if line.split(",", 2)[1] not in "MC"]
    written, last = 0, dict[int, int]()
    #: Pages by the page writes behind which the drive hears of them.
    hints: dict[int, list[int]] = {}
    for line in lines[1:]:
        _time, kind, offset, size, _device = line.split(",")
        if kind == "W":
            first, count = int(offset) // PAGE, int(size) // PAGE
            for page in range(first, first + count):
                if horizon is not None and page in last:
                    # So many page writes ahead, and not before the page was written last.
                    hints.setdefault(max(written - horizon, last[page]), []).append(page)
                written += 1
                last[page] = written
    with open(to, "w") as out:
        out.writelines(f"{line}\n" for line in _merged(lines, hints))


def _merged(lines: list[str], hints: dict[int, list[int]]) -> Iterator[str]:
    yield lines[0]
    written, told = 0, 0
    due = sorted(hints)
    for line in lines[1:]:
        time, kind, _offset, size, device = line.split(",")
        while told < len(due) and due[told] <= written:
            yield from (f"{time},M,{page * PAGE},{PAGE},{device}" for page in hints[due[told]])
            told += 1
        yield line
        written += int(size) // PAGE if kind == "W" else 0


def oracle(trace: Path, file: Path, folder: Path) -> Iterator[str]:
    """Rows of what other hints would have made of a recorded trace."""
    table = folder / "trace.csv"
    flashgc.trace_convert(str(trace), str(table))
    pages = USUAL.capacity // PAGE
    for name, horizon in [("none", None), *((f"{share:.0%} ahead", share) for share in HORIZONS)]:
        with_hints = folder / "hints.csv"
        events(table, None if horizon is None else int(horizon * pages), with_hints)
        yield _row(name, with_hints, file)
    yield _row("recorded", trace, file)


def _row(name: str, trace: Path, file: Path) -> str:
    counts = session.replayed(trace, file)
    host, copied = counts["host_pages_written"], counts["copied_pages"]
    return f"| {name} | {copied} | {1 + copied / host:.3f} |"


def main() -> None:
    """Prints both tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--only", choices=CONDITIONS, action="append", help="these conditions")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="flashgc-conditions-") as home,
        Bars(quiet=False) as bars,
    ):
        folder, pace = Path(home), Pace(bars.show, Control())
        kept = folder / "kept.flashgc.zst"
        rows = ["| condition | GC-GD | ZGC-GD | gain, % | known, % | zombies, % |"]
        rows.append("|---|---|---|---|---|---|")
        for name in options.only or CONDITIONS:
            plan = replace(USUAL, **CONDITIONS[name])
            keep = kept if name == "usual" else None
            state = folder / name.replace(" ", "-")
            rows.append(f"| {name} | {measured(plan, state, options.repetitions, keep, pace)} |")
            bars.close()
            print(json.dumps(rows[-1]), flush=True)
        print("\n".join(rows))
        if kept.exists():
            print("\n| hints | copies | write amplification |\n|---|---|---|")
            for row in oracle(kept, folder / "usual" / "ZGC-GD.flash", folder):
                print(row, flush=True)


if __name__ == "__main__":
    main()
