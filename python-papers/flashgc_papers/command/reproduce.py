"""``flashgc reproduce``: the papers' tables and figures, run again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from flashgc import ConfigError
from flashgc.command.common import JOBS, JSON, QUIET
from flashgc.command.entrance import CONTEXT, FAILED, INTERRUPTED, OK


def _complete(_ctx: Any, _param: Any, incomplete: str) -> list[CompletionItem]:
    from flashgc_papers.claims import claims

    return [CompletionItem(name) for name in claims().names() if name.startswith(incomplete)]


def _folder(_context: Any, _parameter: Any, value: str) -> Path:
    if not value:
        raise ConfigError("--out: the name is empty; hint: give a folder, such as reproduced")
    return Path(value)


@click.command(
    context_settings=CONTEXT,
    epilog="""\b
Examples:
  flashgc reproduce --list
  flashgc reproduce --quick
  flashgc reproduce dchoices.table1 dchoices.fig3
  flashgc reproduce dchoices --full --out full

To go on after a stop, give the same command again.""",
)
@click.argument("what", nargs=-1, shell_complete=_complete)
@click.option(
    "--quick", is_flag=True, help="Take minutes: fewer runs, fewer points, smaller drives."
)
@click.option("--full", is_flag=True, help="Use the papers' own sizes.")
@click.option(
    "--readings",
    type=click.Choice(("all", "chosen")),
    help="Readings of what a paper leaves open.  [default: all; with --quick the chosen one]",
)
@click.option(
    "--mutants",
    is_flag=True,
    help="Run wrong engines too. A row that does not tell them apart does not count.",
)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(),
    callback=_folder,
    default="flashgc-reproduce",
    help="Folder for the page, the data and the finished runs.  [default: flashgc-reproduce]",
)
@click.option("--list", "listing", is_flag=True, help="List the published claims, and run nothing.")
@JOBS
@JSON
@QUIET
def reproduce(
    what: tuple[str, ...],
    quick: bool,
    full: bool,
    readings: str | None,
    mutants: bool,
    out: Path,
    listing: bool,
    jobs: int,
    as_json: bool,
    quiet: bool,
) -> int:
    """Repeat published experiments, and compare the papers' results with the measured ones.

    WHAT is a claim (dchoices.fig3), a table (dchoices.table1) or a paper (dchoices); without it,
    everything runs. Each row is met, met-in-kind (sign, order and rough size agree, on a stand-in
    for the paper's input), fitted (it agrees, and a reading was chosen by it), unsteady (it agrees,
    and its runs still move), missed or not-run. A missed row is a finding, not a failure.
    DIR/report.html shows every table and figure.
    """
    from flashgc.terminal.progress import Bar
    from flashgc.terminal.render import warn
    from flashgc_papers.command.claims import show_claims, show_list
    from flashgc_papers.reproduce.folder import Folder
    from flashgc_papers.reproduce.mutants import BUILD, built
    from flashgc_papers.reproduce.reproduce import reproduce as perform
    from flashgc_papers.reproduce.reproduce import select
    from flashgc_papers.reproduce.tasks import Size

    if quick and full:
        raise ConfigError("--full: found together with --quick; hint: give one of them")
    size = Size.QUICK if quick else Size.FULL if full else Size.DEFAULT
    select(what, readings or "")  # A wrong name is an error before the folder is made.
    if listing:
        show_list(what, size, as_json=as_json)
        return OK
    folder = Folder(out)
    with Bar(quiet=quiet) as bar:
        reproduction, work = perform(
            what,
            size=size,
            cache=folder.cache,
            jobs=jobs,
            progress=bar.show,
            mutants=mutants,
            readings=readings or "",
        )
    unwritten: OSError | None = work.unkept
    try:
        folder.write(reproduction)
    except OSError as error:
        unwritten = error
    if as_json:
        click.echo(reproduction.to_json())
    else:
        show_claims(reproduction, None if unwritten else folder.report)
    if mutants and not built():
        warn(
            f"--mutants: faults in the engine's code were not run; hint: {BUILD}",
            quiet=quiet,
        )
    for name, why in reproduction.failed.items():
        warn(f"{name}: {why}", quiet=quiet)
    if reproduction.interrupted:
        warn("interrupted: give the same command again to go on", quiet=quiet)
    if unwritten is not None:
        raise unwritten
    return INTERRUPTED if reproduction.interrupted else FAILED if reproduction.failed else OK
