"""How often `flashgc identify` finds the scheme of a drive that we made ourselves.

    .venv/bin/python scripts/identify/recover.py [--cases 50] [--quick] [--noise 2%] [--cache DIR]

Each case is a simulated drive with a scheme and a spare factor drawn at random, measured on the
same workloads with another seed than the curves, times a random error. The right scheme is found
where it is the only explanation ("unique and right"), or is among those that cannot be told apart
("cannot tell, right one among them"). Everything else is wrong. Cases are drawn from fixed seeds.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Sequence

import flashgc
from flashgc._core import Control
from flashgc.studies.identify.curves import Size
from flashgc.studies.identify.found import Identified
from flashgc.studies.identify.identify import QUICK, identify
from flashgc.studies.identify.measurements import Drive, Point
from flashgc.studies.identify.schemes import Scheme, parse, schemes
from flashgc.studies.identify.workloads import condition
from flashgc.terminal.progress import Bars
from flashgc.units import parse_share

WORKLOADS = ("uniform", "70/30", "80/20", "90/10", "95/5", "zipf:theta=0.6", "zipf:theta=0.9")
#: Spare factors of the drives.
LEAST, MOST = 0.07, 0.30
UNIQUE, AMONG, WRONG = "unique and right", "cannot tell, right one among them", "wrong"


def made(case: int, tried: Sequence[Scheme], size: Size, noise: float) -> tuple[Scheme, Drive]:
    """The drive of a case, measured."""
    draw = random.Random(case)
    scheme, spare = draw.choice(tried), round(draw.uniform(LEAST, MOST), 4)
    points = []
    for name in WORKLOADS:
        one = condition(name, 10**12)
        pages = int(size.blocks * size.pages_per_block * (1 - spare))
        result = flashgc.run(
            one.source(pages),
            blocks=size.blocks,
            pages_per_block=size.pages_per_block,
            spare=spare,
            writes=size.writes,
            warmup=size.warmup,
            seed=1000 + case,
            jobs=1,
            control=Control(),
            **scheme.options(size.blocks),
        )
        value = result.write_amplification * (1 + draw.gauss(0, noise))
        points.append(Point(one, max(value, 1.0), noise))
    return scheme, Drive(f"case {case}: {scheme.name}, {spare:.1%}", tuple(points))


def verdict(truth: Scheme, one: Identified) -> str:
    """What became of a case."""
    alike = [ranked.explanation.scheme for ranked in one.alike]
    if truth not in alike:
        return WRONG
    return UNIQUE if len(alike) == 1 else AMONG


def recover(
    cases: int,
    *,
    quick: bool = False,
    noise: float = 0.02,
    cache: str | None = None,
    names: Sequence[str] = (),
    quiet: bool = True,
) -> tuple[Counter[str], list[dict[str, object]]]:
    """Counts of verdicts, and every case."""
    size = QUICK if quick else Size()
    tried = [parse(name) for name in names] or list(schemes())
    truths, drives = zip(*(made(case, tried, size, noise) for case in range(cases)), strict=True)
    with Bars(quiet=quiet) as bars:
        found = identify(
            drives,
            scheme=names,
            quick=quick,
            blocks=size.blocks,
            cache=cache,
            jobs=1,
            progress=bars.show,
        )
    rows: list[dict[str, object]] = []
    for truth, one in zip(truths, found.drives, strict=True):
        place = next(r for r in one.ranking if r.explanation.scheme == truth)
        rows.append(
            {
                "case": one.drives[0].name,
                "verdict": verdict(truth, one),
                "explained": one.is_explained,
                "place": place.place,
                "distance": round(place.distance, 2),
                "cannot_tell": len(one.alike),
                "spare": round(place.explanation.fits[0].spare, 4),
            }
        )
    return Counter(str(row["verdict"]) for row in rows), rows


def main() -> None:
    """Prints the counts, and every case as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=50)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--noise", default="2%")
    parser.add_argument("--cache")
    given = parser.parse_args()
    counts, rows = recover(
        given.cases,
        quick=given.quick,
        noise=parse_share(given.noise),
        cache=given.cache,
        quiet=False,
    )
    for row in rows:
        print(json.dumps(row))
    for name in (UNIQUE, AMONG, WRONG):
        print(f"{name}: {counts[name]} of {given.cases}")


if __name__ == "__main__":
    main()
