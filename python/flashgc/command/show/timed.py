"""Results of drives with a clock as text for people."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from flashgc.command.show import counted, hosts, lifetimes, streams, swaps
from flashgc.command.show.counted import identical, in_words
from flashgc.options import find
from flashgc.results import varied
from flashgc.results.result import short_workload
from flashgc.terminal.render import (
    LEFT,
    RIGHT,
    Text,
    console,
    facts,
    is_plain,
    show,
    speed,
    table,
    unicode,
)
from flashgc.units import (
    format_count,
    format_rate,
    format_share,
    format_size,
    format_time,
    many,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from flashgc._documents import Scalar
    from flashgc.results import (
        Comparison,
        Figures,
        PowerLimit,
        Rank,
        Result,
        Slc,
        Steadiness,
        Timing,
        Worst,
    )
    from flashgc.terminal.render import Console

#: The columns of a table of response times, and the keys of their figures.
PERCENTILES = (
    ("mean", "mean"),
    ("p50", "p50"),
    ("p99", "p99"),
    ("p99.9", "p99_9"),
    ("p99.99", "p99_99"),
    ("max", "max"),
)


def show_timed(result: Result, drive: str, spare: str) -> None:
    """Print the result of ``flashgc run`` on a drive with a clock; drive and spare are texts."""
    out = console()
    timing = clock(result)
    plus_minus = unicode(out, "±", "+-")
    headline = Text()
    headline.append("response time  ", style="bold" if not is_plain(out) else "")
    headline.append(figure(result, plus_minus), style="bold cyan")
    runs = len(timing.mean_us_runs)
    spread = f"  mean, {many(runs, 'run')}{identical(result)}"
    headline.append(spread if result.measured else " nothing was measured", style="dim")
    out.print(headline)
    out.print()
    if result.measured:
        show(out, _latencies(out, result))
        out.print()
    show(out, facts(out, _rows(result, drive, spare, plus_minus)))
    streams.show_tenants(out, result)
    streams.show_streams(out, result)
    if any(entry.operations for entry in timing.worst):
        _show_worst(out, timing.worst)


def _show_worst(out: Console, worst: Iterable[Worst]) -> None:
    from flashgc.results.stalls import chart

    for entry in worst:
        first, second = entry.story
        out.print()
        out.print(Text(f"slowest {first}", style="bold" if not is_plain(out) else ""))
        out.print(f"  {second}")
        for line in chart(entry):
            out.print(line)


def clock(result: Result) -> Timing:
    """The timing of a result, which must have one."""
    timing = result.timing
    assert timing is not None
    return timing


def _whole(result: Result) -> Figures:
    """The response times of all requests of a result, which must have some."""
    figures = clock(result).latency_us.all
    assert figures is not None
    return figures


def figure(result: Result, plus_minus: str) -> str:
    """The mean response time and its interval."""
    timing = clock(result)
    whole = timing.latency_us.all
    if whole is None:
        return "-"
    half = timing.mean_us_ci95
    return format_time(whole.mean) + ("" if half is None else f" {plus_minus}{format_time(half)}")


def _latencies(out: Console, result: Result) -> Any:
    columns = [("", LEFT), ("requests", RIGHT), *((name, RIGHT) for name, _ in PERCENTILES)]
    listing = table(out, columns)
    for side in ("read", "write", "trim"):
        figures = clock(result).latency_us.of(side)
        if figures is None:
            continue
        listing.add_row(side, *cells(figures))
        for part, name in (
            (figures.during_collection, "  met a collection"),
            (figures.free_of_collection, "  met none"),
        ):
            if figures.during_collection and part:
                listing.add_row(name, *cells(part))
    return listing


def cells(figures: Figures) -> list[str]:
    """The cells of a row of response times."""
    return [
        format_count(figures.requests),
        *(format_time(getattr(figures, key)) for _, key in PERCENTILES),
    ]


def _few_digits(count: float) -> str:
    return f"{count:.3g}" if count < 999.5 else format_count(count)


def _rows(result: Result, drive: str, spare: str, plus_minus: str) -> Iterable[tuple[str, str]]:
    config = result.config
    timed = config.timed or {}
    yield from _workloads(result)
    if result.config.scheme is not None:
        yield "scheme", result.config.scheme
    yield "policy", f"{result.policy}, preemption {result.preemption}"
    yield "drive", drive
    yield "hardware", _hardware(timed)
    yield "times", str(config.times).replace(",", ", ")
    yield "spare", spare
    if result.measured:
        yield from _measured(result, plus_minus)
    yield "speed", speed(result)
    yield "repeat", f"seed {result.seed}, digest {result.digest}, flashgc {result.version}"


def _measured(result: Result, plus_minus: str) -> Iterable[tuple[str, str]]:
    timing = clock(result)
    throughput, used = timing.throughput, timing.utilisation
    for side in ("read", "write"):
        shares = timing.time_share.of(side)
        if shares is not None:
            parts = (
                ("queue", shares.queue),
                ("collections", shares.collection),
                ("bus", shares.bus),
                ("cells", shares.cell),
            )
            text = ", ".join(f"{name} {format_share(share)}" for name, share in parts)
            yield f"time of {side}s", text
    yield (
        "throughput",
        f"{format_rate(throughput.requests_per_second, 'requests')}, "
        f"{format_size(throughput.read_bytes_per_second)}/s read, "
        f"{format_size(throughput.write_bytes_per_second)}/s written, "
        f"over {format_time(timing.simulated_seconds * 1e6)}",
    )
    yield (
        "in use",
        f"buses {format_share(used.bus)}, dies {format_share(used.die)}, by collections "
        f"{format_share(used.collection)}; {_few_digits(timing.requests_in_system)} requests "
        "at a time",
    )
    yield "steady", steadiness(result.verdict, result.steadiness)
    yield "collections", ", ".join(in_words(timing.collecting)) or "none"
    if timing.suspension is not None:
        yield "suspended", timing.suspension.rule
    if timing.power is not None:
        yield "power", _power(timing.power)
    if timing.failures is not None:
        yield "failed reads", ", ".join(in_words(timing.failures)) or "none"
    if timing.slc is not None:
        yield "SLC region", ", ".join([*in_words(timing.slc), *_by_mode(timing.slc)]) or "not used"
    if result.host_pages:
        yield "write amplification", f"{result.write_amplification:.4f}"
        yield from counted.rows(result)
        yield from counted.in_pages(result)
    # The lines above already show how busy each die was.
    yield from lifetimes.rows(result, plus_minus, busy=False)
    yield from swaps.map_rows(result)
    yield from hosts.rows(result)


def _by_mode(slc: Slc) -> Iterator[str]:
    """The programs for a page of the host in cells of each kind, and the erases in each mode."""
    if pages := slc.host_pages + slc.direct_pages:
        yield (
            f"amplification {slc.host_pages / pages:.4f} in its cells and "
            f"{slc.normal_pages / pages:.4f} in others"
        )
    if slc.erases or slc.normal_erases:
        yield (
            f"{format_count(slc.erases)} erases of its blocks and "
            f"{format_count(slc.normal_erases)} of others"
        )


def _power(power: PowerLimit) -> str:
    """The limit of power, and how long programs and erases waited for it."""
    text = f"limit dies={power.dies}, reached {format_share(power.full)} of the time"
    if power.mean_wait_us is None:
        return text
    waits = f"{format_count(power.waits)} waits of {format_time(power.mean_wait_us)}"
    return f"{text}; {waits}, {format_share(power.waiting)} of the dies' time"


def steadiness(verdict: str, tests: Steadiness) -> str:
    """A text with the verdict on a measured part, the change between halves, and SNIA's rule."""
    sentences = [
        f"{name} {drift.drift * 100:+.2g}%"
        for name, drift in (("amplification", tests.amplification), ("pace", tests.pace))
        if drift is not None
    ]
    if tests.snia is not None:
        sentences.append(f"SNIA's rule {'met' if tests.snia.met else 'missed'}")
    if tests.from_spare and verdict != "yes":
        sentences.append(f"{format_share(tests.from_spare, 1)} went to blocks erased before")
    return f"{verdict}: {', '.join(sentences)}" if sentences else verdict


