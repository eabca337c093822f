"""Configurations of the timed drive: geometry, preemption, units of collection, arrivals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from decisions.building import Configuration, timed
from decisions.counting import VICTIMS

#: Two units at every level, so 16 planes.
PARALLEL: Mapping[str, Any] = {"channels": 2, "ways": 2, "dies": 2, "planes": 2}
#: Arrivals that leave a single die idle at times, and arrivals for sixteen planes.
LIGHT, HEAVY = "poisson:rate=600", "poisson:rate=6000"
PREEMPTIONS = (
    "none", "pgc", "pgc+merge", "pgc+pipeline", "pgc+merge+pipeline",
    "pgc+merge+pipeline+erase-suspend", "suspend",
)  # fmt: skip


def geometry() -> Iterator[Configuration]:
    """Channels, packages, dies, planes and how pages are spread over them."""
    yield timed("one-plane")
    for level in ("channels", "ways", "dies", "planes"):
        for count in (2, 4):
            yield timed(f"{level}={count}", arrivals="closed:threads=16", **{level: count})
    for striping in ("PDWC", "DPCW", "WPDC", "dynamic"):
        yield timed(f"striping={striping}", arrivals=HEAVY, striping=striping, **PARALLEL)
    yield timed("scheduling=reads-first", arrivals=LIGHT, scheduling="reads-first")
    for scheduling in ("fifo", "reads-first"):
        yield timed(f"parallel/scheduling={scheduling}", arrivals="closed:threads=32",
                    scheduling=scheduling, **PARALLEL)  # fmt: skip
    for key in ("multi_plane", "cache_commands", "copy_back"):
        for arrivals in ("closed:threads=32", HEAVY):
            yield timed(f"{key}/{arrivals}", arrivals=arrivals, **{key: "yes"}, **PARALLEL)
    yield timed(
        "multi_plane+cache_commands", arrivals="closed:threads=64", multi_plane="yes",
        cache_commands="yes", scheduling="reads-first", **PARALLEL,
    )  # fmt: skip
    yield timed(
        "multi_plane/disksim", workload="disksim:gap=exponential:2ms", multi_plane="yes", **PARALLEL
    )


def units() -> Iterator[Configuration]:
    """Every unit of collections, and several thresholds of erased blocks."""
    for unit in ("plane", "die", "channel", "drive"):
        for holds in ("no",) if unit == "plane" else ("no", "yes"):
            yield timed(
                f"collect_in={unit}/holds={holds}", arrivals=HEAVY, gc_domain=unit,
                gc_holds_domain=holds, gc_low="8%", spare="22%",
                **PARALLEL,
            )  # fmt: skip
    for low, high, hard in (
        (1, None, None), (4, None, None), (2, 6, None), (3, 5, 2), ("5%", "8%", "2%"), (6, 6, 4),
    ):  # fmt: skip
        name = f"thresholds/{low}-{high}-{hard}"
        yield timed(name, arrivals=LIGHT, gc_low=low, gc_high=high, gc_hard=hard)
        yield timed(
            f"{name}/pgc", arrivals=LIGHT, gc_low=low, gc_high=high, gc_hard=hard, preemption="pgc"
        )
    for unit in ("die", "channel"):
        yield timed(
            f"collect_in={unit}/pgc", arrivals=HEAVY, gc_domain=unit, gc_low="8%", gc_hard="3%",
            spare="22%", preemption="pgc+merge", **PARALLEL,
        )  # fmt: skip
    for idle in ("below=10%,after=1ms", "below=20%,after=100us"):
        yield timed(f"idle/{idle}", arrivals=LIGHT, idle=idle)
        yield timed(
            f"idle/{idle}/pgc",
            arrivals="poisson:rate=3000",
            idle=idle,
            preemption="pgc",
            **PARALLEL,
        )


def preemptions() -> Iterator[Configuration]:
    """Every level of preemption, on one die and on several."""
    for preemption in PREEMPTIONS:
        # Few pages, so requests often meet pages that a collection copies.
        yield timed(
            f"preemption={preemption}", arrivals=LIGHT, preemption=preemption, blocks=96,
            workload="uniform:read=0.5", requests=10_000,
        )  # fmt: skip
        yield timed(
            f"parallel/preemption={preemption}", arrivals=HEAVY, preemption=preemption,
            gc_hard=1, **PARALLEL,
        )  # fmt: skip
    for preemption in PREEMPTIONS[1:]:
        yield timed(
            f"reads-first/preemption={preemption}", arrivals="closed:threads=16", dies=2,
            scheduling="reads-first", workload="zipf:theta=0.9,read=0.6", preemption=preemption,
        )  # fmt: skip
    for suspend in ("50us", "suspend=10us,resume=30us,most=2,least-erase=300us,least-program=50us"):
        for preemption in ("suspend", "pgc+merge+pipeline+erase-suspend"):
            yield timed(
                f"preemption={preemption}/{suspend}", arrivals=LIGHT, preemption=preemption,
                suspend=suspend,
            )  # fmt: skip
    for preemption in ("pgc", "suspend"):
        yield timed(
            f"preemption={preemption}/copy_back", arrivals=HEAVY, preemption=preemption,
            copy_back="yes", preemption_poll_time="600ns", **PARALLEL,
        )  # fmt: skip
    # Below the hard threshold, collections are urgent and nothing preempts them.
    for preemption in ("pgc", "pgc+merge+pipeline+erase-suspend", "suspend"):
        yield timed(
            f"preemption={preemption}/urgent",
            workload="disksim:size=constant:4KiB,gap=exponential:1500us,urgent=0.3,reads=0.2",
            preemption=preemption, gc_low=6, gc_hard=5, dies=2,
        )  # fmt: skip
    yield timed("search", arrivals="poisson:rate=400", victim_search_time="300us")
    yield timed(
        "search/pgc", arrivals="poisson:rate=400", victim_search_time="300us", preemption="pgc"
    )


def queues() -> Iterator[Configuration]:
    """Arrivals, queue depths, the write cache."""
    for arrivals in (
        "closed:threads=1", "closed:threads=32", "closed:threads=4,think=2ms", "periodic:mean=2ms",
        "gaps:gap=uniform:500us:3ms", "gaps:gap=normal:2ms:500us", "gaps:gap=pareto:2ms:2.5",
        "bursts:rate=3000,on=5ms,off=20ms", "poisson:rate=5000",
    ):  # fmt: skip
        yield timed(f"arrivals={arrivals}", arrivals=arrivals, runs=2)
    # More than a million requests wait: the run ends there.
    yield timed("arrivals/overload", arrivals="poisson:rate=10000000", requests=1_100_000)
    for scale in (0.5, 3):
        yield timed(f"rate_scale={scale}", arrivals=LIGHT, rate_scale=scale)
    for depth in (1, 4):
        yield timed(
            f"queue_depth={depth}", arrivals="closed:threads=32", queue_depth=depth, **PARALLEL
        )
    for pages in (16, 128):
        yield timed(
            f"write_cache={pages}", arrivals="bursts:rate=4000,on=10ms,off=60ms", write_cache=pages
        )
        yield timed(f"write_cache={pages}/pgc/trim", arrivals=HEAVY, write_cache=pages,
                    preemption="pgc", workload="zipf:read=0.3,trim=0.1", **PARALLEL)  # fmt: skip
    for name, spec in (
        ("default", "disksim"),
        ("constant", "disksim:size=constant:4KiB,gap=constant:3ms,sequential=0,reads=0.5"),
        ("urgent", "disksim:gap=exponential:2ms,urgent=0.2,footprint=0.5,reads=0.6"),
        ("large", "disksim:size=normal:64KiB:16KiB,gap=pareto:8ms:2.5,sequential=0.7,unit=8KiB"),
    ):
        for preemption in ("none", "pgc+merge"):
            yield timed(
                f"disksim/{name}/{preemption}", workload=spec, preemption=preemption, requests=3000,
                **PARALLEL,
            )  # fmt: skip


def policies() -> Iterator[Configuration]:
    """Every victim policy, allocation and placement, and initial contents of the drive."""
    for victim in VICTIMS:
        yield timed(f"victim={victim}", victim=victim, arrivals=LIGHT, dies=2)
    for allocation in ("lowest-erase", "sfl", "random"):
        yield timed(f"allocation={allocation}", victim="cat", allocation=allocation, gc_low=6,
                    workload="hotcold")  # fmt: skip
    for placement in ("dac", "dac:regions=5,threshold=2000", "dac:zombie-block=yes"):
        yield timed(f"placement={placement}", placement=placement, workload="hotcold:read=0.2")
        yield timed(f"parallel/placement={placement}", placement=placement, arrivals=HEAVY,
                    blocks=1024, spare="22%", workload="hotcold:read=0.2", **PARALLEL)  # fmt: skip
    for fill in ("random", "empty"):
        yield timed(f"fill={fill}", fill=fill, workload="uniform:read=0.2,trim=0.1")
        yield timed(
            f"parallel/fill={fill}/dac", fill=fill, workload="zipf:read=0.2,trim=0.1",
            placement="dac", arrivals=HEAVY, blocks=1024, striping="dynamic", allocation="sfl",
            victim="cost-benefit", **PARALLEL,
        )  # fmt: skip
    for warmup in ("0", "5000"):
        yield timed(f"warmup={warmup}", warmup=warmup, requests=8000, resolution="50ms")
    for workload in ("zipf:theta=1.1,read=0.5", "sequential", "0.5*phases + 0.5*uniform:read=0.9"):
        yield timed(f"workload/{workload}", workload=workload, channels=2, runs=2)


def devices() -> Iterator[Configuration]:
    """Every device preset, with few blocks."""
    for name, planes in (
        ("pgc-slc", 64), ("jasmine-4", 4), ("jasmine-16", 16), ("slc", 16), ("mlc", 1),
        ("tlc", 32), ("qlc", 64),
    ):  # fmt: skip
        yield timed(
            f"device={name}", device=name, times=None, victim=None, spare="20%", blocks=32 * planes,
            pages_per_block=8, arrivals="closed:threads=64",
        )  # fmt: skip


def configurations() -> Iterator[Configuration]:
    """All configurations of this module."""
    for group in (geometry, units, preemptions, queues, policies, devices):
        yield from group()
