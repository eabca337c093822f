"""Results as text for people: a block for one result, a ranking for several."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from flashgc.command.show import counted, hosts, lifetimes, streams, swaps, timed
from flashgc.command.show.counted import identical, in_words
from flashgc.results import ranked, varied
from flashgc.terminal.render import (
    LEFT,
    RIGHT,
    Text,
    console,
    facts,
    folded,
    is_plain,
    show,
    sparkline,
    speed,
    table,
    unicode,
)
from flashgc.units import format_count, format_share, format_size, many

if TYPE_CHECKING:
    from collections.abc import Callable

    from flashgc.results import Comparison, Config, Rank, Replayed, Result
    from flashgc.terminal.render import Console


def show_run(result: Result) -> None:
    """Print the result of ``flashgc run``."""
    if result.timing is not None:
        timed.show_timed(result, drive(result), spare(result))
        return
    out = console()
    plus_minus = unicode(out, "±", "+-")
    runs = len(result.run_values)
    headline = Text()
    cached = result.swap is not None
    what, unit = ("I/O time", " s") if cached else ("write amplification", "")
    headline.append(f"{what}  ", style="bold" if not is_plain(out) else "")
    headline.append(amplification(result, plus_minus) + unit, style="bold cyan")
    spread = "  mean, " if cached else "  95%, "
    spread += f"{many(runs, 'run')}{identical(result)}"
    headline.append(spread if result.measured else f" {_nothing(result)}", style="dim")
    out.print(headline)
    out.print()
    measured = in_words(result, but=("copied_pages", "erases", "collections"))
    if result.reads:
        measured.append(f"{format_count(result.reads)} reads")
    rows: list[tuple[str, Text | str]] = [
        ("workload", result.workload),
        *replayed(result),
        *scheme_row(result),
        ("policy", policy(result)),
        ("drive", drive(result)),
        ("spare", spare(result)),
    ]
    figures: list[tuple[str, Text | str]] = [
        ("measured", ", ".join(measured)),
        *counted.rows(result),
        *counted.in_pages(result),
        (
            "copies",
            f"{format_count(result.copied_pages)} pages"
            + (f", {result.copies_per_host_write:.4f} per byte written"),
        ),
        (
            "erases",
            f"{format_count(result.erases)} {result.config.block_noun} in "
            f"{format_count(result.collections)} collections",
        ),
        ("steady", _steady(out, result)),
    ]
    if result.measured:
        rows += figures
    rows += swaps.rows(result)
    if result.measured:
        rows += hosts.rows(result)
    rows += lifetimes.rows(result, plus_minus)
    rows += [
        ("speed", speed(result)),
        (
            "repeat",
            f"seed {result.seed}, digest {result.digest}, flashgc {result.version}",
        ),
    ]
    show(out, facts(out, rows))
    streams.show_streams(out, result)


#: For each part in which configurations may differ: its alignment, and its maximum width on a
#: screen.
WIDTHS = {
    "frontier": (LEFT, 12),
    "vm scheme": (LEFT, 12),
    "alloc.": (LEFT, 12),
    "levelling": (LEFT, 13),
    "placement": (LEFT, 12),
    "host": (LEFT, 12),
    "preemption": (LEFT, 12),
    "spare": (RIGHT, 6),
}


def show_comparison(comparison: Comparison) -> None:
    """Print the ranking of ``flashgc compare``."""
    if any(result.timing is not None for result in comparison.results):
        timed.show_ranking(comparison, drive(comparison.results[0]))
        show_verdicts(console(), comparison)
        return
    out = console()
    plus_minus = unicode(out, "±", "+-")
    results = comparison.results
    show(out, facts(out, _in_common(comparison)))
    out.print()
    columns = [("#", RIGHT), ("scheme" if varied.have_schemes(results) else "policy", LEFT)]
    # The width beside the figures on a screen. Plain output, for tools, never breaks a spec over
    # lines.
    left = out.width - 46
    parts = []
    for heading in varied.differing(results):
        side, most = WIDTHS[heading]
        text = varied.PARTS[heading]
        width = min(most, max(len(text(result)) for result in results))
        columns.append((heading, side))
        parts.append((text, 1000 if is_plain(out) else width))
        left -= width + 1
    mortal = any(result.lifetime is not None for result in results)
    left -= 12 * mortal
    rounds = counted.matters(results) and not mortal and results[0].swap is None
    left -= (len(counted.HEADING) + 1) * rounds
    figures, legend = _figures(cached=results[0].swap is not None, mortal=mortal, rounds=rounds)
    doubtful = any(ranked.is_doubtful(result) for result in results)
    left -= 3 * doubtful
    legend += f"; {UNSTEADY} not known to be steady" * doubtful
    columns += [(name, RIGHT) for name in figures]
    if doubtful:  # An extra column, so that figures stay aligned.
        columns.insert(columns.index((figures[0], RIGHT)) + 1, ("", LEFT))
    listing = table(out, columns)
    for rank in comparison:
        result = rank.result
        cells: list[Text | str] = [
            str(rank.place),
            folded(policy_name(out)(result.label), 1000 if is_plain(out) else left),
        ]
        cells += [folded(text(result), width) for text, width in parts]
        style = "bold green" if rank.place == 1 else ""
        cells.append(Text(amplification(result, plus_minus, several=True), style=style))
        if doubtful:
            cells.append(Text(UNSTEADY * ranked.is_doubtful(result), style="bold yellow"))
        cells += [ratio(out, rank), *_last(result, rounds=rounds)]
        listing.add_row(*cells)
    if comparison.ranking:
        show(out, listing)
    if comparison.ranking and not is_plain(out):
        out.print(Text(legend, style="dim"))
    for result in comparison.unmeasured:
        title = varied.name(result, varied.differing(results), policy_name(out))
        out.print(f"{title}: {_nothing(result)}.")
    show_verdicts(out, comparison)


def show_verdicts(out: Console, comparison: Comparison) -> None:
    """Print the findings of a ranking: who wins by how much, and what may be chance."""
    ranking = comparison.ranking
    names = varied.names([rank.result for rank in ranking], policy_name(out))
    labels = [rank.name or name for rank, name in zip(ranking, names, strict=True)]
    findings = ranked.findings(ranking, labels)
    if findings:
        out.print()
    for finding in findings:
        line = finding.sentence.replace("±", unicode(out, "±", "+-"))
        out.print(line)


def show_left_out(comparison: Comparison) -> None:
    """Print the impossible combinations of a comparison, with their reasons."""
    out = console()
    if comparison.left_out:
        out.print()
    for left_out in comparison.left_out:
        out.print(f"left out: {left_out.name}: {left_out.reason}")


#: The mark of figures that are not steady, or not known exactly enough.
UNSTEADY = "*"


def policy_name(out: Console) -> Callable[[str], str]:
    """Return the formatter of policies in tables and sentences: short on a screen, else full."""
    if is_plain(out):
        return str
    from flashgc.registry import brief

    return brief


#: The explanation of the columns of a comparison.
LEGEND = "copies: per byte written; erases: per drive write; prog/s: programs a core"


def _figures(*, cached: bool, mortal: bool, rounds: bool) -> tuple[tuple[str, ...], str]:
    """The headings of a comparison's figures, and their explanation."""
    if cached:
        return ("I/O s", "ratio", *swaps.COLUMNS), swaps.LEGEND
    if mortal:
        return ("write ampl.", "writes", *lifetimes.COLUMNS), lifetimes.LEGEND
    if rounds:
        return ("write ampl.", "writes", counted.HEADING, "copies", "erases", "prog/s"), (
            f"{counted.LEGEND}; {LEGEND}"
        )
    return ("write ampl.", "writes", "copies", "erases", "prog/s"), LEGEND


