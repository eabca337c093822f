"""``flashgc identify``: finds the garbage collection of a real drive."""

from __future__ import annotations

from typing import Any

import click

from flashgc._core import ConfigError
from flashgc.command.declaring import command
from flashgc.command.output import Output


def _error(_context: Any, _parameter: Any, value: str) -> float:
    from flashgc.units import parse_share

    try:
        share = parse_share(value)
    except ConfigError as fault:
        raise ConfigError(f"--error: {fault}") from None
    if not 0 < share < 1:
        raise ConfigError(f"--error: found {value}, expected above 0% and below 100%; hint: 2%")
    return share


@command(error={"callback": _error, "type": str})
@click.argument("measurements", type=click.Path())
def identify(
    measurements: str,
    drive: tuple[str, ...],
    relative: bool,
    same_hardware: bool,
    hold_out: bool,
    what_if: tuple[str, ...],
    scheme: tuple[str, ...],
    error: float,
    quick: bool,
    blocks: int | None,
    cache: str,
    jobs: int,
    output: Output,
) -> int:
    r"""Find the garbage collection of a drive whose write amplification was measured.

    MEASUREMENTS is a CSV file. The command simulates every scheme (a victim policy with a write
    frontier, and perhaps a placement) on the workloads of the file, with many spare factors. It
    ranks the schemes by their error over the curve. It says which schemes the measurement cannot
    tell apart, which workload would, and how often a scheme outside the list looks like one of it.

    Options:
      --drive NAME
          Identify this drive of the file. Repeat for several.  [default: all of them]
      --relative
          Compare only the shape: each curve may be multiplied by a factor.
      --same-hardware
          Find one scheme for all drives of the file, with a spare factor for each.
      --hold-out
          Predict each point from all others.
      --what-if CHANGE
          Predict the drive with a change: spare=+5%, spare=20%, a scheme, or both. Repeat for
          several.
      --scheme SCHEME
          Try only this victim policy, frontier and placement, with blanks between them; N/16
          stands for a part of the blocks. Repeat for several.  [default: 60 of them]
      --error SHARE
          Relative error of each measurement that gives none.  [default: 2%]
      --quick
          Simulate a smaller drive, in about a minute.
      --blocks N
          Blocks of the simulated drive.  [default: 512, and the best with 256 to 2048 too]
      --cache DIR
          Folder for finished simulations.  [default: flashgc-identify]
      --jobs
      --plot
      --json
      --out
      --quiet

    Examples:
      flashgc identify drive.csv
      flashgc identify drive.csv --hold-out --plot drive.svg
      flashgc identify drive.csv --what-if spare=+5% --what-if "cost-benefit pool"
      flashgc identify two-drives.csv --same-hardware
      flashgc identify drive.csv --scheme "greedy mixed" --scheme "fifo pool"

    \b
    A row of MEASUREMENTS.csv is a workload and its write amplification:
      workload,write_amplification
      uniform,2.22
      80/20,2.51
      zipf:theta=0.8,2.49

    To go on after a stop, give the same command again.
    """
    from flashgc.command.ended import code_of
    from flashgc.command.show.identify import show_identification
    from flashgc.studies import plot
    from flashgc.studies.identifying.identify import identify as perform
    from flashgc.terminal.progress import Bars
    from flashgc.terminal.render import warn

    if not cache:
        raise ConfigError("--cache: the name is empty; hint: give a folder")
    try:
        with Bars(quiet=output.quiet) as bars:
            identification = perform(
                measurements,
                drive=drive,
                relative=relative,
                same_hardware=same_hardware,
                hold_out=hold_out,
                what_if=what_if,
                scheme=scheme,
                error=error,
                quick=quick,
                blocks=blocks,
                cache=cache,
                jobs=jobs,
                progress=bars.show,
            )
    except (FileExistsError, NotADirectoryError, PermissionError) as fault:
        if fault.filename is None or cache not in str(fault.filename):
            raise
        raise ConfigError(f"--cache: {cache}: {fault.strerror}; hint: another folder") from None
    if identification.columns_left_out and not output.quiet:
        columns = ", ".join(f"'{name}'" for name in identification.columns_left_out)
        click.echo(f"note: columns that are not used are left out: {columns}", err=True)
    if identification.lines_left_out and not output.quiet:
        lines = ", ".join(identification.lines_left_out)
        click.echo(
            f"note: lines whose pattern is no point of a curve are left out: {lines}", err=True
        )
    output.give(identification, show_identification)
    if identification.unkept is not None:
        warn(f"simulations are not kept: {identification.unkept}", quiet=output.quiet)
    code = code_of(identification.interrupted, quiet=output.quiet)
    measured = any(drive.ranking for drive in identification.drives)
    output.draw(lambda: plot.identified(identification), measured=measured)
    return code
