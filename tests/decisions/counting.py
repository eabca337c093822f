"""Configurations of the counting drive: every policy, generator and length."""

from __future__ import annotations

from collections.abc import Iterator

from decisions.building import Configuration, counting

FRONTIERS = ("single", "double", "compact", "pool", "mixed")
VICTIMS = (
    "fifo", "greedy", "random", "windowed:w=50", "d-choices:d=10", "2r-greedy", "2r-fifo",
    "cost-benefit", "mdc", "cat", "sagc", "scata", "eigc", "bsgc", "wear-aware", "z-greedy",
    "z-cost-benefit",
)  # fmt: skip
VARIANTS = (
    "greedy:ties=oldest", "greedy:ties=lowest", "windowed:w=1", "windowed:w=150",
    "d-choices:d=1,c=4", "d-choices:d=3,c=2", "d-choices:d=9,c=1", "cost-benefit:form=lfs",
    "cost-benefit:form=sqrt", "cost-benefit:age=last_invalidate",
    "cost-benefit:form=lfs,age=last_invalidate", "cat:age=last_invalidate", "sagc:weight=ratio",
    "eigc:ratio=average", "bsgc:reading=literal", "bsgc:first=sample", "bsgc:ratio=live",
    "wear-aware:lambda=0", "wear-aware:lambda=0.6", "z-greedy:ties=oldest", "z-greedy:ties=lowest",
    "z-cost-benefit:age=last_invalidate",
)  # fmt: skip
#: Writes of several kinds with reads and TRIMs among them.
MIXTURE = "0.7*zipf:theta=0.9,read=0.1,trim=0.1 + 0.3*uniform:read=0.3,trim=0.02"


def victims() -> Iterator[Configuration]:
    """Every victim policy on every frontier; every variant under a mixture with TRIMs."""
    for victim in VICTIMS:
        for frontier in FRONTIERS:
            yield counting(f"{victim}/{frontier}", victim=victim, frontier=frontier)
    for victim in VARIANTS:
        yield counting(
            f"{victim}/pool:low=5/mixture", victim=victim, frontier="pool:low=5", workload=MIXTURE
        )
    for frontier in FRONTIERS:
        for victim in ("greedy", "d-choices:d=10", "fifo"):
            yield counting(
                f"{victim}/{frontier}/mixture",
                victim=victim, frontier=frontier, workload=MIXTURE, runs=2,
            )  # fmt: skip
    for kind in ("pool", "mixed"):
        for low in (1, 8, 30):
            frontier = f"{kind}:low={low}"
            yield counting(f"greedy/{frontier}", victim="greedy", frontier=frontier)


def allocations() -> Iterator[Configuration]:
    """Every block allocation on both frontiers with a pool, under two policies."""
    for allocation in ("lowest-erase", "sfl", "random"):
        for frontier in ("pool:low=10", "mixed:low=10"):
            for victim in ("cat", "bsgc"):
                yield counting(
                    f"{victim}/{frontier}/{allocation}",
                    victim=victim, frontier=frontier, allocation=allocation,
                )  # fmt: skip


def placements() -> Iterator[Configuration]:
    """Every placement with several parameters; ``hosts`` has those with hints."""
    for placement in (
        "dac", "dac:regions=1", "dac:regions=4", "dac:regions=8", "dac:threshold=500",
        "dac:threshold=20000", "dac:regions=5,threshold=4000", "dac:zombie-block=yes",
    ):  # fmt: skip
        yield counting(
            f"greedy/pool/{placement}", victim="greedy", frontier="pool", placement=placement
        )
    for victim in ("cost-benefit", "d-choices:d=10", "scata", "fifo", "z-greedy"):
        yield counting(
            f"{victim}/pool:low=6/dac/mixture",
            victim=victim, frontier="pool:low=6", placement="dac", workload=MIXTURE,
        )  # fmt: skip
    yield counting(
        "cat/pool:low=6/dac/sfl",
        victim="cat", frontier="pool:low=6", placement="dac", allocation="sfl", runs=2,
    )  # fmt: skip
    for placement in (
        "sepbit", "sepbit:classes=4", "multilog", "multilog:levels=3", "fadac", "fadac:classes=3",
        "sfr", "sfr:chunk=4,halving=2000", "warcip", "warcip:classes=4,window=20", "eti",
        "eti:extents=300,halving=500", "intervals", "intervals:classes=4,sample=300,refresh=3",
        "gdt", "gdt:classes=4", "sfs", "sfs:classes=4,refresh=0.1",
        "oracle:classes=8", "oracle:classes=8,sigma=1",
        "oracle:classes=8,horizon=0.5,sigma=1,errors=request",
    ):  # fmt: skip
        yield counting(
            f"cost-benefit/pool/{placement}/mixture",
            victim="cost-benefit", frontier="pool", placement=placement, workload=MIXTURE,
        )  # fmt: skip


def levelling() -> Iterator[Configuration]:
    """Static wear levelling."""
    for frontier, victim, threshold, interval in (
        ("pool", "greedy", 3, 1), ("pool", "greedy", 10, 10), ("mixed", "greedy", 5, 3),
        ("pool:low=8", "cat", 5, 3), ("mixed:low=8", "d-choices:d=10", 3, 2),
    ):  # fmt: skip
        name = f"static:threshold={threshold},interval={interval}"
        yield counting(
            f"{victim}/{frontier}/{name}",
            victim=victim, frontier=frontier, wear_levelling=name, workload="hotcold:f=0.1,r=0.95",
        )  # fmt: skip