def _last(result: Result, *, rounds: bool) -> list[str]:
    """The cells of a row that follow the figure and its ratio."""
    if result.swap is not None:
        return swaps.cells(result, _short)
    if result.lifetime is not None:
        return lifetimes.cells(result)
    return [
        *([counted.cell(result)] if rounds else []),
        f"{result.copies_per_host_write:.3f}",
        _short(_per_drive_write(result, result.erases)),
        _short(result.page_programs_per_second),
    ]


def _per_drive_write(result: Result, count: int) -> float:
    """A count per drive write, which is one write of the whole logical capacity."""
    if not result.host_pages:
        return math.nan
    return count * result.config.logical_pages / result.host_pages


def _in_common(comparison: Comparison) -> list[tuple[str, Text | str]]:
    """Return the facts that all results of a comparison share."""
    results = comparison.results
    first = results[0]
    rows: list[tuple[str, Text | str]] = [("workload", first.workload), ("drive", drive(first))]
    if len({result.config.spare_factor for result in results}) == 1:
        rows.append(("spare", spare(*results)))
    if len({result.frontier for result in results}) == 1 and first.frontier != "none":
        rows.append(("frontier", first.frontier))
        pooled = first.frontier.startswith(("pool", "mixed"))
        if len({result.allocation for result in results}) == 1 and pooled:
            rows.append(("allocation", first.allocation))
    if len({result.wear_levelling for result in results}) == 1 and first.levelling is not None:
        rows.append(("levelling", first.wear_levelling))
    if {result.hosting for result in results} == {first.hosting} != {"none"}:
        rows.append(("host", first.hosting))
    if {result.placement for result in results} == {first.placement} != {"none"}:
        rows.append(("placement", first.placement))
    most = "up to " if comparison.interrupted else ""
    if first.trace is not None:
        rows.insert(1, ("trace", _trace(first.trace)))
    if runs := max(len(result.run_values) for result in results):
        text = f"{most}{runs} of each, on the same writes{identical(*results)}"
        passes = sorted({r.trace.passes for r in results if r.trace and r.trace.passes})
        if passes and first.swap is None:
            span = " to ".join(dict.fromkeys([str(passes[0]), str(passes[-1])]))
            text += f"; {span} passes measured"
        rows.append(("runs", f"{text}; intervals are 95%"))
    return rows


