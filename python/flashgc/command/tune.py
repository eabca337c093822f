"""``flashgc tune``: searches for a good policy and its parameters for one workload."""

from __future__ import annotations

import os
from typing import Any

from flashgc import _ctrl_c
from flashgc._core import ConfigError
from flashgc.command.declaring import command
from flashgc.command.options import (
    GroupedCommand,
    experiment_options,
    folder_option,
    of_one_workload,
    workload,
)
from flashgc.command.output import Output, option
from flashgc.studies.tuning.describe import RULES
from flashgc.studies.tuning.objective import OBJECTIVES
from flashgc.studies.tuning.search import BUDGET
from flashgc.studies.tuning.task import SEARCHED, UNUSED
from flashgc.studies.tuning.tune import HOLD_BACK
from flashgc.studies.tuning.tune import save as save_winner
from flashgc.studies.tuning.tune import tune as search
from flashgc.terminal.progress import Bar
from flashgc.terminal.render import warn

#: The default folder for finished simulations.
FOLDER = "flashgc-tune"


def _save(context: Any, parameter: Any, value: str | None) -> str | None:
    """Refuse an existing file that is no experiment, since it would be overwritten."""
    if value is not None and os.path.isfile(value) and not value.lower().endswith(".toml"):
        raise ConfigError(
            f"--save: {value} exists and is no experiment file; hint: a name that ends in .toml"
        )
    return option("best.toml")(context, parameter, value)


@command(
    cls=GroupedCommand,
    constants={
        "OBJECTIVES": ", ".join(OBJECTIVES),
        "BUDGET": BUDGET,
        "HOLD_BACK": f"{HOLD_BACK:.0%}",
    },
    objective=tuple(OBJECTIVES),
    save={"callback": _save},
)
@workload
@experiment_options(several=True, searched=SEARCHED, without=UNUSED)
@folder_option(FOLDER)
def tune(
    workload: str | None,
    by_option: str | None,
    save: str | None,
    objective: str,
    output: Output,
    **typed: Any,
) -> int:
    """Search victim policies, placements, frontiers and their parameters for one WORKLOAD.

    WORKLOAD is a generator or a trace. The search starts with every policy and scheme at its
    defaults, and with configurations drawn at random. From each rung, the best third goes on to
    longer runs on the same writes. The ranking says which differences are within noise. The best
    few are checked on writes that the search has not seen.

    Options:
      --objective WORD
          Figure to optimise: {OBJECTIVES} (a drive with an --endurance). [default:
          write-amplification]
      --budget N
          Configurations to try, the defaults included. [default: {BUDGET}]
      --time TIME
          Time to search for, instead of --budget: 10min.
      --hold-back SHARE
          Share at the end of a trace that the search does not see; the best are checked on it.
          For a generator, other seeds are held back. [default: {HOLD_BACK}]
      --save FILE
          Write the winner to FILE, for flashgc run.
      --cache
      --resume
      --plot
      --json
      --out
      --quiet

    Examples:
      flashgc tune TRACE.csv.zst --spare 7% --frontier pool
      flashgc tune hotcold:f=0.2,r=0.8 --budget 200 --save best.toml
      flashgc tune zipf --victim d-choices --frontier pool --time 10min
      flashgc tune TRACE.csv.zst --objective p99.9-read --device tlc
      flashgc tune uniform --objective life --endurance 100 --blocks 500

    To go on after a stop, give the same command again.
    """
    from flashgc.command.ended import code_of
    from flashgc.command.show.tune import show_tuned
    from flashgc.studies import plot

    # From here on, Ctrl-C must raise an exception, also between the several calls of the engine.
    _ctrl_c.release()
    given, own = of_one_workload(workload, by_option, typed)
    with Bar(quiet=output.quiet) as bar:
        tuned = search(given, objective=objective, progress=bar.show, **own)
    output.give(tuned, show_tuned)
    output.warn(tuned.findings, but=RULES)
    code = code_of(tuned.interrupted, quiet=output.quiet)
    has_ranking = bool(tuned.ranking)
    if save is not None and has_ranking:
        save_winner(tuned, save)
    elif save is not None:
        warn(f"{save} was not written: nothing was measured", quiet=output.quiet)
    if not has_ranking and not tuned.interrupted:
        raise ConfigError("no combination was measured; hint: fewer restrictions, or --spare 20%")
    output.draw(lambda: plot.tune(tuned), measured=has_ranking)
    if tuned.unkept is not None:
        raise tuned.unkept
    return code
