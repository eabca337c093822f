"""The keys of an experiment that only a drive with a clock has, by section."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from flashgc._section import Count, Section

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