def replayed(result: Result) -> list[tuple[str, Text | str]]:
    """A row on the trace of a result, and how often it was replayed."""
    if (trace := result.trace) is None:
        return []
    text = _trace(trace)
    if trace.passes is not None:
        text += f"; {many(trace.passes, 'pass', 'passes')} measured"
        if trace.warmup_passes:
            text += f" after {trace.warmup_passes} of warm-up"
    return [("trace", text)]


def _trace(trace: Replayed) -> str:
    return (
        f"{format_count(trace.pages)} pages, {format_count(trace.page_writes)} page writes a pass, "
        f"overwrite factor {trace.overwrite:.2f}"
    )


def _nothing(result: Result) -> str:
    """Return the text that replaces a figure if nothing was measured."""
    if result.interrupted:
        return "nothing was measured: stopped while still in the warm-up"
    return "nothing was measured: no page was written after the warm-up"


def drive(result: Result) -> str:
    """A description of a result's drive."""
    config = result.config
    size = config.physical_pages * config.unit
    units = "" if config.mapping_unit is None else f" in units of {format_size(config.unit)}"
    shape = (
        f"{format_count(config.blocks)} blocks of {config.pages_per_block} pages of "
        f"{format_size(config.page_size)}{units}: {format_size(size)}"
    )
    if config.blocks_together > 1:
        shape += f", in superblocks of {config.blocks_together}"
    if config.stripe is not None:
        shape += f", {config.blocks_together // config.stripe} of them parity"
    if config.fitted:
        shape += ", chosen for the pages of the trace"
    if config.scaled is not None:
        shape += f", {config.scaled.scale} of {format_size(config.scaled.bytes)}"
    if config.capacity is not None:
        less = format_size(config.capacity - size)
        shape += f" ({less} less than asked for, to have whole blocks{_planes(config)})"
    if result.blocks_asked is not None:
        more = config.blocks - result.blocks_asked
        shape += f" ({format_count(more)} more than asked for, to have as many{_planes(config)})"
    return shape


