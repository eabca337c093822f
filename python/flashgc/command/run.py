"""``flashgc run``: runs one workload on one drive."""

from __future__ import annotations

from typing import Any

import click

from flashgc._core import ConfigError
from flashgc.command.declaring import command
from flashgc.command.entrance import FAILED, INTERRUPTED, OK, fail
from flashgc.command.options import (
    GroupedCommand,
    asked,
    experiment_options,
)
from flashgc.command.output import WEAR, Output, say_memory


@command(cls=GroupedCommand)
@click.argument("experiment", required=False, type=click.Path())
@experiment_options(several=False)
def run(
    experiment: str | None,
    checkpoint: str | None,
    resume: str | None,
    expect: str | None,
    results: str | None,
    plot_kind: str | None,
    output: Output,
    **typed: Any,
) -> int:
    """Run one drive on one workload and report its write amplification.

    EXPERIMENT is a TOML file with the sections below; options override it.

    Options:
      --checkpoint FILE
          Save the state of the runs in FILE, so that --resume can go on; FILE,every=TIME says
          how often. [default: every=5min]
      --resume FILE
          Go on from the checkpoint in FILE with its configuration, and keep FILE up to date.
      --expect DIGEST|FILE
          Exit with 1 if the digest is another; with the JSON FILE of a result, say what
          differs first.
      --results
      --plot
      --plot-kind
      --json
      --out
      --quiet

    Examples:
      flashgc run --workload uniform --victim greedy --spare 7%
      flashgc run --workload zipf:theta=0.99 --until precision=0.1%
      flashgc run --workload TRACE.csv.zst --victim greedy --passes 5 --json
      flashgc run --victim fifo --plot fifo.svg
      flashgc run --writes 1000x --checkpoint run.ckpt
      flashgc run --resume run.ckpt
      flashgc run experiment.toml --seed 2
      flashgc run experiment.toml --results mine.results
    """
    from flashgc import checkpoints, plot
    from flashgc.command.show.findings import warn_of
    from flashgc.command.show.results import show_run
    from flashgc.configuration import configurations
    from flashgc.execution import keeping_in, parse_jobs, resumed, simulate
    from flashgc.experiment import experiment as checked
    from flashgc.results import Result
    from flashgc.terminal.progress import Bar

    expected = None
    if expect is not None:
        from flashgc.results.expected import Expected

        expected = Expected(expect, "--expect")
    keep = checkpoints.checkpoint(checkpoint, resume, places=("--checkpoint", "--resume"))
    given = asked(experiment, typed)
    is_resumed = (
        resume is not None
        and given.values.keys() <= {"run"}
        and set(given.values.get("run", ())) <= {"jobs"}
    )
    if keep is not None and keep.resume is not None and is_resumed:
        configs = [checkpoints.configuration(keep.resume)]
    else:
        what = checked(given.values, given.places)
        configs = configurations(what, given.places, python=given.python)
    if len(configs) != 1:
        raise ConfigError(
            f"{experiment}: {len(configs)} configurations, expected one; hint: flashgc compare"
        )
    if not is_resumed:
        say_memory(configs, quiet=output.quiet)
    kind = output.kind(plot_kind, configs, "evolution")
    with Bar(configs[0]["runs"], quiet=output.quiet) as bar:
        keeping = keeping_in(results, "run", "--results", bar.expect)
        if keep is not None and is_resumed:
            jobs = parse_jobs(given.values.get("run", {}).get("jobs", 0), "--jobs")
            raw = resumed(
                keep, places=given.places, jobs=jobs, progress=bar, keeping=keeping
            ).results
        else:
            raw = simulate(
                what, given.python, places=given.places, progress=bar, keep=keep, keeping=keeping
            ).results
    result = Result.from_dict(raw[0])
    output.give(result, show_run)
    warn_of([result], quiet=output.quiet)
    output.draw(lambda: getattr(plot, WEAR.get(kind, "run"))(result), measured=result.measured)
    output.say_kept(keeping, 1)
    if expected is not None and not result.interrupted:
        difference = expected.difference(raw[0])
        if difference is not None:
            return fail(difference, FAILED)
    return INTERRUPTED if result.interrupted else OK
