"""``flashgc gap``: compares a workload on a drive with what foresight could reach."""

from __future__ import annotations

from typing import Any

from flashgc import _ctrl_c
from flashgc.command.declaring import command
from flashgc.command.options import (
    GroupedCommand,
    experiment_options,
    folder_option,
    of_one_workload,
    workload,
)
from flashgc.command.output import Output
from flashgc.studies.gaps.online import USUAL
from flashgc.studies.gaps.task import ERRORS, SIGMAS, UNUSED

#: The default folder for finished simulations.
FOLDER = "flashgc-gap"


def _schemes() -> tuple[str, ...]:
    from flashgc.registry import policies, schemes

    names = (
        *USUAL,
        *(scheme.name for scheme in schemes()),
        *(policy.name for policy in policies()),
    )
    return tuple(dict.fromkeys(names))


@command(
    cls=GroupedCommand,
    constants={"USUAL": "; ".join(USUAL), "SIGMAS": ",".join(f"{sigma:g}" for sigma in SIGMAS)},
    schemes=_schemes,
    errors=ERRORS,
)
@workload
@experiment_options(several=True, searched=(), without=UNUSED)
@folder_option(FOLDER)
def gap(
    workload: str | None,
    by_option: str | None,
    schemes: tuple[str, ...],
    output: Output,
    **typed: Any,
) -> int:
    """Compare WORKLOAD on this drive with what foresight could reach.

    WORKLOAD is a generator or a trace. The rows are online schemes, predictors of the time at which
    a page is overwritten, clairvoyance, and the lower bound, which is no copies. All have the pool
    frontier and the same writes. Clairvoyance is what a drive with this knowledge reaches. It is
    not a lower bound.

    Options:
      --schemes SCHEME
          A victim policy, optionally with + and a placement, or a scheme. Repeat for several;
          greedy always runs. [default: {USUAL}]
      --classes N
          Classes of remaining life for clairvoyance and predictors. [default: 16]
      --horizon NUMBER
          Distance that these see ahead, in pages written per logical page. [default: 8]
      --sigma LIST
          Errors of the predictors: standard deviations of the logarithm of a predicted life.
          [default: {SIGMAS}]
      --errors WORD
          Unit that has its own prediction error: each page write (write), each request
          (request), or a row for each of the two (both). [default: write; for a trace both]
      --cache
      --resume
      --plot
      --json
      --out
      --quiet

    Examples:
      flashgc gap TRACE.csv.zst --spare 7%
      flashgc gap hotcold:f=0.1,r=0.9 --blocks 1000 --pages-per-block 64
      flashgc gap zipf --schemes sepbit-cb --schemes "fifo + dac:regions=8"
      flashgc gap zipf --sigma 0.5,1,1.5,2,3 --plot gap.pdf
      flashgc gap uniform --blocks 200 --classes 8

    To go on after a stop, give the same command again.
    """
    from flashgc.command.ended import code_of
    from flashgc.command.show.gap import show_gap
    from flashgc.studies import plot
    from flashgc.studies.gaps.describe import RULES
    from flashgc.studies.gaps.gap import gap as compared
    from flashgc.terminal.progress import Bar

    # From here on, Ctrl-C must raise an exception, also between the several calls of the engine.
    _ctrl_c.release()
    given, own = of_one_workload(workload, by_option, typed)
    with Bar(quiet=output.quiet) as bar:
        gap = compared(given, schemes=schemes or None, progress=bar.show, **own)
    output.give(gap, show_gap)
    output.warn(gap.findings, but=RULES)
    code = code_of(gap.interrupted, quiet=output.quiet)
    output.draw(lambda: plot.gap(gap), measured=bool(gap.online))
    if gap.unkept is not None:
        raise gap.unkept
    return code
