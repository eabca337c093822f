"""The text output of ``flashgc fleet``."""

from __future__ import annotations

import math

from flashgc.command.show.sentences import show_sentences
from flashgc.studies.fleets.describe import SENTENCES
from flashgc.studies.fleets.outcome import Fleet
from flashgc.terminal.render import LEFT, RIGHT, console, folded, is_plain, show, table
from flashgc.units import format_size, many

#: Width of a policy's name in characters.
NAME = 30
#: The explanation of the second table.
LIFE = (
    "life: drive writes per erase of the mean block; multiply it by the rated erases of a block to "
    "get the drive writes until wear-out"
)


def show_fleet(fleet: Fleet) -> None:
    """Print the distribution of each policy, how policies compare, and volumes without a result."""
    out = console()
    plain = is_plain(out)
    listing = table(
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
        listing.add_row(name, str(policy.volumes), *map(_figure, figures), _change(policy.ratio))
        figures = (policy.life_median, policy.life_p95, policy.life_worst, policy.life_per_byte)
        lives.add_row(name, *map(_figure, figures), _change(policy.life_ratio))
    show(out, listing)
    out.print()
    show(out, lives)
    out.print()
    sentences = [finding.text for finding in fleet.findings if finding.id in SENTENCES]
    show_sentences(out, [LIFE, *sentences, *_work(fleet)])


def _work(fleet: Fleet) -> list[str]:
    cells = f"{many(fleet.volumes, 'volume')}, {len(fleet)} cells"
    return [
        f"{cells}: {fleet.ran} run, {fleet.found} found in {fleet.results}; the spool took "
        f"{format_size(fleet.spool_bytes)}"
    ]


def _figure(value: float) -> str:
    return f"{value:.4f}" if math.isfinite(value) else "-"


def _change(ratio: float | None) -> str:
    return "" if ratio is None else f"{100 * (ratio - 1):+.2f}%"
