"""Wear and lifetime as text for people: rows for one result, columns for several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashgc.results.ranked import ENDS, drive_writes
from flashgc.units import format_count, format_duration, many

if TYPE_CHECKING:
    from flashgc.results import Busy, Levelling, Lifetime, Milestone, Result, Wear

#: Headings of a comparison's columns if blocks wear out, and their explanation.
COLUMNS = ("first fail.", "sys. fail.", "wear cv")
LEGEND = (
    "first fail., sys. fail.: drive writes until then; wear cv: deviation of erase counts by mean"
)


def rows(result: Result, plus_minus: str, *, busy: bool = True) -> list[tuple[str, str]]:
    """Rows on a result's lifetime and, if ``busy``, its busy time, as far as it has them."""
    pairs = []
    if result.levelling is not None:
        pairs.append(("levelling", _levelling(result, result.levelling)))
    if result.lifetime is not None:
        life = result.lifetime
        pairs += [
            (name, _failure(life.of(end), len(result.run_values), plus_minus))
            for end, name in ENDS.items()
        ]
        reserve = f"{format_count(life.reserve_blocks)} {result.config.block_noun}"
        pairs.append(("reserve", f"{reserve}{_why(life)}"))
        if life.smaller_superblocks is not None:
            pairs.append(("smaller", _smaller(life, life.smaller_superblocks)))
        pairs.append(("wear", _wear(result.wear)))
    if busy and result.busy is not None:
        pairs.append(("busy", _busy(result.busy)))
    return pairs


def cells(result: Result) -> list[str]:
    """The cells of :data:`COLUMNS`."""
    ends = [drive_writes(result, end) for end in ENDS]
    cv = None if result.wear is None else result.wear.cv
    return [
        *("-" if end is None else f"{end:.5g}" for end in ends),
        "-" if cv is None else f"{cv:.4f}",
    ]


def _failure(failure: Milestone | None, runs: int, plus_minus: str) -> str:
    if failure is None:
        return "not reached"
    half = failure.drive_writes_ci95
    spread = "" if half is None else f" {plus_minus}{half:.3g}"
    busy = failure.busy_seconds
    parts = [
        f"{failure.drive_writes:.5g}{spread} drive writes",
        f"{failure.drive_writes_per_day:.3g} a day for 5 years",
        f"{failure.terabytes_written:.4g} TB",
    ]
    if busy is not None:
        parts.append(f"{format_duration(busy)} busy")
    if failure.runs < runs:
        parts.append(f"{failure.runs} of {runs} runs")
    return ", ".join(parts)


def _why(life: Lifetime) -> str:
    reasons = (
        (life.reserve_used_up, "used up"),
        (life.pool_ran_dry, "the pool ran out of erased blocks before that"),
    )
    parts = [f"{text} in {count}" for count, text in reasons if count]
    runs = life.reserve_used_up + life.pool_ran_dry
    return f", {', '.join(parts)} of {many(runs, 'run')}" if parts else ""


def _smaller(life: Lifetime, superblocks: float) -> str:
    lost = format_count(round(life.lost_pages or 0))
    return f"{superblocks:.5g} superblocks at the end, without {lost} pages that they have lost"


def _wear(wear: Wear | None) -> str:
    if wear is None or wear.cv is None:
        return "no block erased"
    return (
        f"{wear.mean:.5g} erases a block, {format_count(wear.min)} to "
        f"{format_count(wear.max)}, cv {wear.cv:.4f}, Gini {wear.gini:.4f}"
    )


def _levelling(result: Result, cost: Levelling) -> str:
    copies = cost.copied_pages
    share = f", {copies / result.copied_pages:.2%} of all" if copies else ""
    return (
        f"{result.wear_levelling}: {format_count(copies)} copies{share}, in "
        f"{format_count(cost.collections)} collections"
    )


def _busy(busy: Busy) -> str:
    mean = busy.mean_collection_us
    collection = "" if mean is None else f", {mean / 1e3:.4g} ms a collection"
    return (
        f"{format_duration(busy.total_seconds)}, of which collections "
        f"{format_duration(busy.collection_seconds)}{collection}"
    )
