"""Drives with a clock: the keys of an experiment that are theirs, and what they come to.

Presets of devices (``devices.toml``) are values for keys that are not given. It runs nothing.
"""

from __future__ import annotations

import functools
import importlib.resources
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import Field

from flashgc import _core, _files, _places, _timelines
from flashgc._core import ConfigError
from flashgc._places import Places
from flashgc._section import Count, Section
from flashgc.registry import Entry, request_generators
from flashgc.units import parse_count, parse_pages

if TYPE_CHECKING:
    from flashgc.experiment import Experiment

T = TypeVar("T")

YesNo = Literal["yes", "no"]


class TimedDrive(Section):
    """The keys of [drive] that are of drives with a clock."""

    kind: Annotated[
        Literal["counting", "timed"],
        Field(description="counting counts page programs; timed has a clock, channels and queues"),
    ] = "counting"
    device: Annotated[
        str | None,
        Field(
            description="preset of a timed drive, for what is not given: pgc-slc, slc, mlc, tlc, "
            "qlc; see flashgc policies",
            examples=["tlc"],
        ),
    ] = None
    channels: Annotated[Count | None, Field(description="buses of a timed drive [default: 1]")] = (
        None
    )
    ways: Annotated[Count | None, Field(description="packages a channel [default: 1]")] = None
    dies: Annotated[Count | None, Field(description="dies a package [default: 1]")] = None
    planes: Annotated[Count | None, Field(description="planes a die [default: 1]")] = None
    striping: Annotated[
        str | None,
        Field(
            description="plane of a page: an order of Channel, Way, Die and Plane, the first "
            "varying fastest, or dynamic [default: CWDP]",
            examples=["CWDP", "dynamic"],
        ),
    ] = None
    scheduling: Annotated[
        str | None,
        Field(description="next request of a die: fifo, reads-first [default: fifo]"),
    ] = None
    multi_plane: Annotated[
        YesNo | None,
        Field(description="operations of one kind at several planes of a die go together"),
    ] = None
    cache_commands: Annotated[
        YesNo | None,
        Field(description="transfers overlap with the cells' work on operations of the same kind"),
    ] = None
    write_cache: Annotated[
        Count | None,
        Field(
            description="size of the write cache, or its pages [default: 0]",
            examples=["64MiB", 16384],
        ),
    ] = None
    queue_depth: Annotated[
        Count | None,
        Field(description="requests that the drive works on at a time [default: 256]"),
    ] = None


class TimedGc(Section):
    """The keys of [gc] that are of drives with a clock."""

    collect_in: Annotated[
        str | None,
        Field(
            description="what counts its erased blocks together and has one collection at a time: "
            "plane, die, channel, drive [default: plane]"
        ),
    ] = None
    gc_low: Annotated[
        Count | None,
        Field(
            description="erased blocks at which collections start, a plane, or a share of all "
            "(5%) [default: 2]",
            examples=["5%", 2],
        ),
    ] = None
    gc_high: Annotated[
        Count | None,
        Field(description="erased blocks above which they stop [default: gc_low]"),
    ] = None
    gc_hard: Annotated[
        Count | None,
        Field(description="erased blocks below which writes wait [default: 0]"),
    ] = None
    preemption: Annotated[
        str | list[str] | None,
        Field(
            description="how collections give way to requests: none; pgc (between flash "
            "operations), with +merge, +pipeline, +erase-suspend; suspend [default: none]",
            examples=["pgc+merge+pipeline"],
        ),
    ] = None
    suspend: Annotated[
        str | None,
        Field(
            description="what suspending takes: 20us, or suspend=20us,resume=0us,most=8,"
            "least-erase=700us,least-program=100us [default: 20us]"
        ),
    ] = None
    search: Annotated[
        str | None,
        Field(
            description="time that the search of a victim holds its die [default: 0us]",
            examples=["3.19ms"],
        ),
    ] = None
    poll: Annotated[
        str | None,
        Field(description="time of a look into the queue at a preemption point [default: 0us]"),
    ] = None
    copy_back: Annotated[
        YesNo | None, Field(description="pages are moved inside their die, without the bus")
    ] = None
    holds_unit: Annotated[
        YesNo | None,
        Field(description="a collection without preemption holds all dies of its unit"),
    ] = None
    idle: Annotated[
        str | None,
        Field(
            description="collections of idle dies: below=10%,after=1ms",
            examples=["below=10%,after=1ms"],
        ),
    ] = None


class TimedWorkload(Section):
    """The keys of [workload] that are of drives with a clock."""

    arrivals: Annotated[
        str | None,
        Field(
            description="when requests come: poisson:rate=20000, periodic:mean=50us, "
            "bursts:rate=50000,on=2ms,off=8ms, closed:threads=8,think=0us "
            "[default: a trace's own times, or closed:threads=1]",
            examples=["poisson:rate=20000"],
        ),
    ] = None
    rate_scale: Annotated[
        float | str | None,
        Field(description="requests come so many times as fast [default: 1]", examples=[2]),
    ] = None
    disorder: Annotated[
        str | None,
        Field(description="where times of a trace go back: refuse, sort [default: refuse]"),
    ] = None


