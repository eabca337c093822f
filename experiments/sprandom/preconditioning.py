"""The writes with which fio's SPRandom preconditions a drive, made by its rules.

The drive is written as `REGIONS` regions of equal physical size. A share of the pages written to a
region, one minus its validity, is overwritten at the start of the next region. fio estimates the
write amplification as 0.5 / over-provisioning + 0.7, and has from it the validity of a victim.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

REGIONS = 100

Pages = npt.NDArray[np.int64]


def validities(overprovision: float, regions: int = REGIONS) -> npt.NDArray[np.float64]:
    """The share of valid pages of each region, the first one written first.

    Validities at equal distances take space in inverse proportion to themselves (Desnoyers);
    regions of equal size have the validities in between.
    """
    amplification = 0.5 / overprovision + 0.7
    values = np.linspace(1, 1 - 1 / amplification, regions)
    space = np.cumsum(1 / values)
    return np.interp(np.linspace(space[0], space[-1], regions), space, values)[::-1]


def writes(pages: int, overprovision: float, seed: int, regions: int = REGIONS) -> Pages:
    """The logical pages in the order in which they are written.

    Each is written once in a random order, and again where a region begins that follows it. What is
    left when the regions are full comes last.
    """
    rng = np.random.default_rng(seed)
    fresh = rng.permutation(pages)
    size = int(pages * (1 + overprovision)) // regions
    begun = 0
    again = np.empty(0, np.int64)
    written = []
    for validity in validities(overprovision, regions):
        first = fresh[begun : begun + max(size - len(again), 0)]
        begun += len(first)
        region = np.concatenate([again, first])
        written.append(region)
        again = region[rng.random(len(region)) <= 1 - validity]
        if begun == pages:
            break
    return np.concatenate([*written, fresh[begun:]])
