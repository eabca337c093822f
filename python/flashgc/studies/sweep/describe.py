"""The findings of a sweep, in sentences."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence

from flashgc.results.findings import Finding, Rules, hint_for_all
from flashgc.studies.sweep.outcome import WITHOUT, Sweep, Swept

RULES = Rules("sweep")
#: Reasons of a kind that are said, and findings of results.
MOST = 10


def findings(swept: Sweep) -> Iterator[Finding]:
    """Cells without a result, values with which none can be, and the findings of results."""
    for status in WITHOUT:
        yield from _reasons(swept.of(status), status)
    for name, value, _ in swept.impossible:
        claim = f"no cell with {name} = {value} can run"
        yield RULES["impossible-value"].found(claim, axis=name, value=value)
    yield from _of_results(swept)


def _reasons(cells: Sequence[Swept], status: str) -> Iterator[Finding]:
    """A finding for each reason: how many cells have it."""
    counts = Counter(cell.reason for cell in cells)
    for reason, count in counts.most_common(MOST):
        such = f"{count} {WITHOUT[status]}" + (": " if reason else "")
        yield RULES[f"cells-{status}"].found_in(such, reason, cells=count)


def _of_results(swept: Sweep) -> Iterator[Finding]:
    """The most frequent findings of results; those that differ only in numbers are one."""
    said: dict[tuple[str, str, str], list[tuple[Swept, Finding]]] = {}
    for cell in swept:
        for one in cell.findings:
            said.setdefault(one.kind, []).append((cell, one))
    for cells in sorted(said.values(), key=len, reverse=True)[:MOST]:
        (cell, one), *_ = cells
        place = ", ".join(f"{name}={value}" for name, value in cell.at.items()) or "1 cell"
        if len(cells) > 1:
            alike = len({other.text for _, other in cells}) == 1
            place = f"{len(cells)} cells" if alike else f"{len(cells)} cells, such as {place}"
        evidence = {**one.evidence, "cells": len(cells)}
        hint = hint_for_all([other.hint for _, other in cells])
        claim = f"{place}: {one.claim}"
        yield dataclasses.replace(one, claim=claim, hint=hint, evidence=evidence)
