"""``flashgc plot``: draws stored results."""

from __future__ import annotations

import logging
from typing import Any

import click

from flashgc.command import output
from flashgc.command.common import where
from flashgc.command.declaring import command
from flashgc.command.entrance import OK

#: Words of :mod:`flashgc.reports.view` and :mod:`flashgc.plot.look`, whose import is slow.
_KINDS = ("lines", "pareto", "heatmap", "distribution")
_MEDIA = ("screen", "paper")


@command(
    kind=_KINDS,
    out={"callback": output.picture},
    medium=_MEDIA,
)
@click.argument("results", type=click.Path())
@where("rows")
def plot(
    results: str,
    where: tuple[str, ...],
    out: str,
    medium: Any,
    kind: str,
    quiet: bool,
    **options: Any,
) -> int:
    r"""Draw the RESULTS of a grid, or a tidy table.

    RESULTS is a file that `flashgc sweep` keeps, or a table that ends in .csv, .json or .parquet.

    Options:
      --x COLUMN
          Option on the horizontal axis.
      --y COLUMN
          Figure to draw. [default: write_amplification; for pareto a latency]
      --by COLUMN
          Option with a line for each value.
      --panels COLUMN
          Option with a panel for each value.
      --kind WORD
          lines, pareto (two figures, --x and --y), heatmap (colour over --x and --by) or
          distribution (of --y over rows). [default: lines]
      --where
      --out FILE
          Draw to FILE, as .svg, .pdf or .png.
      --medium WORD
          screen, or paper: a column of 3.5 inches. [default: screen]
      --title TEXT
          Title above the picture.
      --quiet, -q
          Print no notes on what was averaged or left out.

    Examples:
      flashgc plot grid.results --out grid.svg
      flashgc plot grid.results --x spare --y write_amplification --by victim \
          --panels trace --out grid.svg
      flashgc plot grid.results --where placement=none --out none.pdf
      flashgc plot grid.results --kind heatmap --x spare --by blocks --out map.png
      flashgc plot grid.results --kind pareto --y read_p99_us --out front.svg
      flashgc plot fleet.csv --kind distribution --by tenant --out fleet.svg

    \b
    If you do not name them, the first numeric option that varies is --x, the
    first policy is --by and the next option is --panels. The command averages
    over seeds, with a 95% interval (Student's t). It refuses a mean over anything
    else.
    """
    from flashgc.plot import save, style
    from flashgc.plot.grids import of_view
    from flashgc.reports.view import view
    from flashgc.store.table import rows_of

    # For its first picture on a machine, matplotlib makes a list of fonts and logs that.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    title = options.pop("title")
    with style(medium):
        shown = view(rows_of(results, where), kind=kind, **options)
        save(of_view(shown, title=title), out)
    if shown.notes and not quiet:
        click.echo(f"note: {'; '.join(shown.notes)}", err=True)
    return OK
