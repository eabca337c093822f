"""From an experiment to the engine's configurations. It runs nothing."""

from __future__ import annotations

import itertools
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from flashgc import _core, _drive_kinds, _engine_values, _origins, _tenant_texts, _without_effect
from flashgc._core import ConfigError
from flashgc._drive_kinds import several as _several
from flashgc.options import find
from flashgc.timed import clocks
from flashgc.units import format_share, parse_share

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flashgc._origins import Places
    from flashgc.experiment import Experiment
    from flashgc.policy_files import Policies

#: Options that are a run's length.
LENGTHS = ("writes", "collections", "requests", "passes")


def configurations(
    asked: Experiment,
    places: Places | None = None,
    *,
    default_runs: int = 1,
    python: Policies = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """Return the configurations of ``asked``: one for each combination of what may be several.

    ``python`` has the policies written in Python that values name. Raises
    :class:`flashgc.ConfigError` with the value's place.
    """
    places = places or {}
    trace = _core.is_trace(asked["workload.source"])
    shared = _tenant_texts.workloads(asked)
    _engine_values.check_texts(asked, places, python)
    _without_effect.check(asked, trace or any(map(_core.is_trace, shared)), places)
    _tenant_texts.check(asked, places)
    _engine_values.check_source(asked, places)
    unit = _engine_values.unit(asked, places)
    common: dict[str, Any] = {
        **_engine_values.values("run", asked, unit, places, complete=True),
        **_size(asked, trace, places),
        "trace": _engine_values.values("trace", asked, unit, places),
        **_course(asked, trace, places),
    }
    if "run.runs" not in asked:
        # A trace is the same every time, and its passes are what varies.
        alike = trace and asked["drive.kind"] != "timed"
        common["runs"] = int(find("runs").case("trace")) if alike else default_runs
    made = [
        {**common, "spare": spare, **kind, "host": host, "swap": swap, "timed": clock}
        for spare, kind, host, swap, clock in itertools.product(
            _spares(asked, places),
            list(_drive_kinds.drives(asked, places)),
            _drive_kinds.hosts(asked, places),
            _drive_kinds.swaps(asked, unit, places),
            clocks(asked, unit, places),
        )
    ]
    for path in ("run.timeline", "run.trace_events", "run.worst"):
        if path in asked and len(made) > 1:
            place = places.get(path, path.split(".")[1])
            raise ConfigError(
                f"{place}: {len(made)} configurations, expected one; hint: flashgc run"
            )
    return made


def _size(asked: Experiment, trace: bool, places: Places) -> dict[str, int | None]:
    """The number of blocks, or the capacity that the engine makes blocks of."""
    given = _only_one(
        asked,
        places,
        ("drive.blocks", "drive.capacity"),
        "blocks and capacity say the same thing, give one",
    )
    if given is not None:
        option = find(given.split(".")[1])
        return {"blocks": None, option.field: _engine_values.value(option, asked[given], 0, places)}
    fixed = trace or _core.fixes_pages(asked["workload.source"])
    return {"blocks": None if fixed else int(find("blocks").default)}


def _only_one(asked: Experiment, places: Places, paths: Sequence[str], hint: str) -> str | None:
    given = {path: asked[path] for path in paths if path in asked}
    return _origins.only_one(places, given, hint)


def _spares(asked: Experiment, places: Places) -> list[float]:
    given = _only_one(
        asked,
        places,
        ("drive.spare", "drive.overprovision"),
        "spare = overprovision / (1 + overprovision), give one",
    )
    path = given or "drive.spare"
    read = _over if path == "drive.overprovision" else _spare
    return _shares(places, path, read, _several(asked[path]))


def _shares(
    places: Places, path: str, read: Callable[[str | float], float], values: list[str | float]
) -> list[float]:
    shares = [
        _origins.read(places, _origins.element(places, path, index), read, value)
        for index, value in enumerate(values)
    ]
    _origins.refuse_twins(
        _origins.elements(places, path, shares), [format_share(share, 6) for share in shares]
    )
    return shares


def _spare(value: str | float) -> float:
    share = parse_share(value)
    if not 0 < share < 1:
        raise ConfigError(
            f"spare factor is {_as_percent(share)}, expected above 0% and below 100%; hint: "
            + (_percent_hint(value) or "spare = 1 - U/N, for example 10%")
        )
    return share


def _over(value: str | float) -> float:
    share = parse_share(value)
    if not 0 < share < 1e6:
        raise ConfigError(
            f"over-provisioning is {_as_percent(share)}, expected above 0% and below 100000000%; "
            "hint: (N - U)/U, for example 28%"
        )
    return share / (1 + share)


def _as_percent(share: float) -> str:
    return format_share(share, 6) if abs(share) < 1e9 else f"{share:g}"


def _percent_hint(value: str | float) -> str | None:
    """A number from 1 that has no unit was meant as percent."""
    text = str(value).strip()
    return f"did you mean {text}%?" if not text.endswith("%") and 1 <= float(text) < 100 else None


def _length(
    asked: Experiment, trace: bool, usual: dict[str, Any], places: Places
) -> dict[str, Any]:
    given = _only_one(
        asked, places, [f"run.{name}" for name in LENGTHS], "a run has one length, give one"
    )
    if given is None:
        return usual
    option = find(given.split(".")[1])
    if option.key == "passes" and not trace:
        raise ConfigError(
            f"{_origins.subject(places, given)} only applies to traces, and the workload is a "
            "generator; hint: give writes, for example 20x"
        )
    return {option.key: _engine_values.value(option, asked[given], 0, places)}


#: Passes of a trace that a precision lengthens: the first is warm-up.
_PASSES_TO_LENGTHEN = 3


def _usual_course(asked: Experiment, trace: bool) -> tuple[str, dict[str, Any]]:
    """Warm-up and length where nobody says otherwise."""
    warmup, requests, passes = find("warmup"), find("requests"), find("passes")
    length: dict[str, Any]
    if asked["drive.kind"] == "timed":
        length = {"passes": passes.case("timed-trace")}
        if not trace:
            length = {"requests": requests.case("timed")}
        usual = warmup.case("timed")
    elif "swap.vm_page_cache" in asked:
        # A program that begins with an empty memory is measured from its beginning.
        length = {"passes": passes.case("swap-trace")}
        usual = warmup.case("swap-trace")
        if not trace:
            usual, length = warmup.default, {"requests": requests.case("swap")}
    elif not trace:
        return warmup.default, {"writes": find("writes").default}
    elif asked["run.until"] is None:
        return warmup.default, {"settled": _core.MOST_PASSES}
    else:
        usual, length = warmup.default, {"passes": _PASSES_TO_LENGTHEN}
    return usual, {name: int(value) for name, value in length.items()}


def _course(asked: Experiment, trace: bool, places: Places) -> dict[str, Any]:
    """Return the length of the runs: fixed, lengthened to a precision, or until a failure."""
    until = asked["run.until"]
    warmup, length = _usual_course(asked, trace)
    if "run.warmup" in asked:
        warmup = str(asked["run.warmup"])
    if until is None or "=" in until or until.strip() == "precision":
        return {
            "warmup": warmup,
            "length": _length(asked, trace, length, places),
            "precision": None
            if until is None
            else _origins.read(places, "run.until", _precision, until),
        }
    _only_one(
        asked,
        places,
        [*(f"run.{name}" for name in LENGTHS), "run.until"],
        f"a run until {until} ends at the failure; leave the length out",
    )
    if "drive.endurance" not in asked:
        raise ConfigError(
            f"{places.get('run.until', 'until')}: {until} needs an endurance, found none; "
            "hint: give an endurance, for example 1000"
        )
    return {
        "warmup": warmup if "run.warmup" in asked else find("warmup").case("until-failure"),
        "length": {"until": until},
        "precision": None,
    }


def _precision(text: str) -> float:
    name, _, value = text.partition("=")
    if name.strip() != "precision" or not value:
        raise ConfigError(
            f"'{text}' is not understood; hint: write precision=0.1%, first-failure or "
            "system-failure"
        )
    share = parse_share(value)
    if not 0 < share < 1:
        raise ConfigError(f"precision is {value}, expected above 0% and below 100%")
    return share
