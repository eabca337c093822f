"""``flashgc device check``: checks that a closed drive is intact."""

from __future__ import annotations

import json
from pathlib import Path

import click

from flashgc.command.declaring import command
from flashgc.command.entrance import FAILED, OK

#: The maximum number of damaged pages that are named.
NAMED = 8


@command()
@click.argument("file", type=click.Path(path_type=Path))
def check(file: Path, from_oob: bool, as_json: bool, quiet: bool) -> int:
    """Read every page of the drive in FILE, and compare its two maps.

    One map comes from the checkpoint and the journal, the other from the out-of-band records. The
    command writes nothing and loads no policy in Python. The drive must not be served.

    Options:
      --from-oob
          Build the map only from the out-of-band records, for a drive whose checkpoint or
          journal is damaged.
      --json
      --quiet
          Show no progress.

    Examples:
      flashgc device check drive.flash
      flashgc device check drive.flash --from-oob

    The exit code is 1 if a page or parity is damaged, or the two maps differ.
    """
    from flashgc import _core
    from flashgc.device import code, making
    from flashgc.terminal.progress import Bar
    from flashgc.units import format_count as n
    from flashgc.units import many

    with Bar(quiet=quiet) as bar:

        def show(done: int, pages: int) -> None:
            bar.show(done / pages, "checking", done, "pages")

        written = code.inert(making.configuration(file))
        report = json.loads(_core.device_check(file, from_oob, show, written))
    if as_json:
        click.echo(json.dumps(report, indent=2))
    if from_oob:
        if not as_json:
            click.echo(f"{n(report['mapped'])} pages have data, by the out-of-band records")
            if not report["knows_losses"]:
                click.echo("discarded pages, and data that a crash lost, may be among them")
        return OK
    is_read = not report["damaged"] and not report["disagree"]
    is_whole = is_read and not report["rebuilt"] and not report["parity_wrong"]
    if as_json:
        return OK if is_whole else FAILED
    click.echo(f"{n(report['mapped'])} pages have data")
    if not report["is_clean"]:
        click.echo("the drive was not closed: it recovers when it is opened")
    for key, what in (
        ("damaged", "are damaged"),
        ("disagree", "lie elsewhere by the records"),
        ("rebuilt", "are damaged, and given back by their parity"),
    ):
        pages = report[key]
        if pages:
            text = ", ".join(str(page) for page in pages[:NAMED])
            more = ", ..." if len(pages) > NAMED else ""
            click.echo(f"{n(len(pages))} pages {what}: {text}{more}")
    if report["parity_wrong"]:
        wrong = many(report["parity_wrong"], "page")
        click.echo(f"{wrong} of parity that does not match what it covers")
    if is_read:
        click.echo("all of them can be read, and both maps agree")
    return OK if is_whole else FAILED