class TimedRun(Section):
    """The keys of [run] that are of drives with a clock."""

    resolution: Annotated[
        str | None,
        Field(
            description="slices of what goes on over time [default: so that there are 256 to 512]",
            examples=["10ms"],
        ),
    ] = None
    timeline: Annotated[
        str | None,
        Field(
            description="file for single operations of the first run: .json for ui.perfetto.dev, "
            "or a picture as .svg, .pdf or .png",
            examples=["timeline.json"],
        ),
    ] = None
    window: Annotated[
        str | None,
        Field(
            description="time that the timeline shows [default: 0ms:50ms]", examples=["0ms:50ms"]
        ),
    ] = None


#: The keys that only a timed drive has, by section.
KEYS: Mapping[str, tuple[str, ...]] = {
    "drive": tuple(key for key in TimedDrive.model_fields if key != "kind"),
    "gc": tuple(TimedGc.model_fields),
    "workload": tuple(TimedWorkload.model_fields),
    "run": tuple(TimedRun.model_fields),
}
#: Host requests of a run if nobody says otherwise.
DEFAULT_REQUESTS = 1_000_000
#: Drive writes, without the clock, before it.
DEFAULT_WARMUP = "2x"
#: The beginning of a run.
DEFAULT_WINDOW = "0ms:50ms"
#: Keys that a timed drive has not, by section.
_COUNTING: Mapping[str, tuple[str, ...]] = {
    "drive": ("endurance",),
    "gc": ("frontier", "wear_levelling"),
    "run": ("writes", "collections", "until"),
}
_COUNTS = ("channels", "ways", "dies", "planes", "queue_depth")
_FLAGS = ("multi_plane", "cache_commands", "copy_back", "holds_unit")
_CHECKED = ("striping", "scheduling", "collect_in", "suspend", "search", "poll", "idle")
_THRESHOLDS = {"gc_low": "low", "gc_high": "high", "gc_hard": "hard"}


@dataclass(frozen=True)
class Device:
    """A preset of a timed drive."""

    name: str
    #: One line.
    summary: str
    #: Where its figures come from.
    source: str
    #: Values of keys, by section.
    values: Mapping[str, Mapping[str, Any]]


@functools.cache
def devices() -> tuple[Device, ...]:
    """Every preset of a timed drive.

    >>> [device.name for device in devices()]
    ['pgc-slc', 'jasmine-4', 'jasmine-16', 'slc', 'mlc', 'tlc', 'qlc']
    """
    text = importlib.resources.files("flashgc").joinpath("devices.toml").read_text("utf-8")
    return tuple(
        Device(
            name,
            table["summary"],
            " ".join(table["source"].split()),
            {key: value for key, value in table.items() if key not in ("summary", "source")},
        )
        for name, table in tomllib.loads(text).items()
    )


def device_entries() -> tuple[Entry, ...]:
    """The presets as entries of a listing: keys of an experiment and their values."""
    made = []
    for device in devices():
        keys = [
            f"| `{key}` | {value} |"
            for part in device.values.values()
            for key, value in part.items()
        ]
        table = "\n".join(["| key | value |", "|---|---|", *keys])
        doc = f"{device.summary}.\n\n{table}\n\n# Source\n\n{device.source}"
        made.append(Entry(device.name, device.summary, doc, ()))
    return tuple(made)


def with_device(values: Mapping[str, Any], places: Places) -> Mapping[str, Any]:
    """``values`` with what the device that they name says of keys that are not given.

    Raises :class:`flashgc.ConfigError` where there is no such device.
    """
    drive = values.get("drive")
    name = drive.get("device") if isinstance(drive, Mapping) else None
    if not isinstance(name, str):
        return values
    device = next((device for device in devices() if device.name == name), None)
    if device is None:
        hint = _core.suggest(name, [device.name for device in devices()])
        raise ConfigError(
            f"{places.get('drive.device', 'device')}: unknown device '{name}'; hint: {hint}"
        )
    merged = dict(values)
    for section, keys in device.values.items():
        given = values.get(section, {})
        if isinstance(given, Mapping):
            kept = {key: value for key, value in keys.items() if not _replaced(key, given)}
            merged[section] = {**kept, **given}
    return merged


def _replaced(key: str, given: Mapping[str, Any]) -> bool:
    """Whether ``given`` says the same thing as ``key`` in another way."""
    pairs = {"blocks": "capacity", "spare": "overprovision"}
    return key in pairs and pairs[key] in given


