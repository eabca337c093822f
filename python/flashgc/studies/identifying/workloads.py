"""Workloads of real drives, converted for a small simulated drive.

A small drive has the same skew only if the workload does not depend on the number of pages. A
workload of hot and cold pages does not; the hot pages are scattered, as on a measured drive. Zipf's
law does: the share of the most popular page depends on the number of pages. So a simulated page
stands for several pages of the real drive, with all their writes.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flashgc import _core
from flashgc._core import ConfigError

#: Bytes of a page that the workload writes.
PAGE = 4096
#: Each class of a simulated Zipf distribution ends at a rank that is this many times the last rank
#: of the class before.
_STEP = 1.2
#: The number of ranks whose popularities are summed exactly; the others are summed by the
#: Euler-Maclaurin formula.
_SUMMED = 1000


@dataclass(frozen=True)
class Condition:
    """The condition of a measurement: a workload, and optionally its length."""

    #: The workload, as typed.
    workload: str
    #: The spec for the engine; for Zipf it is computed for the size of the simulated drive.
    spec: str
    #: For Zipf: the exponent, and the number of pages of the real drive; else ``None``.
    theta: float | None = None
    pages: int | None = None
    #: The lengths of measurement and warm-up, as for ``flashgc run``.
    writes: str | None = None
    warmup: str | None = None

    def source(self, pages: int) -> str:
        """The workload for a simulated drive with ``pages`` logical pages."""
        if self.theta is None or self.pages is None:
            return self.spec
        return zipf(self.theta, pages, max(self.pages, pages))


def condition(
    workload: str, capacity: int, writes: str | None = None, warmup: str | None = None
) -> Condition:
    """The condition for these texts; ``capacity`` is in bytes.

    Raises :class:`flashgc.ConfigError`.

    >>> condition("80/20", 10**12).spec
    'classes:pages=20/80,shares=80/20'
    >>> condition("zipf:theta=0.8", 960 * 10**9).pages
    234375000
    >>> condition("80/2O", 10**12)
    Traceback (most recent call last):
    ...
    flashgc.ConfigError: unknown workload '80/2O'; hint: uniform, 80/20 (80% of the writes to \
20% of the pages), zipf:theta=0.8 or another generator
    """
    condition = _condition(workload, capacity, writes, warmup)
    _check(condition)
    return condition


def _condition(workload: str, capacity: int, writes: str | None, warmup: str | None) -> Condition:
    number = r"(\d+(?:\.\d+)?)"
    if (hot := re.fullmatch(rf"{number}/{number}", workload)) is not None:
        share, pages = float(hot[1]), float(hot[2])
        if not (0 < share < 100 and 0 < pages < 100):
            raise ConfigError(
                f"found {workload}, expected two shares between 0 and 100 percent; hint: 80/20 is "
                "80% of the writes to 20% of the pages"
            )
        return Condition(workload, _classes(share, pages), writes=writes, warmup=warmup)
    name, _, text = workload.partition(":")
    given = dict(part.split("=", maxsplit=1) for part in text.split(",") if "=" in part)
    if name == "zipf" and given.keys() <= {"theta"}:
        theta = given.get("theta", "0.99")
        if re.fullmatch(r"\d*\.?\d+", theta):
            value = float(theta)
            return Condition(workload, workload, value, capacity // PAGE, writes, warmup)
    if name == "hotcold" and given.keys() <= {"f", "r"}:
        f, r = given.get("f", "0.2"), given.get("r", "0.8")
        if all(re.fullmatch(r"0?\.\d+", share) for share in (f, r)):
            spec = _classes(100 * float(r), 100 * float(f))
            return Condition(workload, spec, writes=writes, warmup=warmup)
    if _core.is_trace(workload):
        raise ConfigError(
            f"unknown workload '{workload}'; hint: uniform, 80/20 (80% of the writes to 20% of the "
            "pages), zipf:theta=0.8 or another generator"
        )
    return Condition(workload, workload, writes=writes, warmup=warmup)


def _classes(share: float, pages: float) -> str:
    return f"classes:pages={pages:g}/{100 - pages:g},shares={share:g}/{100 - share:g}"


def _check(condition: Condition) -> None:
    """Check by the engine's configuration that the condition can be run."""
    from flashgc.described import Simulation

    for key, value, example in (
        ("writes", condition.writes, "5x"),
        ("warmup", condition.warmup, "60%"),
    ):
        if value is not None and value.isdecimal() and value != "0":
            raise ConfigError(
                f"{key}: found {value}, and page writes of a real drive are none of a simulated "
                f"one; hint: such as {example}"
            )
    options = {"workload": condition.spec, "writes": condition.writes, "warmup": condition.warmup}
    Simulation({key: value for key, value in options.items() if value is not None}).config()


@functools.lru_cache(maxsize=4096)
def zipf(theta: float, pages: int, real: int) -> str:
    """Zipf's law over ``real`` pages, on ``pages`` pages that each stand for several real ones.

    Page j has the writes of the ranks from (j - 1) real/pages to j real/pages; a part of a rank
    counts proportionally. Pages are grouped in classes whose ranks differ by a factor of 1.2.

    >>> zipf(1.0, 2, 4)  # The first two of 1, 1/2, 1/3 and 1/4 are 72% of their sum.
    'classes:pages=1/1,shares=0.720000000/0.280000000'
    """
    ends = [0]
    while ends[-1] < pages:
        ends.append(min(max(int(ends[-1] * _STEP), ends[-1] + 1), pages))
    edges = np.array(ends, np.float64)
    below = harmonic(theta, edges * (real / pages))
    shares = np.diff(below) / below[-1]
    sizes = "/".join(str(int(size)) for size in np.diff(edges))
    return f"classes:pages={sizes},shares={'/'.join(f'{share:.9f}' for share in shares)}"


def harmonic(theta: float, ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of k^-theta over the first ``ranks`` ranks; a part of a rank counts proportionally.

    >>> float(harmonic(1.0, np.array([2.5]))[0].round(6))  # 1 + 1/2 + 1/6
    1.666667
    """
    k = np.arange(1, _SUMMED + 1, dtype=np.float64) ** -theta
    sums = np.concatenate([[0.0], np.cumsum(k)])

    def primitive(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.log(x) if theta == 1 else x ** (1 - theta) / (1 - theta)

    few = np.interp(ranks, np.arange(_SUMMED + 1), sums)
    many = np.maximum(ranks, _SUMMED)
    start = np.array([float(_SUMMED)])
    ends = (many**-theta - start**-theta) / 2
    more = sums[-1] + primitive(many) - primitive(start) + ends
    return np.asarray(np.where(ranks <= _SUMMED, few, more), np.float64)
