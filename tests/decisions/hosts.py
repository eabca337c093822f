"""Configurations of hosts with a cache, of every way of hinting, and of traces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from decisions.building import Configuration, counting, timed
from decisions.python_policies import lowest_greedy

#: A page cache of 500 pages; the drive has 8160.
PAGE_CACHE = "page-cache:size=2000KiB,rate=10000,speed=100000"
PAGE_CACHES = {
    "page-cache": PAGE_CACHE,
    "page-cache/expiry-page": f"{PAGE_CACHE},expiry=page,expire=1s,writeback=200ms",
    "page-cache/no-daemon": f"{PAGE_CACHE},writeback=0s,background=5%,limit=40%",
}
BUFFER_CACHE = "buffer-cache:size=2000KiB,checkpoint=1s,rate=10000"
BUFFER_CACHES = {
    "buffer-cache": BUFFER_CACHE,
    "buffer-cache/checkpoints-alone": f"{BUFFER_CACHE},completion=50%,pages=0",
    "buffer-cache/writer-alone": (
        "buffer-cache:size=1MiB,checkpoint=0s,delay=20ms,pages=20,scan=30%"
    ),
}
CACHES = {**PAGE_CACHES, **BUFFER_CACHES}
HINTS = ("none", "piggyback", "command", "dsm", "frequency", "perfect")
FAULTS = (
    "piggyback:lost=20%", "piggyback:late=50", "command:wrong=30%", "dsm:ranges=16,adverse=20%",
    "perfect:lost=50%,wrong=10%",
)  # fmt: skip
COLLECTORS = ("gc-gd", "gc-cb", "zgc-gd", "zgc-cb", "zgc-gd-nz", "zgc-cb-nz")
MICRO = "0.6667*skew:h=6 + 0.3333*uniform:read=100%"


def on_the_counting_drive() -> Iterator[Configuration]:
    """Caches, hints, faults of hints and collectors."""

    def host(name: str, **changes: Any) -> Configuration:
        drive = {"frontier": "pool", "host_cache": PAGE_CACHE, "workload": MICRO}
        if "victim" not in changes:
            drive["scheme"] = "zgc-gd"
        return counting(f"host/{name}", **{**drive, **changes})

    for name, cache in CACHES.items():
        for hints in ("none", "piggyback"):
            yield host(f"{name}/{hints}", host_cache=cache, hints=hints)
    for hints in (*HINTS[2:], *FAULTS, "oracle", "oracle:horizon=40%"):
        yield host(f"page-cache/{hints}", hints=hints)
    for hints in ("frequency", "frequency:late=20", "dsm", "perfect"):
        yield host(f"buffer-cache/{hints}", host_cache=BUFFER_CACHE, hints=hints)
    for collector in COLLECTORS:
        yield host(f"{collector}/perfect", scheme=collector, hints="perfect", runs=2)
    for frontier in ("single", "double", "mixed"):
        for victim in ("z-greedy", "z-cost-benefit"):
            yield host(
                f"{victim}/{frontier}/piggyback",
                victim=victim, frontier=frontier, hints="piggyback",
            )  # fmt: skip
    yield host(
        "tpcc/buffer-cache/piggyback",
        workload="tpcc", page_size="16KiB", blocks=600, hints="piggyback",
        host_cache="buffer-cache:size=8MiB,checkpoint=1s",
    )  # fmt: skip
    yield host("greedy/fast", victim=None, frontier=None, mapping="fast", scheme=None)
    yield host("zgc-gd/trim", hints="piggyback", workload="hotcold:f=0.1,r=0.9,trim=0.05,read=0.1")


def on_the_timed_drive() -> Iterator[Configuration]:
    """The same hosts on a timed drive, where hint commands take time."""

    def host(name: str, **changes: Any) -> Configuration:
        drive = {
            "device": "jasmine-4", "times": None, "victim": None, "scheme": "zgc-gd",
            "blocks": 400, "pages_per_block": 32, "spare": "8%", "arrivals": "closed:threads=16",
            "host_cache": "page-cache:size=12MiB", "workload": MICRO, "requests": 12_000,
        }  # fmt: skip
        return timed(f"host/{name}", **{**drive, **changes})

    for hints in (*HINTS, *FAULTS[:4], "command:cost=1ms,queued=yes", "dsm:ranges=4,queued=no"):
        yield host(f"page-cache/{hints}", hints=hints)
    for hints in ("none", "piggyback", "frequency"):
        yield host(
            f"buffer-cache/{hints}",
            hints=hints, host_cache="buffer-cache:size=12MiB,checkpoint=1s,memory=9us",
        )  # fmt: skip
    for collector in COLLECTORS[:4]:
        yield host(f"{collector}/piggyback", scheme=collector, hints="piggyback", runs=2)
    yield host("zgc-gd/trim", hints="perfect", workload="hotcold:f=0.1,r=0.9,trim=0.05,read=0.1")
    yield host(
        "page-cache/poisson/pgc",
        hints="piggyback", arrivals="poisson:rate=700", preemption="pgc", write_cache=32,
    )  # fmt: skip
    yield host(
        "page-cache/expiry-page/dies",
        hints="dsm", device=None, times="read=60us,program=800us,erase=1.5ms,transfer=204us",
        host_cache="page-cache:size=3MiB,expiry=page,expire=500ms,writeback=100ms",
        channels=2, dies=2, queue_depth=8,
    )  # fmt: skip


def python_policies_with_hints() -> Iterator[Configuration]:
    """Policies in Python with hints, which were once lost: see ``CHANGED``."""
    for hints in ("piggyback", "perfect", "oracle"):
        yield counting(
            f"python/host/{hints}",
            victim=lowest_greedy, frontier="pool", placement="dac:zombie-block=yes", hints=hints,
            host_cache=PAGE_CACHE, workload=MICRO,
        )  # fmt: skip


def traces() -> Iterator[Configuration]:
    """Traces on the counting drive: the one that ships, and small ones of ``made_traces``."""

    def trace(name: str, path: str, **changes: Any) -> Configuration:
        drive = {
            "blocks": None, "writes": None, "passes": 3, "frontier": "pool", "victim": "greedy",
        }  # fmt: skip
        return counting(f"trace/{name}", workload=path, **{**drive, **changes})

    server = "data/pgbench-ext4.csv.zst"
    for victim in ("greedy", "cost-benefit", "d-choices:d=10"):
        yield trace(f"pgbench/{victim}", server, victim=victim, passes=1, pages_per_block=64)
    yield trace(
        "pgbench/16KiB/single", server, passes=1, page_size="16KiB", frontier="single", runs=2
    )
    yield trace("pgbench/dftl", server, passes=1, mapping="dftl", frontier="double")
    yield trace("pgbench/dac", server, passes=1, placement="dac", warmup="0", spare="20%")
    for victim in ("fifo", "greedy:ties=lowest", "random", "z-greedy", "scata"):
        yield trace(f"small/{victim}", "small.csv", victim=victim, pages_per_block=16)
    yield trace("small/blocks", "small.csv", blocks=200, pages_per_block=16, passes=6)
    yield trace("small/auto", "small.csv", warmup="auto", pages_per_block=16, passes=8)
    yield trace("small/alignment", "small.csv", alignment_offset="2KiB", pages_per_block=16)
    yield trace("small/8KiB", "small.csv", page_size="8KiB", pages_per_block=16)
    paper = {"paging": "rounded+floor", "numbering": "first-touch"}
    yield trace("small/paper", "small.csv", **paper, pages_per_block=16)
    settled = {"passes": None, "pages_per_block": 16, "victim": "d-choices:d=10"}
    yield trace("small/settled", "small.csv", **settled)
    yield trace("small/fast", "small.csv", mapping="fast", victim=None, frontier=None)
    for placement in ("none", "dac:zombie-block=yes"):
        yield trace(
            f"dirty/{placement}",
            "dirty.csv", victim="z-greedy", placement=placement, pages_per_block=16,
        )  # fmt: skip
    yield trace(
        "dirty/cache", "dirty.csv",
        scheme="zgc-cb", victim=None, host_cache="page-cache:size=200KiB,rate=1000",
        hints="perfect", pages_per_block=16,
    )  # fmt: skip


def timed_traces() -> Iterator[Configuration]:
    """Traces on the timed drive, with the trace's own times or without."""

    def trace(name: str, path: str, **changes: Any) -> Configuration:
        given = {"workload": path, "requests": None, "passes": 1, **changes}
        return timed(f"trace/{name}", **given)

    server: dict[str, Any] = {
        "path": "data/pgbench-ext4.csv.zst", "device": "tlc", "times": None, "page_size": "4KiB",
        "pages_per_block": 64, "blocks": 2816, "spare": "20%",
    }  # fmt: skip
    yield trace("pgbench", **server)
    yield trace("pgbench/pgc", **server, preemption="pgc+merge+pipeline", rate_scale=4)
    small: dict[str, Any] = {
        "path": "small.csv",
        "blocks": None,
        "pages_per_block": 16,
        "passes": 3,
    }
    yield trace("small", **small)
    yield trace("small/planes", **small, channels=2, planes=2, arrivals="closed:threads=8")
    yield trace("small/rate", **small, rate_scale=0.5, preemption="pgc")
    yield trace("small/poisson", **small, arrivals="poisson:rate=900", victim="cost-benefit")
    paper = {"paging": "rounded+floor", "numbering": "first-touch"}
    yield trace("small/paper", **small, **paper)
    yield trace("small/disorder", **{**small, "path": "disordered.csv"}, disorder="sort")
    yield trace("dirty", **{**small, "path": "dirty.csv"}, scheme="zgc-gd", victim=None)
    yield trace("dirty/closed", **{**small, "path": "dirty.csv"}, victim="z-greedy",
                arrivals="closed:threads=4")  # fmt: skip


def configurations() -> Iterator[Configuration]:
    """All configurations of this module but those in ``CHANGED``."""
    for group in (on_the_counting_drive, on_the_timed_drive, traces, timed_traces):
        yield from group()