def configuration(asked: Experiment, page_size: int, places: Places) -> dict[str, Any] | None:
    """What the engine is told of the clock, all but the preemption; ``None`` for a counting drive.

    ``page_size`` is that of the drive, in bytes.

    Raises :class:`flashgc.ConfigError` with the value's place.
    """

    def at(path: str, read: Callable[..., T], *values: Any) -> T:
        return _places.read(places, path, read, *values)

    if asked.drive.kind != "timed":
        _refuse(asked, places)
        _refuse_requests(asked, places)
        return None
    _refuse_counting(asked, places)
    made: dict[str, Any] = {}
    for section, keys in KEYS.items():
        for key in keys:
            value = getattr(getattr(asked, section), key)
            path = f"{section}.{key}"
            if value is None or key in ("preemption", "timeline", "window"):
                continue
            if key == "write_cache":
                value = at(path, parse_pages, value, page_size)
                _places.in_range(places, path, value, 0, 2**32 - 1)
            elif key in _COUNTS:
                value = at(path, parse_count, value)
                _places.in_range(places, path, value, 0, 2**32 - 1)
            elif key in _FLAGS:
                value = value == "yes"
            elif key == "rate_scale":
                value = at(path, _number, value)
            elif key not in ("device",):
                value = str(value)
                at(path, _core.check, key, value)
            made[_THRESHOLDS.get(key, key)] = value
    if (timeline := _timeline(asked, places)) is not None:
        made["timeline"] = timeline
    if asked.drive.times is None:
        raise ConfigError(
            f"{places.get('drive.times', 'times')}: a timed drive needs the times of its flash; "
            "hint: write read=60us,program=800us,erase=1.5ms,transfer=20us, or name a device"
        )
    return made


#: Endings of the names of timelines.
_TIMELINES = (".json", *_timelines.PICTURES)


def _timeline(asked: Experiment, places: Places) -> dict[str, str] | None:
    """The timeline to write."""
    file, window = asked.run.timeline, asked.run.window
    if file is None:
        if window is not None:
            raise ConfigError(
                f"{places.get('run.window', 'window')}: is of a timeline, and none is asked for; "
                "hint: name its file"
            )
        return None
    place = places.get("run.timeline", "timeline")
    stem, ending = os.path.splitext(file)
    if ending and ending.lower() not in _TIMELINES:
        raise ConfigError(
            f"{place}: {file}: found '{ending}', expected .json, .svg, .pdf or .png; hint: name it "
            f"{stem}.svg"
        )
    _files.check(file, place, "timeline.json")
    window = window or DEFAULT_WINDOW
    _places.read(places, "run.window", _core.check, "window", window)
    return {"file": file, "window": window}


def preemptions(asked: Experiment, places: Places) -> list[str]:
    """The variants of preemption to run."""
    given = asked.gc.preemption
    variants = given if isinstance(given, list) else [given or "none"]
    _places.refuse_twins(_places.elements(places, "gc.preemption", variants), variants)
    for index, text in enumerate(variants):
        path = _places.element(places, "gc.preemption", index)
        _places.read(places, path, _core.check, "preemption", text)
    return variants


def _refuse(asked: Experiment, places: Places) -> None:
    """Says no word on time where there is no clock, rather than ignore it."""
    for section, keys in KEYS.items():
        for key in keys:
            if getattr(getattr(asked, section), key) is not None:
                raise ConfigError(
                    f"{places.get(f'{section}.{key}', key)}: is of drives with a clock; "
                    f"hint: {_choose(places)}"
                )


def _refuse_counting(asked: Experiment, places: Places) -> None:
    """Says no word that a timed drive would ignore."""
    for section, keys in _COUNTING.items():
        for key in keys:
            given = getattr(asked, section)
            if key in given.model_fields_set and getattr(given, key) is not None:
                hint = _INSTEAD.get(key, "leave it out")
                raise ConfigError(
                    f"{places.get(f'{section}.{key}', key)}: is of counting drives, and this one "
                    f"has a clock; hint: {hint}"
                )


_INSTEAD = {
    "frontier": "every plane has a pool; gc_low says how many blocks it keeps",
    **dict.fromkeys(
        ("writes", "collections", "until"), "its length is in requests, or passes of a trace"
    ),
}


def _refuse_requests(asked: Experiment, places: Places) -> None:
    """Refuses a generator of requests with times where there is no clock."""
    name = asked.workload.source.split(":")[0].strip()
    if any(name == known.name for known in request_generators()):
        raise ConfigError(
            f"{places.get('workload.source', 'workload')}: {name} makes requests with times; "
            f"hint: {_choose(places)}"
        )


def _choose(places: Places) -> str:
    """How to choose the timed drive, as the person writes."""
    flag = places.get("drive.kind", "kind")
    return "--drive timed" if flag.startswith("--") else 'kind = "timed" in [drive]'


def _number(value: str | float) -> float:
    try:
        return float(value)
    except ValueError:
        raise ConfigError(f"'{value}' is not a number; hint: write 2") from None
