"""Which drives an experiment asks for: mappings with what they take, and the host's memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from flashgc import _core, _places
from flashgc._core import ConfigError
from flashgc._places import Places
from flashgc.registry import mappings
from flashgc.units import parse_size

if TYPE_CHECKING:
    from flashgc.experiment import Experiment, Gc

#: Victim policy and write frontier of a mapping that has its own.
NONE = "none"


def several(value: Any) -> list[Any]:
    """A value that may be a list, as a list."""
    return value if isinstance(value, list) else [value]


def drives(
    gc: Gc,
    places: Places,
    python_victims: Sequence[str],
    collectors: Sequence[tuple[str, str]],
) -> Iterator[dict[str, str]]:
    """Every combination of mapping, frontier, allocation, wear levelling, placement and victim.

    ``collectors`` are placements and victims together, in place of the others.

    A mapping that chooses its own blocks is combined with no victim and no frontier. Raises
    :class:`flashgc.ConfigError` where a value is wrong, or is of no mapping that is asked for.
    """
    asked = {
        kind: _checked(kind, getattr(gc, kind), places, python_victims)
        for kind in ("mapping", "frontier", "allocation", "wear_levelling", "placement", "victim")
    }
    having = [has_victims(mapping) for mapping in asked["mapping"]]
    if not any(having):
        _refuse_victims(gc, asked["mapping"][0], places)
    choices = collectors or list(itertools.product(asked["placement"], asked["victim"]))
    for mapping, has in zip(asked["mapping"], having, strict=True):
        for frontier, allocation, levelling, (placement, victim) in itertools.product(
            asked["frontier"] if has else [NONE],
            asked["allocation"],
            asked["wear_levelling"],
            choices if has else [(NONE, NONE)],
        ):
            yield {
                "mapping": mapping,
                "frontier": frontier,
                "allocation": allocation,
                "wear_levelling": levelling,
                "placement": placement,
                "victim": victim,
            }


def has_victims(mapping: str) -> bool:
    """Whether victim policy and write frontier are of this mapping.

    >>> has_victims("page"), has_victims("fast:log_blocks=32")
    (True, False)
    """
    name = mapping.split(":", maxsplit=1)[0].strip()
    return next(entry.has_victims for entry in mappings() if entry.name == name)


def _checked(kind: str, value: Any, places: Places, python_victims: Sequence[str]) -> list[str]:
    path, values = f"gc.{kind}", several(value)
    _places.refuse_twins(_places.elements(places, path, values), values)
    for index, text in enumerate(values):
        if kind != "victim" or text not in python_victims:
            _places.read(places, _places.element(places, path, index), _core.check, kind, text)
    return values


def _refuse_victims(gc: Gc, mapping: str, places: Places) -> None:
    name = mapping.split(":", maxsplit=1)[0]
    for kind in ("victim", "frontier"):
        value = several(getattr(gc, kind))
        # Functions of the API name the default where nobody else did.
        if value != several(type(gc).model_fields[kind].default):
            raise ConfigError(
                f"{places.get(f'gc.{kind}', kind)}: mapping {name} chooses its own blocks, found "
                f"'{value[0]}'; hint: leave it out, or write --mapping {name}:victim=cost"
            )


def swaps(asked: Experiment, page_size: int, places: Places) -> list[dict[str, Any] | None]:
    """The page caches in front of the drive, one for each scheme; ``[None]`` for none."""
    swap = asked.swap
    if swap.page_cache is None:
        for key in ("page_policy", "scheme"):
            if key in swap.model_fields_set:
                raise ConfigError(
                    f"{places.get(f'swap.{key}', key)}: is of a page cache, and there is none; "
                    "hint: give --page-cache, for example 4MiB"
                )
        return [None]
    size = _places.read(places, "swap.page_cache", parse_size, swap.page_cache, "size", "MiB")
    pages = size // page_size
    _places.in_range(places, "swap.page_cache", pages, 0, 2**32 - 1)
    _places.read(places, "swap.page_policy", _core.check, "page_policy", swap.page_policy)
    schemes = several(swap.scheme)
    _places.refuse_twins(_places.elements(places, "swap.scheme", schemes), schemes)
    for index, scheme in enumerate(schemes):
        at = _places.element(places, "swap.scheme", index)
        _places.read(places, at, _core.check, "scheme", scheme)
    return [
        {"cache_pages": pages, "policy": swap.page_policy, "scheme": scheme} for scheme in schemes
    ]
