"""Rows of a claim's table: a published statement beside what was measured."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from flashgc_papers.reproduce.steadiness import Runs, noting
from flashgc_papers.reproduce.tasks import NotMeasuredError
from flashgc_papers.reproduce.verdicts import AS_PUBLISHED, Judgement, Value, Verdict, relative


@dataclass(frozen=True)
class Row:
    """A line of a claim's table: one published statement, and what was measured."""

    #: The subject of the row: ``"b = 64, S_f = 0.08, d = 5, c = 2"``, or a part of the statement.
    label: str
    #: The published value, or the statement in words.
    published: float | str
    measured: Value | str | None
    verdict: Verdict
    why: str
    #: Half the width of the paper's own interval, if it gives one. The verdict does not use it.
    published_ci95: float | None = None
    #: The stand-in for the published input; empty if none. Such a row is met in kind at best.
    stand_in: str = ""
    #: The value that means no effect: 100 for percents of something else, 1 for a ratio. A row that
    #: is met in kind must also agree in the size of the effect. ``None`` if the row's judgement has
    #: already compared the size.
    base: float | None = 0.0
    #: The lower bound, if the paper publishes only a bound; ``published`` has it in words. Such a
    #: row is met in kind up to 1.5 times the bound.
    least: float | None = None
    #: The reading under which the row was measured; empty if the paper leaves nothing open.
    reading: str = ""
    #: The reason why a row that agrees with the paper does not count as met; empty if it counts.
    uncounted: str = ""
    #: The names, in the task, of the measurements by which the row was judged.
    taken: frozenset[str] = frozenset()
    #: The numbers of all, of drifting and of doubtful simulations among these measurements;
    #: ``None`` until the claim is concluded.
    runs: Runs | None = None

    @property
    def key(self) -> str:
        """A name that no other row of the claim has."""
        return f"{self.label} ({self.reading})" if self.reading else self.label

    @property
    def obstacle(self) -> str:
        """The reason why the row does not count, in words; empty for a row that counts."""
        if self.verdict in AS_PUBLISHED:
            return self.uncounted
        return self.why

    @property
    def reason(self) -> str:
        """The reason why the row has its verdict, in words."""
        parts = dict.fromkeys((self.why, self.obstacle))
        return "; ".join(filter(None, parts))

    @property
    def difference(self) -> float | None:
        """The measured minus the published number, as a share of the published; else ``None``."""
        if isinstance(self.published, str) or not isinstance(self.measured, Value):
            return None
        share = relative(self.measured.mean, self.published)
        return share if math.isfinite(share) else None


def row(
    label: str,
    published: float | str,
    judge: Callable[[], tuple[Value | str, Judgement]],
    *,
    published_ci95: float | None = None,
    stand_in: str = "",
    base: float | None = 0.0,
    least: float | None = None,
) -> Row:
    """A row with the value and the verdict of ``judge``; ``not-run`` if a measurement is missing.

    The row depends on the measurements that ``judge`` takes; if it takes none, on all of the claim.
    """
    with noting() as taken:
        try:
            measured, (verdict, why) = judge()
        except NotMeasuredError as missing:
            measured, verdict, why = None, Verdict.NOT_RUN, str(missing)
    return Row(
        label, published, measured, verdict, why, published_ci95, stand_in, base, least,
        taken=frozenset(taken),
    )  # fmt: skip
