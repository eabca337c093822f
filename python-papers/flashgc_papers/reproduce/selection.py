"""Rows of outcomes, picked by claim and label: what sentences and statements are about."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flashgc_papers.claims import Claim
from flashgc_papers.reproduce.grading import verdict_of
from flashgc_papers.reproduce.runner import (
    NotMeasuredError,
    Outcome,
    Row,
    held,
)
from flashgc_papers.reproduce.verdicts import Value, Verdict

#: Outcomes by the id of their claims.
Outcomes = Mapping[str, Outcome]


@dataclass(frozen=True)
class Rows:
    """Some rows of a claim under the chosen reading."""

    claim: Claim
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, outcomes: Outcomes, claim: str, patterns: Sequence[str] = ()) -> Rows:
        """The rows whose labels match one of ``patterns`` (``*`` is anything); all without any.

        Raises :class:`NotMeasuredError` where the claim was not asked for or has no such row.
        """
        if claim not in outcomes:
            raise NotMeasuredError(f"{claim} was not asked for")
        outcome = outcomes[claim]
        rows = tuple(
            row
            for row in outcome.chosen
            if not patterns or any(fnmatch.fnmatchcase(row.label, pattern) for pattern in patterns)
        )
        if not rows:
            missing = "no such row at this size" if outcome.rows else outcome.why
            raise NotMeasuredError(missing)
        return cls(outcome.claim, rows)

    @property
    def verdict(self) -> Verdict:
        """The verdict on all of them together."""
        return verdict_of(self.claim, self.rows)

    @property
    def holds(self) -> bool:
        """True if each is as published, whether it counts or not."""
        return self.held == self.of_all

    @property
    def fails(self) -> bool:
        """True if each was run, and none is met."""
        return all(row.verdict is Verdict.MISSED for row in self.rows)

    @property
    def held(self) -> int:
        """Return the number of them that are as published, whether they count or not."""
        return held(self.rows)

    @property
    def of_all(self) -> int:
        """Return the number of them."""
        return len(self.rows)

    @property
    def means(self) -> list[float]:
        """Return their measured numbers; raises :class:`NotMeasuredError` if one has none."""
        values = [row.measured for row in self.rows]
        if not all(isinstance(value, Value) for value in values):
            raise NotMeasuredError("no number was measured")
        return [value.mean for value in values if isinstance(value, Value)]

    @property
    def mean(self) -> float:
        """Return the measured number of the only row."""
        (mean,) = self.means
        return mean

    @property
    def least(self) -> float:
        """Return the least measured number."""
        return min(self.means)

    @property
    def most(self) -> float:
        """Return the largest measured number."""
        return max(self.means)

    @property
    def off(self) -> float:
        """Return the largest distance from a published number, in percent of it."""
        shares = [row.difference for row in self.rows]
        if None in shares:
            raise NotMeasuredError("no number to compare")
        return 100 * max(abs(share) for share in shares if share is not None)

    @property
    def said(self) -> str:
        """Return the measured words of the only row."""
        (row,) = self.rows
        if not isinstance(row.measured, str):
            raise NotMeasuredError("no words were measured")
        return row.measured

    @property
    def published(self) -> float | str:
        """Return the published value of the only row."""
        (row,) = self.rows
        return row.published
