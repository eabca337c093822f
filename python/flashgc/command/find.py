"""``flashgc find``: finds the value of an option from which a drive is good enough."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flashgc.command.declaring import command
from flashgc.command.options import (
    GroupedCommand,
    asked,
    experiment_options,
    own_of,
)
from flashgc.command.output import Output


@command(cls=GroupedCommand, wanted={"required": True})
@click.argument("option")
@click.argument("experiment", required=False, type=click.Path(path_type=Path))
@experiment_options(several=False)
def find(
    option: str,
    experiment: Path | None,
    wanted: tuple[str, ...],
    results: str | None,
    output: Output,
    **typed: Any,
) -> int:
    r"""Find the value of OPTION from which, or up to which, a drive is good enough.

    OPTION is a number, such as spare, or a parameter of a spec, such as victim.d. The command
    bisects its values, so the condition should begin to hold at one value and hold from there on.
    Each value runs 5 times, unless --runs says otherwise, with the same seeds.

    EXPERIMENT is a TOML file with the sections below; options override it.

    Options:
      --wanted FIGURE<NUMBER
          Condition that must hold; also <=, > and >=. Repeat for several conditions, which
          must all hold.
      --from VALUE as low
          First value. [default: 2% for spare]
      --to VALUE as high
          Last value. [default: 60% for spare]
      --step VALUE
          Distance from one value to the next. [default: 1 for whole numbers, 0.1% for spare]
      --factor NUMBER
          Factor from one value to the next, instead of --step.
      --results
      --json
      --out
      --quiet

    Examples:
      flashgc find spare --wanted "write_amplification<2"
      flashgc find spare --wanted WA<1.5 --workload TRACE.csv.zst --victim cost-benefit
      flashgc find victim.d --from 1 --to 64 --wanted WA<3 --victim d-choices
      flashgc find arrivals.rate --from 1000 --to 50000 --step 500 \
        --wanted "read_p99_us<2000" --drive timed --device mlc --capacity 4GiB \
        --workload uniform:read=0.7 --arrivals poisson:rate=1000
      flashgc find queue-depth --from 1 --to 256 --factor 2 \
        --wanted "requests_per_second>=20000" experiment.toml
    """
    from flashgc.command.ended import code_of
    from flashgc.command.show.find import show_found
    from flashgc.studies.finding.find import find as finding
    from flashgc.terminal.progress import Bar

    own = own_of(typed)
    given: Any = asked(experiment, typed)
    given.places.update(option="OPTION", conditions="--wanted")
    with Bar(quiet=output.quiet, unit="values") as bar:
        outcome = finding(option, wanted, given, results=results, progress=bar.show, **own)
    output.give(outcome, show_found)
    output.warn(outcome.findings[1:])
    return code_of(
        outcome.interrupted, quiet=output.quiet, keeps=None if results else "--results FILE"
    )
