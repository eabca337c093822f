"""Results of models as text for people: the list of models, one result, and the simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flashgc.command.show.findings import warn_of
from flashgc.model import (
    Model,
    ModelConfig,
    ModelResult,
    Superblocks,
    Transient,
    Validation,
    models,
)
from flashgc.terminal.render import (
    LEFT,
    RIGHT,
    Text,
    console,
    facts,
    is_plain,
    show,
    sparkline,
    table,
    unicode,
)
from flashgc.units import format_count, format_share, many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from flashgc.terminal.render import Console

#: Shares below this are omitted from a printed distribution.
RARE = 0.00005
#: The maximum number of pools that are printed.
MOST_POOLS = 8


@dataclass(frozen=True)
class Choice:
    """The smallest d that is sufficient with c blocks stored."""

    c: int
    d: int | None
    write_amplification: float


def listing() -> None:
    """Print the list of models."""
    out = console()
    listing = table(out, [("model", LEFT), ("what it does", LEFT)])
    for entry in models():
        listing.add_row(entry.name, entry.summary.replace("`", ""))
    show(out, listing)
    out.print()
    out.print(
        "flashgc model NAME --help describes one, with its formula and its source.",
        style="dim",
    )


def show_answer(info: Model, result: ModelResult, *, distribution: bool) -> None:
    """Print the result of a model."""
    out = console()
    _headline(out, f"{result.write_amplification:.4f}", "")
    _show_parity(out, result, "")
    out.print()
    show(out, facts(out, _facts(info, result)))
    _show_pools(out, result)
    if distribution:
        _show_distribution(out, result)


def show_validation(info: Model, both: Validation, *, distribution: bool) -> None:
    """Print the result of a model and that of the simulation."""
    out = console()
    result, simulated = both.model, both.simulation
    _headline(out, f"{result.write_amplification:.4f}", "  by the model")
    half = simulated.write_amplification_ci95
    plus_minus = unicode(out, "±", "+-")
    measured = f"{simulated.write_amplification:.4f}"
    if half is not None:
        measured += f" {plus_minus}{half:.4f}"
    runs = len(simulated.run_values)
    if simulated.measured:
        note = f"  by simulation (95%, {many(runs, 'run')})"
        out.print(Text(f"{'':21}{measured}{note}"))
    _show_parity(out, result, ", by the model")
    out.print()
    rows = _facts(info, result)
    if simulated.measured:
        rows.append(("difference", _difference(both)))
    rows.append(
        (
            "simulated",
            f"{simulated.policy}, {format_count(simulated.config.blocks)} blocks, seed "
            f"{simulated.seed}, digest {simulated.digest}",
        )
    )
    show(out, facts(out, rows))
    if distribution:
        _show_distribution(out, result)


def _headline(out: Console, figure: str, note: str) -> None:
    line = Text()
    line.append("write amplification  ", style="bold")
    line.append(figure, style="bold cyan")
    line.append(note)
    out.print(line)


def _show_parity(out: Console, result: ModelResult, note: str) -> None:
    """Print the write amplification with the programs of parity, if there is parity."""
    written = result.superblocks and result.superblocks.write_amplification_with_parity
    if written:
        out.print(Text(f"{'':21}{written:.4f}  with parity {result.config.parity}{note}"))


def _difference(both: Validation) -> Text:
    text = Text(f"{both.difference:+.3%}")
    if both.standard_errors is not None:
        text.append(f", {both.standard_errors:+.1f} standard errors")
    if both.agrees is None:
        text.append(": one run cannot tell chance from a difference; give --runs 4")
    elif both.agrees:
        text.append(": they agree, within 3 standard errors plus 0.05%", style="green")
    else:
        text.append(": they differ, by more than 3 standard errors plus 0.05%", style="bold yellow")
    return text


def _facts(info: Model, result: ModelResult) -> list[tuple[str, Any]]:
    config = result.config
    rows: list[tuple[str, Any]] = [
        ("model", f"{info.name}: {_lower(info.summary)}"),
        ("parameters", _parameters(config)),
        ("spare", _spare(config)),
    ]
    if result.superblocks is not None:
        rows[2:] = _facts_of_superblocks(config, result.superblocks)
    if config.workload is not None:
        frontier = f", {config.frontier} frontier" if config.frontier else ""
        rows.append(("workload", f"{config.workload}{frontier}"))
    pages = config.pages_per_block
    kept = pages * (1 - 1 / result.write_amplification)
    if result.superblocks is not None:
        valid = 1 - 1 / result.write_amplification
        rows.append(("victim", f"{format_share(valid, 2)} of its data valid on average"))
    if result.victim:
        rows.append(("victim", f"{kept:.2f} of {pages} pages valid on average"))
    rows.append(("residual", f"{result.residual:.1e}" if result.residual else "0"))
    if result.pools:
        rows.append(
            (
                "meaning",
                "the optimum of static separation with that cleaner: a strong reference, not a "
                "lower bound",
            )
        )
    return rows


def _facts_of_superblocks(config: ModelConfig, drive: Superblocks) -> list[tuple[str, Any]]:
    """The spare factors of a drive of superblocks, and what is out of play."""
    spare = _spare(config)
    if config.parity != "none":
        beside = f"{format_share(config.spare_factor, 4)} beside parity"
        spare = (
            f"{beside} (over-provisioning {format_share(config.overprovision, 4)}), "
            f"{format_share(drive.spare_of_flash, 4)} of all flash"
        )
    noun = "blocks" if config.superblock == "plane" else "superblocks"
    data = "" if config.parity == "none" else " of data"
    return [
        (
            "drive",
            f"{many(drive.count, noun[:-1])}, {format_count(drive.data_pages)} pages{data} each",
        ),
        ("spare", spare),
        (
            "frontier",
            f"{config.frontier}: {drive.out_of_play:.3f} {noun} are erased between collections",
        ),
        ("in play", f"the other {noun}, of which {format_share(drive.spare_in_play, 4)} is spare"),
    ]


def _spare(config: ModelConfig) -> str:
    return (
        f"{format_share(config.spare_factor, 4)} of the flash "
        f"(over-provisioning {format_share(config.overprovision, 4)})"
    )


def _parameters(config: ModelConfig) -> str:
    facts = [f"{config.pages_per_block} pages a block"]
    for name, value in (("d", config.d), ("c", config.c)):
        if value is not None:
            facts.append(f"{name}={value}")
    if config.window is not None:
        facts.append(f"window {format_share(config.window, 2)}")
    if config.cleaner is not None:
        facts.append(f"pools cleaned by {config.cleaner}")
    if config.ties is not None and config.workload != "uniform":
        facts.append(f"ties={config.ties}")
    if config.superblock not in (None, "plane"):
        facts.append(f"superblocks of {config.superblock}")
    if config.parity not in (None, "none"):
        facts.append(f"parity {config.parity}")
    if config.blocks is not None:
        facts.append(f"{format_count(config.blocks)} blocks")
    return ", ".join(facts)


def _lower(summary: str) -> str:
    """The summary in a form to continue a sentence."""
    text = summary.replace("`", "").rstrip(".")
    first = text.split(" ", maxsplit=1)[0]
    return text if first in ("Desnoyers'", "d") else text[:1].lower() + text[1:]


def _show_pools(out: Console, result: ModelResult) -> None:
    if not result.pools:
        return
    columns = [("pages", RIGHT), ("writes", RIGHT), ("spare factor", RIGHT), ("write ampl.", RIGHT)]
    listing = table(out, columns)
    for pool in result.pools[:MOST_POOLS]:
        written = pool.write_amplification
        listing.add_row(
            *(f"{share:.4%}" for share in (pool.pages, pool.writes, pool.spare_factor)),
            f"{written:.4f}" if math.isfinite(written) else "-",
        )
    out.print()
    show(out, listing)
    more = len(result.pools) - MOST_POOLS
    if more > 0:
        out.print(f"... and {format_count(more)} more pools; --json has all")


def _show_distribution(out: Console, result: ModelResult) -> None:
    columns = [("blocks", result.valid), ("victim", result.victim)]
    if result.memory is not None:
        columns.append(("best stored", result.memory))
    columns = [(name, shares) for name, shares in columns if shares]
    listing = table(out, [("valid pages", RIGHT), *((name, RIGHT) for name, _ in columns)])
    for pages in range(result.config.pages_per_block + 1):
        shares = [shares[pages] for _, shares in columns]
        if max(shares) >= RARE:
            listing.add_row(str(pages), *(f"{share:.4f}" for share in shares))
    out.print()
    show(out, listing)
    out.print()
    out.print("Shares below 0.00005 are left out; --json has all.")


def show_choices(share: float, greedy: ModelResult, rows: Sequence[Choice]) -> None:
    """Print the smallest d within ``share`` of greedy."""
    out = console()
    limit = greedy.write_amplification * (1 + share)
    config = greedy.config
    show(
        out,
        facts(
            out,
            [
                (
                    "greedy",
                    f"{greedy.write_amplification:.4f}, {config.pages_per_block} pages a block, "
                    f"spare {format_share(config.spare_factor, 4)} (over-provisioning "
                    f"{format_share(config.overprovision, 4)})",
                ),
                ("within", f"{100 * share:g}%: up to {limit:.4f}"),
            ],
        ),
    )
    out.print()
    listing = table(out, [("stored c", RIGHT), ("fewest d", RIGHT), ("write ampl.", RIGHT)])
    for row in rows:
        if row.d is None:
            listing.add_row(str(row.c), "none", "-")
        else:
            listing.add_row(str(row.c), str(row.d), f"{row.write_amplification:.4f}")
    show(out, listing)
    if any(row.d is None for row in rows):
        out.print()
        out.print("none: 10 000 choices are not enough.")


def show_course(course: Transient) -> None:
    """Print the write amplification at a few moments."""
    out = console()
    config = course.config
    rows: list[tuple[str, Any]] = [
        ("model", "meanfield: from the first write to the steady state"),
        ("parameters", _parameters(config)),
        ("spare", _spare(config)),
        ("at first", f"filled {WORDS_OF_STATES[course.initial]}"),
        ("steady", f"{course.steady:.4f}"),
    ]
    plot = sparkline(list(course.write_amplification))
    if not is_plain(out) and unicode(out, plot, ""):
        rows.append(("course", Text(plot, style="cyan")))
    show(out, facts(out, rows))
    out.print()
    listing = table(out, [("drive writes", RIGHT), ("write ampl. now", RIGHT), ("so far", RIGHT)])
    last = len(course.drive_writes) - 1
    for at in sorted({round(last * part / MOMENTS) for part in range(MOMENTS + 1)}):
        listing.add_row(
            f"{course.drive_writes[at]:.2f}",
            f"{course.write_amplification[at]:.4f}",
            f"{course.mean_write_amplification[at]:.4f}",
        )
    show(out, listing)


#: The number of moments of a course that are printed, besides the first.
MOMENTS = 20
WORDS_OF_STATES = {"random": "at random", "sequential": "sequentially"}


def picture_of_course(course: Transient) -> Figure:
    """Draw the write amplification over time: the present value, and the mean so far."""
    from flashgc.plot import Series, against

    series = [
        Series(name, course.drive_writes, values)
        for name, values in (
            ("now", course.write_amplification),
            ("so far", course.mean_write_amplification),
        )
    ]
    return against(series, x_label="drive writes", reference_lines={"steady state": course.steady})


def picture(result: ModelResult) -> Figure:
    """Draw the distributions that the model gives."""
    from flashgc.plot import valid_pages

    drawn = {"blocks": result.valid, "victim": result.victim}
    if result.memory is not None:
        drawn["best stored"] = result.memory
    return valid_pages({name: shares for name, shares in drawn.items() if shares}, y_label="share")


def warn_of_simulation(both: Validation, *, quiet: bool) -> None:
    """Print what a reader should know about the simulation."""
    warn_of([both.simulation], quiet=quiet)
