"""What a person asks for, as sections of an experiment.

The command's options, the keyword arguments of the API and experiment files all become one
:class:`Experiment`, whose model is also the published JSON schema. What it comes to for the engine
is in :mod:`flashgc.configuration`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

import pydantic
from pydantic import Field

from flashgc import _core, timed
from flashgc._core import ConfigError
from flashgc._kinds import several as _several
from flashgc._places import Places
from flashgc._section import Count, Section, Share, Size


class Drive(timed.TimedDrive):
    """The drive: N blocks of b pages, of which a share is spare."""

    blocks: Annotated[Count | None, Field(description="N, the number of physical blocks")] = None
    capacity: Annotated[
        str | None,
        Field(
            description="physical size, as an alternative to blocks; needs a unit",
            examples=["64GiB"],
        ),
    ] = None
    pages_per_block: Annotated[Count, Field(description="b, pages a block; an even number")] = 256
    page_size: Annotated[Size, Field(description="bytes a page; needs a unit")] = "4KiB"
    spare: Annotated[
        Share | list[Share] | None,
        Field(description="spare factor 1 - U/N, of the physical space [default: 10%]"),
    ] = None
    overprovision: Annotated[
        Share | list[Share] | None,
        Field(description="over-provisioning (N - U)/U, as an alternative to spare"),
    ] = None
    endurance: Annotated[
        Count | None,
        Field(
            description="erases that a block bears, with the pool or mixed frontier: 1000, "
            "normal:mean=1000,cv=0.1, weibull:scale=1000,shape=10 [default: any number]",
            examples=["normal:mean=1000,cv=0.1"],
        ),
    ] = None
    times: Annotated[
        str | None,
        Field(
            description="how long operations keep the flash busy, for busy times in the result",
            examples=["read=60us,program=800us,erase=1.5ms,transfer=20us"],
        ),
    ] = None
    fill: Annotated[
        str, Field(description="what is on the drive at first: sequential, random, empty")
    ] = "sequential"


class Gc(timed.TimedGc):
    """Garbage collection: who is collected, and where pages go."""

    mapping: Annotated[
        str | list[str],
        Field(
            description="how pages are found: page, dftl, and fast:log_blocks=32 and bast, which "
            "have no victim policy and no write frontier"
        ),
    ] = "page"
    victim: Annotated[
        str | list[str],
        Field(description="victim policy, such as d-choices:d=10,c=1; see flashgc policies"),
    ] = "d-choices:d=10"
    frontier: Annotated[
        str | list[str],
        Field(description="write frontier: single, double, pool:low=2, mixed:low=2"),
    ] = "single"
    allocation: Annotated[
        str | list[str],
        Field(
            description="erased block of the pool that is used next: fifo, lowest-erase, sfl, "
            "random"
        ),
    ] = "fifo"
    wear_levelling: Annotated[
        str | list[str],
        Field(
            description="how cold data are moved to level wear, with the pool or mixed frontier: "
            "none, static:threshold=50,interval=10"
        ),
    ] = "none"
    placement: Annotated[
        str | list[str],
        Field(
            description="open block that a page goes to, with the pool frontier: none, "
            "dac:regions=3,zombie-block=yes"
        ),
    ] = "none"
    collector: Annotated[
        str | list[str] | None,
        Field(
            description="victim policy and placement under one name, in place of them: gc-gd, "
            "gc-cb, zgc-gd, zgc-cb, zgc-gd-nz, zgc-cb-nz; with the pool frontier"
        ),
    ] = None


class Host(Section):
    """What stands between the workload, which is then an application's, and the drive."""

    cache: Annotated[
        str | list[str] | None,
        Field(
            description="cache that writes back, such as page-cache:size=4GiB or "
            "buffer-cache:size=1GiB; see flashgc policies [default: none]",
            examples=["page-cache:size=256MiB"],
        ),
    ] = None
    hints: Annotated[
        str | list[str],
        Field(
            description="how the drive is told of dirty pages: none, piggyback, command, dsm, "
            "frequency, perfect"
        ),
    ] = "none"


class Swap(Section):
    """Memory that is swapped to the drive: the page cache of a virtual memory system."""

    page_cache: Annotated[
        Size | None,
        Field(
            description="bytes of the page cache; needs a unit [default: none]", examples=["4MiB"]
        ),
    ] = None
    page_policy: Annotated[str, Field(description="which page leaves the cache: 3-region, lru")] = (
        "3-region"
    )
    scheme: Annotated[
        str | list[str],
        Field(
            description="what collections do about pages in memory: du-gc, da-gc, ba-gc, lda-gc1 "
            "to lda-gc5, lda-p"
        ),
    ] = "du-gc"


class Workload(timed.TimedWorkload):
    """What the host asks of the drive."""

    source: Annotated[
        str,
        Field(description="a generator such as hotcold:f=0.2,r=0.8, a mixture, or a trace's path"),
    ] = "uniform"
    format: Annotated[
        str | None, Field(description="format of the trace; detected if it is not given")
    ] = None
    alignment_offset: Annotated[
        Size,
        Field(description="added to every offset of a trace before it is cut into pages"),
    ] = "0B"
    on_bad_line: Annotated[
        Literal["stop", "skip"], Field(description="what to do about a bad line of a trace")
    ] = "stop"


