"""``flashgc results``: lists, merges, exports and prunes a file of results."""

from __future__ import annotations

from pathlib import Path

import click

from flashgc.command import output
from flashgc.command.common import where
from flashgc.command.declaring import command
from flashgc.command.entrance import OK


@command(cls=click.Group, settings={"short_help": "List, export, merge and prune kept results."})
def results() -> None:
    """Results in the file that `flashgc sweep` keeps."""


@command("list", group=results, out={"callback": output.table})
@click.argument("file", type=click.Path(path_type=Path))
@where("results")
def list_(file: Path, where: tuple[str, ...], out: str | None) -> int:
    """List results, the newest last.

    Options:
      --out FILE
          Write the table to FILE, as .csv, .json, .md, .parquet or .tex.

    Examples:
      flashgc results list grid.results
      flashgc results list grid.results --where victim=greedy --where "spare<0.1"
      flashgc results list grid.results --out table.csv
    """
    from flashgc import foreign, tables
    from flashgc.store import Store
    from flashgc.store.file import EMPTY
    from flashgc.store.query import conditions
    from flashgc.terminal.render import LEFT, RIGHT, console, folded, is_plain, show, table

    with Store(file, "FILE", make=False) as store:
        rows = store.rows(conditions(where))
    if out is not None:
        tables.save(rows, out)
        return OK
    target = console()
    shown = (
        ("workload", LEFT), ("victim", LEFT), ("placement", LEFT), ("spare", RIGHT),
        ("seed", RIGHT), ("write_amplification", RIGHT), ("status", LEFT),
    )  # fmt: skip
    listing = table(
        target, [("WA" if name == "write_amplification" else name, side) for name, side in shown]
    )
    last = rows if is_plain(target) else rows[-40:]
    for row in last:
        cells = [foreign.one_line(tables.short(row[name])) for name, _ in shown]
        listing.add_row(*(cell if is_plain(target) else folded(cell, 22) for cell in cells))
    show(target, listing)
    if not rows and not where:
        target.print(f"none; {EMPTY}")
    if len(last) < len(rows):
        target.print(f"the last {len(last)} of {len(rows)}; hint: --out table.csv has all")
    return OK


@command("show", group=results)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("key")
def show_one(file: Path, key: str) -> int:
    """Print one result as JSON: its configuration and figures, or the reason why there are none.

    KEY is the key of the result, or the beginning of it. `list --out` and `sweep --json` show keys.
    """
    from flashgc._documents import dumps
    from flashgc.store import Store

    with Store(file, "FILE", make=False) as store:
        kept = store.load(store.whole(key))
    assert kept is not None  # The file has this key.
    click.echo(
        dumps(
            {
                "status": kept.status,
                "reason": kept.reason or None,
                "config": kept.config,
                "result": kept.result,
            }
        )
    )
    return OK


@command(group=results)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("others", nargs=-1, required=True, type=click.Path(path_type=Path))
def merge(file: Path, others: tuple[Path, ...]) -> int:
    """Copy the results of OTHERS to FILE; a result wins over an error of the same cell.

    Examples:
      flashgc results merge grid.results part-1.results part-2.results
    """
    from flashgc.store import Store

    with Store(file, "FILE") as store:
        for other in others:
            with Store(other, "OTHERS", make=False) as source:
                click.echo(f"{other}: {store.merge(source)} new")
    return OK


@command(group=results)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("copy", type=click.Path(path_type=Path))
def export(file: Path, copy: Path, quiet: bool) -> int:
    """Copy a FILE of results to COPY, also while a sweep writes it.

    The copy has every result that is complete now. A file that is in use has its last results in a
    second file beside it, so cp would miss them.

    Options:
      --quiet, -q
          No progress.

    Examples:
      flashgc results export grid.results copy.results
    """
    from flashgc.store import Store
    from flashgc.store.file import export as write_copy
    from flashgc.terminal.progress import Bar

    with Store(file, "FILE", make=False) as store, Bar(quiet=quiet) as bar:
        write_copy(store, copy, lambda share, pages: bar.show(share, "copying", pages, "pages"))
    with Store(copy, "COPY", make=False) as target:
        click.echo(f"{copy}: {target.count()} results")
    return OK


@command(group=results)
@click.argument("file", type=click.Path(path_type=Path))
def prune(file: Path, failed: bool, other_versions: bool, where: tuple[str, ...]) -> int:
    """Delete results, and give their space back.

    Options:
      --failed
          Delete errors, so that a sweep runs these cells again.
      --other-versions
          Delete the results of other builds of flashgc.
      --where COLUMN=VALUE
          Delete the results for which this holds, as in list.
    """
    from flashgc._core import ConfigError
    from flashgc.store import Store
    from flashgc.store.query import conditions

    if not (failed or other_versions or where):
        raise ConfigError("nothing to delete was named; hint: --failed, --other-versions, --where")
    with Store(file, "FILE", make=False) as store:
        wanted = conditions([*where, *(["status=failed"] if failed else [])])
        click.echo(f"{store.prune(wanted, other_versions=other_versions)} deleted")
    return OK
