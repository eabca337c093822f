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
    #: The paper's own half width, where it gives one; it does not enter the verdict.
    published_ci95: float | None = None
    #: The stand-in for the published input; empty if none. Such a row is met in kind at best.
    stand_in: str = ""
    #: The value without any effect: 100 for percents of something else, 1 for a ratio. A published
    #: number that is met in kind must be met in the size of its effect; ``None`` where the row's
    #: own judgement has looked at that.
    base: float | None = 0.0
    #: A published lower bound, which ``published`` has in words, where the paper says no more of a
    #: size. Such a row is met in kind up to 1.5 times the bound.
    least: float | None = None
    #: The reading under which it was measured; empty where the paper leaves nothing open.
    reading: str = ""
    #: The reason why it does not count although it is as published; empty if it does.
    uncounted: str = ""
    #: The measurements that it was judged by, by their names in the task.
    taken: frozenset[str] = frozenset()
    #: The simulations among them; ``None`` before its claim is concluded.
    runs: Runs | None = None

    @property
    def key(self) -> str:
        """A name that no other row of the claim has."""
        return f"{self.label} ({self.reading})" if self.reading else self.label

    @property
    def obstacle(self) -> str:
        """The reason why it does not count, in words; nothing for a row that does."""
        if self.verdict in AS_PUBLISHED:
            return self.uncounted
        return self.why

    @property
    def reason(self) -> str:
        """The reason why it has its verdict, in words."""
        parts = dict.fromkeys((self.why, self.obstacle))
        return "; ".join(filter(None, parts))

    @property
    def difference(self) -> float | None:
        """Measured from published, as a share of published, where both are numbers."""
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
    """A row of what ``judge`` measures and finds; not run where that was not measured.

    It rests on the measurements that ``judge`` takes, and on all of the claim if it takes none.
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