def _workloads(result: Result) -> Iterable[tuple[str, str]]:
    timed = result.config.timed or {}
    if not result.config.tenants:
        yield "workload", f"{result.workload}, {_arrivals(result.workload, timed)}"
        return
    for tenant in result.config.tenants:
        keys = dict(part.split("=", 1) for part in tenant.split("; "))
        first = [short_workload(keys.pop("workload"))]
        name = keys.pop("name")
        rest = [f"{key.replace('_', ' ')} {value}" for key, value in keys.items()]
        yield f"tenant {name}", ", ".join(first + rest)
    yield "arbitration", str(timed.get("arbitration", find("arbitration").default))


def _arrivals(workload: str, timed: Mapping[str, Scalar]) -> str:
    from flashgc import _core
    from flashgc.registry import has_own_times

    chosen = timed.get("arrivals")
    if chosen is not None:
        text = f"arrivals {chosen}"
    elif _core.is_trace(workload) or has_own_times(workload):
        text = "arriving by its own times"
    else:
        text = "one request after the other"
    scale = timed["rate_scale"]
    return text if scale == 1 else f"{text}, {scale:g} times as fast"


#: Details of a drive that are shown only if they are given.
DETAILS = (
    ("host_bandwidth", "link to the host"),
    ("host_overhead", "overhead"),
    ("read_retry", "read retries"),
)


