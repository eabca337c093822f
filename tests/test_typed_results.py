"""Every part of a result is typed, and results have every key of their documents."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

import flashgc
from flashgc import model, results
from flashgc._documents import Json
from flashgc.conformance import Conformance
from flashgc.presets import Device
from flashgc.traces import Converted

DRIVE = {"blocks": 200, "pages_per_block": 16, "writes": "4x"}
POOL = {**DRIVE, "spare": "15%", "victim": "greedy", "frontier": "pool"}
TIMED = {"kind": "timed", "device": "mlc", "blocks": 256, "requests": 2000, "warmup": "1x"}
#: Configurations that together fill every part of a result.
FILLED: dict[str, dict[str, Any]] = {
    "plain": DRIVE,
    "lifetime": {
        **{key: value for key, value in POOL.items() if key != "writes"},
        "endurance": 20,
        "until": "system-failure",
        "wear_levelling": "static:threshold=5,interval=2",
        "times": "read=60us,program=800us,erase=1.5ms",
    },
    "host": {**POOL, "host_cache": "page-cache:size=256KiB", "scheme": "zgc-gd", "victim": None},
    "dftl": {**DRIVE, "mapping": "dftl", "frontier": "double"},
    "swap": {
        "blocks": 200,
        "pages_per_block": 16,
        "spare": "50%",
        "requests": 20_000,
        "mapping": "fast:log_blocks=8",
        "vm_page_cache": "256KiB",
        "vm_scheme": "lda-gc5",
    },
    "timed": {**TIMED, "preemption": "pgc", "arrivals": "poisson:rate=1000"},
    # A run has this part once a million requests wait.
    "overload": {**TIMED, "requests": 1_200_000, "arrivals": "poisson:rate=100000000"},
}


def roots() -> Iterator[type]:
    """The public result classes: exported by name, or returned by a function."""
    for module in (flashgc, model, results):
        for name in module.__all__:
            thing = getattr(module, name)
            if dataclasses.is_dataclass(thing):
                yield typing.cast(type, thing)
            elif inspect.isfunction(thing):
                # `Sweep` is imported only where it is used.
                hints = typing.get_type_hints(thing, localns={"Sweep": flashgc.Sweep})
                returned = hints.get("return")
                yield from (one for one in parts(returned) if dataclasses.is_dataclass(one))
    yield from (Conformance, Converted, Device)


def parts(hint: Any) -> Iterator[Any]:
    """A type and its type arguments."""
    yield hint
    for inner in typing.get_args(hint):
        yield from parts(inner)


def public(cls: type) -> Iterator[tuple[str, Any]]:
    """The type annotations of the attributes and methods of a class."""
    yield from typing.get_type_hints(cls).items()
    for name, member in inspect.getmembers_static(cls):
        function = getattr(member, "fget", None) or getattr(member, "func", None)
        function = function or getattr(member, "__func__", None) or member
        if inspect.isfunction(function) and (not name.startswith("_")):
            # `Figure` is imported only where it is used.
            for at, hint in typing.get_type_hints(function, localns={"Figure": Figure}).items():
                yield f"{name}({at})", hint


def test_no_public_result_has_a_part_of_any_type() -> None:
    seen: set[type] = set()
    waiting = list(roots())
    while waiting:
        cls = waiting.pop()
        if cls in seen:
            continue
        seen.add(cls)
        for name, hint in public(cls):
            for part in parts(hint):
                assert part is not Any, f"{cls.__name__}.{name} may have any type"
                assert part not in (dict, list, Mapping), f"{cls.__name__}.{name} has any parts"
                if dataclasses.is_dataclass(part) and part.__module__.startswith("flashgc"):
                    waiting.append(typing.cast(type, part))
    assert {results.Wear, results.Figures, results.Config, model.Pool} <= seen


def same(typed: Any, raw: Json, place: str) -> None:
    """Asserts that every key of a document is an attribute with its value."""
    if isinstance(raw, dict) and not isinstance(typed, Mapping):
        for key, value in raw.items():
            assert hasattr(typed, key), f"{place}.{key} has no attribute"
            same(getattr(typed, key), value, f"{place}.{key}")
    elif isinstance(raw, list):
        assert isinstance(typed, tuple), place
        assert len(typed) == len(raw), place
        for at, (one, other) in enumerate(zip(typed, raw, strict=True)):
            same(one, other, f"{place}[{at}]")
    elif raw is None:
        assert typed in (None, ()) or not math.isfinite(typed), place
    else:
        assert typed == raw, place


def all_of(result: flashgc.Result) -> None:
    """Asserts that a result, with its timing if any, has every key of its document."""
    document = json.loads(result.to_json())
    timing = result.timing
    own = {*results.Result.__dataclass_fields__, "page_amplification"}
    clocked = {key for key in document if key not in own}
    assert bool(clocked) == (timing is not None)
    same(timing, {key: document[key] for key in clocked}, "timing")
    same(result, {key: document[key] for key in document if key not in clocked}, "result")


@pytest.mark.parametrize("name", FILLED)
def test_every_key_of_a_document_is_a_typed_attribute(name: str) -> None:
    options = dict(FILLED[name])
    workload = options.pop("workload", "uniform:read=0.3")
    result = flashgc.run(workload, **options)
    all_of(result)
    filled = {
        "lifetime": (result.lifetime, result.levelling, result.busy),
        "host": (result.host, result.zombies),
        "dftl": (result.map_traffic,),
        "swap": (result.swap, result.merges),
        "timed": (result.timing,),
        "overload": (result.timing and result.timing.overload,),
    }
    assert None not in filled.get(name, ())


def test_models_and_traces_are_typed_as_far(tmp_path: Path) -> None:
    for entry in model.models():
        answer = model.evaluate(entry.name)
        same(answer, json.loads(answer.to_json()), entry.name)
    course = model.transient(points=3)
    document = json.loads(course.to_json())
    assert document.pop("model") == "meanfield"
    same(course, document, "course")
    assert list(document["config"]) == list(model.evaluate("meanfield").to_dict()["config"])
    made = tmp_path / "made.csv"
    flashgc.trace_synth("uniform", made, pages=100, requests=1000)
    stat = flashgc.trace_stat(made)
    same(stat, json.loads(stat.to_json()), "stat")
