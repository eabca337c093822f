"""The drives that an experiment asks for: every combination of what may be several."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from flashgc import _origins
from flashgc._core import ConfigError
from flashgc._listing import listing
from flashgc.options import Option, find, of_holder
from flashgc.units import parse_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flashgc._origins import Places
    from flashgc.experiment import Experiment

#: Victim policy and write frontier of a mapping that has its own.
NONE = "none"
#: Options that a mapping may have no use for; all others are combined with every mapping.
_OF_MAPPINGS = ("mapping", "victim", "frontier", "placement", "spare")


def several(value: Any) -> list[Any]:
    """A value that may be a list, as a list."""
    return value if isinstance(value, list) else [value]


def checked(option: Option, asked: Experiment, places: Places) -> list[str]:
    """The values of an option that may be several, each given once."""
    values = several(asked[option.path])
    _origins.refuse_twins(_origins.elements(places, option.path, values), values)
    return values


def drives(asked: Experiment, places: Places) -> Iterator[dict[str, str]]:
    """Every combination of mapping, frontier, allocation, wear levelling, placement and victim.

    A mapping that chooses its own blocks is combined with no victim and no frontier. Raises
    :class:`flashgc.ConfigError` where a value fits no mapping that is asked for.
    """
    mappings, frontiers, placements, victims = (
        checked(find(key), asked, places) for key in ("mapping", "frontier", "placement", "victim")
    )
    having = [has_victims(mapping) for mapping in mappings]
    if not any(having):
        _refuse_victims(asked, mappings[0], places)
    choices = _gc_presets(asked, places) or list(itertools.product(placements, victims))
    others = [
        option for option in of_holder("run") if option.several and option.key not in _OF_MAPPINGS
    ]
    varied = list(itertools.product(*(checked(option, asked, places) for option in others)))
    for mapping, has in zip(mappings, having, strict=True):
        for frontier, rest, (placement, victim) in itertools.product(
            frontiers if has else [NONE], varied, choices if has else [(NONE, NONE)]
        ):
            yield {
                "mapping": mapping,
                "frontier": frontier,
                **dict(zip((option.field for option in others), rest, strict=True)),
                "placement": placement,
                "victim": victim,
            }


def has_victims(mapping: str) -> bool:
    """True if a mapping takes a victim policy and a write frontier.

    >>> has_victims("page"), has_victims("fast:log_blocks=32")
    (True, False)
    """
    name = mapping.split(":", maxsplit=1)[0].strip()
    entry = next(one for one in listing()["mappings"] if one["name"] == name)
    return bool(entry["has_victims"])


def _gc_presets(asked: Experiment, places: Places) -> list[tuple[str, str]]:
    """The placement and the victim policy of each preset that is asked for."""
    preset = find("gc_preset")
    if preset.path not in asked:
        return []
    for path in ("gc.victim", "gc.placement"):
        if path in asked:
            raise ConfigError(
                f"{_origins.subject(places, path)}: found together with "
                f"{_origins.subject(places, preset.path)}; hint: a GC preset is a victim policy "
                "and a placement, give one or the other"
            )
    known = {one["name"]: one for one in listing()["gc_presets"]}
    names = checked(preset, asked, places)
    return [(known[name]["placement"], known[name]["victim"]) for name in names]


def _refuse_victims(asked: Experiment, mapping: str, places: Places) -> None:
    name = mapping.split(":", maxsplit=1)[0]
    for key in ("victim", "frontier", "placement", "gc_preset"):
        option = find(key)
        if option.path not in asked:
            continue
        value = several(asked[option.path])
        # Functions of the API name the default where nobody else did.
        if value != several(option.usual):
            own = f", or write --mapping {name}:victim=cost" if key == "victim" else ""
            raise ConfigError(
                f"{places.get(option.path, key)}: mapping {name} chooses its own blocks, found "
                f"'{value[0]}'; hint: leave it out{own}"
            )


def hosts(asked: Experiment, places: Places) -> list[dict[str, str] | None]:
    """Every cache with every way of hinting; ``[None]`` without a cache."""
    if "host.host_cache" not in asked:
        return [None]
    caches, hints = (checked(find(key), asked, places) for key in ("host_cache", "hints"))
    return [{"cache": cache, "hints": way} for cache in caches for way in hints]


def swaps(asked: Experiment, unit: int, places: Places) -> list[dict[str, Any] | None]:
    """The page caches in front of the drive, one for each scheme; ``[None]`` for none."""
    path = "swap.vm_page_cache"
    if path not in asked:
        return [None]
    size = _origins.read(places, path, parse_size, asked[path], "size", "MiB")
    pages = size // unit
    _origins.in_range(places, path, pages, 0, 2**32 - 1)
    policy = asked["swap.page_policy"]
    schemes = checked(find("scheme"), asked, places)
    return [{"cache_pages": pages, "policy": policy, "scheme": scheme} for scheme in schemes]
