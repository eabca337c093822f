"""``flashgc compare``: several policies, one workload, ranked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flashgc.command import output
from flashgc.command.entrance import CONTEXT, INTERRUPTED, OK
from flashgc.command.options import (
    GroupedCommand,
    asked,
    experiment_options,
    output_options,
    plot_kind_option,
    plot_option,
)


@click.command(
    cls=GroupedCommand,
    context_settings=CONTEXT,
    epilog="""\b
Examples:
  flashgc compare --victim fifo --victim greedy --victim d-choices:d=10,c=1
  flashgc compare --victim greedy --frontier single --frontier double
  flashgc compare --frontier pool --gc-preset gc-gd --gc-preset zgc-gd
  flashgc compare --workload TRACE.csv.zst --spare 7% --plot ranking.pdf
  flashgc compare --victim greedy --victim python:mine.py:pick
  flashgc compare --mapping page --mapping fast --mapping bast""",
)
@click.argument("experiment", required=False, type=click.Path(path_type=Path))
@experiment_options(several=True)
@plot_option
@plot_kind_option
@output_options
def compare(
    experiment: Path | None,
    as_json: bool,
    out: str | None,
    quiet: bool,
    picture: str | None,
    plot_kind: str | None,
    **typed: Any,
) -> int:
    """Compare policies, mappings, schemes and spare factors on one workload, and rank them.

    Every combination is run, 5 times unless --runs says otherwise. Run i of each sees the same
    writes, so that differences are paired. A combination that cannot be is listed with its reason.
    Without --victim or --gc-preset, every built-in policy
    is compared, unless mappings or schemes are. With --vm-page-cache, the least time on flash wins.
    """
    from flashgc import plot
    from flashgc._simulate import COMPARED_RUNS, simulate
    from flashgc.command.progress import Bar
    from flashgc.command.results import deliver, show_comparison, show_left_out, warn_of
    from flashgc.configuration import configurations
    from flashgc.experiment import experiment as checked
    from flashgc.registry import policies
    from flashgc.results import Comparison

    given = asked(experiment, typed)
    gc = given.values.setdefault("gc", {})
    if isinstance(gc, dict) and "gc_preset" not in gc:
        varied = isinstance(gc.get("mapping"), list) or "scheme" in given.values.get("swap", {})
        if not varied:
            gc.setdefault("victim", [policy.name for policy in policies()])
    what = checked(given.values, given.places)
    configs = configurations(what, given.places, default_runs=COMPARED_RUNS, python=given.python)
    kind = output.kind(plot_kind, picture, configs, "survival")
    with Bar(sum(config["runs"] for config in configs), quiet=quiet) as bar:
        simulated = simulate(
            what,
            given.python,
            places=given.places,
            default_runs=COMPARED_RUNS,
            progress=bar,
            leave_out=True,
        )
    comparison = Comparison.from_dicts(simulated.ranking, simulated.results, simulated.left_out)
    if not as_json:
        show_comparison(comparison)
        show_left_out(comparison)
    deliver(comparison.to_json(), as_json=as_json, out=out)
    warn_of(list(comparison.results), quiet=quiet)
    measured = bool(comparison.ranking)
    output.draw(
        lambda: getattr(plot, output.WEAR.get(kind, "compare"))(comparison),
        picture,
        measured=measured,
        quiet=quiet,
    )
    return INTERRUPTED if comparison.interrupted else OK
