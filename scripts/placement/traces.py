"""Every scheme on every public trace: ``python scripts/placement/traces.py [WORKLOAD...]``.

The traces are those in the folder FLASHGC_TRACES; three generators are beside them. Schemes come
from the registry: every victim policy without a placement, every placement with cost-benefit, every
GC preset, and the oracle. All have the pool frontier. Each cell is a run until the passes settle,
at three spare factors. docs/results/placement.traces.csv has the cells and docs/placement.md the
tables, which ``scripts/docs/tables.py`` makes of it. Finished workloads are kept in ``--cache``:
Ctrl-C leaves what there is, and the same command goes on from there.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import flashgc
from flashgc._core import FlashgcError
from flashgc.configuration import configurations
from flashgc.experiment import experiment
from flashgc.registry import brief, gc_presets, placements, policies
from flashgc.results import Result
from flashgc.simulation import given_values
from flashgc.studies.gaps.couples import USUAL, Couple, couples
from flashgc.studies.rounds import Rounds, Wanted, folder_of
from flashgc.studies.study import Progress, without_unit
from flashgc.terminal.progress import Bar

OUT = Path(__file__).resolve().parent.parent.parent / "docs" / "results" / "placement.traces.csv"
SPARES = (0.07, 0.125, 0.2)
#: A drive has at least so many blocks if its trace has pages for that: the oracle keeps 33 spare.
FEWEST_BLOCKS = 600
#: Pages a block, the first that leaves enough blocks.
PAGES_PER_BLOCK = (64, 32, 16, 8, 4)
#: A trace with more page writes is replayed ``FEW_PASSES`` times, not until it settles.
MANY_PAGE_WRITES, FEW_PASSES = 2_000_000, 4
GENERATORS = ("hotcold:f=0.2,r=0.8", "hotcold:f=0.1,r=0.9", "zipf:theta=0.99")
GENERATED = {"blocks": 1000, "pages_per_block": 32, "writes": "12x", "warmup": "1/2"}
#: Placements whose class is the host's word, which these workloads do not say.
NEED_STREAMS = ("fdp",)
VICTIM, ORACLE = "cost-benefit", "oracle"


@dataclass(frozen=True)
class Workload:
    """A trace or generator, and the options of its runs."""

    name: str
    source: str
    options: dict[str, Any] = field(default_factory=dict)

    def config(self, one: Couple, spare: float, **options: Any) -> dict[str, Any]:
        """The engine's configuration of a scheme on it."""
        values, places = given_values(
            self.source,
            {
                **self.options,
                "victim": one.victim,
                "placement": one.placement,
                "frontier": "pool",
                "spare": spare,
                **options,
            },
        )
        (config,) = configurations(experiment(values, places), places, default_runs=1)
        return config


@dataclass(frozen=True)
class Cell:
    """What was measured of a scheme on a workload at a spare factor."""

    workload: str
    scheme: str
    spare: float
    blocks: int | str
    pages_per_block: int | str
    #: How often a pass writes each page that it writes; empty for a generator.
    overwrite: str
    #: Pages programmed for a page written.
    write_amplification: str
    #: Half the 95% interval of the run; empty where it has none.
    half: str
    #: Why there is no figure; empty where there is one.
    why: str


def schemes() -> list[Couple]:
    """Every scheme of the registry once, the oracle last."""
    placed = [
        f"{VICTIM} + {one.name}"
        for one in placements()
        if one.name not in ("none", *NEED_STREAMS) and not one.needs_future
    ]
    named = [*(one.name for one in policies()), *placed, *USUAL, *(p.name for p in gc_presets())]
    found: dict[tuple[str, str], Couple] = {}
    for name in named:
        # The first is greedy, which couples() adds to every list.
        one = couples([name], "scheme")[-1]
        found.setdefault((brief(one.victim), brief(one.placement)), one)
    knows = next(one.name for one in placements() if one.needs_future)
    return [*found.values(), Couple(ORACLE, VICTIM, knows)]


def workloads(folder: Path | None, names: Sequence[str]) -> list[Workload]:
    """The traces in ``folder`` and the generators, or those of ``names``."""
    found = [] if folder is None else sorted(folder.glob("*/*.csv.zst"))
    paths = [path for path in found if path.parent.name == path.name.removesuffix(".csv.zst")]
    traces = [traced(one) for one in paths if not names or one.parent.name in names]
    generated = [Workload(name, name, GENERATED) for name in GENERATORS]
    return traces + [one for one in generated if not names or one.name in names]


