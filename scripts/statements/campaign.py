"""``make statements``: random inputs that try to make printed findings false.

    .venv/bin/python -m scripts.statements.campaign [COUNT [SEED]]

runs ``COUNT`` inputs; ``SEED`` is the seed of the first one.
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts.statements.claims import CHECKS, STOPPED_CHECKS, Case, Check
from scripts.statements.inputs import Given, given

import flashgc
from flashgc.results import Result

#: The share of the inputs that are stopped before their end.
STOPPED = 0.1


def faults(
    seed: int, folder: Path, checks: Sequence[Check] = CHECKS
) -> Iterator[tuple[str, str, Case]]:
    """Runs the input of ``seed``; yields false and missing sentences with the names of checks."""
    draw = random.Random(seed)
    options = given(draw, folder, seed)
    stopped = draw.random() < STOPPED
    try:
        result = _stopped(options, draw) if stopped else flashgc.run(**options)
    except (flashgc.ConfigError, flashgc.TraceError):
        return  # Other tests check messages of refused inputs.
    case = Case(options, result)
    for check in STOPPED_CHECKS if result.interrupted else checks:
        for text in check(case):
            yield check.__name__, text, case


def _stopped(options: Given, draw: random.Random) -> Result:
    """A run that is stopped at a random moment, unless it ends before."""
    control = flashgc.Control()
    timer = threading.Timer(10 ** draw.uniform(-4, -0.5), control.cancel)
    timer.start()
    try:
        return flashgc.run(**options, control=control)
    finally:
        timer.cancel()


def campaign(count: int = 1000, first: int = 1) -> int:
    """Tries ``count`` inputs and prints what is false; the exit code is 1 if anything is."""
    counts: Counter[str] = Counter()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for done, seed in enumerate(range(first, first + count)):
            for name, text, case in faults(seed, Path(folder)):
                counts[name] += 1
                print(f"seed {seed}: {name}: {text}\n  {case.given}", flush=True)
            if sys.stderr.isatty() and done % 20 == 19:
                left = (time.monotonic() - begin) / (done + 1) * (count - done - 1)
                print(f"\r{done + 1} of {count}, {left:.0f} s left ", end="", file=sys.stderr)
    seconds = time.monotonic() - begin
    print(f"{count} inputs in {seconds:.0f} s: {sum(counts.values())} false or missing sentences")
    for name, times in counts.most_common():
        print(f"  {name}: {times}")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(campaign(*map(int, sys.argv[1:3])))
