"""``flashgc trace record``: records a program's memory references as a trace."""

from __future__ import annotations

from pathlib import Path

import click

from flashgc.command.declaring import command
from flashgc.command.entrance import INTERRUPTED, OK


@command(context={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("program", nargs=-1, required=True, metavar="PROGRAM [ARGUMENT]...")
def record(
    target: Path,
    page_size: str,
    filter_: str,
    accesses: str | None,
    as_json: bool,
    quiet: bool,
    program: tuple[str, ...],
) -> int:
    """Record the pages of memory that PROGRAM reads and writes.

    Instruction fetches and loads are reads, stores and modifications are writes.

    Options:
      --output, -o FILE as target
          The trace to write: .pages, optionally followed by .zst or .gz.
      --page-size SIZE
          Size of a page. [default: 2KiB]
      --filter PAGES as filter_
          Leave out references that make no difference to an LRU memory of at least this many
          pages; 0 keeps all. [default: 64]
      --accesses N
          Stop after this many accesses. [default: the program's end]
      --json
      --quiet

    Examples:
      flashgc trace record -o sort.pages.zst -- sort /usr/share/dict/words
      flashgc trace record -o pdf.pages --page-size 4KiB -- pdftoppm in.pdf out

    Valgrind must be installed. The program runs some hundred times slower. Programs
    that it starts are not recorded. Ctrl-C ends both and keeps the trace so far.
    """
    from flashgc._core import ConfigError, Control
    from flashgc.recording import describe_exit, trace_record
    from flashgc.terminal.progress import Bar
    from flashgc.terminal.render import warn
    from flashgc.units import format_count, format_size, parse_count, parse_page_size

    name = target.name.removesuffix(".zst").removesuffix(".gz")
    if not name.endswith(".pages"):
        raise ConfigError(
            f"--output: found '{target}', expected a name that ends in .pages, then nothing, .zst "
            "or .gz; hint: trace.pages.zst, for example"
        )
    control = Control()
    with Bar(0, quiet=quiet) as bar:
        recording = trace_record(
            program,
            target,
            page_size=parse_page_size(page_size, "--page-size"),
            filter=parse_count(filter_, "--filter"),
            accesses=None if accesses is None else parse_count(accesses, "--accesses"),
            progress=bar,
            control=control,
        )
    if as_json:
        click.echo(recording.to_json())
    else:
        click.echo(
            f"{target}: {format_count(recording.references)} references of "
            f"{format_count(recording.accesses)} accesses, {format_size(target.stat().st_size)}"
        )
    if control.cancelled:
        warn("stopped before the program ended; the trace holds the references so far", quiet=quiet)
        return INTERRUPTED
    if recording.skipped:
        warn(f"{recording.skipped} lines of Valgrind's output were not accesses", quiet=quiet)
    if recording.exit_code:
        warn(f"the program ended with {describe_exit(recording.exit_code)}", quiet=quiet)
    return OK
