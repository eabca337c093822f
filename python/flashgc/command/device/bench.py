"""``flashgc device bench``: a command with many settings, and the cost per unit of its work."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flashgc import _files
from flashgc._core import ConfigError, DriveError, suggest
from flashgc._documents import dumps
from flashgc.command.declaring import command
from flashgc.command.entrance import FAILED, INTERRUPTED, OK, fail
from flashgc.terminal.render import LEFT, RIGHT, console, show, table
from flashgc.units import parse_share

if TYPE_CHECKING:
    from flashgc.device.benching import Bench, Folder, Outcome, Run
    from flashgc.device.benching.budget import Baseline, Compared, Missed, Wanted
    from flashgc.terminal.render import AnyTable, Console

#: The exit code if a budget was missed, or a figure is worse than that of the baseline.
MISSED = 3

#: Files in the folder of a bench: its document, its page and its picture.
DOCUMENT, PAGE, PICTURE = "bench.json", "page.html", "cells.svg"

#: The figures in the second table of the output.
COSTS = ("units_per_second", "host_bytes_per_unit", "write_amplification", "write_p99")


@command()
@click.argument("file", type=click.Path(path_type=Path))
def bench(
    file: Path,
    out: Path | None,
    limits: tuple[str, ...],
    baseline: Path | None,
    tolerance: str,
    figures: tuple[str, ...],
    against: str | None,
    summary: Path | None,
    resume: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run the command of FILE in all its settings, and say what a unit of its work costs.

    FILE is a TOML file with a command, the pattern that finds the units of its work in what it
    prints, and the settings that vary: those of the command and those of the drive.

    Options:
      --out DIR
          Keep runs, drives, page and document in DIR. [default: FILE without .toml, and
          .bench]
      --wanted LIMIT as limits
          Limit that the mean of a figure must keep in every cell:
          'flash_bytes_per_unit<20KiB', 'write_p99<=2ms'; or in some: 'victim=greedy:
          write_amplification<1.5'. Repeat for several.
      --baseline FILE
          Compare with the JSON document of an earlier bench.
      --tolerance SHARE
          Change to the worse that --baseline allows. [default: 2%]
      --figure NAME as figures
          Figure that --baseline compares; repeat for several. [default: flash_bytes_per_unit,
          host_bytes_per_unit and write_amplification, which depend little on the machine's
          speed]
      --against CELL
          Compare all cells with this one: its number in the table, or its settings, such as
          'victim=greedy size=4096'. [default: against in FILE, or the first]
      --summary FILE
          Append a summary in Markdown to FILE, such as $GITHUB_STEP_SUMMARY.
      --resume/--no-resume
          Use the runs that an earlier call finished, or run all again. [default: --resume]
      --json
      --quiet

    Examples:
      flashgc device bench sqlite.toml
      flashgc device bench sqlite.toml --wanted 'flash_bytes_per_unit<20KiB'
      flashgc device bench sqlite.toml --json >baseline.json
      flashgc device bench sqlite.toml --baseline baseline.json --tolerance 5%
      flashgc device bench sqlite.toml --against "page_size=16384 autocheckpoint=4MiB"

    A second call goes on where the first one stopped. Exit codes: 0; 1 if a run
    failed; 2 for bad input; 3 if a budget was missed or a figure is worse than the
    baseline's; 130 if it was stopped. Needs root, FUSE and loop devices.
    """
    from flashgc.command.show.findings import warn_each
    from flashgc.device import benching
    from flashgc.device.benching.budget import Baseline, check

    read = benching.read(file)
    if against is not None:
        places = {key: place for key, place in read.places.items() if key != "bench.against"}
        read = replace(read, against=against, places=places)
    wanted = [benching.wanted(text) for text in limits]
    before = None if baseline is None else Baseline.read(baseline)
    allowed, judged = _tolerance(tolerance), _figures(figures)
    runs = benching.order(read)
    folder = benching.Folder.make(out or file.with_suffix(".bench"))
    check(_outcome(read, runs, folder), wanted, before)
    code = _run(read, runs, folder, resume=resume, quiet=quiet)
    done = _outcome(read, runs, folder)
    missed: list[Missed] = []
    compared = None
    if not done.missing:
        missed = list(benching.missed(done, wanted))
        compared = _compared(done, before, judged, allowed)
        missed += [] if compared is None else compared.worse
    _write(done, folder, missed)
    if summary is not None:
        _append(summary, done, wanted, missed, compared)
    _give(done, folder, as_json=as_json)
    warn_each(done.findings, quiet=quiet)
    _say(missed, compared, quiet=quiet)
    return code or (MISSED if missed else OK)


def _tolerance(text: str) -> float:
    share = parse_share(text, "--tolerance")
    if not 0 <= share < 1:
        raise ConfigError(f"--tolerance: found {text}, expected 0% to below 100%; hint: 2%")
    return share


def _figures(names: Sequence[str]) -> Sequence[str]:
    from flashgc.device.benching import FIGURES
    from flashgc.device.benching.budget import JUDGED

    for name in names:
        if name not in FIGURES:
            hint = suggest(name, list(FIGURES))
            raise ConfigError(f"--figure: there is no figure '{name}'; hint: {hint}")
    return names or JUDGED


def _compared(
    done: Outcome, before: Baseline | None, judged: Sequence[str], allowed: float
) -> Compared | None:
    from flashgc.device import benching

    return None if before is None else benching.against(done, before, judged, allowed)


