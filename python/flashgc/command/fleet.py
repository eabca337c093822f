"""``flashgc fleet``: runs each volume of a trace on a drive of its size, under each policy."""

from __future__ import annotations

from typing import Any

import click

from flashgc._core import ConfigError
from flashgc.command.declaring import command
from flashgc.command.entrance import OK
from flashgc.command.options import GroupedCommand, asked, experiment_options, table_options
from flashgc.command.output import Output
from flashgc.registry import policies
from flashgc.studies.fleets.describe import SENTENCES, reasons
from flashgc.studies.fleets.fleet import RESULTS, UNUSED, fleet_with
from flashgc.studies.fleets.volumes import BY
from flashgc.terminal.progress import Bars


@command(cls=GroupedCommand, constants={"RESULTS": RESULTS}, by=BY)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@experiment_options(several=True, without=UNUSED)
@table_options(": one row per volume and policy")
def fleet(
    traces: tuple[str, ...],
    by: str,
    results: str,
    retry: bool,
    output: Output,
    **typed: Any,
) -> int:
    """Run each volume of a TRACE on a drive of its size, under each policy.

    The trace is read once. Each drive has as many blocks as the pages of its volume need. The
    report shows how write amplification is distributed over the volumes: the median, the 95th
    percentile, the worst, and that of all bytes together. It shows the same figures for the
    lifetime.

    Options:
      --by WORD
          Requests that form a volume: all with one volume (device) number (volume), or all of
          one file (file). [default: volume]
      --results FILE
          File in which results are kept. [default: {RESULTS}]
      --retry
      --out
      --json
      --quiet

    Examples:
      flashgc fleet TENCENT.tgz --victim greedy --victim cost-benefit --spare 7%
      flashgc fleet DAY-1.csv.gz DAY-2.csv.gz --format alibaba --victim greedy
      flashgc fleet MSR/*.csv.gz --by file --victim greedy --victim fifo
      flashgc fleet TRACE.csv.zst --victim greedy --out table.csv

    To go on after a stop, give the same command again.
    """
    from flashgc.command.ended import at_once, code_of_cells
    from flashgc.command.show.fleet import show_fleet

    given = asked(None, typed)
    if not given.values.get("gc", {}).keys() & {"victim", "scheme"}:
        given.values.setdefault("gc", {})["victim"] = [policy.name for policy in policies()]
    with at_once(), Bars(quiet=output.quiet) as bars:
        fleet = fleet_with(
            traces,
            given.values,
            {**given.places, "by": "--by", "results": "--results"},
            by=by,
            results=results,
            retry=retry,
            progress=bars.show,
        )
    output.give_table(fleet, show_fleet)
    output.warn(fleet.findings, but=SENTENCES)
    code = code_of_cells(fleet.interrupted, len(fleet.of("failed")), quiet=output.quiet)
    if code == OK and not fleet.of("result"):
        raise ConfigError(f"no volume has a result: {next(reasons(fleet)).text}")
    return code
