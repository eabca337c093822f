"""Measures how often `flashgc identify` finds the scheme of a drive, or names a wrong one.

    .venv/bin/python -m experiments.identify.recover [--quick] [--known 50] [--unknown 50]
        [--noise 2%] [--workloads W,W...] [--deciding 20] [--cache DIR] [--write]

Each drive is simulated with a rule and a spare factor drawn at random, with other seeds than those
of the curves, and measured on seven workloads with a random error. Drives are drawn from fixed
seeds. A *known* drive has a scheme of the list. An *unknown* one has a rule of `rules.py` that is
not in the list, so any best explanation of it is false.

`--write` writes `found.json`, from which the command takes the rate that it prints. Finished
simulations are in the cache, so the next call continues a stopped one.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.identify.drives import WORKLOADS, Bench, BuiltDrive, known, unknown

import flashgc
from flashgc.store.cache import Cache
from flashgc.studies.identifying import deciding, outcome
from flashgc.studies.identifying.curves import Curves, Size
from flashgc.studies.identifying.identify import QUICK, ranked
from flashgc.studies.identifying.measurements import Drive
from flashgc.studies.identifying.outcome import Identified
from flashgc.studies.identifying.schemes import Scheme, parse, schemes
from flashgc.studies.identifying.search import Search
from flashgc.terminal.progress import Bars
from flashgc.units import format_share, parse_share

WRITTEN = Path(outcome.__file__).with_name("open_set.json")


@dataclass
class Study:
    """Drives, and the schemes that are tried on them."""

    size: Size
    noise: float
    tried: Sequence[Scheme]
    cache: Path | None
    bars: Bars
    workloads: Sequence[str] = WORKLOADS

    def __post_init__(self) -> None:
        self.bench = Bench(self.size, self.noise, self.cache)
        kept = None if self.cache is None else Cache(self.cache, "identify")
        self.curves = Curves(self.size, cache=kept, jobs=1, show=self.bars.show)

    def identified(self, drives: Sequence[Drive]) -> tuple[Search, list[Identified]]:
        """The search, and the explanations of each drive by absolute write amplifications."""
        groups = [(drive,) for drive in drives]
        search = Search(groups, self.tried, self.curves, relative=False)
        search.perform()
        return search, [ranked(search, group) for group in groups]

    def rows(self, drives: Sequence[BuiltDrive]) -> list[dict[str, Any]]:
        """A row of `open_set.json` for each drive."""
        _, outcomes = self.identified(
            [self.bench.measured(drive, self.workloads) for drive in drives]
        )
        return [row(drive, identified) for drive, identified in zip(drives, outcomes, strict=True)]

    def decided(self, drives: Sequence[BuiltDrive], most: int) -> list[dict[str, Any]]:
        """Counts the possible schemes of drives before and after one more workload is measured.

        The further workload is the recommended one, or for comparison a random one. At most
        ``most`` drives are measured further, and only those with several possible schemes.
        """
        measured = [self.bench.measured(drive, self.workloads) for drive in drives]
        search, identified = self.identified(measured)
        cases = []
        for drive, before in zip(drives, identified, strict=True):
            if len(before.alike) > 1 and len(cases) < most:
                further = deciding.further(before, search)
                if further and further[0].pairs_told_apart:
                    other = random.Random(drive.case).choice(further[1:])
                    cases.append((drive, before, further[0], other))
        longer = [
            self.bench.measured(drive, (*self.workloads, further.workload))
            for drive, _, *both in cases
            for further in both
        ]
        _, after = self.identified(longer)
        return [
            {
                "drive": drive.title,
                "workload": named.workload,
                "random": other.workload,
                "before": len(before.alike),
                "after": len(after[2 * index].alike),
                "after_random": len(after[2 * index + 1].alike),
                "kept": is_among(drive, after[2 * index]),
            }
            for index, (drive, before, named, other) in enumerate(cases)
        ]


def is_among(drive: BuiltDrive, identified: Identified) -> bool:
    """True if the scheme of a drive is the best one, or not distinguishable from it."""
    return drive.scheme in [ranked.explanation.scheme for ranked in identified.alike]


def row(drive: BuiltDrive, identified: Identified) -> dict[str, Any]:
    """A row with a drive's true scheme and the identified one."""
    spares = identified.spares[0]
    assert identified.best is not None
    assert identified.goodness is not None
    assert spares is not None
    entry: dict[str, Any] = {
        "set": drive.set,
        "case": drive.case,
        "family": drive.family,
        "name": drive.name,
        "spare": drive.spare,
        "points": [round(point.write_amplification, 5) for point in identified.drives[0].points],
        "best": identified.best.explanation.scheme.name,
        "chi_square": round(identified.best.explanation.chi_square, 4),
        "limit": round(identified.goodness.limit, 4),
        "alike": len(identified.alike),
        "spares": [round(spares.low, 4), round(spares.high, 4)],
    }
    if drive.scheme is not None:
        entry["among"] = is_among(drive, identified)
        entry["place"] = next(
            ranked.place
            for ranked in identified.ranking
            if ranked.explanation.scheme == drive.scheme
        )
    return entry


