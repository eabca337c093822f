"""``flashgc trace``: statistics, conversion, traces made by generators, formats."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flashgc.command.common import F, complete
from flashgc.command.declaring import command
from flashgc.command.entrance import INTERRUPTED, OK, Suggesting
from flashgc.command.options import FLAGS, help_text
from flashgc.options import PATHS, choices

if TYPE_CHECKING:
    from flashgc.results import TraceStat, WorkingSets

READ = (
    "workload.format",
    "workload.on_bad_line",
    "workload.devices",
    "workload.blkparse_action",
    "workload.columns",
    "workload.layout",
    "workload.disorder",
    "workload.relations",
)
PAGED = ("drive.page_size", "workload.alignment_offset")


def _reading(*paths: str) -> Callable[[F], F]:
    """The options of reading a trace, as ``run`` and ``compare`` have them."""

    def decorate(command: F) -> F:
        for path in reversed(paths):
            option = PATHS[path]
            command = click.option(
                f"--{option.flag}",
                option.key,
                metavar=option.metavar,
                help=help_text(option, compare=False),
                shell_complete=complete(functools.partial(choices, option)),
            )(command)
        return command

    return decorate


@command(cls=Suggesting, settings={"lazy": {"record": "flashgc.command.record:record"}})
def trace() -> None:
    """Look at, convert, make and record traces."""


def _pagings() -> tuple[str, ...]:
    """The words of ``--paging``."""
    from typing import get_args

    from flashgc.traces import AllPages

    return get_args(AllPages)


@command(group=trace, paging=_pagings)
@click.argument("path", type=click.Path(path_type=Path))
@_reading(*READ, *PAGED)
def stat(path: Path, explain: bool, as_json: bool, quiet: bool, **options: Any) -> int:
    """Count what a trace has: requests, pages, overwrites, locality.

    Options:
      --paging covered|rounded
          Pages of a request that does not begin and end at page boundaries: all that it
          touches, or as many as its size needs. [default: covered]
      --explain
          Show what speaks for and against each format.
      --json
      --quiet

    Examples:
      flashgc trace stat TRACE.csv.gz
      flashgc trace stat TRACE --format spc --page-size 16KiB --json
    """
    from flashgc._core import Control, TraceError
    from flashgc._documents import dumps
    from flashgc.command.show.results import deliver
    from flashgc.terminal.progress import Bar
    from flashgc.terminal.render import warn
    from flashgc.traces import counted, evidence

    control = Control()
    paged = {key: options.pop(key) for key in ("page_size", "paging")}
    lines = evidence(path, options, FLAGS, control=control) if explain else ()
    if not as_json:
        # Before the trace is read: a file that is refused needs it most.
        show_evidence(lines, is_error=False)
    try:
        with Bar(0, quiet=quiet) as bar:
            trace_stat = counted(path, options, FLAGS, progress=bar, control=control, **paged)
    except TraceError:
        if as_json:
            show_evidence(lines, is_error=True)
        raise
    if as_json:
        document = {**trace_stat.to_dict(), "evidence": lines} if explain else trace_stat.to_dict()
        deliver(dumps(document), as_json=True, out=None)
    else:
        show_stat(trace_stat)
    if trace_stat.skipped_lines:
        warn(left_out(trace_stat.skipped_lines), quiet=quiet)
    for note in trace_stat.notes:
        warn(note, quiet=quiet)
    return OK


def show_evidence(lines: Iterable[str], *, is_error: bool) -> None:
    """Prints the evidence for and against formats."""
    for sentence in lines:
        click.echo(f"evidence: {sentence}", err=is_error)


def left_out(lines: int) -> str:
    """Return the sentence on bad lines."""
    return "1 bad line was left out" if lines == 1 else f"{lines} bad lines were left out"


def show_stat(stat: TraceStat) -> None:
    """Prints the statistics of a trace."""
    from flashgc.terminal.render import console, facts, show
    from flashgc.units import format_count as n
    from flashgc.units import format_duration, format_share, format_size

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
        show_hosts(stat)
    if stat.streams:
        out.print()
        show_streams(stat)


def steps_back(stat: TraceStat) -> str:
    """Returns the count of steps back in time and the longest, or nothing."""
    from flashgc.units import format_count as n
    from flashgc.units import format_duration

    if not stat.times_back:
        return ""
    times = "once" if stat.times_back == 1 else f"{n(stat.times_back)} times"
    return f"; times go back {times}, by up to {format_duration(stat.furthest_back_seconds)}"


def show_answers(stat: TraceStat) -> None:
    """Prints how long the host waited for answers."""
    from flashgc.terminal.render import LEFT, RIGHT, console, show, table
    from flashgc.units import format_count as n
    from flashgc.units import format_time

    out = console()
    names = ("answers", "mean", "p50", "p99", "max")
    listing = table(out, [("until the answer", LEFT), *((name, RIGHT) for name in names)])
    for answer in stat.answers:
        times = (answer.mean_us, answer.p50_us, answer.p99_us, answer.max_us)
        listing.add_row(answer.kind, n(answer.requests), *map(format_time, times))
    show(out, listing)


def show_hosts(stat: TraceStat) -> None:
    """Prints what each queue of each host asked."""
    from flashgc.terminal.render import RIGHT, console, show, table
    from flashgc.units import format_count as n
    from flashgc.units import format_size

    out = console()
    names = ("host", "queue", "requests", "writes", "written", "flushes")
    listing = table(out, [(name, RIGHT) for name in names])
    for host in stat.hosts:
        numbers = (host.host, host.queue, n(host.requests), n(host.writes))
        listing.add_row(*map(str, numbers), format_size(host.written_bytes), n(host.flushes))
    show(out, listing)


def show_streams(stat: TraceStat) -> None:
    """Prints what has which stream."""
    from flashgc.terminal.render import LEFT, RIGHT, console, show, table
    from flashgc.units import format_count as n
    from flashgc.units import format_size

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
    """The drive that a trace was recorded from, where the file says how large it is."""
    from flashgc.units import format_count as n
    from flashgc.units import format_size

    space = stat.address_space_bytes
    if space is None:
        return []
    pages = n(space // stat.page_size)
    return [("recorded", f"from a drive of {format_size(space)} ({pages} logical pages)")]


def short_writes(share: float) -> str:
    """Return the words on page writes that do not cover their page, if there are any."""
    from flashgc.units import format_share

    return f"; {format_share(share, 2)} of them less than a page" if share else ""


def reference_rows(stat: TraceStat, working_set: WorkingSets) -> list[tuple[str, str]]:
    """Return the rows on references to memory, which stand in place of requests."""
    from flashgc.terminal.render import console, sparkline, unicode
    from flashgc.units import format_count as n
    from flashgc.units import format_share, format_size

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


@command(group=trace, leave_out=("drive-size", "references"))
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@_reading(*READ)
def convert(
    source: Path,
    target: Path,
    native_devices: bool,
    as_dirty: bool,
    leave_out: str | None,
    filter_: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Convert a trace to the normalised CSV or a compact binary format.

    TARGET's name chooses: .csv, .flashgc or, for references to memory, .pages;
    perhaps followed by .zst or .gz.

    Options:
      --native-devices
          Keep the device numbers of the trace; do not replace them by their ranks.
      --as-dirty
          Turn every write into a dirty event: the host has changed the page in its cache.
      --leave-out WHAT
          Copy the trace without what TARGET's format has no place for: drive-size (of the
          drive that was recorded), references (the fact that these are references to memory),
          or both with a comma.
      --page-size SIZE
          Size of a page in .pages. [default: that of a .pages SOURCE, or else 2KiB]
      --filter PAGES as filter_
          Leave out of .pages the references that make no difference to an LRU memory of at
          least this many pages. [default: that of a .pages SOURCE, or else 0]
      --json
      --quiet

    Examples:
      flashgc trace convert web_0.csv.gz web_0.flashgc.zst
      flashgc trace convert disk.blkparse trace.csv
      flashgc trace convert program.lackey.zst program.pages.zst --filter 64
      pg_waldump 000000010000000000000001 > wal.txt
      flashgc trace convert wal.txt wal.csv --as-dirty
    """
    from flashgc._core import Control
    from flashgc.terminal.progress import Bar
    from flashgc.terminal.render import warn
    from flashgc.traces import converted
    from flashgc.units import format_count, format_size, parse_count

    control = Control()
    own = {key: f"--{key.replace('_', '-')}" for key in ("native_devices", "leave_out", "filter")}
    with Bar(0, quiet=quiet) as bar:
        copy = converted(
            source,
            target,
            options,
            {**FLAGS, **own},
            native_devices=native_devices,
            as_dirty=as_dirty,
            leave_out=leave_out,
            page_size=options.pop("page_size"),
            filter=None if filter_ is None else parse_count(filter_, "--filter"),
            progress=bar,
            control=control,
        )
    if as_json:
        click.echo(copy.to_json())
    else:
        click.echo(
            f"{target}: {format_count(copy.requests)} requests from {copy.format}, "
            f"{format_size(target.stat().st_size)}"
        )
    if copy.skipped:
        warn(left_out(copy.skipped), quiet=quiet)
    for note in copy.notes:
        warn(note, quiet=quiet)
    return OK


