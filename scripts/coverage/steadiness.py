"""The errors of the tests of a steady state: ``python -m scripts.coverage.steadiness [SERIES]``.

Series with a known truth are given to two tests: the rule for passes of a trace, which adds passes
until they are steady, and the test of the time per request. SERIES (default 2000) of each kind are
made from fixed seeds. The first table has the share of series that the rule calls steady; the share
whose interval misses the final level; the share that is called steady although it misses; and the
mean number of passes. docs/validation.md has the figures.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator
from itertools import islice

from flashgc import _core

LEVEL = 2.0
WARMUP = 1 / 3
#: The number of intervals in the measured part of a generator's run.
INTERVALS = 120


def noise(rng: random.Random, sd: float, memory: float) -> Iterator[float]:
    """Stationary noise with standard deviation ``sd`` and correlation ``memory`` of neighbours."""
    value = rng.gauss(0, sd)
    while True:
        yield value
        value = memory * value + rng.gauss(0, sd * math.sqrt(1 - memory**2))


Shape = Callable[[int], float]


def series(rng: random.Random, sd: float, memory: float, shape: Shape, most: int) -> list[float]:
    """Figures that settle at LEVEL, with ``shape`` and noise added as shares of LEVEL."""
    parts = islice(noise(rng, sd, memory), most)
    return [LEVEL * (1 + shape(index) + part) for index, part in enumerate(parts)]


def flat(_: int) -> float:
    """No drift."""
    return 0.0


def decay(share: float, passes: float) -> Shape:
    """A transient of ``share`` of the level that falls by a factor of e in ``passes``."""
    return lambda index: share * math.exp(-index / passes)


def turns(share: float, period: int) -> Shape:
    """A deviation around the level that repeats after ``period`` passes."""
    return lambda index: share * (index % period - (period - 1) / 2) / period


#: Series of passes: name, standard deviation and memory of the noise, shape.
PASSES: tuple[tuple[str, float, float, Shape], ...] = (
    ("noise 0.2%", 0.002, 0, flat),
    ("noise 1%", 0.01, 0, flat),
    ("noise 3%", 0.03, 0, flat),
    ("noise 10%", 0.1, 0, flat),
    ("noise 1%, neighbours alike 0.5", 0.01, 0.5, flat),
    ("noise 1%, neighbours alike 0.8", 0.01, 0.8, flat),
    ("noise 3%, neighbours alike 0.5", 0.03, 0.5, flat),
    ("noise 3%, taking turns -0.8", 0.03, -0.8, flat),
    ("repeats every 3 passes, 3%", 0.001, 0, turns(0.03, 3)),
    ("transient 50%, gone in 3 passes", 0.01, 0, decay(0.5, 3)),
    ("transient 20%, gone in 10 passes", 0.01, 0, decay(0.2, 10)),
    ("transient 10%, gone in 30 passes", 0.01, 0, decay(0.1, 30)),
    ("transient 5%, gone in 30 passes", 0.01, 0, decay(0.05, 30)),
    ("transient 5%, gone in 30 passes, noise 3%", 0.03, 0, decay(0.05, 30)),
    ("transient 3%, gone in 100 passes", 0.01, 0, decay(0.03, 100)),
)

#: Runs of a generator: as above, with the shape over the INTERVALS, and `True` if steady.
RUNS: tuple[tuple[str, float, float, Shape, bool], ...] = (
    ("noise 0.2%", 0.002, 0, flat, True),
    ("noise 1%", 0.01, 0, flat, True),
    ("noise 5%", 0.05, 0, flat, True),
    ("noise 1%, neighbours alike 0.5", 0.01, 0.5, flat, True),
    ("noise 1%, neighbours alike 0.8", 0.01, 0.8, flat, True),
    ("noise 1%, rising 1%", 0.01, 0, lambda index: 0.01 * index / INTERVALS, False),
    ("noise 1%, rising 2%", 0.01, 0, lambda index: 0.02 * index / INTERVALS, False),
    ("noise 1%, rising 5%", 0.01, 0, lambda index: 0.05 * index / INTERVALS, False),
)


def main(count: int) -> None:
    """Prints both tables."""
    print(
        f"| passes of a trace | steady | interval misses | both | passes |  ({count} series each)"
    )
    print("|---|---|---|---|---|")
    for number, (name, sd, memory, shape) in enumerate(PASSES):
        outcomes = []
        for seed in range(count):
            rng = random.Random(1_000_003 * number + seed)
            values = series(rng, sd, memory, shape, _core.MOST_PASSES)
            passes, mean, half, steady = _core.replay_until_settled(values, WARMUP)
            misses = half is None or abs(mean - LEVEL) > half
            outcomes.append((steady, misses, misses and steady, passes))
        *parts, passes = map(sum, zip(*outcomes, strict=True))
        shares = " | ".join(f"{100 * part / count:.1f}%" for part in parts)
        print(f"| {name} | {shares} | {passes / count:.0f} |")
    print()
    print("| intervals of a measured part | truth | steady |")
    print("|---|---|---|")
    for number, (name, sd, memory, shape, truth) in enumerate(RUNS):
        steady = 0
        for seed in range(count):
            rng = random.Random(2_000_003 * number + seed)
            steady += _core.steady_intervals(series(rng, sd, memory, shape, INTERVALS))
        print(f"| {name} | {'steady' if truth else 'rises'} | {100 * steady / count:.1f}% |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
