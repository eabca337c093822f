"""Couples, which are pairs of a victim policy and a placement: their parser and default list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flashgc import _core
from flashgc._core import ConfigError
from flashgc.policy_files import is_written
from flashgc.registry import gc_presets

#: The couples that are run by default. Greedy without a placement is always run.
USUAL = (
    "greedy", "cost-benefit", "gc-gd", "cost-benefit + dac:regions=6", "sepbit", "sepbit-cb",
    "cost-benefit + multilog",
    "cost-benefit + fadac",
)  # fmt: skip


@dataclass(frozen=True)
class Couple:
    """A scheme that knows only the past."""

    #: The name, as typed.
    name: str
    victim: str
    placement: str


#: The scheme with which all others are compared.
GREEDY = Couple("greedy", "greedy", "none")


def couples(texts: Sequence[str], place: str) -> tuple[Couple, ...]:
    """Greedy and ``texts``: a victim policy, one with ``+`` and a placement, or a GC preset.

    Raises :class:`flashgc.ConfigError`, which names ``place``.

    >>> [(one.victim, one.placement) for one in couples(["gc-gd", "fifo + sepbit"], "couples")]
    [('greedy', 'none'), ('greedy', 'dac:regions=3'), ('fifo', 'sepbit')]
    """
    if not texts:
        raise ConfigError(f"{place}: found none, expected a couple; hint: sepbit-cb")
    couples = [_couple(text, place) for text in texts]
    for index, couple in enumerate(couples):
        twins = [two for two in couples[:index] if _parts(two) == _parts(couple)]
        if twins:
            raise ConfigError(
                f"{place}: '{couple.name}' is the same as '{twins[0].name}'; hint: give each once"
            )
    return (GREEDY, *(couple for couple in couples if _parts(couple) != _parts(GREEDY)))


def _parts(couple: Couple) -> tuple[str, str]:
    return couple.victim, couple.placement


def _couple(text: str, place: str) -> Couple:
    name = " ".join(text.split())
    victim, plus, placement = (part.strip() for part in name.partition("+"))
    preset = next((gc_preset for gc_preset in gc_presets() if gc_preset.name == victim), None)
    if preset is not None and plus:
        raise ConfigError(
            f"{place}: '{name}': the GC preset {victim} has a placement already; "
            f"hint: {victim}, or {preset.victim} + {placement or 'sepbit'}"
        )
    if preset is not None:
        return Couple(name, preset.victim, preset.placement)
    if not victim or (plus and not placement):
        raise ConfigError(
            f"{place}: found '{name}', expected a victim policy, perhaps with a placement, or a GC "
            "preset; hint: cost-benefit + sepbit"
        )
    written = next((text for text in (victim, placement) if is_written(text)), None)
    if written is not None:
        raise ConfigError(
            f"{place}: '{written}' is written in Python, and only built-in policies are compared "
            "with foresight; hint: flashgc compare"
        )
    if placement.split(":")[0] == "oracle":
        raise ConfigError(
            f"{place}: '{name}' knows the future, expected a scheme that knows the past; "
            "hint: leave it out, clairvoyance has a row of its own"
        )
    try:
        _core.check("victim", victim)
        _core.check("placement", placement or "none")
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from None
    return Couple(name if not plus else f"{victim} + {placement}", victim, placement or "none")
