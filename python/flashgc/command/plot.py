"""``flashgc plot``: pictures of kept results."""

from __future__ import annotations

import logging
from typing import Any

import click

from flashgc.command import output
from flashgc.command.common import complete, where
from flashgc.command.entrance import CONTEXT, OK

#: Words of :mod:`flashgc.reports.view` and :mod:`flashgc.plot.look`, which take a while to import.
_KINDS = ("lines", "pareto", "heatmap", "distribution")
_MEDIA = ("screen", "paper")


@click.command(
    context_settings=CONTEXT,
    epilog="""\b
Examples:
  flashgc plot grid.results --out grid.svg
  flashgc plot grid.results --x spare --y write_amplification --by victim \\
      --panels trace --out grid.svg
  flashgc plot grid.results --where placement=none --out none.pdf
  flashgc plot grid.results --kind heatmap --x spare --by blocks --out map.png
  flashgc plot grid.results --kind pareto --y read_p99_us --out front.svg
  flashgc plot fleet.csv --kind distribution --by tenant --out fleet.svg

\b
If you do not name them, the first numeric option that varies is --x, the
first policy is --by and the next option is --panels. The command averages
over seeds, with a 95% interval (Student's t). It refuses a mean over anything
else.""",
)
@click.argument("results", type=click.Path())
@click.option("--x", metavar="COLUMN", help="Option on the horizontal axis.")
@click.option(
    "--y",
    metavar="COLUMN",
    help="Figure to draw. [default: write_amplification; for pareto a latency]",
)
@click.option("--by", metavar="COLUMN", help="Option with a line for each value.")
@click.option("--panels", metavar="COLUMN", help="Option with a panel for each value.")
@click.option(
    "--kind",
    metavar="WORD",
    default="lines",
    shell_complete=complete(lambda: _KINDS),
    help="lines, pareto (two figures, --x and --y), heatmap (colour over --x and --by) or "
    "distribution (of --y over rows). [default: lines]",
)
@where("rows")
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(),
    required=True,
    callback=output.picture,
    help="Draw to FILE, as .svg, .pdf or .png.",
)
@click.option(
    "--medium",
    metavar="WORD",
    default="screen",
    shell_complete=complete(lambda: _MEDIA),
    help="screen, or paper: a column of 3.5 inches. [default: screen]",
)
@click.option("--title", metavar="TEXT", help="Title above the picture.")
@click.option(
    "--quiet", "-q", is_flag=True, help="Print no notes on what was averaged or left out."
)
def plot(
    results: str, where: tuple[str, ...], out: str, medium: Any, quiet: bool, **asked: Any
) -> int:
    """Draw the RESULTS of a grid, or a tidy table.

    RESULTS is a file that `flashgc sweep` keeps, or a table that ends in .csv, .json or .parquet.
    """
    from flashgc.plot import save, style
    from flashgc.plot.grids import of_view
    from flashgc.reports.view import view
    from flashgc.store.table import rows_of

    # The first picture on a machine makes a list of its fonts, and matplotlib would say so.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    title = asked.pop("title")
    with style(medium):
        shown = view(rows_of(results, where), **asked)
        save(of_view(shown, title=title), out)
    if shown.notes and not quiet:
        click.echo(f"note: {'; '.join(shown.notes)}", err=True)
    return OK
