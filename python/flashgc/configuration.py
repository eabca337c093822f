"""What an experiment comes to for the engine: drive, length and combinations. It runs nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from flashgc import _core, _kinds, _places, registry, timed
from flashgc._core import ConfigError
from flashgc._kinds import several as _several
from flashgc._places import Places
from flashgc.experiment import Drive, Experiment, Gc, Host, Run, Workload
from flashgc.units import format_share, parse_count, parse_page_size, parse_share, parse_size

T = TypeVar("T")

#: Blocks of a drive for a generator if nobody says otherwise: 4 GiB of 1 MiB blocks.
DEFAULT_BLOCKS = 4096
DEFAULT_SPARE = 0.1
#: References of a run with a page cache.
DEFAULT_REFERENCES = 5_000_000
DEFAULT_WARMUP = "1/3"
#: Keys of a run's length.
LENGTHS = ("writes", "collections", "requests", "passes")


def configurations(
    asked: Experiment,
    places: Places | None = None,
    *,
    default_runs: int = 1,
    python_victims: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """What the engine runs for ``asked``: one for each combination of what may be several.

    ``python_victims`` are names that stand for policies written in Python. Raises
    :class:`flashgc.ConfigError` with the value's place.
    """
    places = places or {}

    def at(path: str, read: Callable[..., T], *values: Any) -> T:
        return _places.read(places, path, read, *values)

    drive, gc, workload, run = asked.drive, asked.gc, asked.workload, asked.run
    page_size = at("drive.page_size", parse_page_size, drive.page_size)
    pages_per_block = at("drive.pages_per_block", parse_count, drive.pages_per_block)
    trace = _core.is_trace(workload.source)
    clock = timed.configuration(asked, page_size, places)
    common: dict[str, Any] = {
        "blocks": _blocks(drive, pages_per_block * page_size, trace, workload.source, places),
        "pages_per_block": pages_per_block,
        "page_size": page_size,
        "endurance": None if drive.endurance is None else str(drive.endurance),
        "times": drive.times,
        "fill": drive.fill,
        "workload": workload.source,
        "trace": {
            "format": workload.format,
            "alignment_offset": at(
                "workload.alignment_offset", parse_size, workload.alignment_offset, "size", "B"
            ),
            "on_bad_line": workload.on_bad_line,
        },
        **_course(asked, trace, places),
        # A trace from its beginning is the same every time.
        "runs": (1 if trace and asked.swap.page_cache is not None else default_runs)
        if run.runs is None
        else at("run.runs", parse_count, run.runs),
        "seed": at("run.seed", parse_count, run.seed),
    }
    _places.in_range(places, "drive.pages_per_block", pages_per_block, 0, 2**32 - 1)
    _places.in_range(places, "run.runs", common["runs"], 1, 2**32 - 1)
    _places.in_range(places, "run.seed", common["seed"], 0, 2**64 - 1)
    _places.in_range(
        places, "workload.alignment_offset", common["trace"]["alignment_offset"], 0, 2**32 - 1
    )
    for kind, path, text in (
        ("fill", "drive.fill", drive.fill),
        ("workload" if clock is None else "requests", "workload.source", workload.source),
        ("endurance", "drive.endurance", common["endurance"]),
        ("times", "drive.times", drive.times),
        ("warmup", "run.warmup", run.warmup),
        ("format", "workload.format", workload.format),
    ):
        if text is not None:
            at(path, _core.check, kind, text)
    if not trace:
        _refuse_reading(workload, places)
    spares = _spares(drive, places)
    kinds = list(_kinds.drives(gc, places, python_victims, _collectors(gc, places)))
    hosts = _hosts(asked.host, places)
    swaps = _kinds.swaps(asked, page_size, places)
    clocks: list[dict[str, Any]] = [{}]
    if clock is not None:
        variants = timed.preemptions(asked, places)
        clocks = [{"timed": {**clock, "preemption": variant}} for variant in variants]
    made = [
        {**common, "spare": spare, **kind, "host": host, "swap": swap, **with_clock}
        for spare, kind, host, swap, with_clock in itertools.product(
            spares, kinds, hosts, swaps, clocks
        )
    ]
    if asked.run.timeline is not None and len(made) > 1:
        raise ConfigError(
            f"{places.get('run.timeline', 'timeline')}: {len(made)} configurations, expected one; "
            "hint: flashgc run"
        )
    return made


def _hosts(host: Host, places: Places) -> list[dict[str, str] | None]:
    """Every cache with every way of hinting; ``[None]`` without a cache."""
    caches = [] if host.cache is None else _several(host.cache)
    hints = _several(host.hints)
    for key, several in (("cache", caches), ("hints", hints)):
        _places.refuse_twins(_places.elements(places, f"host.{key}", several), several)
        for index, text in enumerate(several):
            path = _places.element(places, f"host.{key}", index)
            _places.read(places, path, _core.check, key, text)
    if not caches:
        if hints != ["none"]:
            raise ConfigError(
                f"{places.get('host.hints', 'hints')}: a host hints of what its cache has, and "
                "there is no cache; hint: give one, for example page-cache:size=256MiB"
            )
        return [None]
    return [{"cache": cache, "hints": way} for cache in caches for way in hints]


def _collectors(gc: Gc, places: Places) -> list[tuple[str, str]]:
    """The placement and the victim policy of each collector that is asked for."""
    if gc.collector is None:
        return []
    for key in ("victim", "placement"):
        if key in gc.model_fields_set:
            raise ConfigError(
                f"{places.get(f'gc.{key}', key)}: a collector is a victim policy and a placement; "
                "hint: give one or the other"
            )
    names = _several(gc.collector)
    _places.refuse_twins(_places.elements(places, "gc.collector", names), names)
    known = {collector.name: collector for collector in registry.collectors()}
    made = []
    for index, name in enumerate(names):
        if name not in known:
            where = places.get(_places.element(places, "gc.collector", index), "collector")
            hint = _core.suggest(name, list(known))
            raise ConfigError(f"{where}: unknown collector '{name}'; hint: {hint}")
        made.append((known[name].placement, known[name].victim))
    return made


def _refuse_reading(workload: Workload, places: Places) -> None:
    """Says no word on how to read a trace where there is none, rather than ignore it."""
    for key in ("format", "alignment_offset", "on_bad_line"):
        if key in workload.model_fields_set and getattr(workload, key) is not None:
            raise ConfigError(
                f"{places.get(f'workload.{key}', key)}: is of traces, and the workload "
                f"'{workload.source}' is a generator; hint: leave it out, or name a trace"
            )


def _blocks(drive: Drive, block_size: int, trace: bool, source: str, places: Places) -> int | None:
    given = _places.only_one(
        places,
        {"drive.blocks": drive.blocks, "drive.capacity": drive.capacity},
        "blocks and capacity say the same thing, give one",
    )
    if given == "drive.blocks":
        blocks = _places.read(places, given, parse_count, drive.blocks)
        _places.in_range(places, given, blocks, 0, 2**32 - 1)
        return blocks
    if given == "drive.capacity":
        capacity = _places.read(places, given, parse_size, drive.capacity)
        blocks, rest = divmod(capacity, max(block_size, 1))
        if rest:
            raise ConfigError(
                f"{places.get(given, 'capacity')}: {capacity} bytes are not a whole number of "
                f"blocks of {block_size} bytes; hint: the nearest is {blocks * block_size}B"
            )
        _places.in_range(places, given, blocks, 0, 2**32 - 1)
        return blocks
    return None if trace or _core.fixes_pages(source) else DEFAULT_BLOCKS


def _spares(drive: Drive, places: Places) -> list[float]:
    given = _places.only_one(
        places,
        {"drive.spare": drive.spare, "drive.overprovision": drive.overprovision},
        "spare = overprovision / (1 + overprovision), give one",
    )
    if given == "drive.spare" and drive.spare is not None:
        return _shares(places, given, _spare, _several(drive.spare))
    if given == "drive.overprovision" and drive.overprovision is not None:
        return _shares(places, given, _over, _several(drive.overprovision))
    return [DEFAULT_SPARE]


def _shares(
    places: Places, path: str, read: Callable[[str | float], float], values: list[str | float]
) -> list[float]:
    shares = [
        _places.read(places, _places.element(places, path, index), read, value)
        for index, value in enumerate(values)
    ]
    _places.refuse_twins(
        _places.elements(places, path, shares), [format_share(share, 6) for share in shares]
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


def _length(run: Run, trace: bool, usual: dict[str, Any], places: Places) -> dict[str, Any]:
    given = _places.only_one(
        places,
        {f"run.{name}": getattr(run, name) for name in LENGTHS},
        "a run has one length",
    )
    if given is None:
        return usual
    name = given.split(".")[1]
    value = getattr(run, name)
    if name == "writes":
        _places.read(places, given, _core.check, "length", str(value))
        return {"writes": str(value)}
    if name == "passes" and not trace:
        raise ConfigError(
            f"{places.get(given, name)}: passes are of traces, and the workload is a generator; "
            "hint: give writes, for example 20x"
        )
    count = _places.read(places, given, parse_count, value)
    _places.in_range(places, given, count, 1, 2**63)
    return {name: count}


def _usual_course(asked: Experiment, trace: bool) -> tuple[str, dict[str, Any]]:
    """Warm-up and length where nobody says otherwise."""
    if asked.drive.kind == "timed":
        length = {"passes": 1} if trace else {"requests": timed.DEFAULT_REQUESTS}
        return timed.DEFAULT_WARMUP, length
    if asked.swap.page_cache is not None:
        # A program that begins with an empty memory is measured from its beginning.
        return ("0", {"passes": 1}) if trace else (DEFAULT_WARMUP, {"requests": DEFAULT_REFERENCES})
    return DEFAULT_WARMUP, {"passes": 3} if trace else {"writes": "20x"}


def _course(asked: Experiment, trace: bool, places: Places) -> dict[str, Any]:
    """How long the runs are: a length, perhaps lengthened to a precision, or until a failure."""
    run, until = asked.run, asked.run.until
    warmup, length = _usual_course(asked, trace)
    if until is None or "=" in until or until.strip() == "precision":
        return {
            "warmup": warmup if run.warmup is None else run.warmup,
            "length": _length(run, trace, length, places),
            "precision": None
            if until is None
            else _places.read(places, "run.until", _precision, until),
        }
    _places.read(places, "run.until", _core.check, "until", until)
    lengths = {f"run.{name}": getattr(run, name) for name in LENGTHS}
    _places.only_one(
        places,
        {**lengths, "run.until": until},
        f"a run until {until} has no other length",
    )
    if asked.drive.endurance is None:
        raise ConfigError(
            f"{places.get('run.until', 'until')}: {until} needs blocks that wear out; "
            "hint: give an endurance, for example 1000"
        )
    return {
        "warmup": "0" if run.warmup is None else run.warmup,
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
