"""Shows the figures of a command on a drive in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashgc.command.show.timed import steadiness
from flashgc.device import past, realtime
from flashgc.device.execution import parts_of
from flashgc.device.execution.written import in_words
from flashgc.device.options_of import command_of, question_of
from flashgc.device.watch import spare_of
from flashgc.results.result import verdict
from flashgc.terminal.render import LEFT, RIGHT, console, facts, sparkline, table
from flashgc.terminal.render import show as print_
from flashgc.units import format_count as n
from flashgc.units import format_duration, format_share, format_size, format_time

if TYPE_CHECKING:
    from flashgc.device.execution import Executed
    from flashgc.device.files.outcome import ByFile
    from flashgc.device.files.streams import Streams
    from flashgc.device.replaying import Replayed

#: The percentiles shown, by their keys.
PERCENTILES = (("p50", "p50"), ("p99", "p99"), ("p999", "p99.9"), ("max", "max"))


def show(done: Executed, compared: Replayed | None, record: Path | None) -> None:
    """Print the effects of the command."""
    out = console()
    drive = done.drive
    of_drive = f"{drive['policies']['victim']}" + (
        ""
        if drive["policies"]["placement"] == "none"
        else f", placement {drive['policies']['placement']}"
    )
    overhead = _overhead(done)
    rows = [
        ("write amplification", f"{_amplification(done)}{_over_time(out, done)}"),
        ("command", f"{' '.join(done.command)}: {_ended(done.exit_code)}"),
        ("time", format_duration(done.seconds)),
        (
            "drive",
            f"{format_size(drive['capacity_bytes'])} for {done.filesystem}, of "
            f"{format_size(drive['physical_bytes'])}; {of_drive}",
        ),
        ("spare", ", ".join(spare_of(done.stat))),
        *([("past", past.in_words(done.drive["past"]))] if "past" in done.drive else []),
        ("written", _written(done)),
        ("host bytes", f"{format_size(done.host_bytes)} reached the drive{overhead}"),
        (
            "flash bytes",
            f"{format_size(done.flash_bytes)} programmed: {n(done.copied_pages)} pages copied by "
            f"{n(done.collections)} collections",
        ),
        (
            "steady",
            steadiness(verdict(done.steady, done.steadiness, done.findings), done.steadiness),
        ),
        ("erases", n(done.erases)),
        (
            "TRIM",
            f"{format_size(done.trimmed_data_bytes)} discarded that had data, of "
            f"{format_size(done.trimmed_bytes)} named",
        ),
        *_latencies(done),
        *_realtime(done),
    ]
    print_(out, facts(out, rows))
    if done.phases:
        show_phases(done)
    if done.streams is not None:
        show_streams(done.streams)
    if done.by_file is not None:
        show_files(done.by_file)
    if record is not None:
        out.print(f"\nrecorded in {record}; to replay it:", markup=False)
        written = done.stat["counters"]["host_pages_written"]
        out.print(f"  {command_of(record, drive, written)}", markup=False, soft_wrap=True)
        if "past" not in drive:  # The requests of a past have no times.
            question, how = question_of(record, drive)
            out.print(f"would suspension cut its latencies? {how}", markup=False)
            out.print(f"  {question}", markup=False, soft_wrap=True)
    if compared is not None:
        show_compared(compared)


def _amplification(done: Executed) -> str:
    """A text with the write amplification: the mean, and that at the end if it differs."""
    if done.write_amplification is None:
        return "no writes"
    if not done.collections:
        return f"{done.write_amplification:.3f}: the drive never collected, so this says nothing"
    if done.tail_amplification is None:
        return f"{done.write_amplification:.3f}"
    return f"{done.tail_amplification:.3f} at the end, {done.write_amplification:.3f} on average"


def _written(done: Executed) -> str:
    """A text with the bytes handed to the file system."""
    written = done.written
    if written.bytes is not None:
        besides = (
            f", and at most {format_size(written.stored_most)} stored into mapped files"
            if written.stored_most
            else ""
        )
        return f"{format_size(written.bytes)} handed to {done.filesystem}{besides}"
    if written.least is not None and written.most is not None:
        between = f"between {format_size(written.least)} and {format_size(written.most)}"
        return f"{between} handed to {done.filesystem}: {written.unknown}"
    known = [
        number for number in (written.cached_bytes, written.direct_bytes) if number is not None
    ]
    if known:
        return f"unknown, {format_size(sum(known))} by write calls: {written.unknown}"
    return f"unknown: {written.unknown}"


def _overhead(done: Executed) -> str:
    """A text with the bytes that reached the drive per byte written, or bounds for them."""
    if done.filesystem_overhead is not None:
        return f", {done.filesystem_overhead:.3f} for each byte written"
    least, most = done.written.least, done.written.most
    if not least or not most or done.written.bytes is not None:
        return ""
    return f", {done.host_bytes / most:.3f} to {done.host_bytes / least:.3f} for each byte written"


def _ended(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"ended by signal {-code}"


def _over_time(out: Any, done: Executed) -> str:
    """Write amplification of each part of the run, as bars."""
    if len(done.samples) < 3 or not done.copied_pages:
        return ""
    values = [programmed / host for host, programmed in parts_of(done.samples, 24)]
    return f"  {sparkline(values)}, to {max(values):.2f}" if values else ""


def _latencies(done: Executed) -> list[tuple[str, str]]:
    rows = []
    for name, latency in done.latency_us.items():
        if latency["count"]:
            text = ", ".join(f"{label} {format_time(latency[key])}" for key, label in PERCENTILES)
            rows.append((f"{name} latency", text))
    return rows


def _realtime(done: Executed) -> list[tuple[str, str]]:
    return (
        [] if done.realtime is None else [("realtime", "; ".join(realtime.in_words(done.realtime)))]
    )


def show_phases(done: Executed) -> None:
    """Print the figures of each phase."""
    out = console()
    listing = table(
        out,
        (
            ("phase", LEFT),
            ("time", RIGHT),
            ("written", RIGHT),
            ("host bytes", RIGHT),
            ("flash bytes", RIGHT),
            ("WA", RIGHT),
            ("write p99", RIGHT),
        ),
    )
    for phase in done.phases:
        writes = phase.latency_us["write"]
        listing.add_row(
            phase.name,
            format_duration(phase.seconds),
            in_words(phase.written_bytes, phase.written_least, phase.written_most),
            format_size(phase.host_bytes),
            format_size(phase.flash_bytes),
            "-" if phase.write_amplification is None else f"{phase.write_amplification:.3f}",
            format_time(writes["p99"]) if writes["count"] else "-",
        )
    out.print("\nphases, by what reached the drive in each:")
    print_(out, listing)


def show_streams(streams: Streams) -> None:
    """Print the pages written and copied for each stream."""
    out = console()
    heads = ("stream", RIGHT), ("files", LEFT), ("pages written", RIGHT), ("copied", RIGHT)
    listing = table(out, (*heads, ("WA", RIGHT)))
    for stream in streams.streams:
        listing.add_row(
            "none" if stream.stream is None else str(stream.stream),
            ", ".join(stream.patterns) or "all else",
            n(stream.written_pages),
            n(stream.copied_pages),
            "-" if stream.amplification is None else f"{stream.amplification:.3f}",
        )
    out.print(f"\nstreams of {n(streams.files)} files:", markup=False)
    print_(out, listing)


#: The maximum number of rows of the table of files.
FILES = 16


def show_files(by_file: ByFile) -> None:
    """Print which files wrote the pages, and which cause the copies."""
    out = console()
    listing = table(
        out,
        (
            ("files", LEFT),
            ("pages written", RIGHT),
            ("copied", RIGHT),
            ("share", RIGHT),
            ("WA", RIGHT),
            ("trimmed", RIGHT),
            ("mean life", RIGHT),
        ),
    )
    copies = sum(owner.copied_pages for owner in by_file.owners) or 1
    for row in by_file.rows[:FILES]:
        listing.add_row(
            row.name,
            n(row.written_pages),
            n(row.copied_pages),
            format_share(row.copied_pages / copies),
            "-" if row.amplification is None else f"{row.amplification:.2f}",
            n(row.trimmed_pages),
            "-" if row.mean_life is None else n(round(row.mean_life)),
        )
    out.print(
        "\nwho causes the copies of the command, by pattern of names "
        "(a life in pages that the host wrote):"
    )
    print_(out, listing)
    if rest := by_file.rows[FILES:]:
        out.print(f"and {len(rest)} more, in --json", markup=False)
    handles, purity = by_file.handles, by_file.map.purity
    if purity is not None:
        which = "of the current pages lie in a block in which their owner has the most"
        out.print(f"{format_share(purity)} {which}")
    if handles is not None:
        out.print(
            f"with a placement handle for each of the {len(handles.owners)} largest, "
            f"{n(handles.copied_pages)} pages would be copied instead of {n(handles.without)}",
            markup=False,
        )


def show_compared(compared: Replayed) -> None:
    """Print the write amplification of the same writes under other policies."""
    out = console()
    # If no drive has a placement, the column is omitted.
    is_placed = any(replay.placement != "none" for replay in compared.ranking)
    listing = table(
        out,
        (
            ("rank", RIGHT),
            ("policy", LEFT),
            *((("placement", LEFT),) if is_placed else ()),
            ("write amplification", RIGHT),
            ("pages copied", RIGHT),
            ("erases", RIGHT),
        ),
    )
    for rank, replay in enumerate(compared.ranking, start=1):
        suffix = " (served)" if replay.was_served else ""
        listing.add_row(
            str(rank),
            f"{replay.policy}{suffix}",
            *((replay.placement,) if is_placed else ()),
            f"{replay.write_amplification:.3f}",
            n(replay.copied_pages),
            n(replay.erases),
        )
    out.print("\nthe same writes, those of mkfs and umount among them, on simulated drives:")
    print_(out, listing)
