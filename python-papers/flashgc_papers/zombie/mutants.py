"""Wrong engines for the claims of Zombie Chasing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from flashgc_papers.reproduce.mutants import Change, Mutant, swap
from flashgc_papers.zombie import wrong

_BLIND = {"z-greedy": "greedy", "z-cost-benefit": "cost-benefit"}
_ZOMBIES = "zombie-block=yes"


def _dac(threshold: int) -> Change:
    """Drives with three regions, with another threshold of DAC under which a page is young.

    With 1 no page is: none is promoted. With 0 every update promotes, and every copy demotes. With
    the largest, every page is young: none is demoted.
    """

    def change(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
        placement = str(options.get("placement"))
        other = re.sub(r"threshold=\d+", f"threshold={threshold}", placement)
        return None if other == placement else {**options, "placement": other}

    return change


def _ignored(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    blind = swap("victim", _BLIND)(options)
    return None if blind is None else _no_block(blind) or blind


def _no_block(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    placement = str(options.get("placement"))
    if _ZOMBIES not in placement:
        return None
    return {**options, "placement": placement.replace(_ZOMBIES, "zombie-block=no")}


def _aware(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The simulations whose collections count zombies, as they are."""
    return options if options.get("victim") in _BLIND else None


def _one_region(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    placement = str(options.get("placement"))
    other = placement.replace("regions=3", "regions=1")
    return None if other == placement else {**options, "placement": other}


def _no_idle(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The hosts that are idle before the clock starts, without that."""
    cache = str(options.get("host_cache"))
    idle = ",start=clean"
    return {**options, "host_cache": cache.replace(idle, "")} if idle in cache else None


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
        _no_block,
    ),
    Mutant(
        "zombie counts stay",
        "a block's zombies are not counted down when they die",
        _aware,
        engine="zombie-counts-stay",
    ),
    Mutant("DAC never promotes", "an update leaves a page in its region", _dac(1)),
    Mutant("DAC always promotes", "an update moves a page one region up", _dac(0)),
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
    Mutant("one region", "DAC has one region, and a block for zombies", _one_region),
    Mutant(
        "half of the hints wrong",
        "every other hint names a page drawn at random",
        swap("hints", {"piggyback": "piggyback:wrong=50%"}),
    ),
    Mutant(
        "hints at once",
        "the drive knows of a page as soon as it is dirty, without a request",
        swap("hints", {"piggyback": "perfect"}),
    ),
    Mutant("never idle", "dirty pages of the earlier run stay in the cache", _no_idle),
    Mutant(
        "score i - z",
        "all zombies of a block lower its benefit, however few pages are invalid",
        _aware,
        policies=wrong.scored(wrong.without_bound),
    ),
    Mutant(
        "score i - z/2",
        "zombies lower the benefit by half of their number",
        _aware,
        policies=wrong.scored(wrong.by_half),
    ),
    Mutant(
        "score i - min(z, i/4)",
        "zombies lower the benefit by a quarter of the invalid pages at most",
        _aware,
        policies=wrong.scored(wrong.to_a_quarter),
    ),
)
