"""Functions for the wrong engines for Zombie Chasing, which ``mutants.toml`` names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashgc_papers.reproduce.mutants import replaced, swap
from flashgc_papers.zombie import wrong

_blind = swap("victim", {"z-greedy": "greedy", "z-cost-benefit": "cost-benefit"})
_no_block = replaced("placement", "zombie-block=yes", "zombie-block=no")

without_bound = wrong.scored(wrong.without_bound)
by_half = wrong.scored(wrong.by_half)
to_a_quarter = wrong.scored(wrong.to_a_quarter)


def hints_ignored(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Replaces policies by those that ignore hints, without a zombie block."""
    blind = _blind(options)
    return None if blind is None else _no_block(blind) or blind
