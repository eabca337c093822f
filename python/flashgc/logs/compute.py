"""``wear``: what the writes between logs of a drive cost."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from flashgc._core import ConfigError
from flashgc.logs import advice, simulated
from flashgc.logs import budget as budgets
from flashgc.logs.counts import Bytes, Count, Range, ratio
from flashgc.logs.describe import findings
from flashgc.logs.log import FDP, HOSTS, MEDIA, PAIRS
from flashgc.logs.outcome import (
    DAY,
    YEAR,
    Amplification,
    Life,
    Step,
    Verdict,
    Wear,
    Written,
)
from flashgc.logs.reading import Reading, Readings, readings
from flashgc.logs.text import refuse
from flashgc.progress import Show
from flashgc.units import format_count, parse_share, parse_size


def wear(
    *logs: str | Path,
    capacity: str | int | None = None,
    spare: str | float | None = None,
    rated: str | int | None = None,
    budget: str | None = None,
    workload: str | None = None,
) -> Wear:
    """The cost of the writes of a drive, from its logs.

    ``logs`` are files, folders or tables with logs of one drive; ``"FILE=TIME"`` gives a log its
    time. ``capacity`` is the drive's, if no log has it. ``spare`` is the share of the flash beyond
    the capacity, for the changes. ``rated`` is the number of bytes that the data sheet lets the
    host write. ``budget`` has limits: ``"waf=2,dwpd=1,years=5"``.
    ``workload`` is what the host writes (``"80/20"``, ``"uniform"``, ``"zipf:theta=0.9"``); the
    changes are then simulated in place of models.

    Raises :class:`flashgc.ConfigError`, with file, line and column, for a log that cannot be read,
    logs of two drives, a count that goes backwards, and two logs of one time.
    """
    return of_readings(
        readings(logs),
        capacity=capacity,
        spare=spare,
        rated=rated,
        budget=budget,
        workload=workload,
    )


def of_readings(
    read: Readings,
    *,
    capacity: str | int | None = None,
    spare: str | float | None = None,
    rated: str | int | None = None,
    budget: str | None = None,
    workload: str | None = None,
    show: Show | None = None,
) -> Wear:
    """The cost of the writes of a drive, from its readings; see :func:`wear`.

    ``show`` shows the progress of simulations.
    """
    wanted = None if budget is None else budgets.limits(budget, "budget")
    size = read.fact("capacity") if capacity is None else _size(capacity, "capacity")
    share = None if spare is None else parse_share(spare, "spare")
    if share is not None and not 0 < share < 1:
        raise ConfigError(f"spare: found {spare}, expected above 0% and below 100%; hint: 7%")
    limit = None if rated is None else _size(rated, "rated")
    _check_drive(read)
    read = read.without_silent()
    each = read.each
    host_source, media_source = (
        next((s for s in sources if any(side(r, s) for r in each)), None)
        for sources, side in ((HOSTS, Reading.host), (MEDIA, Reading.media))
    )
    for source in HOSTS + MEDIA + tuple(PAIRS):
        _check_order(each, source)
    _check_hours(each)
    hosts = [] if host_source is None else [(r, r.host(host_source)) for r in each]
    medias = [] if media_source is None else [(r, r.media(media_source)) for r in each]
    host, host_seconds = _written([(r, c) for r, c in hosts if c is not None])
    media, media_seconds = _written([(r, c) for r, c in medias if c is not None])
    amplifications = _amplifications(each)
    last = each[-1]
    erases = next((r.erases for r in reversed(each) if r.erases is not None), None)
    result = Wear(
        model=read.fact("model"),
        serial=read.fact("serial"),
        capacity_bytes=size,
        times=tuple(reading.time for reading in each),
        host=host,
        media=media,
        amplifications=amplifications,
        drive_writes_a_day=_drive_writes(host, size, host_seconds),
        percentage_used=last.fact("used"),
        spare_left_percent=last.fact("spare_left"),
        lives=_lives(read, host, media, host_seconds, media_seconds, limit),
        erases=erases,
        erases_in_interval=_erased(each),
        mean_write_bytes=_mean_write(each, host_source),
        steps=_steps(each, host_source, media_source),
        changes=(),
        budget=(),
        read=dict(Counter(log.kind for log in read.logs)),
    )
    amplification = result.amplification
    if workload is not None:
        if amplification is None:
            raise ConfigError(
                "workload: no log counts the flash's writes, so there is no amplification to "
                "explain; hint: nvme ocp smart-add-log DEVICE -o json"
            )
        prediction = simulated.predicted(workload, amplification, share, size, show=show)
        modelled = advice.of_unit if prediction.explanations else advice.all_changes
        others = advice.changes_within(amplification, share, result.mean_write_bytes, modelled)
        result = replace(
            result,
            workload=workload,
            explanations=prediction.explanations,
            changes=(*prediction.changes, *others),
        )
    elif amplification is not None:
        predicted = advice.changes_within(amplification, share, result.mean_write_bytes)
        result = replace(result, changes=predicted)
    if wanted is not None:
        result = replace(result, budget=_judged(wanted, result))
    return replace(result, findings=findings(result, read))


def _size(size: str | int, place: str) -> int:
    number = size if isinstance(size, int) else parse_size(size, place)
    if number <= 0:
        raise ConfigError(f"{place}: found {size}, expected bytes; hint: 960GB")
    return number


def _judged(wanted: dict[str, float], wear: Wear) -> tuple[Verdict, ...]:
    day, factor = wear.drive_writes_a_day, wear.amplification
    figures: dict[str, Sequence[Range]] = {
        "waf": [] if factor is None else [factor],
        "dwpd": [] if day is None else [day],
        "years": [life.years for life in wear.lives],
    }
    missing = {
        "waf": "it needs the flash's writes: nvme ocp smart-add-log DEVICE -o json",
        "dwpd": "it needs two logs and a capacity: nvme id-ctrl DEVICE -o json, or --capacity",
        "years": "it needs two logs with writes, and percentage_used or --rated",
    }
    return budgets.judged(wanted, "budget", figures, missing)


def _check_drive(read: Readings) -> None:
    """Refuse logs of two drives."""
    for name, what in (("serial", "serial number"), ("model", "model"), ("capacity", "capacity")):
        logs = [log for log in read.logs if getattr(log, name) is not None]
        if name == "capacity":  # That of a namespace is a part of the drive's, and may change.
            logs = [log for log in logs if log.kind == logs[0].kind != "nvme id-ns"]
        for log in logs[1:]:
            if getattr(log, name) != getattr(logs[0], name):
                refuse(
                    log.place,
                    f"found {what} {getattr(log, name)}, expected {getattr(logs[0], name)} as in "
                    f"{logs[0].place}: a log of another drive",
                    "give the logs of one drive",
                )


def _check_order(each: Sequence[Reading], source: str) -> None:
    """Refuse counts that go backwards."""
    for counts in ([r.host(source) for r in each], [r.media(source) for r in each]):
        known = [(count, r.fact("hours")) for count, r in zip(counts, each, strict=True) if count]
        for (before, first), (after, last) in itertools.pairwise(known):
            if (before.unit, before.of) != (after.unit, after.of):
                refuse(
                    after.place,
                    f"{after.key} is in {after.unit_name}, and {before.key} of {before.place} in "
                    f"{before.unit_name}",
                    "give logs of one program and version",
                )
            if after.number + after.blur < before.number - before.blur:
                more = None if first is None or last is None else last - first
                _refuse_backwards(before, after, more)


def _check_hours(each: Sequence[Reading]) -> None:
    """Refuse power-on hours that go backwards, although no count does."""
    known = [(reading, hours) for reading in each if (hours := reading.fact("hours")) is not None]
    for (before, first), (after, last) in itertools.pairwise(known):
        if last < first:
            refuse(
                after.place,
                f"found {last} power-on hours after {first} ({before.place}), expected a count "
                "that only grows: another drive, or times in the wrong order?",
                "give the logs of one drive, with times behind names: FILE=2026-11-30T12:00",
            )


def _refuse_backwards(before: Count, after: Count, more_hours: int | None) -> None:
    """Refuse a count that fell, with the cause that the power-on hours suggest."""
    bits = next((b for b in (32, 48, 64, 128) if 2 ** (b - 1) <= before.number < 2**b), None)
    wrapped = (
        bits is not None and after.number < 2**bits // 16 and before.number > 2**bits // 16 * 15
    )
    again = "leave out the logs before it"
    times = "give times behind names: FILE=2026-11-30T12:00"
    cause, hint = "another drive, a reset, or times in the wrong order?", times
    if wrapped:
        cause, hint = f"it may have begun again at 2^{bits}", again
    elif more_hours is not None and more_hours < 0:
        cause = (
            f"{-more_hours} power-on hours fewer, too: times in the wrong order, or another drive?"
        )
    elif more_hours:
        cause = (
            f"{more_hours} power-on hours more: a reset, such as by new firmware, or another drive?"
        )
        hint = again
    refuse(
        after.place,
        f"{after.key}: found {format_count(after.number)} after {format_count(before.number)} "
        f"({before.place}), expected a count that only grows: {cause}",
        hint,
    )


def _written(counts: list[tuple[Reading, Count]]) -> tuple[Written | None, float]:
    """The bytes by one source, and the seconds of their interval."""
    if not counts:
        return None, 0.0
    (first, before), (last, after) = counts[0], counts[-1]
    interval = after.since(before) if len(counts) > 1 else None
    return (
        Written(after.key, after.unit_name, after.total(), interval),
        last.time - first.time,
    )


def _amplifications(each: Sequence[Reading]) -> tuple[Amplification, ...]:
    """The amplification by each pair of counts, that with the narrowest range first."""
    pairs_known = []
    for media_source, host_sources in PAIRS.items():
        for host_source in host_sources:
            pairs = [
                (media, host)
                for reading in each
                if (media := reading.media(media_source)) is not None
                and (host := reading.host(host_source)) is not None
            ]
            if pairs:
                pairs_known.append(_amplification(media_source, pairs))
                break
    return tuple(
        sorted(pairs_known, key=lambda each: each.interval.width if each.interval else 1e9)
    )


def _width(amplification: Amplification) -> float:
    return math.inf if amplification.interval is None else amplification.interval.width


def _amplification(source: str, pairs: list[tuple[Count, Count]]) -> Amplification:
    (first_media, first_host), (media, host) = pairs[0], pairs[-1]
    # Statistics of placement begin when placement is enabled, both at one time.
    life = ratio(media.total(), host.total())
    interval = None
    if len(pairs) > 1:
        interval = ratio(media.since(first_media), host.since(first_host))
    name = f"{media.key} over {host.key}"
    return Amplification(name, None if source == FDP else life, interval)


def _drive_writes(host: Written | None, size: int | None, seconds: float) -> Range | None:
    if host is None or host.interval is None or not size:
        return None
    factor, interval = DAY / seconds / size, host.interval
    return Range(interval.value * factor, interval.low * factor, interval.high * factor)


def _lives(
    read: Readings,
    host: Written | None,
    media: Written | None,
    host_seconds: float,
    media_seconds: float,
    rated: int | None,
) -> tuple[Life, ...]:
    lives: list[Life | None] = []
    by_media = media is not None and media.interval is not None
    written, seconds = (media, media_seconds) if by_media else (host, host_seconds)
    used = read.each[-1].fact("used")
    if used is not None:
        of = "flash" if by_media else "host"
        lives.append(_by_percentage(f"percentage used, by {of} writes", used, written, seconds))
    estimate = read.fact("endurance")
    if estimate is not None and media is not None:
        # Rounded as the log rounds: bytes are exact, billions of bytes are not.
        unit = 1 if read.fact("endurance_unit") == "bytes" else 10**9
        limit = Count(estimate // unit, unit, "", "").total()
        lives.append(_by_limit("endurance estimate", limit, media, media_seconds))
    if rated is not None and host is not None:
        limit = Bytes(rated, rated, rated)
        lives.append(_by_limit("rated writes", limit, host, host_seconds))
    return tuple(life for life in lives if life is not None)


def _by_percentage(by: str, used: int, written: Written | None, seconds: float) -> Life | None:
    """Years until 100%, if wear goes on in proportion to the writes so far.

    The percentage is a whole number, rounded in a way that the log does not say.
    """
    if written is None or written.interval is None:
        return None
    if used >= 100:
        return Life(by, Range(0.0, 0.0, 0.0))
    total = written.life

    def left(writes: float, percent: int) -> float:
        return max(0.0, writes * (100 - percent) / percent)

    low = left(total.low, used + 1)
    high = None if used <= 1 else left(total.high, used - 1)
    return _years(by, Range(left(total.value, used) if used else low, low, high), written, seconds)


def _by_limit(by: str, limit: Bytes, written: Written, seconds: float) -> Life | None:
    total = written.life
    left = Range(
        max(0.0, limit.value - total.value),
        max(0.0, limit.low - total.high),
        max(0.0, limit.high - total.low),
    )
    return _years(by, left, written, seconds)


def _years(by: str, left: Range, written: Written, seconds: float) -> Life | None:
    """The years that some bytes last at the rate of the interval; ``None`` without writes."""
    rate = written.interval
    if rate is None or rate.value <= 0:
        return None
    years = seconds / YEAR
    high = None if left.high is None or rate.low <= 0 else left.high / rate.low * years
    return Life(by, Range(left.value / rate.value * years, left.low / rate.high * years, high))


def _erased(each: Sequence[Reading]) -> int | None:
    """The growth of the mean of the erases."""
    means = [r.erases.mean for r in each if r.erases is not None and r.erases.mean is not None]
    return means[-1] - means[0] if len(means) > 1 else None


def _mean_write(each: Sequence[Reading], source: str | None) -> float | None:
    """Bytes of a write of the host, on average over the interval, or over the life."""
    if source is None:
        return None
    known = [
        (count, commands)
        for reading in each
        if (count := reading.host(source)) is not None
        and (commands := reading.fact("write_commands"))
    ]
    if not known:
        return None
    (before, first), (after, last) = known[0], known[-1]
    if last > first:
        return after.since(before).value / (last - first)
    return after.total().value / last


def _steps(
    each: Sequence[Reading], host_source: str | None, media_source: str | None
) -> tuple[Step, ...]:
    steps = []
    for before, after in itertools.pairwise(each):
        hosts, medias = (
            [] if source is None else [side(reading, source) for reading in (before, after)]
            for source, side in ((host_source, Reading.host), (media_source, Reading.media))
        )
        ratios = _amplifications((before, after))
        steps.append(
            Step(
                before.time,
                after.time,
                _difference(hosts),
                _difference(medias),
                next((each.interval for each in ratios if each.interval is not None), None),
            )
        )
    return tuple(steps)


def _difference(counts: Sequence[Count | None]) -> int | None:
    if len(counts) < 2 or counts[0] is None or counts[1] is None:
        return None
    return counts[1].since(counts[0]).value
