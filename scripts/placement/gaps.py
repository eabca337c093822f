"""``flashgc gap`` of five public traces: ``python scripts/placement/gaps.py [TRACE...]``.

docs/results/gap.traces.csv has the rows; docs/gap.md the sentences and docs/figures/gaps.svg the
picture that are made of it. The five are those with the largest write amplification under greedy
that write a page twice or more, whose drives have room for 16 classes, less a second part of the
same trace. Finished simulations are kept in ``--cache``: Ctrl-C leaves what there is, and the same
command goes on from there.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import flashgc
from flashgc._core import FlashgcError
from flashgc.studies.gaps.outcome import Gap
from flashgc.terminal.progress import Bar

OUT = Path(__file__).resolve().parent.parent.parent / "docs" / "results" / "gap.traces.csv"
#: Pages a block by trace, as scripts/placement/traces.py chooses them.
TRACES = {
    "msr_prxy_0_first20k": 4,
    "spc_fin1_flashsim50k": 32,
    "cloudphysics_vscsi": 64,
    "sqlite_wal_insert_ext4_discard": 16,
    "ssdmodel_iozone100k": 64,
}
#: Traces that are not replayed until they settle, for they are long.
PASSES = {"ssdmodel_iozone100k": 4}
SPARE = 0.07
COLUMNS = (
    "workload", "blocks", "pages_per_block", "spare_factor", "rounding", "kind", "name", "sigma",
    "errors", "write_amplification", "half", "reason",
)  # fmt: skip


def lines(name: str, found: Gap) -> Iterable[dict[str, Any]]:
    """The rows of a report as lines of the file.

    ``flashgc gap`` counts bytes, and its lower bound is what a host's byte takes as whole pages:
    the lines have pages programmed for a page written, of which the least is 1.
    """
    rounding = found.bound or 1.0
    for row in found:
        yield {
            "workload": name,
            "blocks": found.blocks,
            "pages_per_block": found.pages_per_block,
            "spare_factor": f"{found.spare_factor:.4f}",
            "rounding": f"{rounding:.4f}",
            "kind": row.kind,
            "name": row.name,
            "sigma": _text(row.sigma),
            "errors": row.errors or "",
            "write_amplification": _text(row.write_amplification, rounding),
            "half": _text(row.write_amplification_ci95, rounding),
            "reason": row.reason,
        }


def _text(value: float | None, scale: float = 1.0) -> str:
    return "" if value is None else f"{value / scale:.9g}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the reports, and writes the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", nargs="*", help="folders of FLASHGC_TRACES (default: five)")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--cache", default="flashgc-gap", help="folder of finished simulations")
    parser.add_argument("--jobs", type=int, default=1, help="threads")
    parser.add_argument("--smoke", action="store_true", help="one couple, one error")
    given = parser.parse_args(arguments)
    folder = os.environ.get("FLASHGC_TRACES")
    if folder is None:
        print("error: FLASHGC_TRACES does not name the folder of the traces; "
              "hint: FLASHGC_TRACES=FOLDER", file=sys.stderr)  # fmt: skip
        return 2
    smaller: dict[str, Any] = {"couples": ["cost-benefit"], "sigma": [1]} if given.smoke else {}
    made: list[dict[str, Any]] = []
    names, interrupted = given.trace or list(TRACES), False
    try:
        if unknown := set(names) - set(TRACES):
            raise FlashgcError(f"no trace '{min(unknown)}'; hint: {', '.join(TRACES)}")
        for name in names:
            path = Path(folder, name, f"{name}.csv.zst")
            with Bar(quiet=False) as bar:
                found = flashgc.gap(
                    str(path),
                    spare=SPARE,
                    pages_per_block=TRACES[name],
                    passes=PASSES.get(name),
                    jobs=given.jobs,
                    cache=given.cache,
                    progress=bar.show,
                    **smaller,
                )
            print(f"{name}: {found.simulations} run, {found.found} kept", file=sys.stderr)
            made += lines(name, found)
            interrupted = found.interrupted
            if interrupted:
                break
    except FlashgcError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    with given.out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(made)
    print(f"{given.out}: {len(made)} rows")
    if interrupted:
        print("interrupted; hint: the same command goes on", file=sys.stderr)
    return 130 if interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