class Run(timed.TimedRun):
    """How long, how often, how exactly."""

    warmup: Annotated[
        str | None,
        Field(
            description="part of the run (1/3, 30%), or before it: drive writes (10x), page "
            "writes (1000000); or auto [default: 1/3; none of a run until a failure]"
        ),
    ] = None
    writes: Annotated[
        int | str | None,
        Field(description="length in drive writes (20x) or page writes (1000000) [default: 20x]"),
    ] = None
    collections: Annotated[Count | None, Field(description="length in collections")] = None
    requests: Annotated[
        Count | None, Field(description="length in page requests, reads included")
    ] = None
    passes: Annotated[
        Count | None, Field(description="length in replays of a trace [default for traces: 3]")
    ] = None
    until: Annotated[
        str | None,
        Field(
            description="go on until the interval is this narrow (precision=0.1%), or until a "
            "drive with an endurance dies (first-failure, system-failure)"
        ),
    ] = None
    runs: Annotated[Count | None, Field(description="runs, each with a seed of its own")] = None
    seed: Annotated[Count, Field(description="seed of the first run")] = 1
    jobs: Annotated[Count, Field(description="runs side by side; 0: one a core")] = 0


class Experiment(Section):
    """An experiment: one drive and one workload, or several to compare."""

    drive: Drive = Drive()
    gc: Gc = Gc()
    host: Host = Host()
    swap: Swap = Swap()
    workload: Workload = Workload()
    run: Run = Run()


def sections() -> dict[str, type[Section]]:
    """The sections of an experiment, by name."""
    return {
        name: field.annotation
        for name, field in Experiment.model_fields.items()
        if isinstance(field.annotation, type)
    }


def home(key: str) -> str:
    """The section that has ``key``.

    >>> home("blocks")
    'drive'
    """
    return next(name for name, section in sections().items() if key in section.model_fields)


def experiment(values: Mapping[str, Any], places: Places | None = None) -> Experiment:
    """The experiment with these values (``{"drive": {"blocks": 1000}}``), the rest by default.

    Raises :class:`flashgc.ConfigError` with the value's place.
    """
    places = places or {}
    _refuse_odd_values(values, places)
    values = timed.with_device(values, places)
    try:
        return Experiment.model_validate(values)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(_message(first, values, places)) from None


def _refuse_odd_values(values: Mapping[str, Any], places: Places) -> None:
    """Refuses what the model would turn into something else, or the engine cannot take."""
    for section, keys in values.items():
        if not isinstance(keys, Mapping):
            continue
        for key, value in keys.items():
            where = places.get(f"{section}.{key}", f"{section}.{key}")
            if value == []:
                raise ConfigError(f"{where}: found an empty list; hint: name at least one")
            for one in _several(value):
                if isinstance(one, bool):
                    raise ConfigError(
                        f"{where}: found {str(one).lower()}; hint: no key is true or false"
                    )
                if isinstance(one, int) and abs(one) >= 2**64:
                    raise ConfigError(f"{where}: the number is out of range")
                if isinstance(one, str) and not one.isascii():
                    try:
                        one.encode()
                    except UnicodeEncodeError:
                        raise ConfigError(
                            f"{where}: {one!r} is not UTF-8; hint: rename the file"
                        ) from None


def _message(error: Any, values: Mapping[str, Any], places: Places) -> str:
    loc = [part for part in error["loc"] if isinstance(part, str)]
    path = ".".join(loc[:2])
    where = places.get(path, path)
    if error["type"] == "extra_forbidden":
        if len(loc) == 1:
            known, what = list(sections()), f"unknown section or key '{loc[0]}'"
            owner = [name for name, s in sections().items() if loc[0] in s.model_fields]
            if owner:
                return (
                    f"{where}: '{loc[0]}' stands outside its section; hint: put it in [{owner[0]}]"
                )
        else:
            known, what = list(sections()[loc[0]].model_fields), f"unknown key '{loc[1]}'"
            owner = [name for name, s in sections().items() if loc[1] in s.model_fields]
            if owner:
                return f"{where}: {what} in [{loc[0]}]; hint: it belongs in [{owner[0]}]"
            what += f" in [{loc[0]}]"
        return f"{where}: {what}; hint: {_core.suggest(loc[-1], known)}"
    value = values
    for part in loc[:2]:
        value = value.get(part) if isinstance(value, Mapping) else None  # type: ignore[assignment]
    if len(loc) == 1:
        return f"{where}: found {value!r}, expected a section; hint: write [{loc[0]}] on a line"
    field = sections()[loc[0]].model_fields[loc[1]]
    words = [arg for arg in get_args(field.annotation) if isinstance(arg, str)]
    if words and isinstance(value, str):
        return (
            f"{where}: found '{value}', expected {' or '.join(words)}; "
            f"hint: {_core.suggest(value, words)}"
        )
    return f"{where}: found {value!r}, which does not fit; hint: {field.description}"
