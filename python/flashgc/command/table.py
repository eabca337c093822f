"""``flashgc table``: a table for a paper from stored results."""

from __future__ import annotations

import click

from flashgc.command.common import where
from flashgc.command.declaring import command
from flashgc.command.entrance import OK


def _out(_context: object, parameter: click.Parameter, value: str | None) -> str | None:
    """The callback of ``--out``; it refuses names that cannot be written."""
    if value is not None:
        from flashgc import _files
        from flashgc.reports.printed import ending

        ending(value, parameter.opts[0])
        _files.check(value, parameter.opts[0], "table.tex")
    return value


@command(out={"callback": _out})
@click.argument("results", type=click.Path())
@where("results")
def table(
    results: str,
    rows: tuple[str, ...],
    columns: str | None,
    cells: tuple[str, ...],
    baseline: tuple[str, ...],
    where: tuple[str, ...],
    caption: str | None,
    label: str | None,
    out: str | None,
    quiet: bool,
) -> int:
    r"""Make a table for a paper of the RESULTS of a grid, or of a tidy table.

    RESULTS is a file that `flashgc sweep` or --results keeps, or a table that ends in .csv, .json
    or .parquet. A cell is the mean over seeds and runs with half its 95% interval. The best cells
    of each column are bold: the first, and those that these results cannot tell from it.

    Options:
      --rows COLUMN
          Option whose values make the rows. Repeat for several. [default: the policies that vary]
      --columns COLUMN
          Option across. [default: the workload or the next option that varies]
      --cells COLUMN
          Figure of the cells. Repeat for several. [default: write_amplification]
      --baseline COLUMN=VALUE
          Divide each cell by that of this row. Repeat if one option does not choose the row.
      --where
      --caption TEXT
          Caption of a table for LaTeX.
      --label TEXT
          Label of a table for LaTeX.
      --out FILE
          Write the table to FILE: .md, .tex (for booktabs and siunitx), .html, .csv, .json or .txt.
      --quiet, -q
          No line about the file.

    Examples:
      flashgc table grid.results
      flashgc table grid.results --rows victim --columns spare --where placement=none
      flashgc table grid.results --baseline victim=greedy --baseline placement=none --out t.tex
      flashgc table grid.results --cells WA --cells read_p99_us --out table.md

    A ratio is paired, seed by seed and run by run, if the row and the baseline
    have the same writes: they differ in options of garbage collection alone. A
    mean over any option but the seed is refused.
    """
    from flashgc.reports.choice import AMPLIFICATION
    from flashgc.reports.paper import paper_table

    if out is None or not out.endswith(".tex"):
        for name, value in (("--caption", caption), ("--label", label)):
            if value is not None:
                raise click.UsageError(f"{name} is for LaTeX; hint: --out table.tex")
    paper = paper_table(
        results,
        rows=rows,
        columns=columns,
        cells=cells or (AMPLIFICATION,),
        baseline=baseline,
        where=where,
    )
    if out is None:
        click.echo(str(paper), nl=False)
    else:
        paper.save(out, caption=caption or "", label=label or "")
        if not quiet:
            click.echo(f"{out}: {len(paper.names)} rows, {len(paper.heads)} columns", err=True)
    return OK
