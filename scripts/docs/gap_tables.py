"""The reports of ``flashgc gap`` on public traces, made again from their rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from flashgc import _core
from flashgc.studies.gaps.describe import findings
from flashgc.studies.gaps.outcome import Gap, Row, equals, ordered
from trace_tables import lines_of

FILE = "gap.traces.csv"


def gaps(path: Path) -> list[Gap]:
    """The reports of a file."""
    reports = []
    for name, group in groupby(lines_of(path), lambda line: line["workload"]):
        own = list(group)
        rows = ordered([_row(line) for line in own])
        reports.append(
            Gap(
                workload=name,
                blocks=int(own[0]["blocks"]),
                pages_per_block=int(own[0]["pages_per_block"]),
                spare_factor=float(own[0]["spare_factor"]),
                runs=1,
                classes=16,
                horizon=8,
                rows=rows,
                equal=equals(rows),
                simulations=len(rows),
                found=0,
                interrupted=False,
                seed=0,
                version=_core.version(),
            )
        )
    return reports


def _row(line: dict[str, str]) -> Row:
    figure = _number(line["write_amplification"])
    half, sigma = _number(line["half"]), _number(line["sigma"])
    return Row(
        line["kind"],
        line["name"],
        sigma=sigma,
        errors=line["errors"] or None,
        write_amplification=figure,
        write_amplification_ci95=half,
        run_values=() if figure is None else (figure,),
        reason=line["reason"],
    )


def _number(text: str) -> float | None:
    return float(text) if text else None


def roundings(path: Path) -> dict[str, str]:
    """For each trace, the bytes of the pages that its writes touch, per byte written."""
    return {line["workload"]: line["rounding"] for line in lines_of(path)}


def endings(path: Path) -> list[Sequence[str]]:
    """The drive of each report, its rounding to pages, and the sentences below its table."""
    rounding = roundings(path)
    heads = ("trace", "blocks of pages", "rounding to pages", "what the report says")
    lines: list[Sequence[str]] = [heads]
    for report in gaps(path):
        drive = f"{report.blocks} of {report.pages_per_block}"
        factor = f"{float(rounding[report.workload]):.2f}"
        lines.append(
            (
                report.workload,
                drive,
                factor,
                " ".join(finding.sentence for finding in findings(report)),
            )
        )
    return lines
