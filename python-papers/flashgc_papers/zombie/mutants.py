"""Wrong engines for the claims of Zombie Chasing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from flashgc_papers.reproduce.mutants import Change, Mutant, swap

#: Victim policy, and whether there is a zombie block: the presets of Table 1 taken apart.
_PRESETS = {
    "gc-gd": ("greedy", "no"),
    "gc-cb": ("cost-benefit", "no"),
    "zgc-gd": ("z-greedy", "yes"),
    "zgc-cb": ("z-cost-benefit", "yes"),
    "zgc-gd-nz": ("z-greedy", "no"),
    "zgc-cb-nz": ("z-cost-benefit", "no"),
}
_BLIND = {"zgc-gd": "gc-gd", "zgc-cb": "gc-cb", "zgc-gd-nz": "gc-gd", "zgc-cb-nz": "gc-cb"}


def _dac(threshold: int) -> Change:
    """The presets with a threshold of DAC under which a page is young.

    With 1 no page is: none is promoted. With the largest, every page is: none is demoted.
    """

    def change(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
        preset = options.get("gc_preset")
        if preset is None:
            return None
        victim, block = _PRESETS[str(preset)]
        kept = {key: one for key, one in options.items() if key != "gc_preset"}
        placement = f"dac:regions=3,zombie-block={block},threshold={threshold}"
        return {**kept, "victim": victim, "placement": placement}

    return change


def _ignored(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return swap("gc_preset", _BLIND)(options) or swap("victim", {"z-greedy": "greedy"})(options)


def _aware(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The simulations whose collections count zombies, as they are."""
    counts = str(options.get("gc_preset")) in _BLIND or options.get("victim") == "z-greedy"
    return options if counts else None


def _no_checkpoints(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The databases that are told when to write a checkpoint, without any."""
    cache = str(options.get("host_cache"))
    if "checkpoint=" not in cache:
        return None
    return {**options, "host_cache": re.sub(r"checkpoint=[^,]+", "checkpoint=0s", cache)}


MUTANTS = (
    Mutant("hints ignored", "ZGC collects as GC does", _ignored),
    Mutant(
        "no zombie block",
        "copies of zombies go where all copies go",
        swap("gc_preset", {"zgc-gd": "zgc-gd-nz", "zgc-cb": "zgc-cb-nz"}),
    ),
    Mutant(
        "zombie counts stay",
        "a block's zombies are not counted down when they die",
        _aware,
        engine="zombie-counts-stay",
    ),
    Mutant("DAC never promotes", "an update leaves a page in its region", _dac(1)),
    Mutant("DAC never demotes", "a copy leaves a page in its region", _dac(2**63)),
    Mutant(
        "half of the hints lost",
        "every other hint that rides does not come",
        swap("hints", {"piggyback": "piggyback:lost=50%"}),
    ),
    Mutant("no checkpoints", "the database writes what must make room only", _no_checkpoints),
    Mutant(
        "commands are free",
        "a hint of its own costs no more than one that rides",
        swap("hints", {"command": "piggyback"}),
    ),
)
