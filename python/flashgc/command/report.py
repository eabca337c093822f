"""``flashgc report``: makes one page for a browser from stored results."""

from __future__ import annotations

from pathlib import Path

import click

from flashgc.command.common import where
from flashgc.command.declaring import command
from flashgc.command.entrance import OK


@command()
@click.argument("results", type=click.Path(path_type=Path))
@where("results")
def report(results: Path, target: str | None, where: tuple[str, ...], quiet: bool) -> int:
    """Make one HTML page of the RESULTS that `flashgc sweep` keeps.

    Options:
      --out, -o FILE as target
          The page to write. [default: RESULTS with the ending .html]
      --where
      --quiet, -q
          No progress, and no line about the page.

    Examples:
      flashgc report grid.results
      flashgc report grid.results -o page.html --where "spare<10%"

    The page shows the question of the grid, a table to sort and to search, and
    pictures to zoom. For each cell it has the figures, the digest and the command
    that runs it again. It is one file, which needs no network.
    """
    from flashgc.reports.question import cells
    from flashgc.studies.sweep.report import ENDING, write_page
    from flashgc.terminal.progress import Bar

    out = str(results.with_suffix(ENDING)) if target is None else target
    with Bar(quiet=quiet, unit="cells") as bar:
        count = write_page(results, out, where=where, progress=bar.show, names=("RESULTS", "-o"))
    if not quiet:
        click.echo(f"{out}: {cells(count)}", err=True)
    return OK