def _run(bench: Bench, runs: list[Run], folder: Folder, *, resume: bool, quiet: bool) -> int:
    """Execute the runs that are not finished, and return the exit code."""
    from flashgc.device.benching import StoppedError
    from flashgc.device.benching.running import stops

    if not resume:
        folder.forget(runs)
    finished = folder.all_kept(runs)
    to_do = [run for run in runs if run.name not in finished]
    if finished and not quiet:
        rest = f"{len(to_do)} to go" if to_do else "nothing to run"
        click.echo(f"{len(finished)} of {len(runs)} runs are in {folder.path}: {rest}", err=True)
    try:
        with stops() as came:
            return _each(bench, runs, to_do, folder, came, quiet=quiet)
    except (StoppedError, KeyboardInterrupt):
        return fail("interrupted", INTERRUPTED)


def _each(
    bench: Bench,
    runs: list[Run],
    to_do: list[Run],
    folder: Folder,
    came: Callable[[], bool],
    *,
    quiet: bool,
) -> int:
    """Execute each run in ``to_do``, and write the files of the bench after each of them."""
    from flashgc.device import benching
    from flashgc.device.benching.progress import Countdown

    runner = benching.Runner(bench, folder, came)
    if to_do:
        runner.check([run for run in runs if run.repeat == 0])
    with Countdown(len(to_do), bench.unit, quiet=quiet) as bar:
        for at, run in enumerate(to_do):
            bar.begins(at, run)
            began = time.monotonic()
            try:
                figures = runner.run(run)
            except DriveError as error:
                return fail(f"{run.cell.name}, repeat {run.repeat + 1}: {error}", FAILED)
            folder.keep(run, figures)
            bar.ended(at, run, figures, time.monotonic() - began)
            _write(_outcome(bench, runs, folder), folder, [])
    return OK


def _outcome(bench: Bench, runs: list[Run], folder: Folder) -> Outcome:
    from flashgc.device import benching
    from flashgc.device.benching.describe import findings

    return benching.outcome(bench, runs, folder.all_kept(runs), say=findings)


def _write(done: Outcome, folder: Folder, missed: Sequence[Missed]) -> None:
    """Writes the document, the page and the picture."""
    from flashgc.device.benching.page import page
    from flashgc.device.benching.picture import picture

    _files.write(str(folder.path / DOCUMENT), dumps(done.to_dict()) + "\n")
    _files.write(str(folder.path / PAGE), page(done, missed))
    _files.write(str(folder.path / PICTURE), picture(done))


def _append(
    file: Path,
    done: Outcome,
    wanted: Sequence[Wanted],
    missed: Sequence[Missed],
    compared: Compared | None,
) -> None:
    from flashgc.device.benching.summary import summary

    with file.open("a", encoding="utf-8") as out:
        out.write(summary(done, wanted, missed, compared))


def _give(done: Outcome, folder: Folder, *, as_json: bool) -> None:
    if as_json:
        click.echo(dumps(done.to_dict()))
        return
    out = console()
    if not any(cell.runs for cell in done.cells):
        return
    out.print(f"means of {done.bench.repeats} repeats, ± half the 95% interval:")
    show(out, _table(done, out))
    out.print("")
    show(out, _costs(done, out))
    out.print(f"\npage: {folder.path / PAGE}", markup=False, soft_wrap=True)


def _table(done: Outcome, out: Console) -> AnyTable:
    """A table of the flash bytes of each cell, compared with those of the reference cell."""
    from flashgc.device.benching import texts
    from flashgc.device.benching.outcome import (
        COMPARED,
        change_in_words,
        in_words,
        noise_in_words,
        one_of,
    )

    names = [*done.cells[0].cell.varied]
    listing = table(
        out,
        (
            ("", RIGHT),
            *((name, LEFT) for name in names),
            (f"flash/{one_of(done.bench.unit)}", RIGHT),
            (f"against {done.against}", RIGHT),
            ("", LEFT),
        ),
    )
    for cell in done.cells:
        change = done.change(cell)
        listing.add_row(
            str(cell.cell.number + 1),
            *(texts.shown(value) for value in cell.cell.varied.values()),
            in_words(COMPARED, cell.mean(COMPARED)),
            change_in_words(change),
            noise_in_words(change),
        )
    return listing


def _costs(done: Outcome, out: Console) -> AnyTable:
    """A table of the figures :data:`COSTS` of each cell; a row begins with the cell's number."""
    from flashgc.device.benching.outcome import in_words, one_of

    unit = done.bench.unit
    heads = ("", f"{unit}/s", f"host/{one_of(unit)}", "amplification", "write p99")
    listing = table(out, [(head, RIGHT) for head in heads])
    for cell in done.cells:
        figures = [in_words(name, cell.mean(name)) for name in COSTS]
        listing.add_row(str(cell.cell.number + 1), *figures)
    return listing


def _say(missed: Sequence[Missed], compared: Compared | None, *, quiet: bool) -> None:
    """Print each missed budget, and each reason why a figure was not compared."""
    for claim in missed:
        with contextlib.suppress(OSError):
            click.echo(f"missed: {claim.cell}: {claim.claim}", err=True)
    if compared is not None and not quiet:
        for reason in compared.unknown:
            click.echo(f"not compared: {reason}", err=True)
