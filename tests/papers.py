"""Helpers of the tests of papers: a claim by its name, and results for its runner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashgc.results import Result
from flashgc_papers.claims import Claim, claims
from flashgc_papers.reproduce.runner import runner_of
from flashgc_papers.reproduce.tasks import Size, Task


def claim_of(paper: str, name: str) -> Claim:
    return claims().select((f"{paper}.{name}",))[0]


def task_of(claim: Claim, size: Size) -> Task:
    runner = runner_of(claim)
    assert runner is not None
    return runner.task(claim, size)


#: Byte counts of a result whose writes are whole pages.
WHOLE_PAGES = {
    "host": 4096, "merged": 0, "rounding": 0, "padding": 0, "copies": 0, "programmed": 4096,
}  # fmt: skip


def result_of(raw: Mapping[str, Any], *, moves: bool = False) -> Result:
    """A result with these figures. The run is steady; with ``moves``, it drifts by a tenth."""
    drift = {"drift": 0.1, "ci95": 0.01} if moves else {"drift": 0.0, "ci95": 0.01}
    return Result.from_dict({
        "steady": not moves,
        "steadiness": {"amplification": drift},
        "findings": [],
        **raw,
        "config": {"length": {"requests": 1}, **raw.get("config", {})},
    })  # fmt: skip
