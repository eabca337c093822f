"""Wrong engines under a reading of Zombie Chasing: which of its rows detect them.

    python scripts/zombie/wrong.py passing                      # every claim that has the reading
    python scripts/zombie/wrong.py passing zombie.fig5 --only "score"
    python scripts/zombie/wrong.py idle zombie.readings --out DIR

prints a table in Markdown, a line a claim and wrong engine: the rows met by the right engine that
this one does not meet, and their number. `flashgc reproduce --mutants` does the same for the chosen
reading of each paper. Finished runs are kept in DIR, which may be that of `flashgc reproduce`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from flashgc.store.cache import Cache
from flashgc_papers.claims import Claim, Input, claims
from flashgc_papers.reproduce.execute import Work
from flashgc_papers.reproduce.mutants import attempts
from flashgc_papers.reproduce.readings import alone
from flashgc_papers.reproduce.runner import Size, register_runner, runner_of
from flashgc_papers.zombie.experiment import READINGS


def under(claim: Claim, reading: str) -> bool:
    """Lets a claim run under one reading; false if it leaves nothing open."""
    runner = runner_of(claim)
    found = None if runner is None else alone(runner, reading)
    if found is not None:
        register_runner(claim.id, found)
    return found is not None


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("reading", choices=[one.name for one in READINGS])
    parser.add_argument("claims", nargs="*", default=["zombie"])
    parser.add_argument("--only", metavar="WORD", default="", help="engines whose names have WORD")
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("flashgc-reproduce"))
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    cache = Cache(asked.out / "cache", "scripts/zombie/wrong.py", option="--out")
    chosen = []
    for claim in claims().select(tuple(asked.claims)):
        if claim.input is not Input.LIVE and (
            under(claim, asked.reading) or claim.id in asked.claims
        ):
            chosen.append(claim)
    runners = {claim.id: runner_of(claim) for claim in chosen}
    tasks = {
        claim.id: runner.task(claim, Size.QUICK)
        for claim in chosen
        if (runner := runners[claim.id]) is not None
    }
    work = Work(tasks, cache=cache, jobs=asked.jobs)
    work.perform()
    right = {name: work.measured(name, Size.QUICK) for name in tasks}
    print("| claim | wrong engine | rows that detect it | which |", "|---|---|---|---|", sep="\n")
    for claim in chosen:
        made, _ = attempts(
            [claim], tasks, right, cache=cache, jobs=asked.jobs, progress=None, only=asked.only
        )
        for trial in made[claim.id]:
            told = trial.failed or f"{len(trial.told)} of {len(trial.met)}"
            which = "; ".join(trial.told)
            print(f"| {claim.id} | {trial.name} | {told} | {which} |", flush=True)


if __name__ == "__main__":
    main()
