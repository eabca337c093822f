"""``flashgc sweep``: runs a grid of experiments from one file."""

from __future__ import annotations

from pathlib import Path

import click

from flashgc.command.declaring import command
from flashgc.command.entrance import OK
from flashgc.command.options import table_options
from flashgc.command.output import Output


@command()
@click.argument("grid", type=click.Path(path_type=Path))
@table_options()
def sweep(
    grid: Path,
    results: str | None,
    jobs: str,
    on: str | None,
    shard: str | None,
    retry: bool,
    dry_run: bool,
    output: Output,
) -> int:
    r"""Run every cell of a GRID of experiments, and keep every result.

    A cell whose result is kept is not run again, so after you add a value, only the new cells run.
    A cell that cannot run is listed with the reason. If a cell fails, its error is kept.

    Options:
      --results FILE
          File in which results are kept. [default: GRID with the ending .results]
      --jobs N
          Cells to run side by side; 0 runs one per core. [default: 0]
      --on ADDRESS
          Run on the workers of a Dask scheduler: dask://HOST:8786.
      --shard I/N
          Run the I-th of N parts of the cells.
      --retry
      --dry-run
          Say what would run and for how long, and run nothing.
      --out
      --json
      --quiet

    Examples:
      flashgc sweep grid.toml
      flashgc sweep grid.toml --dry-run
      flashgc sweep grid.toml --out table.csv
      flashgc sweep grid.toml --shard 3/8      # one of 8 parts, for a job array
      flashgc results merge grid.results part-*.results

    \b
    A grid is an experiment file in which any option may be a list or a range:
      [drive]
      spare = { from = "5%", to = "30%", step = "5%" }
      [gc]
      victim = ["greedy", "fifo", "d-choices:d=10"]
      [run]
      seed = [1, 2, 3]
      [[sweep.leave_out]]
      gc.victim = "fifo"
      drive.spare = "<10%"

    To go on after a stop, give the same command again.
    """
    from flashgc._core import ConfigError
    from flashgc.command.ended import at_once, code_of_cells
    from flashgc.command.show.sweep import SENTENCES, show_plan, show_swept
    from flashgc.execution import parse_jobs
    from flashgc.studies.executing import executor
    from flashgc.studies.sweep.sweep import sweep as run
    from flashgc.studies.sweep.sweep import sweep_plan
    from flashgc.terminal.progress import Bar

    if dry_run:
        show_plan(sweep_plan(grid, results=results, shard=shard, retry=retry), jobs)
        return OK
    quiet = output.quiet
    with (
        at_once(),
        executor(on, parse_jobs(jobs, "--jobs")) as place,
        Bar(quiet=quiet, unit="cells") as bar,
    ):
        swept = run(
            grid, results=results, executor=place, shard=shard, retry=retry, progress=bar.show
        )
    output.give_table(swept, lambda swept: show_swept(swept, shard))
    output.warn(swept.findings, but=SENTENCES)
    if swept.cells and len(swept.of("cannot")) == len(swept):
        raise ConfigError(f"no cell can run: {swept.cells[0].reason}")
    return code_of_cells(swept.interrupted, len(swept.of("failed")), quiet=quiet)
