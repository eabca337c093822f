"""Findings of wear: what a reader should know before using the figures."""

from __future__ import annotations

import math
from collections.abc import Iterator

from flashgc.logs.log import PAIRS
from flashgc.logs.outcome import Wear, ranged
from flashgc.logs.reading import OF_FILE, Readings
from flashgc.results.findings import Finding, Rules
from flashgc.units import format_duration, format_share

RULES = Rules("wear")
#: The width of a range from which on an amplification is in doubt.
WIDE = 0.1
#: The share of the capacity below which an interval is small.
SMALL = 0.01
#: The share of the interval by which the logs of a reading may be apart.
APART = 0.01


def findings(wear: Wear, read: Readings) -> tuple[Finding, ...]:
    """The findings, the most important first."""
    return (
        *_of_counts(wear, read),
        *_of_workload(wear),
        *_of_times(wear, read),
        *_of_limits(wear, read),
    )


def _of_counts(wear: Wear, read: Readings) -> Iterator[Finding]:
    main = next((each for each in wear.amplifications if each.interval is not None), None)
    if len(read.each) < 2:
        yield RULES["one-log"].found(
            "one log: figures are those since the drive was new, and no rate is known",
            "give a second log, an hour or a day later",
        )
    elif wear.host is not None and wear.host.interval is not None and not wear.host.interval.value:
        yield RULES["no-host-writes"].found(
            "the host wrote nothing between the logs", "give a later log"
        )
    if not wear.amplifications:
        yield RULES["no-flash-writes"].found(
            "no log counts the flash's writes, so amplification is not known",
            "nvme ocp smart-add-log DEVICE -o json, or the vendor's page",
        )
    if main is None or main.interval is None:
        return
    interval = main.interval
    if interval.high is None or interval.width > WIDE:
        times = max(2, math.ceil(min(interval.width, 100) / WIDE * 5))
        yield RULES["short-interval"].found(
            f"rounding of the counts leaves amplification between {ranged(interval)}: the interval "
            "is too short",
            f"give logs with {times} times the writes between them",
            amplification=interval.to_dict(),
        )
    elif wear.capacity_bytes and wear.host and wear.host.interval:
        share = wear.host.interval.value / wear.capacity_bytes
        if share < SMALL:
            yield RULES["small-interval"].found(
                f"the host wrote {format_share(share, 2)} of the capacity: collections of so short "
                "a time may belong to earlier writes",
                "give logs that are farther apart",
                share_of_capacity=share,
            )
    if interval.high is not None and interval.high < 1:
        yield RULES["below-one"].found(
            f"amplification is {ranged(interval)}, below 1: the drive compresses, or one of its "
            "counts leaves something out",
            amplification=interval.to_dict(),
        )


def _of_workload(wear: Wear) -> Iterator[Finding]:
    if wear.workload is None or wear.explanations or wear.amplification is None:
        return
    yield RULES["nothing-explains"].found(
        f"no simulated scheme has an amplification of {wear.amplification.value:.3g} under "
        f"{wear.workload}, so changes are those of models",
        "did the host write something else? Sequential writes and TRIM lower amplification",
        workload=wear.workload,
    )


def _of_times(wear: Wear, read: Readings) -> Iterator[Finding]:
    if len(read.each) < 2:
        return
    timed = [log for reading in read.each for log in reading.logs]
    if any(log.known == OF_FILE for log in timed):
        yield RULES["times-of-files"].found(
            "times are those of the files' last change, which copies may alter",
            "FILE=2026-11-30T12:00 gives a time",
        )
    first, last = (reading.fact("hours") for reading in (read.each[0], read.each[-1]))
    if first is not None and last is not None:
        powered = (last - first) * 3600
        # A whole number of hours may be one more than the time that passed.
        if powered > wear.seconds + 3600:
            yield RULES["hours-disagree"].found(
                f"the drive was powered for {last - first} h between logs that are "
                f"{format_duration(wear.seconds)} apart: rates and years are wrong",
                "FILE=2026-11-30T12:00 gives a time",
                power_on_hours=last - first,
                seconds=wear.seconds,
            )
    sources = {name for name in PAIRS if any(reading.media(name) for reading in read.each)}
    apart = sum(reading.apart for reading in (read.each[0], read.each[-1]))
    if sources and apart > APART * wear.seconds:
        yield RULES["read-apart"].found(
            f"counts of the host and of the flash were read up to {format_duration(apart)} apart, "
            f"which may change amplification by {format_share(apart / wear.seconds)}",
            "read the logs one right after the other",
            seconds=apart,
        )


def _of_limits(wear: Wear, read: Readings) -> Iterator[Finding]:
    for verdict in wear.budget:
        if verdict.met is None:
            yield RULES["undecided-limit"].found(
                f"{verdict.name}={verdict.limit:g}: {ranged(verdict.figure)} lies on both sides",
                "give logs that are farther apart",
                figure=verdict.figure.to_dict(),
            )
    unit = read.fact("endurance_unit")
    if unit is not None and any(life.by == "endurance estimate" for life in wear.lives):
        yield RULES["endurance-unit"].found(
            f"the endurance estimate is taken to be in {unit}, by its size"
        )
