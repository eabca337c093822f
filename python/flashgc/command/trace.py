"""``flashgc trace``: statistics, conversion, synthetic traces, recordings, and lists of formats."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from flashgc._core import ConfigError, Control, TraceError, check
from flashgc._documents import dumps
from flashgc.command.common import F, complete
from flashgc.command.declaring import command
from flashgc.command.entrance import INTERRUPTED, OK, Suggesting
from flashgc.command.options import FLAGS, help_text
from flashgc.options import PATHS, choices
from flashgc.registry import trace_formats, trace_layouts
from flashgc.terminal.progress import Bar
from flashgc.terminal.render import LEFT, console, facts, show, table, warn
from flashgc.units import format_count, format_size, parse_count

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
    """The options on how a trace is read, as in ``run`` and ``compare``."""

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


@command(
    cls=Suggesting,
    settings={
        "lazy": {
            "from-fio": "flashgc.command.from_fio:from_fio",
            "record": "flashgc.command.record:record",
        }
    },
)
def trace() -> None:
    """Look at, convert, make and record traces."""


def _pagings() -> tuple[str, ...]:
    """The possible words of ``--paging``."""
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
    from flashgc.command.show.trace import show_stat
    from flashgc.traces import counted, evidence

    control = Control()
    paged = {key: options.pop(key) for key in ("page_size", "paging")}
    lines = evidence(path, options, FLAGS, control=control) if explain else ()
    if not as_json:
        # The evidence comes first, since it is most useful for a file that is then refused.
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
        click.echo(dumps(document))
    else:
        show_stat(trace_stat)
    if trace_stat.skipped_lines:
        warn(left_out(trace_stat.skipped_lines), quiet=quiet)
    for note in trace_stat.notes:
        warn(note, quiet=quiet)
    return OK


def show_evidence(lines: Iterable[str], *, is_error: bool) -> None:
    """Print the evidence for and against formats."""
    for sentence in lines:
        click.echo(f"evidence: {sentence}", err=is_error)


def left_out(lines: int) -> str:
    """Return a sentence on the number of bad lines."""
    return "1 bad line was left out" if lines == 1 else f"{lines} bad lines were left out"


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
    from flashgc.traces import converted

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
    from flashgc.traces import synthesized

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
        synthesized(
            workload, target, numbers, places, page_size=page_size, progress=bar, control=control
        )
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