@command(group=trace)
@click.argument("workload")
@click.argument("target", type=click.Path(path_type=Path))
def synth(
    workload: str,
    target: Path,
    pages: str,
    requests: str,
    page_size: str,
    interval: str,
    seed: str,
    quiet: bool,
) -> int:
    """Write a trace made by the generator WORKLOAD.

    TARGET's name chooses the format: .csv, .flashgc or, for references to memory,
    .pages; perhaps followed by .zst or .gz.

    Options:
      --pages N
          Logical pages.
      --requests N
          Number of requests, of one page each.
      --page-size SIZE
          Size of a page. [default: 4KiB]
      --interval NS
          Nanoseconds between requests. [default: 1000]
      --seed N
          Seed of the generator. [default: 1]
      --quiet, -q
          No progress.

    Example:
      flashgc trace synth hotcold:f=0.2,r=0.8 made.csv --pages 1e5 --requests 1e6
    """
    from flashgc._core import Control, check
    from flashgc.terminal.progress import Bar
    from flashgc.traces import made
    from flashgc.units import format_count, format_size, parse_count

    check("source", workload)
    numbers = {
        "pages": parse_count(pages, "--pages"),
        "requests": parse_count(requests, "--requests"),
        "interval_ns": parse_count(interval, "--interval"),
        "seed": parse_count(seed, "--seed"),
    }
    places = {**FLAGS, "interval_ns": "--interval"}
    control = Control()
    with Bar(0, quiet=quiet) as bar:
        made(workload, target, numbers, places, page_size=page_size, progress=bar, control=control)
    size = format_size(target.stat().st_size)
    click.echo(f"{target}: {format_count(parse_count(requests))} requests, {size}")
    return INTERRUPTED if control.cancelled else OK


