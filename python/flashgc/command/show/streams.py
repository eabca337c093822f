"""Streams, flexible data placement (FDP) and tenants as text for people: tables for one result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashgc.command.show.counted import WORDS
from flashgc.terminal.render import LEFT, RIGHT, facts, show, table
from flashgc.units import format_count, format_rate, format_share, format_size, format_time

if TYPE_CHECKING:
    from flashgc.results import Fdp, Result, Stream
    from flashgc.terminal.render import Console, Text


def show_streams(out: Console, result: Result) -> None:
    """Print the cost of each stream, and the log of FDP; nothing if writes have no streams."""
    if result.streams:
        out.print()
        _show_streams(out, result)
    if result.fdp is not None:
        out.print()
        show(out, facts(out, _log(result.fdp)))


def _show_streams(out: Console, result: Result) -> None:
    timed = any(stream.read_us or stream.write_us for stream in result.streams)
    counts = WORDS["StreamCounts"].values()
    columns = [("stream", LEFT), *((words, RIGHT) for words in counts), ("WA", RIGHT)]
    if timed:
        columns += [(name, RIGHT) for name in ("read p50", "p99 us", "write p50", "p99 us")]
    listing = table(out, columns)
    for stream in result.streams:
        listing.add_row(*_cells(stream, timed=timed))
    show(out, listing)


def _cells(stream: Stream, *, timed: bool) -> list[Text | str]:
    cells: list[Text | str] = [
        "none" if stream.stream is None else str(stream.stream),
        *(format_count(getattr(stream, name)) for name in WORDS["StreamCounts"]),
        "-" if stream.write_amplification is None else f"{stream.write_amplification:.3f}",
    ]
    if timed:
        for side in (stream.read_us, stream.write_us):
            cells += ["-", "-"] if side is None else [f"{side.p50:.0f}", f"{side.p99:.0f}"]
    return cells


def _log(fdp: Fdp) -> list[tuple[str, Text | str]]:
    written, media = fdp.host_bytes_with_metadata_written, fdp.media_bytes_with_metadata_written
    text = (
        f"HBMW {format_size(written)}, MBMW {format_size(media)}, "
        f"MBE {format_size(fdp.media_bytes_erased)}"
    )
    events = (
        f"{format_count(fdp.events.media_reallocated)} media reallocated, "
        f"{format_count(fdp.events.invalid_placement_identifier)} invalid placement identifier"
    )
    listed: list[tuple[str, Text | str]] = [("FDP log", text), ("FDP events", events)]
    groups = max(handle.group for handle in fdp.handles) + 1
    if groups > 1:
        each = (_amplification(fdp, group) for group in range(groups))
        outside = format_count(fdp.written_outside_group)
        of_groups = f"WA {', '.join(each)}; {outside} written outside their group"
        listed.append(("FDP groups", of_groups))
    return listed


def _amplification(fdp: Fdp, group: int) -> str:
    handles = [handle for handle in fdp.handles if handle.group == group]
    host = sum(handle.host_pages for handle in handles)
    copied = sum(handle.copied_pages for handle in handles)
    return f"{group}: {(host + copied) / host:.3f}" if host else f"{group}: -"


def show_tenants(out: Console, result: Result) -> None:
    """Print the results of each tenant; nothing if the drive has one host."""
    timing = result.timing
    if timing is None or not timing.tenants:
        return
    out.print()
    names = ("mean", "p50", "p99", "p99.9", "max")
    columns = [("tenant", LEFT), ("share", RIGHT), ("requests/s", RIGHT), ("", LEFT)]
    listing = table(out, [*columns, *((name, RIGHT) for name in names)])
    for tenant in timing.tenants:
        head = [
            tenant.name,
            format_share(tenant.share),
            format_rate(tenant.requests_per_second, "")[:-3],
        ]
        for side, figures in (("read", tenant.read_us), ("write", tenant.write_us)):
            if figures is not None:
                times = (getattr(figures, name.replace(".", "_")) for name in names)
                listing.add_row(*head, side, *map(format_time, times))
                head = [""] * len(head)
        if head[0]:
            listing.add_row(*head, "", *["-"] * len(names))
    show(out, listing)
