"""``flashgc trace from-fio``: the workload of a job file of fio."""

from __future__ import annotations

from pathlib import Path

import click

from flashgc.command.declaring import command
from flashgc.command.entrance import INTERRUPTED, OK


@command(name="from-fio")
@click.argument("job", metavar="JOB.fio", type=click.Path(path_type=Path))
def from_fio(
    job: Path,
    section: str | None,
    capacity: str | None,
    near: bool,
    target: Path | None,
    requests: str,
    page_size: str,
    interval: str,
    seed: str,
    as_json: bool,
    quiet: bool,
) -> int:
    """Print the command with the workload of a job file of fio, or write its trace.

    Each line of standard error names a setting that means something else here, or nothing.
    If fio's requests would have another distribution, the exit code is 2.

    Options:
      --section NAME
          Only this job of the file.
      --capacity SIZE
          Size of the device, if the job file does not say it.
      --near
          Take the nearest workload where no generator has fio's distribution.
      --output, -o FILE as target
          Write a trace instead: .csv or .flashgc, perhaps followed by .zst or .gz.
      --requests N
          Number of requests of the trace. [default: 1000000]
      --page-size SIZE
          Size of a page, for the space of the trace. [default: 4KiB]
      --interval NS
          Nanoseconds between requests of the trace. [default: 1000]
      --seed N
          Seed of the trace's generator. [default: 1]
      --json
      --quiet

    Examples:
      flashgc trace from-fio jesd219.fio
      flashgc trace from-fio jesd219.fio --capacity 1GiB -o jesd219.flashgc
    """
    from flashgc._core import ConfigError, Control, check
    from flashgc._documents import dumps
    from flashgc.command.options import FLAGS
    from flashgc.fio.plans import plan
    from flashgc.terminal.progress import Bar
    from flashgc.terminal.render import warn
    from flashgc.traces import synthesized
    from flashgc.units import (
        format_count,
        format_size,
        parse_count,
        parse_page_size,
        parse_size,
    )

    try:
        text = job.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ConfigError(f"{job}: cannot be read: {reason}") from None
    given = None if capacity is None else parse_size(capacity, "--capacity")
    job_plan = plan(text, str(job), section=section, capacity=given)
    if not as_json:
        for note in job_plan.notes:
            warn(note.line(), quiet=quiet and not note.changes)
    if job_plan.changes and not near:
        first = job_plan.changes[0]
        raise ConfigError(
            f"{first.place}: {first.key}: fio's requests would have another distribution: "
            f"{first.text}; hint: --near takes the nearest workload"
        )
    check("timed_source", job_plan.workload)
    if target is None:
        click.echo(dumps(job_plan.to_dict()) if as_json else job_plan.command())
        return OK
    if job_plan.capacity is None:
        raise ConfigError(f"{job}: a trace needs the size of the device; hint: --capacity SIZE")
    bytes_of_page = parse_page_size(page_size, "--page-size")
    numbers = {
        "pages": job_plan.capacity // bytes_of_page,
        "requests": parse_count(requests, "--requests"),
        "interval_ns": parse_count(interval, "--interval"),
        "seed": parse_count(seed, "--seed"),
    }
    places = {**FLAGS, "interval_ns": "--interval"}
    control = Control()
    with Bar(0, quiet=quiet) as bar:
        synthesized(
            job_plan.workload,
            target,
            numbers,
            places,
            page_size=bytes_of_page,
            progress=bar,
            control=control,
        )
    if as_json:
        click.echo(dumps(job_plan.to_dict()))
    else:
        length = format_size(target.stat().st_size)
        click.echo(f"{target}: {format_count(numbers['requests'])} requests, {length}")
    return INTERRUPTED if control.cancelled else OK