@command(group=trace)
@click.argument("name", required=False)
def formats(name: str | None, as_json: bool) -> None:
    """List the trace formats that can be read, or describe one by NAME.

    Options:
      --json
    """
    import dataclasses

    from flashgc._core import check
    from flashgc._documents import dumps
    from flashgc.registry import trace_formats
    from flashgc.terminal.render import LEFT, console, facts, show, table

    chosen = trace_formats()
    if name is not None:
        check("format", name)
        chosen = tuple(format_ for format_ in chosen if format_.name == name)
    if as_json:
        click.echo(dumps([dataclasses.asdict(format_) for format_ in chosen]))
        return
    out = console()
    if name is not None:
        out.print(
            facts(out, [(key, text) for key, text in dataclasses.asdict(chosen[0]).items() if text])
        )
        return
    listing = table(out, [("name", LEFT), ("written by", LEFT)])
    for format_ in chosen:
        listing.add_row(format_.name, format_.summary)
    show(out, listing)


@command(group=trace)
@click.argument("name", required=False)
def layouts(name: str | None, as_json: bool) -> None:
    """List the layouts that ship, or print the file of NAME.

    Options:
      --json
    """
    import dataclasses

    from flashgc._core import ConfigError
    from flashgc._documents import dumps
    from flashgc.registry import trace_layouts
    from flashgc.terminal.render import LEFT, console, show, table

    chosen = trace_layouts()
    if name is not None:
        known = ", ".join(layout.name for layout in chosen)
        chosen = tuple(layout for layout in chosen if layout.name == name)
        if not chosen:
            raise ConfigError(f"unknown layout {name!r}; hint: one of {known}")
    if as_json:
        click.echo(dumps([dataclasses.asdict(layout) for layout in chosen]))
        return
    if name is not None:
        click.echo(chosen[0].text, nl=False)
        return
    out = console()
    listing = table(out, [("name", LEFT), ("written by", LEFT)])
    for layout in chosen:
        listing.add_row(layout.name, layout.program)
    show(out, listing)