def study(
    *,
    known_drives: int = 50,
    unknown_drives: int = 50,
    further: int = 0,
    quick: bool = True,
    noise: float = 0.02,
    cache: Path | None = None,
    names: Sequence[str] = (),
    workloads: Sequence[str] = WORKLOADS,
    quiet: bool = True,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The document of `found.json`, and a row for each drive measured on one more workload."""
    size = QUICK if quick else Size()
    tried = [parse(name) for name in names] or list(schemes())
    listed = [known(case, tried, size) for case in range(known_drives)]
    others = [unknown(case, size) for case in range(unknown_drives)]
    with Bars(quiet=quiet) as bars:
        whole = Study(size, noise, tried, cache, bars, workloads)
        rows = whole.rows([*listed, *others])
        decided = whole.decided(listed, further) if further else []
    document = {
        "version": flashgc.version(),
        "schemes": len(tried),
        "simulated_drive": {"blocks": size.blocks, "pages_per_block": size.pages_per_block},
        "workloads": list(workloads),
        "noise": noise,
        "drives": rows,
    }
    return document, decided


def of_list(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Counts over the drives whose scheme is in the list."""
    return {
        "drives": len(rows),
        "explained": sum(map(outcome.is_explained, rows)),
        "first": sum(row["place"] == 1 for row in rows),
        "alone": sum(row["among"] and row["alike"] == 1 for row in rows),
        "among": sum(row["among"] for row in rows),
        "spare inside": sum(row["spares"][0] <= row["spare"] <= row["spares"][1] for row in rows),
        "width of the spare": statistics.median(
            row["spares"][1] / row["spares"][0] - 1 for row in rows
        ),
        "alike": statistics.median(row["alike"] for row in rows),
    }


def table(document: dict[str, Any], decided: Sequence[dict[str, Any]]) -> str:
    """The tables of docs/identify.md."""
    rows = document["drives"]
    lines = ["| rule of the drive | drives | best explanation named |", "|---|---|---|"]
    for family in dict.fromkeys(row["family"] for row in rows):
        some = [row for row in rows if row["family"] == family]
        explained = sum(map(outcome.is_explained, some))
        lines.append(f"| {family} | {len(some)} | {explained} |")
    rate = outcome.rate_of(document)
    lines.append(f"| all outside the list | {rate.drives} | {rate.explained} |")
    listed = [row for row in rows if row["set"] == outcome.KNOWN]
    lines += [f"{name}: {value:.3g}" for name, value in of_list(listed).items()]
    if decided:
        for key in ("before", "after", "after_random", "kept"):
            lines.append(f"{key}: {statistics.mean(row[key] for row in decided):.3g}")
    lines.append(f"share of false best explanations: {format_share(rate.share, 2)}")
    return "\n".join(lines)


def main() -> None:
    """Prints every drive as JSON, and the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--known", type=int, default=50)
    parser.add_argument("--unknown", type=int, default=50)
    parser.add_argument("--deciding", type=int, default=20)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--noise", default="2%")
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    document, decided = study(
        known_drives=given.known,
        unknown_drives=given.unknown,
        further=given.deciding,
        quick=given.quick,
        noise=parse_share(given.noise),
        cache=given.cache,
        workloads=given.workloads.split(","),
        quiet=False,
    )
    for entry in (*document["drives"], *decided):
        print(json.dumps(entry))
    print(table(document, decided))
    if given.write:
        text = json.dumps(document)
        WRITTEN.write_text(text.replace('{"set"', '\n{"set"') + "\n")


if __name__ == "__main__":
    main()
