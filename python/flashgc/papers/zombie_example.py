"""Zombie Chasing's worked example, Figures 2 and 3."""

from __future__ import annotations

from flashgc.papers.claims import Claim
from flashgc.reproduce.runner import Measured, Outcome, Size, Task, not_run, runner


@runner("zombie.fig2-3")
class Example:
    """Pages copied by greedy and by z-greedy."""

    def task(self, _claim: Claim, _size: Size) -> Task:
        """Not through the command yet."""
        return Task(
            not_run="a trace cannot say yet what is dirty; crates/ftl/tests/zombies.rs has it exact"
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Nothing was measured."""
        return not_run(claim, measured.size, measured.task, measured.task.not_run)
