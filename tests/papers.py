"""What the tests of the papers share: a claim by its name, and what its runner asks for."""

from __future__ import annotations

from flashgc_papers.claims import Claim, claims
from flashgc_papers.reproduce.runner import Size, Task, runner_of


def claim_of(paper: str, name: str) -> Claim:
    return claims().select((f"{paper}.{name}",))[0]


def task_of(claim: Claim, size: Size) -> Task:
    runner = runner_of(claim)
    assert runner is not None
    return runner.task(claim, size)


#: What results of whole pages have of bytes, whatever they are of.
WHOLE_PAGES = {
    "host": 4096, "merged": 0, "rounding": 0, "padding": 0, "copies": 0, "programmed": 4096,
}  # fmt: skip
