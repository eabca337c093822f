"""Complete sets of answers to what Zombie Chasing leaves open, by what holds under each.

    python scripts/zombie/sets.py               # the micro-benchmark, one run of each simulation
    python scripts/zombie/sets.py --runs 4      # as `flashgc reproduce zombie` judges it
    python scripts/zombie/sets.py --tpcc        # TPC-C instead

prints a table in Markdown, a line a set as soon as it is there. A line has claims met, statements
of the paper that hold, and rows; then the figures that the fit looks at, and the gains of Figure 5.
One run has no interval, so that its verdicts are those of the means.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from flashgc_papers.claims import claims
from flashgc_papers.reproduce.execute import Work
from flashgc_papers.reproduce.readings import Reading
from flashgc_papers.reproduce.runner import (
    Measured,
    Outcome,
    Runner,
    Size,
    Task,
    held,
)
from flashgc_papers.reproduce.statements import table
from flashgc_papers.reproduce.verdicts import AS_PUBLISHED, Value
from flashgc_papers.zombie.experiment import CHOSEN, READINGS
from flashgc_papers.zombie.figures import Banks, Locality, Memory, ZombieBlock
from flashgc_papers.zombie.notices import Knowledge, Notices
from flashgc_papers.zombie.reads import Reads
from flashgc_papers.zombie.tpcc import Database, SixteenBanks
from flashgc_papers.zombie.waits import Waits, Written

#: The claims on the micro-benchmark, and on TPC-C.
MICRO: Mapping[str, Callable[[Reading], Runner]] = {
    "zombie.fig5": Locality, "zombie.fig6": Memory, "zombie.fig7": Banks,
    "zombie.table3": Knowledge, "zombie.fig8": Reads, "zombie.fig9": ZombieBlock,
    "zombie.notification": Notices,
}  # fmt: skip
TPCC: Mapping[str, Callable[[Reading], Runner]] = {
    "zombie.tpcc": Database, "zombie.fig11": SixteenBanks, "zombie.table5": Waits,
    "zombie.written": Written,
}  # fmt: skip


def changed(options: Mapping[str, Any], **answers: Any) -> dict[str, Any]:
    """The chosen reading's answers with others, and with other options of the drive."""
    return {**CHOSEN.answers, "options": {**CHOSEN["options"], **options}, **answers}


_PGC = {"preemption": "pgc"}
_PROMOTES = "dac:regions=3,threshold=0"
_UNTIL_8 = {**_PGC, "gc_high": "8"}
#: Each set by its name: the readings, and the chosen one with collections that requests pass.
SETS: Mapping[str, Mapping[str, Any]] = {
    **{one.name: one.answers for one in READINGS},
    "semi-preemptive": changed(_PGC),
    "semi-preemptive, no idle phase": changed(_PGC, host=""),
    "semi-preemptive, writes wait below one erased block": changed({**_PGC, "gc_hard": "1"}),
    "semi-preemptive, DAC promotes": changed(_PGC, placement=_PROMOTES),
    "semi-preemptive, until 8 are erased": changed(_UNTIL_8),
    "semi-preemptive, until 8 are erased, 1.25 of the earlier run": changed(
        _UNTIL_8, before=175_000
    ),
}


def first_runs(task: Task) -> Task:
    """The task with the first run of each of its simulations alone."""
    first = {
        key: one
        for key, one in task.simulations.items()
        if " run " not in key or key.endswith(" run 1")
    }
    return replace(task, simulations=first)


def outcomes(answers: Mapping[str, Any], *, runs: int, tpcc: bool, jobs: int) -> dict[str, Outcome]:
    """The outcome of each claim under a set of answers."""
    reading = Reading("tried", "", "", answers)
    asked = TPCC if tpcc else MICRO
    runners = {name: made(reading) for name, made in asked.items()}
    of = {name: claims().select((name,))[0] for name in runners}
    tasks = {name: one.task(of[name], Size.DEFAULT) for name, one in runners.items()}
    work = Work(
        tasks if runs > 1 else {name: first_runs(task) for name, task in tasks.items()}, jobs=jobs
    )
    work.perform()
    made = {}
    for name, runner in runners.items():
        measured = work.measured(name, Size.DEFAULT)
        if runs == 1:
            measured = alike(measured, tasks[name])
        made[name] = runner.judge(of[name], measured)
    return made


def alike(measured: Measured, task: Task) -> Measured:
    """What was measured, with the first run of each simulation in place of the others."""
    found = {}
    for key in task.simulations:
        name, run, _ = key.rpartition(" run ")
        one = f"{name}{run}1" if run else key
        if one in measured.results:
            found[key] = measured.results[one]
    return replace(measured, task=task, results=found)


def row(made: Mapping[str, Outcome]) -> list[str]:
    """The cells of a set."""
    rows = [one for outcome in made.values() for one in outcome.rows]
    said = [line.verdict in AS_PUBLISHED for line in table("zombie", made)]
    whole = [name.partition(".")[2] for name, one in made.items() if one.verdict in AS_PUBLISHED]
    # Figure 7 has labels of Figure 5: the first counts.
    by_label = {one.label: one.measured for one in reversed(rows)}

    def figure(*labels: str) -> str:
        values = [by_label.get(label) for label in labels]
        return " / ".join(
            f"{value.mean:.3g}" if isinstance(value, Value) else "-" for value in values
        )

    each = " ".join(
        f"{name.partition('.')[2]} {held(one.rows)}/{len(one.rows)}" for name, one in made.items()
    )
    return [
        f"{len(whole)} ({', '.join(whole)})",
        f"{sum(said)} of {len(said)}",
        f"{held(rows)} of {len(rows)}",
        each,
        figure("waf(ZGC-CB), 0 reads a write", "waf(ZGC-CB), 2 reads a write"),
        figure(*(f"{reads}, zombies known, MB" for reads in ("0", "0.5", "2"))),
        figure("ZGC-GD below GC-GD at h = 6, %", "ZGC-CB below GC-CB at h = 6, %"),
        figure(*(f"{name}, elapsed time saved at h = 6, %" for name in ("ZGC-GD", "ZGC-CB"))),
    ]


HEAD = (
    "answers", "claims met", "statements", "rows", "rows by claim", "F8: ZGC-CB", "T3: MB known",
    "F5: amplification", "F5: time",
)  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--only", metavar="WORD", default="", help="sets whose names have WORD")
    parser.add_argument("--runs", type=int, default=1, help="1, or those of the default size")
    parser.add_argument("--tpcc", action="store_true", help="the claims on TPC-C instead")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rows", action="store_true", help="print the rows that do not hold")
    asked = parser.parse_args()
    print(f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}", sep="\n", flush=True)
    for name, answers in SETS.items():
        if asked.only not in name:
            continue
        made = outcomes(answers, runs=asked.runs, tpcc=asked.tpcc, jobs=asked.jobs)
        print(f"| {name} | {' | '.join(row(made))} |", flush=True)
        for claim, outcome in made.items():
            for one in outcome.rows:
                if asked.rows and one.verdict not in AS_PUBLISHED:
                    print(
                        f"#   {claim}: {one.label}: {one.published}: {one.measured}: {one.why}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