def _hardware(timed: Mapping[str, Scalar]) -> str:
    device = f"{timed['device']}: " if timed.get("device") else ""
    given = "".join(f", {what} {timed[key]}" for key, what in DETAILS if timed.get(key))
    return (
        f"{device}{many(timed['channels'], 'channel')} of {many(timed['ways'], 'package')} of "
        f"{many(timed['dies'], 'die')} of {many(timed['planes'], 'plane')}; pages "
        f"{timed['striping']}, {timed['scheduling']}, queue depth {timed['queue_depth']}{given}"
    )


#: The function that gives the first column: the scheme or the policy of a result.
_POLICY: Callable[[Result], str] = operator.attrgetter("label")
#: The explanation of the columns of a comparison.
LEGEND = "times: mean response time over the least one; p99 and so on: of all requests"


def show_ranking(comparison: Comparison, drive: str) -> None:
    """Print the ranking of ``flashgc compare`` for drives with a clock, without its findings."""
    out = console()
    results = comparison.results
    parts = {heading: varied.PARTS[heading] for heading in varied.differing(results)}
    if not parts or len({result.label for result in results}) > 1:
        parts = {"scheme" if varied.have_schemes(results) else "policy": _POLICY, **parts}
    first = results[0]
    timed = first.config.timed or {}
    rows = [
        *_workloads(first),
        ("drive", drive),
        ("hardware", _hardware(timed)),
        ("times", str(first.config.times).replace(",", ", ")),
    ]
    shared = {"policy": _POLICY, **varied.PARTS}
    rows += [
        (heading, shared[heading](first))
        for heading in ("policy", "preemption", "spare")
        if heading not in parts and not (heading == "policy" and "scheme" in parts)
    ]
    if runs := max(len(clock(result).mean_us_runs) for result in results):
        alike = identical(*results)
        rows.append(("runs", f"{runs} of each, on the same requests{alike}; intervals are 95%"))
    show(out, facts(out, rows))
    out.print()
    columns = [("#", RIGHT), *((heading, LEFT) for heading in parts)]
    headings = ("mean", "times", "p99", "p99.9", "max", "write ampl.")
    listing = table(out, [*columns, *((heading, RIGHT) for heading in headings)])
    for rank in comparison:
        listing.add_row(
            str(rank.place), *(of(rank.result) for of in parts.values()), *_cells(out, rank)
        )
    if comparison.ranking:
        show(out, listing)
    if comparison.ranking and not is_plain(out):
        out.print(Text(LEGEND, style="dim"))
    for result in comparison.unmeasured:
        text = "/".join(of(result) for of in parts.values())
        out.print(f"{text}: nothing was measured.")


def _cells(out: Console, rank: Rank) -> list[Text | str]:
    result = rank.result
    whole = _whole(result)
    best = rank.place == 1
    mark = unicode(out, "≈ ", "~ ") if rank.inside_noise else ""
    return [
        Text(figure(result, unicode(out, "±", "+-")), style="bold green" if best else ""),
        Text("best", style="bold green") if best else Text(f"{mark}{rank.ratio:.3f}x"),
        format_time(whole.p99),
        format_time(whole.p99_9),
        format_time(whole.max),
        f"{result.write_amplification:.3f}" if result.host_pages else "-",
    ]
