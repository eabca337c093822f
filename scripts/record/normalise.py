#!/usr/bin/env python3
"""Turns the kernel's block_rq_issue events into the normalised trace CSV.

Reads the text of a tracefs `trace_pipe`, writes `time_us,op,offset_bytes,size_bytes,dev`
in issue order (op R, W or D for discard; time from the first request), prints the
trace's figures as a Markdown table, and checks them: every request whole pages inside
the device, times never going back, and reads, writes and discards, requests and
sectors, equal to the block layer's own counts for the device (`/sys/block/DEV/stat`
before and after; its write requests minus the bare flushes, which are block_bio_queue
events without sectors). Any difference ends it with exit code 1.

Must not sort, merge, drop or invent requests. Cache flushes carry no data: they are
counted, and left out of the CSV.
"""

import argparse
import re
import sys
from pathlib import Path
from typing import TextIO

SECTOR = 512  # the unit of block_rq_issue and of the stat file, whatever the device's own
PAGE = 4096

# A write queued with no data at all, a bare flush. The block layer counts it as a
# write request; the device gets a flush.
BARE_FLUSH = re.compile(r": block_bio_queue: \d+,\d+ FW\S* \d+ \+ 0 ")
EVENT = re.compile(
    r"(?P<seconds>\d+)\.(?P<micros>\d{6}): block_rq_issue: \d+,\d+ "
    r"(?P<flags>\S+) \d+ \(.*?\) (?P<sector>\d+) \+ (?P<sectors>\d+) "
)

# Fields of /sys/block/DEV/stat, from the kernel's Documentation/block/stat.rst.
STAT_FIELDS = {
    "R": {"requests": 0, "sectors": 2},
    "W": {"requests": 4, "sectors": 6},
    "D": {"requests": 11, "sectors": 13},
}


class Kind:
    """Totals of one kind of request and the pages it touched."""

    def __init__(self) -> None:
        self.requests = 0
        self.sectors = 0
        self.page_touches = 0
        self.pages: set[int] = set()

    def add(self, offset: int, size: int) -> None:
        """Count one request; offset and size in bytes."""
        first, end = offset // PAGE, -(-(offset + size) // PAGE)
        self.requests += 1
        self.sectors += size // SECTOR
        self.page_touches += end - first
        self.pages.update(range(first, end))


class Trace:
    """The result of a pass over the events: totals by operation, time span, faults."""

    def __init__(self) -> None:
        self.kinds = {op: Kind() for op in STAT_FIELDS}
        self.flushes = 0
        self.bare_flushes = 0
        self.span_us = 0
        self.faults: list[str] = []


def operation(flags: str) -> str:
    """The operation R, W or D from the kernel's rwbs letters; F for a flush without data.

    A leading F before another letter is a flush before the data. N is a request to
    write zeroes (mkfs clears tables in this way). The block layer counts it as a
    write, and so does this function.
    """
    letters = flags[1:] if len(flags) > 1 and flags[0] == "F" else flags
    letter = letters[0].replace("N", "W")
    if letter in "RWDF":
        return letter
    raise ValueError(f"found request flags {flags!r}, expected R, W, D, F or N")


def convert(events: TextIO, csv: TextIO, device_bytes: int) -> Trace:
    """Write the CSV and return the totals, with a fault for each event that is wrong."""
    trace = Trace()
    start = last = None
    csv.write("time_us,op,offset_bytes,size_bytes,dev\n")
    for number, line in enumerate(events, 1):
        if BARE_FLUSH.search(line):
            trace.bare_flushes += 1
            continue
        match = EVENT.search(line)
        if match is None:
            trace.faults.append(f"line {number}: not a block_rq_issue event: {line.strip()!r}")
            continue
        op = operation(match["flags"])
        offset, size = int(match["sector"]) * SECTOR, int(match["sectors"]) * SECTOR
        if op == "F" or size == 0:
            trace.flushes += 1
            continue
        now = int(match["seconds"]) * 1_000_000 + int(match["micros"])
        start = now if start is None else start
        if last is not None and now < last:
            trace.faults.append(f"line {number}: time goes back by {last - now} us")
        last = now
        if offset % PAGE or size % PAGE:
            trace.faults.append(f"line {number}: {op} {offset}+{size} is not whole pages")
        if offset + size > device_bytes:
            trace.faults.append(f"line {number}: {op} {offset}+{size} ends outside the device")
        trace.span_us = now - start
        trace.kinds[op].add(offset, size)
        csv.write(f"{now - start}.000,{op},{offset},{size},0\n")
    return trace


def check_totals(trace: Trace, before: list[int], after: list[int]) -> None:
    """Add a fault for each total that differs from the block layer's counter."""
    for op, fields in STAT_FIELDS.items():
        for name, index in fields.items():
            expected, counted = after[index] - before[index], getattr(trace.kinds[op], name)
            if (op, name) == ("W", "requests"):
                expected -= trace.bare_flushes
            print(f"check: {op} {name}: trace {counted}, block layer {expected}", file=sys.stderr)
            if counted != expected:
                trace.faults.append(
                    f"{op} {name}: trace has {counted}, the block layer counted {expected}"
                )
    if not trace.kinds["D"].requests:
        trace.faults.append("no discards: is the file system mounted with TRIM?")


def report(trace: Trace) -> None:
    """Print the figures as a Markdown table."""
    reads, writes, discards = (trace.kinds[op] for op in "RWD")
    requests = reads.requests + writes.requests + discards.requests
    rows = [
        ("requests", f"{requests:,}"),
        ("reads", f"{reads.requests:,}"),
        ("writes", f"{writes.requests:,}"),
        ("discards", f"{discards.requests:,}"),
        ("writes' share of requests", f"{writes.requests / max(requests, 1):.3f}"),
        ("4 KiB pages written, repeats counted", f"{writes.page_touches:,}"),
        ("distinct pages written", f"{len(writes.pages):,}"),
        ("overwrite factor", f"{writes.page_touches / max(len(writes.pages), 1):.2f}"),
        ("pages read, repeats counted", f"{reads.page_touches:,}"),
        ("distinct pages read", f"{len(reads.pages):,}"),
        ("distinct pages read or written", f"{len(reads.pages | writes.pages):,}"),
        ("pages discarded, repeats counted", f"{discards.page_touches:,}"),
        ("distinct pages discarded", f"{len(discards.pages):,}"),
        ("cache flushes (not in the file)", f"{trace.flushes:,}"),
        ("time from first to last request", f"{trace.span_us / 1e6:.3f} s"),
    ]
    print("| figure | value |\n|---|---|")
    for name, value in rows:
        print(f"| {name} | {value} |")


def main() -> int:
    """Read the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("events", type=Path, help="text of trace_pipe")
    parser.add_argument("csv", type=Path, help="file to write")
    parser.add_argument("--device-bytes", type=int, required=True)
    parser.add_argument("--stat-before", type=Path, required=True)
    parser.add_argument("--stat-after", type=Path, required=True)
    args = parser.parse_args()

    with args.events.open() as events, args.csv.open("w") as csv:
        trace = convert(events, csv, args.device_bytes)
    before, after = (
        [int(field) for field in path.read_text().split()]
        for path in (args.stat_before, args.stat_after)
    )
    check_totals(trace, before, after)
    report(trace)
    for fault in trace.faults[:20]:
        print(f"fault: {fault}", file=sys.stderr)
    if trace.faults:
        print(f"{len(trace.faults)} faults", file=sys.stderr)
    return 1 if trace.faults else 0


if __name__ == "__main__":
    sys.exit(main())
