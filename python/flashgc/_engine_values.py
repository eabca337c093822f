"""Values of options as the engine's structs hold them: texts become numbers, by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flashgc import _core, _origins
from flashgc._core import ConfigError
from flashgc._drive_kinds import several
from flashgc.options import PATHS, TEXTS, Option, find, of_holder
from flashgc.units import parse_count, parse_page_size, parse_pages, parse_share, parse_size

if TYPE_CHECKING:
    from flashgc._origins import Places
    from flashgc.experiment import Experiment
    from flashgc.policy_files import Policies

#: The unit that messages propose.
_USUAL = {"alignment_offset": "B", "vm_page_cache": "MiB", "request_size": "B"}


def values(
    holder: str, asked: Experiment, unit: int, places: Places, *, complete: bool = False
) -> dict[str, Any]:
    """The fields of a struct that were given, all but those that may be several.

    The engine has the defaults of the others, which are ``complete`` here too if that is asked for.
    Raises :class:`flashgc.ConfigError` with the value's place.
    """
    return {
        option.field: value(option, asked[option.path], unit, places)
        for option in of_holder(holder)
        if not option.several
        if option.path in asked or (complete and option.usual is not None)
    }


def unit(asked: Experiment, places: Places) -> int:
    """Bytes of a mapping unit: the page size unless it is smaller."""
    key = "mapping_unit" if "drive.mapping_unit" in asked else "page_size"
    option = find(key)
    return int(value(option, asked[option.path], 0, places))


def value(option: Option, given: Any, unit: int, places: Places) -> Any:
    """One value as the engine takes it; ``unit`` is a mapping unit in bytes."""
    path = option.path
    if option.listing:
        return several(given)
    if option.kind in TEXTS:
        return given == "yes" if option.kind == "yes-no" else str(given)
    if option.kind in ("share", "number"):
        return _origins.read(
            places, path, parse_share if option.kind == "share" else _number, given
        )
    if option.kind == "pages":
        number = _origins.read(places, path, parse_pages, given, unit)
    elif option.key in ("page_size", "mapping_unit"):
        number = _origins.read(places, path, parse_page_size, given)
    elif option.kind == "size":
        usual = _USUAL.get(option.key, "GiB")
        number = _origins.read(places, path, parse_size, given, "size", usual)
    else:
        number = _origins.read(places, path, parse_count, given)
    if option.range is not None:
        _origins.in_range(places, path, number, *option.range)
    return number


def check_texts(asked: Experiment, places: Places, python: Policies) -> None:
    """Checks every text that was given, as far as that can be done without a drive.

    The workload is not among them: :func:`check_source`. Texts that stand for policies written in
    ``python`` are fine.
    """
    for path in asked:
        option = PATHS[path]
        if option.kind not in TEXTS or path == "workload.source":
            continue
        given = several(asked[path])
        _origins.refuse_twins(_origins.elements(places, path, given), given)
        for index, text in enumerate(map(str, given)):
            if text not in python.get(option.key, ()):
                at = _origins.element(places, path, index)
                _origins.read(places, at, _core.check, option.key, text)


def check_source(asked: Experiment, places: Places) -> None:
    """Checks the workload, on the kind of drive that is asked for."""
    key = "timed_source" if asked["drive.kind"] == "timed" else "source"
    _origins.read(places, "workload.source", _core.check, key, asked["workload.source"])


def _number(given: str | float) -> float:
    try:
        return float(given)
    except ValueError:
        raise ConfigError(f"'{given}' is not a number; hint: write 2") from None
