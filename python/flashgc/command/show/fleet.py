"""The output of ``flashgc fleet``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from flashgc.command.show.sentences import show_sentences
from flashgc.studies.fleet.outcome import ROUNDED, Fleet, FleetPolicy, kind_of
from flashgc.terminal.render import LEFT, RIGHT, console, folded, is_plain, show, table
from flashgc.units import format_size

#: Characters of a policy's name, and reasons of each kind that are shown.
NAME, REASONS = 30, 10
#: The words for volumes without a result, by status.
_STATUSES = {
    "cannot": "cannot run",
    "idle": "never collect",
    "failed": "failed",
    "missing": "not run",
}


def show_fleet(fleet: Fleet) -> None:
    """Prints the distribution of each policy, how they compare, and who has no result."""
    out = console()
    plain = is_plain(out)
    made = table(
        out,
        [("write amplification", LEFT), ("volumes", RIGHT), ("median", RIGHT), ("95%", RIGHT),
         ("worst", RIGHT), ("per byte", RIGHT), ("to the first", RIGHT)],
    )  # fmt: skip
    lives = table(
        out,
        [("life", LEFT), ("median", RIGHT), ("95% above", RIGHT), ("least", RIGHT),
         ("together", RIGHT), ("to the first", RIGHT)],
    )  # fmt: skip
    for policy in fleet.policies:
        name = policy.name if plain else folded(policy.name, NAME)
        figures = (policy.median, policy.p95, policy.worst, policy.per_byte)
        made.add_row(name, str(policy.volumes), *map(_figure, figures), _change(policy.ratio))
        figures = (policy.life_median, policy.life_p95, policy.life_worst, policy.life_per_byte)
        lives.add_row(name, *map(_figure, figures), _change(policy.life_ratio))
    show(out, made)
    out.print()
    show(out, lives)
    out.print()
    show_sentences(out, [*_sentences(fleet), *reasons(fleet), *_work(fleet)])


def _sentences(fleet: Fleet) -> list[str]:
    lines = [
        "life: drive writes per erase of the mean block; multiply it by the rated erases of a "
        "block to get the drive writes until wear-out"
    ]
    first = fleet.policies[0].name
    for policy in fleet.policies[1:]:
        signs = policy.against_first
        if signs is not None:
            lines.append(
                f"{policy.name} writes less than {first} on {_volumes(signs.less)}, more on "
                f"{signs.more}, as much on {signs.same}: "
                f"{_verdict(policy, len(fleet.policies) - 1)}"
            )
    return lines


def _verdict(policy: FleetPolicy, comparisons: int) -> str:
    chance = policy.against_first.p if policy.against_first is not None else 1.0
    words = "beyond chance" if policy.differs else "within chance"
    if comparisons > 1:
        words += f" in {comparisons} comparisons"
    return f"{words} (sign test, p {'below 1e-9' if chance < 1e-9 else f'{chance:.2g}'})"


def reasons(fleet: Fleet) -> list[str]:
    """A line for each kind of reason why volumes have no result: how many, and one of them."""
    lines = []
    for status, words in _STATUSES.items():
        examples: dict[str, tuple[int | str, str]] = {}
        counts: Counter[str] = Counter()
        for kind, volumes in _kinds(fleet, status).items():
            counts[kind] = len(volumes)
            examples[kind] = next(iter(volumes.items()))
        for kind, count in counts.most_common(REASONS):
            volume, reason = examples[kind]
            such = f"volume {volume}" if count == 1 else f"{count} volumes, such as {volume},"
            lines.append(f"{such} {words}: {reason}" if reason else f"{such} {words}")
    return lines


def _kinds(fleet: Fleet, status: str) -> Mapping[str, dict[int | str, str]]:
    """By kind of reason, the volumes that have it under any policy, with theirs."""
    found: dict[str, dict[int | str, str]] = {}
    for cell in fleet.of(status):
        found.setdefault(kind_of(cell.reason), {}).setdefault(cell.volume, cell.reason)
    return found


def _work(fleet: Fleet) -> list[str]:
    cells = f"{_volumes(fleet.volumes)}, {len(fleet)} cells"
    return [
        f"{cells}: {fleet.ran} run, {fleet.found} found in {fleet.results}; the spool took "
        f"{format_size(fleet.spool_bytes)}"
    ]


def warnings(fleet: Fleet) -> list[str]:
    """Return the warnings for readers."""
    lines = list(fleet.notes)
    if len({policy.volumes for policy in fleet.policies}) > 1:
        lines.append(
            "the policies have results of different volumes: only 'to the first' and the counts "
            "of volumes compare the same ones"
        )
    if fleet.rounded:
        lines.append(
            f"{_volumes(fleet.rounded)} with a result: blocks are whole, so their drives have "
            f"{ROUNDED:g} times the spare factor asked for, or more; hint: a smaller "
            "--pages-per-block"
        )
    return lines + [
        f"{one.cells} {'cell' if one.cells == 1 else 'cells'}, such as volume {one.volume}: "
        f"{one.text}"
        for one in fleet.warnings
    ]


def _volumes(count: int) -> str:
    return "1 volume" if count == 1 else f"{count} volumes"


def _figure(value: float) -> str:
    return f"{value:.4f}" if math.isfinite(value) else "-"


def _change(ratio: float | None) -> str:
    return "" if ratio is None else f"{100 * (ratio - 1):+.2f}%"
