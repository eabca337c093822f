"""The statistics of a trace as text for people."""

from __future__ import annotations

from collections.abc import Sequence

from flashgc.results import HostStat, ThreadStat, TraceStat, WorkingSets
from flashgc.terminal.render import LEFT, RIGHT, console, facts, show, sparkline, table, unicode
from flashgc.units import format_count as n
from flashgc.units import format_duration, format_share, format_size, format_time


def show_stat(stat: TraceStat) -> None:
    """Print the statistics of a trace."""
    out = console()
    page = stat.page_size
    rows = [
        ("format", f"{stat.format}, compression: {stat.compression}"),
        (
            "requests",
            f"{n(stat.requests)}: {n(stat.writes)} writes ({format_share(stat.write_share)}), "
            f"{n(stat.reads)} reads, {n(stat.discards)} discards"
            + (f", and {n(stat.dirty)} dirty events" if stat.dirty else "")
            + (f", and {n(stat.clean)} clean events" if stat.clean else "")
            + (f", and {n(stat.flushes)} flushes" if stat.flushes else ""),
        ),
        (
            "bytes",
            f"{format_size(stat.written_bytes)} written, {format_size(stat.read_bytes)} read, "
            f"{format_size(stat.discarded_bytes)} discarded",
        ),
        (
            "time",
            f"{format_duration(stat.duration_seconds)} on {n(stat.devices)} device"
            + "s" * (stat.devices != 1)
            + steps_back(stat),
        ),
        (
            "pages",
            f"{n(stat.pages)} distinct of {format_size(page)} ({format_size(stat.pages * page)}): "
            f"{n(stat.pages_written)} written, {n(stat.pages_read)} read, "
            f"{format_share(stat.read_only_percent / 100, 2)} only read",
        ),
        *recorded_from(stat),
        (
            "page writes",
            f"{n(stat.page_writes)} of {n(stat.page_requests)} page requests "
            f"({format_share(stat.page_write_percent / 100, 2)}): "
            f"every written page {stat.overwrite:.2f} times on average"
            + ("" if stat.working_set else short_writes(stat.short_write_share)),
        ),
        (
            "locality",
            ", ".join(
                f"{share}%{' of requests' if share == 20 else ''} on {format_share(pages / 100, 2)}"
                for share, pages in zip((20, 40, 60, 80), stat.locality_percent, strict=True)
            )
            + " of the pages",
        ),
    ]
    if stat.working_set is not None:
        rows = [row for row in rows if row[0] not in ("bytes", "time")]
        rows[1:2] = reference_rows(stat, stat.working_set)
    rows.insert(1, ("columns", stat.columns))
    show(out, facts(out, rows))
    if stat.answers:
        out.print()
        show_answers(stat)
    if stat.hosts:
        out.print()
        show_senders(("host", "queue"), stat.hosts)
    if stat.threads:
        out.print()
        show_senders(("thread",), stat.threads)
    if stat.streams:
        out.print()
        show_streams(stat)


def steps_back(stat: TraceStat) -> str:
    """Return a text with the number of steps back in time and the longest; empty without any."""
    if not stat.times_back:
        return ""
    times = "once" if stat.times_back == 1 else f"{n(stat.times_back)} times"
    return f"; times go back {times}, by up to {format_duration(stat.furthest_back_seconds)}"


def show_answers(stat: TraceStat) -> None:
    """Print the response times in the trace."""
    out = console()
    names = ("answers", "mean", "p50", "p99", "max")
    listing = table(out, [("until the answer", LEFT), *((name, RIGHT) for name in names)])
    for answer in stat.answers:
        times = (answer.mean_us, answer.p50_us, answer.p99_us, answer.max_us)
        listing.add_row(answer.kind, n(answer.requests), *map(format_time, times))
    show(out, listing)


def show_senders(keys: Sequence[str], senders: Sequence[HostStat | ThreadStat]) -> None:
    """Print the counts of requests by what sent them, whose numbers are the fields ``keys``."""
    out = console()
    names = (*keys, "requests", "writes", "written", "flushes")
    listing = table(out, [(name, RIGHT) for name in names])
    for sender in senders:
        numbers = (*(str(getattr(sender, key)) for key in keys), n(sender.requests))
        written = format_size(sender.written_bytes)
        listing.add_row(*numbers, n(sender.writes), written, n(sender.flushes))
    show(out, listing)


def show_streams(stat: TraceStat) -> None:
    """Print the counts of requests by stream."""
    out = console()
    counts = [(name, RIGHT) for name in ("requests", "writes", "written")]
    listing = table(out, [("stream", LEFT), *counts])
    for stream in stat.streams:
        name = "none" if stream.stream is None else str(stream.stream)
        listing.add_row(
            name, n(stream.requests), n(stream.writes), format_size(stream.written_bytes)
        )
    show(out, listing)


def recorded_from(stat: TraceStat) -> list[tuple[str, str]]:
    """A row with the capacity of the drive on which a trace was recorded, if the file has it."""
    space = stat.address_space_bytes
    if space is None:
        return []
    pages = n(space // stat.page_size)
    return [("recorded", f"from a drive of {format_size(space)} ({pages} logical pages)")]


def short_writes(share: float) -> str:
    """Return a phrase on page writes that cover only a part of their page; empty without any."""
    return f"; {format_share(share, 2)} of them less than a page" if share else ""


def reference_rows(stat: TraceStat, working_set: WorkingSets) -> list[tuple[str, str]]:
    """Return the rows on memory references, which replace the rows on requests."""
    counts = (
        f"{n(stat.requests)}: {n(stat.writes)} writes ({format_share(stat.write_share)}), "
        f"{n(stat.reads)} reads"
    )
    recorded = stat.recorded
    rows = [("references", counts)]
    if recorded:
        rows.append(
            (
                "recorded",
                f"from {n(recorded.accesses)} accesses, by pages of "
                f"{format_size(recorded.page_size)}, for memories of at least "
                f"{n(max(recorded.filter, 1))} pages",
            )
        )
    pages = working_set.pages
    size, window = stat.page_size, working_set.window
    line = unicode(console(), sparkline(list(pages), len(pages)), "")
    rows.append(
        (
            "working set",
            f"{format_size(size * sum(pages) / len(pages))} on average, "
            f"{format_size(size * max(pages))} at most in {n(window)} references  {line}".rstrip(),
        )
    )
    return rows
