"""``flashgc compare``: several policies, one workload, ranked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from flashgc._origins import Given
from flashgc.command import several
from flashgc.command.declaring import command
from flashgc.command.entrance import INTERRUPTED, OK
from flashgc.command.options import (
    GroupedCommand,
    asked,
    experiment_options,
)
from flashgc.command.output import WEAR, Output, document_or_table
from flashgc.options import several as listed
from flashgc.results import Comparison


@command(cls=GroupedCommand, out={"callback": document_or_table})
@click.argument("experiments", nargs=-1, metavar="[EXPERIMENT]...", type=click.Path(path_type=Path))
@experiment_options(several=True)
def compare(
    experiments: tuple[Path, ...],
    results: str | None,
    plot_kind: str | None,
    output: Output,
    **typed: Any,
) -> int:
    """Compare policies, mappings, schemes and spare factors on one workload, and rank them.

    Every combination runs 5 times, unless --runs says otherwise. Run i of each combination sees the
    same writes, so the differences are paired. A combination that cannot run is listed with the
    reason. Without --victim or --scheme, the command compares every built-in policy, and the
    usual placements with cost-benefit on a pool frontier, unless you compare mappings or schemes.
    With --vm-page-cache, the combination with the least time on flash
    wins.

    An EXPERIMENT is a TOML file with the sections below; options override it. Several experiments
    are compared with each other, each with only the policies that it names. Saved results (.json of
    --out, .results) are compared without a new run.

    Options:
      --results
      --plot
      --plot-kind
      --json
      --out FILE
          Write the JSON document to FILE as well, or a table with a row for each result (.csv, .md,
          .parquet or .tex).
      --quiet

    Examples:
      flashgc compare --victim fifo --victim greedy --victim d-choices:d=10,c=1
      flashgc compare --victim greedy --frontier single --frontier double
      flashgc compare --frontier pool --scheme gc-gd --scheme zgc-gd
      flashgc compare --workload TRACE.csv.zst --spare 7% --plot ranking.pdf
      flashgc compare --victim greedy --victim python:mine.py:pick
      flashgc compare --mapping page --mapping fast --mapping bast
      flashgc compare old.toml new.toml
      flashgc compare monday.json today.json
    """
    from flashgc.command.show.ranking import show_ranked
    from flashgc.command.show.results import show_comparison
    from flashgc.configuration import configurations
    from flashgc.execution import COMPARED_RUNS
    from flashgc.experiment import experiment as checked
    from flashgc.ranking import together
    from flashgc.registry import policies

    if several.is_several(experiments):
        comparison, count = several.compared(experiments, typed, results, quiet=output.quiet)
        _give(comparison, output, show_ranked)
        if count and not output.quiet:
            click.echo(f"{count} of {len(comparison.results)} found in {results}", err=True)
        return INTERRUPTED if comparison.interrupted else OK
    given = asked(experiments[0] if experiments else None, typed)
    gc = given.values.setdefault("gc", {})
    placed = None
    if isinstance(gc, dict) and "scheme" not in gc:
        varied = isinstance(gc.get("mapping"), list) or "vm_scheme" in given.values.get("swap", {})
        if not varied and "victim" not in gc:
            gc["victim"] = [policy.name for policy in policies()]
            placed = _placements(given) if _may_place(given) else None
    what = checked(given.values, given.places)
    configs = configurations(what, given.places, default_runs=COMPARED_RUNS, python=given.python)
    kind = output.kind(plot_kind, configs, "survival")
    comparison, keeping = several.simulated(what, configs, given, results, quiet=output.quiet)
    kept = [(keeping, len(comparison.results))]
    if placed is not None and not comparison.interrupted:
        more = checked(placed.values, placed.places)
        others = configurations(more, placed.places, default_runs=COMPARED_RUNS)
        added, keeping = several.simulated(more, others, placed, results, quiet=output.quiet)
        kept.append((keeping, len(added.results)))
        comparison = together([comparison, added])
    _give(comparison, output, show_comparison, kind)
    for keeping, count in kept:
        output.say_kept(keeping, count)
    return INTERRUPTED if comparison.interrupted else OK


def _give(
    comparison: Comparison,
    output: Output,
    show: Callable[[Comparison], None],
    kind: str = "amplification",
) -> None:
    """Output a comparison: its ranking, the left-out combinations, its findings and its picture."""
    from flashgc import plot
    from flashgc.command.show.findings import warn_of
    from flashgc.command.show.results import show_left_out

    def show_all(comparison: Comparison) -> None:
        show(comparison)
        show_left_out(comparison)

    if output.is_table:
        output.give_table(comparison, show_all)
    else:
        output.give(comparison, show_all)
    warn_of(list(comparison.results), quiet=output.quiet)
    output.draw(
        lambda: getattr(plot, WEAR.get(kind, "compare"))(comparison),
        measured=bool(comparison.ranking),
    )


#: Schemes whose placement needs no information from the host.
PLACED = (
    "gc-cb", "sepbit-cb", "multilog-cb", "fadac-cb", "warcip-cb", "intervals-cb", "gdt-cb",
    "sfs-cb",
)  # fmt: skip


def _may_place(given: Given) -> bool:
    """True if no placement is given, and the drive can have placements."""
    gc = given.values.get("gc", {})
    is_paged = gc.get("mapping") is None and "vm_page_cache" not in given.values.get("swap", {})
    return "placement" not in gc and is_paged


def _placements(given: Given) -> Given:
    """The experiment with the default placements, and with a frontier that supports them."""
    gc = {key: value for key, value in given.values["gc"].items() if key != "victim"}
    frontiers = gc.get("frontier", [])
    pooled = [
        frontier for frontier in listed(frontiers) if str(frontier).startswith(("pool", "mixed"))
    ]
    is_timed = given.values.get("drive", {}).get("kind") == "timed"
    if not is_timed:
        gc["frontier"] = pooled or ["pool:low=2"]
    values = {**given.values, "gc": {**gc, "scheme": list(PLACED)}}
    return dataclasses.replace(given, values=values)
