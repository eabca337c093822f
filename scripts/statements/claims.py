"""Checks of findings: each claim is computed again from the result, or from other runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import flashgc
from flashgc.results import Comparison, Result
from flashgc.results.intervals import half_width

#: The share by which the figures of a steady run and of a much longer run may differ, in addition
#: to the intervals of both. It allows for slow ends of a transient.
TOLERANCE = 0.02


@dataclass(frozen=True)
class Case:
    """A run with its options."""

    given: dict[str, Any]
    result: Result

    def has(self, name: str) -> bool:
        """True if the run has the finding."""
        return any(finding.id == name for finding in self.result.findings)

    @property
    def is_timed(self) -> bool:
        """True if the drive is timed."""
        return self.given.get("kind") == "timed"

    @property
    def is_trace(self) -> bool:
        """True if the workload is a trace."""
        return "passes" in self.given

    @property
    def block(self) -> int:
        """The number of pages per block."""
        return self.result.config.pages_per_block

    def again(self, **more: Any) -> Result:
        """The result of another run with changed options."""
        given = {name: value for name, value in {**self.given, **more}.items() if value is not None}
        return flashgc.run(**given)


#: A check yields a text for each fault of a case.
Check = Callable[[Case], Iterator[str]]


def _equal(case: Case, name: str, expected: bool) -> Iterator[str]:
    if case.has(name) != expected:
        yield f"{name} is {'said' if case.has(name) else 'not said'}"


def nothing_measured(case: Case) -> Iterator[str]:
    """There is no figure if nothing was written, or on a timed drive, if no request arrived."""
    figure = case.result.measured
    yield from _equal(case, "nothing-measured", not figure)


def identical_runs(case: Case) -> Iterator[str]:
    """The finding is present if all runs have equal figures."""
    values = case.result.run_values
    if not case.is_timed:
        yield from _equal(case, "identical-runs", len(values) > 1 and len(set(values)) == 1)
    claims = [finding.claim for finding in case.result.findings if finding.id == "identical-runs"]
    if any("no random numbers" in text for text in claims):
        length = {"passes": 30} if case.is_trace else {"writes": "4x"}
        seeds = [case.again(runs=1, seed=seed, warmup="0", **length).digest for seed in (1, 2)]
        if seeds[0] != seeds[1]:
            yield "no random numbers, but another seed decides otherwise"


def too_short(case: Case) -> Iterator[str]:
    """A run is too short below a tenth of a drive write, or below 20 erases."""
    result = case.result
    if case.is_timed:
        # If a cache took all writes, another finding says so.
        few = 0 < result.erases < 20 * len(result.run_values) and result.host_pages > 0
        yield from _equal(case, "too-short", few and not case.has("overload"))
        return
    if case.given["runs"] > 1 or case.given.get("warmup") == "auto":
        return
    short = result.host_pages < 0.1 * result.config.logical_pages or result.erases < 20
    yield from _equal(case, "too-short", short and result.measured)
    if short and result.steady:
        yield "steady after next to nothing"


def no_erase(case: Case) -> Iterator[str]:
    """The finding is present if a timed drive has writes but no erases."""
    if case.is_timed:
        yield from _equal(case, "no-erase", case.result.host_pages > 0 == case.result.erases)


def short_warm_up(case: Case) -> Iterator[str]:
    """The finding is present if a warm-up in pages is below a hundredth of a drive write."""
    warmup = str(case.given.get("warmup", ""))
    if warmup.isdigit() and int(warmup) > 0 and not case.is_timed:
        share = int(warmup) / case.result.config.logical_pages
        yield from _equal(case, "short-warm-up", share < 0.01)


def few_blocks(case: Case) -> Iterator[str]:
    """The finding is present if the drive has fewer than 64 blocks."""
    written = case.result.host_pages > 0
    yield from _equal(case, "few-blocks", written and case.result.config.blocks < 64)


def spare_kept_erased(case: Case) -> Iterator[str]:
    """The share of spare blocks that are kept erased: the low mark, or the mean of both marks."""
    config = case.result.config
    if case.is_timed:
        timed = config.timed or {}
        low = int(str(timed["gc_low"]))
        high = int(str(timed["gc_high"])) if timed.get("gc_high") else low
        kept = (low + high) / 2
    else:
        kept = float(config.frontier.partition("low=")[2] or 0)
    pages = (config.blocks - kept) * case.block
    effective = max(0.0, 1 - config.logical_pages / pages)
    if not math.isclose(effective, config.effective_spare or 0.0, abs_tol=1e-9):
        yield f"effective spare is {config.effective_spare}, by hand {effective}"
    small = config.spare_factor > 1.02 * effective and config.blocks >= 64
    yield from _equal(case, "spare-kept-erased", small and case.result.host_pages > 0)


def burst(case: Case) -> Iterator[str]:
    """The finding is present if more than 5% of the programmed pages were not yet erased again.

    One block of each run counts as erased.
    """
    result = case.result
    programs = result.host_pages + result.copied_pages
    freed = (result.erases + case.given["runs"]) * case.block
    expected = result.erases > 0 and programs > 0 and (programs - freed) / programs > 0.05
    yield from _equal(case, "burst", expected)
    if expected and result.steady:
        yield "steady in a burst"


def overload(case: Case) -> Iterator[str]:
    """In a run of twice the length, at least 1.3 times as many requests wait."""
    if not case.has("overload"):
        return
    (finding,) = (other for other in case.result.findings if other.id == "overload")
    if finding.evidence["offered_per_second"] <= finding.evidence["sustainable_per_second"]:
        yield "overload below what the drive sustains"
    longer = case.again(requests=2 * case.given["requests"])
    waits = [two.evidence["outstanding"] for two in longer.findings if two.id == "overload"]
    if not waits or waits[0] < 1.3 * finding.evidence["outstanding"]:
        waiting = finding.evidence["outstanding"]
        yield f"overload, but of twice the requests {waits} wait for {waiting}"


def unsteady(case: Case) -> Iterator[str]:
    """A run that is not steady has a doubt; one with a doubt about steadiness is not steady."""
    result = case.result
    moving = {"unsteady", "imprecise", "too-few-passes", "too-short", "burst", "pace-moves"}
    doubts = [finding.id for finding in result.findings if finding.gravity != "note"]
    if not result.steady and not doubts:
        yield "not steady, and no word of it"
    if result.steady and moving & set(doubts):
        yield f"steady, with {moving & set(doubts)}"


def steady(case: Case) -> Iterator[str]:
    """A steady run has the write amplification of a much longer run."""
    result = case.result
    if not result.steady or case.is_trace or result.write_amplification_ci95 is None:
        return
    if case.is_timed:
        longer = case.again(requests=8 * case.given["requests"], warmup="30x")
    else:
        longer = case.again(writes="60x", warmup="30x", runs=3)
    halves = [result.write_amplification_ci95, longer.write_amplification_ci95 or 0.0]
    allowed = 2 * sum(halves) + TOLERANCE * longer.write_amplification
    if abs(result.write_amplification - longer.write_amplification) > allowed:
        yield (
            f"steady at {result.write_amplification:.4f} ±{halves[0]:.4f}, "
            f"in a long run {longer.write_amplification:.4f} ±{halves[1]:.4f}"
        )


def large_enough(case: Case) -> Iterator[str]:
    """A drive without a finding on its size has the write amplification of one 16 times as large.

    Only steady runs of greedy under uniform writes are compared.
    """
    small = case.has("few-blocks") or case.has("spare-kept-erased")
    greedy = case.given["victim"].startswith("greedy") and case.given["workload"] == "uniform"
    if small or not greedy or case.is_timed or not case.result.steady:
        return
    more = {"writes": "20x", "warmup": "10x", "runs": 2}
    result = case.again(**more)
    large = case.again(blocks=16 * case.given["blocks"], **more)
    halves = [result.write_amplification_ci95 or 0.0, large.write_amplification_ci95 or 0.0]
    above = result.write_amplification / large.write_amplification - 1
    if above > 0.02 + 2 * sum(halves) / large.write_amplification:
        yield f"large enough, and amplification is {above:.1%} above that of 16 times the blocks"


def only_replays(case: Case) -> Iterator[str]:
    """The finding is present if a pass writes at most as many pages as the flash has."""
    if case.is_trace and case.result.trace is not None and case.result.measured:
        trace = case.result.trace
        expected = trace.page_writes <= case.result.config.physical_pages
        yield from _equal(case, "only-replays-collect", expected)


def interrupted(case: Case) -> Iterator[str]:
    """A stopped run has the finding, is not steady, and has a figure if it measured anything."""
    result = case.result
    yield from _equal(case, "interrupted", result.interrupted and result.measured)
    yield from _equal(case, "nothing-measured", not result.measured)
    if result.interrupted and result.steady:
        yield "steady, but stopped"
    # Runs that had not begun are not in the warm-up.
    if case.has("runs-in-warm-up") and len(result.run_values) == case.given["runs"]:
        yield "runs-in-warm-up is said, but all have a figure"


def few_rounds(case: Case) -> Iterator[str]:
    """The finding is present if a plane had under 20 rounds from the low to the high mark."""
    timed = case.result.config.timed or {}
    marks = (timed.get(key) or timed.get("gc_low") or 0 for key in ("gc_low", "gc_high"))
    low, high = (int(str(mark)) for mark in marks)
    pages = case.given["runs"] * case.given.get("planes", 1) * (high - low + 1) * case.block
    few = case.is_timed and high > low and case.result.host_pages / pages < 20
    written = case.result.host_pages > 0 < case.result.erases
    expected = few and written and not case.has("overload")
    yield from _equal(case, "few-rounds", expected)
    if few and case.result.steady and case.result.host_pages:
        yield "steady, with few rounds of collections"


def suspended_no_more(case: Case) -> Iterator[str]:
    """The finding is absent if operations may be suspended any number of times."""
    if case.has("suspended-no-more"):
        (result,) = (
            finding for finding in case.result.findings if finding.id == "suspended-no-more"
        )
        longer = case.again(suspend="most=1000000")
        if any(two.id == "suspended-no-more" for two in longer.findings):
            yield "suspended-no-more is said where all may be"
        if not result.evidence["longest_wait_us"]:
            yield "suspended-no-more without a wait"
    elif case.given.get("preemption") == "suspend":
        timing = case.result.timing
        spent = timing is not None and timing.suspension
        if spent and spent.spent_erases + spent.spent_programs:
            yield "suspended-no-more is not said"


def reads_lost(case: Case) -> Iterator[str]:
    """The finding is present if the result counts a lost read."""
    failures = case.result.timing and case.result.timing.failures
    yield from _equal(case, "reads-lost", bool(failures and failures.lost))


def writes_in_cache(case: Case) -> Iterator[str]:
    """If the finding is present, the write cache can hold at least a tenth of the writes."""
    size = int(case.given.get("write_cache", 0))
    if not case.is_timed or case.given["workload"] != "uniform":
        return
    timing = case.result.timing
    writes = None if timing is None else timing.latency_us.write
    written = 0 if writes is None else writes.requests
    if case.has("writes-in-cache") and case.result.steady:
        yield "steady, and the writes only filled a cache"
    if case.has("writes-in-cache") and not size:
        yield "writes-in-cache is said without a cache"
    # Each run fills the cache at most once.
    if case.has("writes-in-cache") and case.given["runs"] * size < 0.1 * written:
        yield f"writes-in-cache is said of {written} writes and {size} pages"


def ranking(case: Case) -> Iterator[str]:
    """Checks the ranking of two policies by the figures of their runs, and by long runs."""
    if case.is_timed or case.is_trace or case.given["runs"] < 2 or case.given["seed"] % 2:
        return
    rival = "fifo" if case.given["victim"] != "fifo" else "greedy"
    more = {name: value for name, value in case.given.items() if name != "victim"}
    yield from ranked(case, flashgc.compare([case.given["victim"], rival], **more))


def ranked(case: Case, compared: Comparison) -> Iterator[str]:
    """Yields the faults of a ranking of two policies."""
    if len(compared.ranking) < 2:
        return
    first, last = (rank.result for rank in compared.ranking)
    low, high = first.run_values, last.run_values
    findings = {finding.id: finding for finding in compared.findings}
    if len(low) != len(high) or not low:
        return
    if ("equal-in-every-run" in findings) != (low == high):
        yield f"equal-in-every-run is wrong of {low} and {high}"
    pairs = [b - a for a, b in zip(low, high, strict=True)]
    mean, half = sum(pairs) / len(pairs), half_width(pairs) or 0.0
    if compared.ranking[1].basis != "runs":
        return
    inside = abs(mean) <= half and low != high
    if ("inside-the-noise" in findings) != inside:
        yield f"inside-the-noise is wrong of {mean:.4g} ± {half:.4g}"
    if low != high and ("last-of-ranking" in findings) == inside:
        yield f"last-of-ranking is wrong of {mean:.4g} ± {half:.4g}"
    if "last-of-ranking" not in findings:
        return
    ratio = findings["last-of-ranking"].evidence["ratio"]
    if not math.isclose(ratio, (sum(high) / sum(low)), rel_tol=1e-9):
        yield f"last-of-ranking says {ratio}, by hand {sum(high) / sum(low)}"
    if first.steady and last.steady:
        victims = [rank.policy for rank in (first, last)]
        long = [case.again(victim=victim, writes="60x", warmup="30x", runs=3) for victim in victims]
        ends = [result.write_amplification for result in long]
        if ends[0] > (1 + TOLERANCE) * ends[1] + half:
            yield f"{victims[0]} is first, and {ends[0]:.4f} in a long run, last {ends[1]:.4f}"


#: Checks of runs that were stopped before their end.
STOPPED_CHECKS: tuple[Check, ...] = (interrupted,)

CHECKS: tuple[Check, ...] = (
    nothing_measured, identical_runs, too_short, no_erase, short_warm_up, few_blocks,
    spare_kept_erased, burst, overload, unsteady, steady, large_enough, only_replays, interrupted,
    few_rounds, suspended_no_more, reads_lost, writes_in_cache, ranking,
)  # fmt: skip
