"""A made-up trace of a fleet: ``python docs/examples/synthesise.py fleet.csv --volumes 10000``.

The trace has the format of Tencent's (seconds, sector, sectors, 0 read or 1 write, volume), and the
requests of all volumes are mixed row by row. The same arguments give the same bytes.

Each volume draws:

- its number, out of 2^31, so that numbers have gaps;
- its pages of 4 KiB, from a log-normal distribution (``--pages`` is the median, ``--sigma`` the
  standard deviation of the logarithm), at least 8;
- its pattern: zipf (exponent 0.6 to 1.2, 40% of volumes), hot and cold pages (5 to 30% of the
  pages take 70 to 95% of the writes, 40%), or uniform (20%);
- its share of reads, from 0 to 60%; 5% of the volumes are never written.

It makes ``--overwrite`` times as many requests as it has pages, each of 1 to 4 pages.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy
from numpy.typing import NDArray

SECTORS = 8
#: Rows that become text at a time.
ROWS = 100_000
#: Requests a second of the whole fleet.
RATE = 50_000


def places(draw: numpy.random.Generator, pages: int, requests: int) -> NDArray[numpy.int64]:
    """The first page of each request to a volume."""
    kind = draw.random()
    ranks = numpy.arange(1, pages + 1)
    if kind < 0.4:
        weights = ranks ** -draw.uniform(0.6, 1.2)
    elif kind < 0.8:
        hot, share = draw.uniform(0.05, 0.3), draw.uniform(0.7, 0.95)
        few = max(round(hot * pages), 1)
        weights = numpy.where(ranks <= few, share / few, (1 - share) / max(pages - few, 1))
    else:
        weights = numpy.ones(pages)
    found = numpy.searchsorted(numpy.cumsum(weights / weights.sum()), draw.random(requests))
    return draw.permutation(pages)[numpy.minimum(found, pages - 1)]


def synthesise(
    path: Path, *, volumes: int, pages: float, sigma: float, overwrite: float, seed: int
) -> int:
    """Writes the trace; how many requests it has."""
    draw = numpy.random.default_rng(seed)
    numbers = draw.choice(2**31, volumes, replace=False)
    sizes = numpy.maximum(draw.lognormal(numpy.log(pages), sigma, volumes).astype(int), 8)
    counts = numpy.ceil(sizes * overwrite).astype(int)
    owners = draw.permutation(numpy.repeat(numpy.arange(volumes, dtype=numpy.int32), counts))
    total = len(owners)
    offsets = numpy.empty(total, dtype=numpy.int64)
    lengths = draw.integers(1, 5, total)
    writes = numpy.empty(total, dtype=bool)
    # The requests of a volume in the order of the trace.
    order = numpy.argsort(owners, kind="stable")
    for at, mine in enumerate(numpy.split(order, numpy.cumsum(counts)[:-1])):
        offsets[mine] = places(draw, int(sizes[at]), len(mine))
        reads = 1.0 if draw.random() < 0.05 else draw.uniform(0.0, 0.6)
        writes[mine] = draw.random(len(mine)) >= reads
    lengths = numpy.minimum(lengths, sizes[owners] - offsets)
    with path.open("w", encoding="ascii") as out:
        for begin in range(0, total, ROWS):
            some = slice(begin, begin + ROWS)
            rows = zip(
                (offsets[some] * SECTORS).tolist(),
                (lengths[some] * SECTORS).tolist(),
                writes[some].tolist(),
                numbers[owners[some]].tolist(),
                strict=True,
            )
            out.writelines(
                f"{(begin + at) // RATE},{offset},{length},{int(write)},{number}\n"
                for at, (offset, length, write, number) in enumerate(rows)
            )
    return total


def main() -> None:
    """Reads the arguments and writes the trace."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trace", type=Path)
    parser.add_argument("--volumes", type=int, default=10_000)
    parser.add_argument("--pages", type=float, default=256, help="median of the pages a volume")
    parser.add_argument("--sigma", type=float, default=1.0)
    parser.add_argument("--overwrite", type=float, default=2.0, help="requests a page")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    total = synthesise(
        given.trace,
        volumes=given.volumes,
        pages=given.pages,
        sigma=given.sigma,
        overwrite=given.overwrite,
        seed=given.seed,
    )
    print(f"{given.trace}: {total} requests of {given.volumes} volumes")


if __name__ == "__main__":
    main()