def _planes(config: Config) -> str:
    """A phrase on the number of planes; empty if there is one, or without a clock."""
    timed = config.timed or {}
    planes = math.prod(int(timed.get(key) or 1) for key in ("channels", "ways", "dies", "planes"))
    return f" on each of {planes} planes" if planes > 1 else ""


def scheme_row(result: Result) -> list[tuple[str, str]]:
    """The row with the name of the scheme, if there is one."""
    return [] if result.config.scheme is None else [("scheme", result.config.scheme)]


def policy(result: Result) -> str:
    """The victim policy and the frontier, and other rules for pages that are not the default."""
    parts = [result.policy]
    if result.frontier != "none":
        parts.append(f"{result.frontier} frontier")
    if result.vm_scheme is not None:
        parts.append(f"scheme {result.vm_scheme}")
    if result.allocation != "fifo":
        parts.append(f"{result.allocation} allocation")
    if result.placement != "none":
        parts.append(result.placement)
    return ", ".join(parts)


def spare(result: Result, *others: Result) -> str:
    """Spare factor and over-provisioning of results, and the spare factor left for collections."""
    config = result.config
    flash = "flash" if config.stripe is None else "flash beside parity"
    whole = (
        f"{format_share(config.spare_factor, 2)} of the {flash} "
        f"(over-provisioning {format_share(config.overprovision, 2)})"
    )
    if config.stripe is not None:
        whole += f", {format_share(config.spare_of_flash, 2)} of all flash"
    left = [result.config.effective_spare for result in (result, *others)]
    known = [value for value in left if value is not None]
    if len(known) < len(left):
        return whole
    ends = dict.fromkeys(format_share(share, 2) for share in (min(known), max(known)))
    return f"{whole}, {' to '.join(ends)} for collections"


def amplification(result: Result, plus_minus: str, *, several: bool = False) -> str:
    """The figure and its interval; with ``several``, the width is the same without an interval."""
    if result.swap is not None:
        return swaps.figure(result)
    blank = " " * len(f" {plus_minus}0.0000") if several else ""
    if not math.isfinite(result.write_amplification):
        return "-"
    half, interval = result.write_amplification_ci95, result.write_amplification_interval
    text = f"{result.write_amplification:.4f}"
    if half is None:
        return text + blank
    if interval is not None and interval[0] == 1 and half > result.write_amplification - 1:
        # The interval is cut at 1, the least possible amplification.
        return f"{text} 1-{interval[1]:#.4g}"
    return (
        f"{text} {plus_minus}{half:.4f}"
        if half
        else f"{text} {plus_minus}0".ljust(len(text + blank))
    )


def ratio(out: Console, rank: Rank) -> Text:
    """The ratio to the best figure, as short text."""
    if rank.place == 1:
        return Text("best", style="bold green")
    if not math.isfinite(rank.ratio):
        return Text("-")
    if rank.difference == 0:
        return Text("equal")
    mark = unicode(out, "≈ ", "~ ") if rank.inside_noise else ""
    return Text(f"{mark}{rank.ratio:.3f}x", style="yellow" if rank.inside_noise else "")


def _short(count: float) -> str:
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= factor:
            return f"{count / factor:#.3g}".rstrip(".") + f" {prefix}"
    return f"{count:.0f}"


def _steady(out: Console, result: Result) -> Text:
    text = Text(result.verdict, style="" if result.steady else "bold yellow")
    plot = sparkline([value for _, value in result.series])
    if plot and not is_plain(out) and unicode(out, plot, ""):
        drive_writes = result.series[-1][0]
        text.append(f"  {plot}", style="cyan")
        text.append(f"  over {drive_writes:.3g} drive writes", style="dim")
    return text