def traced(path: Path) -> Workload:
    """A trace on a drive of its size."""
    stat = flashgc.trace_stat(path)
    fitting = (b for b in PAGES_PER_BLOCK if stat.pages >= FEWEST_BLOCKS * b)
    options: dict[str, Any] = {"pages_per_block": next(fitting, PAGES_PER_BLOCK[-1])}
    if stat.page_writes > MANY_PAGE_WRITES:
        options["passes"] = FEW_PASSES
    return Workload(path.name.removesuffix(".csv.zst"), str(path), options)


def measure(
    chosen: Sequence[Workload],
    tried: Sequence[Couple],
    spares: Sequence[float],
    *,
    cache: str | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> tuple[list[Cell], bool]:
    """The cells of all workloads, and whether Ctrl-C came before the end."""
    kept = folder_of(cache, "--cache", "placement")
    study = Rounds(kept, show=without_unit(progress), jobs=jobs)
    study.total = float(len(chosen) * len(tried) * len(spares))
    cells: list[Cell] = []
    for work in chosen:
        asked = [(one, spare) for one in tried for spare in spares]
        wanted = [Wanted(work.config(one, spare), 1.0) for one, spare in asked]
        greedy = work.config(couples(["greedy"], "scheme")[0], max(spares))
        study.sure = {**greedy, "warmup": "0", "length": {"writes": "1"}}
        outcomes = study.run(wanted, work.name, possible=False)
        for (one, spare), outcome in zip(asked, outcomes, strict=True):
            if outcome is not None:
                cells.append(cell(work.name, one.name, spare, outcome))
        if study.interrupted:
            break
    return cells, study.interrupted


def cell(workload: str, scheme: str, spare: float, outcome: dict[str, Any] | str) -> Cell:
    """A cell of what came of its simulation.

    Figures are in pages: what rounding short requests to pages adds is no scheme's merit or fault.
    """
    if isinstance(outcome, str):
        why = outcome.partition("; hint: ")[0]
        return Cell(workload, scheme, spare, "", "", "", "", "", why)
    result = Result.from_dict(outcome)
    half, in_pages = result.write_amplification_ci95, result.page_amplification
    return Cell(
        workload,
        scheme,
        spare,
        result.config.blocks,
        result.config.pages_per_block,
        "" if result.trace is None else f"{result.trace.overwrite:.2f}",
        f"{in_pages:.4f}",
        "" if half is None else f"{half * in_pages / result.write_amplification:.4f}",
        "",
    )


def write(path: Path, cells: Iterable[Cell]) -> None:
    """Writes the cells as a table with commas."""
    with path.open("w", encoding="utf-8", newline="") as file:
        made = csv.DictWriter(file, list(Cell.__dataclass_fields__), lineterminator="\n")
        made.writeheader()
        made.writerows(asdict(one) for one in cells)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, and writes the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", nargs="*", help="names (default: all)")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--cache", default="flashgc-traces", help="folder of finished simulations")
    parser.add_argument("--jobs", type=int, default=1, help="threads")
    parser.add_argument("--smoke", action="store_true", help="three schemes, one spare factor")
    given = parser.parse_args(arguments)
    folder = os.environ.get("FLASHGC_TRACES")
    if folder is None and not set(given.workload) & set(GENERATORS):
        print(
            "error: FLASHGC_TRACES does not name the folder of the traces; "
            f"hint: name a generator: {GENERATORS[-1]}",
            file=sys.stderr,
        )
        return 2
    try:
        chosen = workloads(None if folder is None else Path(folder), given.workload)
        unknown = set(given.workload) - {one.name for one in chosen}
        if unknown:
            known = ", ".join(GENERATORS)
            raise FlashgcError(
                f"no workload '{min(unknown)}'; hint: a folder of FLASHGC_TRACES, or {known}"
            )
        tried = schemes()
        if given.smoke:
            tried = [one for one in tried if one.name in ("greedy", VICTIM, ORACLE)]
        with Bar(quiet=False) as bar:
            cells, interrupted = measure(
                chosen,
                tried,
                SPARES[1:2] if given.smoke else SPARES,
                cache=given.cache,
                jobs=given.jobs,
                progress=bar.show,
            )
    except FlashgcError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    write(given.out, cells)
    print(f"{given.out}: {len(cells)} cells of {len(chosen)} workloads and {len(tried)} schemes")
    if interrupted:
        print("interrupted; hint: the same command goes on", file=sys.stderr)
    return 130 if interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