def endurance() -> Iterator[Configuration]:
    """Blocks that wear out, until a failure or for a fixed length."""
    drive = {"frontier": "pool:low=12", "warmup": None, "writes": None}
    for endurance in ("20", "normal:mean=25,cv=0.3", "weibull:scale=25,shape=4"):
        for until in ("first-failure", "system-failure"):
            for victim in ("greedy", "bsgc"):
                yield counting(
                    f"{victim}/pool/{endurance}/{until}",
                    victim=victim, endurance=endurance, until=until, runs=2, **drive,
                )  # fmt: skip
    yield counting(
        "greedy/mixed/weibull/static",
        victim="greedy", endurance="weibull:scale=20", until="system-failure",
        wear_levelling="static:threshold=4,interval=2",
        **{**drive, "frontier": "mixed:low=12"},
    )  # fmt: skip
    yield counting(
        "cat/pool/weibull/sfl/times",
        victim="cat", endurance="weibull:scale=20", until="system-failure", allocation="sfl",
        times="read=60us,program=800us,erase=1.5ms", workload=MIXTURE, **drive,
    )  # fmt: skip
    yield counting(
        "greedy/pool/endurance/writes",
        victim="greedy", endurance="normal:mean=40,cv=0.4", frontier="pool:low=12", runs=3,
    )  # fmt: skip
    yield counting(
        "greedy/pool:low=2/endurance/dry",
        victim="greedy", endurance="normal:mean=12,cv=0.01", until="system-failure", runs=3,
        workload="uniform", **{**drive, "frontier": "pool:low=2"},
    )  # fmt: skip
    yield counting(
        "greedy/pool/dac/endurance",
        victim="greedy", endurance="weibull:scale=20", until="system-failure", placement="dac",
        **drive,
    )  # fmt: skip


def fills() -> Iterator[Configuration]:
    """Initial contents of the drive, on every frontier."""
    for fill in ("random", "empty"):
        for frontier in FRONTIERS:
            yield counting(
                f"greedy/{frontier}/fill-{fill}", victim="greedy", frontier=frontier, fill=fill
            )
        yield counting(
            f"scata/pool/fill-{fill}/mixture",
            victim="scata", frontier="pool", fill=fill, workload=MIXTURE,
        )  # fmt: skip


def generators() -> Iterator[Configuration]:
    """Every generator of single pages."""
    for workload in (
        "uniform", "uniform:read=0.3,trim=0.2", "hotcold:f=0.05,r=0.9",
        "classes:pages=1/9/90,shares=60/30/10", "classes:pages=20/80,shares=80/20,run=8,burst=4",
        "classes:scatter=no", "zipf", "zipf:theta=1.2,scatter=no", "skew:h=5", "normal",
        "normal:hot=0.35", "sequential", "sequential:start=7,stride=11",
        "phases:set=0.1,length=2000,keep=0.4", "0.5*phases:set=0.05,length=500 + 0.5*sequential",
        "0.3333*uniform:read=100% + 0.6667*skew:h=6",
    ):  # fmt: skip
        yield counting(
            f"workload/{workload}",
            victim="greedy:ties=oldest", frontier="pool", workload=workload, runs=2,
        )  # fmt: skip
    yield counting(
        "workload/tpcc", victim="cost-benefit", frontier="pool", workload="tpcc", page_size="16KiB",
        blocks=600, pages_per_block=32,
    )  # fmt: skip
    yield counting(
        "workload/frequency", victim="greedy", frontier="double",
        workload="frequency:path=frequency.csv", blocks=None, pages_per_block=16,
    )  # fmt: skip


def lengths() -> Iterator[Configuration]:
    """Lengths, warm-ups and shapes of a drive."""
    drive = {"victim": "d-choices:d=10", "frontier": "pool", "writes": None}
    yield counting("length/collections", collections=4000, **drive)
    yield counting("length/requests", requests=40_000, **{**drive, "workload": MIXTURE})
    yield counting("length/page-writes", **{**drive, "writes": 30_000})
    yield counting("length/precision", until="precision=1%", **{**drive, "writes": "3x"}, runs=4)
    for warmup in ("auto", "0", "2x", "10000"):
        yield counting(f"warmup/{warmup}", **{**drive, "writes": "6x"}, warmup=warmup)
    yield counting("seed/77", **{**drive, "writes": "6x"}, seed=77, runs=3)
    for blocks, pages, spare in ((100, 256, "7%"), (3000, 4, "25%"), (64, 2, "40%")):
        yield counting(
            f"shape/{blocks}x{pages}",
            **{**drive, "writes": "6x"}, blocks=blocks, pages_per_block=pages, spare=spare,
        )  # fmt: skip
    yield counting(
        "times", **{**drive, "writes": "6x"}, times="read=60us,program=800us,erase=1.5ms"
    )


def configurations() -> Iterator[Configuration]:
    """All configurations of this module."""
    for group in (
        victims, allocations, placements, levelling, endurance, fills, generators, lengths
    ):  # fmt: skip
        yield from group()
