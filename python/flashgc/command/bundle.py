"""``flashgc bundle`` and ``flashgc verify``: an experiment in one file, and its check."""

from __future__ import annotations

import click

from flashgc.command.declaring import command
from flashgc.command.entrance import FAILED, OK


@command(out={"type": click.Path()})
@click.argument("experiment", type=click.Path())
def bundle(experiment: str, out: str, traces: bool, jobs: str, quiet: bool) -> int:
    """Run an EXPERIMENT, and write it into one file with its code and its figures.

    EXPERIMENT is a file as `flashgc sweep` takes it: lists are axes. The bundle has the experiment,
    policies in files with what they import, the version of flashgc, the digest of each file and
    the figures of each cell. The runs use the files of the bundle alone.

    Options:
      --out FILE, -o FILE
          The bundle, a zip file.
      --traces
          Put the traces into it; without this, it has their digests.
      --jobs N
          Cells to run side by side; 0 runs one per core. [default: 0]
      --quiet, -q
          No progress, and no line about the file.

    Examples:
      flashgc bundle grid.toml --out paper.zip
      flashgc bundle grid.toml --out paper.zip --traces
    """
    from flashgc.command.ended import at_once
    from flashgc.studies.bundles.making import bundle as made
    from flashgc.terminal.progress import Bar

    with at_once(), Bar(quiet=quiet, unit="cells") as bar:
        written = made(experiment, out, traces=traces, jobs=jobs, progress=bar.show)
    if not quiet:
        click.echo(f"{out}: {written.cells} cells, {len(written.files)} files", err=True)
        for name in written.traces:
            click.echo(f"not in it: {name.rsplit('/', 1)[-1]}", err=True)
    return OK


@command(trace={"type": click.Path()})
@click.argument("bundle", type=click.Path())
def verify(
    bundle: str,
    trace: tuple[str, ...],
    allow_python: bool,
    jobs: str,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run a BUNDLE again, and say line by line what agrees.

    The runs use the files of the bundle alone, in a folder that is removed afterwards. A cell
    agrees if all its decisions, counts and times do. The exit code is 1 if one does not.

    Options:
      --trace FILE
          A trace of which the bundle has the digest alone. Repeat for several.
      --allow-python
          Run code that is in the bundle, with your rights: policies in Python and in libraries.
      --jobs N
          Cells to run side by side; 0 runs one per core. [default: 0]
      --json
      --quiet, -q
          No progress, and no lines for cells that agree.

    Examples:
      flashgc verify paper.zip
      flashgc verify paper.zip --allow-python --trace prxy_0.csv.zst
    """
    from flashgc._core import version
    from flashgc._documents import dumps
    from flashgc.command.ended import at_once, code_of
    from flashgc.studies.bundles.verifying import verify as run
    from flashgc.terminal.progress import Bar

    with at_once(), Bar(quiet=quiet or as_json, unit="cells") as bar:
        verified = run(
            bundle, traces=trace, allow_python=allow_python, jobs=jobs, progress=bar.show
        )
    if as_json:
        click.echo(dumps(verified.to_dict()))
    else:
        for verdict in verified.verdicts:
            if verdict.state != "agrees" or not quiet:
                click.echo(f"{verdict.state:8} {verdict.at}: {verdict.why}")
        click.echo(f"{verified.agreeing} of {len(verified.verdicts)} cells agree")
        if not verified.agrees and verified.version != version():
            click.echo(f"made by flashgc {verified.version}, run by {version()}", err=True)
    if verified.interrupted:
        return code_of(True, quiet=quiet)
    return OK if verified.agrees else FAILED
