"""Configurations of the other mappings, and of swapping with every scheme."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from decisions.building import Configuration, counting
from decisions.counting import MIXTURE

#: Random and sequential writes: log blocks suit the sequential part.
PARTLY_SEQUENTIAL = "0.6*sequential + 0.4*zipf:theta=0.8,read=0.2,trim=0.02"
SCHEMES = (
    "du-gc", "da-gc", "ba-gc", "ba-gc:below=0.5", "lda-gc1", "lda-gc2", "lda-gc3", "lda-gc4",
    "lda-gc5", "lda-p",
)  # fmt: skip
#: A drive for swapping, 12,800 logical pages, beside a memory of 2048 pages.
SWAPPING = {
    "blocks": 240,
    "pages_per_block": 64,
    "page_size": "2KiB",
    "spare": 1 / 6,
    "vm_page_cache": "4MiB",
    "workload": "0.7*phases:set=0.3,length=5000,read=0.7 + 0.3*zipf:theta=0.9,read=0.5",
    "requests": 60_000,
    "writes": None,
}


def log_blocks() -> Iterator[Configuration]:
    """FAST and BAST."""
    for mapping in (
        "fast", "fast:log_blocks=20", "fast:log_blocks=20,sequential=0", "fast:victim=rr",
        "fast:victim=cost", "fast:victim=cost,window=8", "fast:victim=cost,window=adaptive-4-2",
        "fast:strict_order=yes", "fast:log_blocks=16,log_only=yes", "bast", "bast:log_blocks=20",
        "bast:victim=lru", "bast:victim=rr", "bast:victim=cost,window=10",
        "bast:strict_order=yes,log_only=yes",
    ):  # fmt: skip
        yield counting(f"{mapping}", mapping=mapping, workload=PARTLY_SEQUENTIAL)
    for mapping in ("fast", "bast"):
        yield counting(f"{mapping}/zipf", mapping=mapping, workload="zipf:theta=0.8", runs=2)
        yield counting(
            f"{mapping}/empty", mapping=mapping, workload=PARTLY_SEQUENTIAL, fill="empty"
        )


def maps_on_flash() -> Iterator[Configuration]:
    """DFTL without a placement; with one it is in ``CHANGED``."""
    for mapping in (
        "dftl:entries=200,per_page=64", "dftl:entries=2000,per_page=256",
        "dftl:entries=20000,per_page=1024", "dftl:entries=1,per_page=16",
    ):  # fmt: skip
        for frontier in ("double", "pool"):
            yield counting(
                f"{mapping}/{frontier}", mapping=mapping, victim="greedy", frontier=frontier
            )
    mapping = "dftl:entries=1000,per_page=128"
    for victim in ("cost-benefit", "d-choices:d=10", "scata"):
        yield counting(
            f"dftl/{victim}/pool/mixture",
            mapping=mapping, victim=victim, frontier="pool:low=6", workload=MIXTURE, runs=2,
        )  # fmt: skip
    yield counting(
        "dftl/cat/pool/static",
        mapping=mapping, victim="cat", frontier="pool:low=6", allocation="sfl",
        wear_levelling="static:threshold=4,interval=2", workload="hotcold:f=0.1,r=0.9",
    )  # fmt: skip
    yield counting(
        "dftl/greedy/pool/weibull",
        mapping=mapping, victim="greedy", frontier="pool:low=12", endurance="weibull:scale=15",
        until="system-failure", warmup=None, writes=None,
    )  # fmt: skip
    yield counting(
        "dftl/greedy/pool/empty", mapping=mapping, victim="greedy", frontier="pool", fill="empty"
    )


def dftl_with_a_placement() -> Iterator[Configuration]:
    """DFTL with a placement, where map traffic of copies was once lost: see ``CHANGED``."""
    for placement in ("dac", "dac:regions=2,threshold=4000"):
        yield counting(
            f"dftl/greedy/pool/{placement}",
            mapping="dftl:entries=500,per_page=128", victim="greedy", frontier="pool",
            placement=placement,
        )  # fmt: skip
    yield counting(
        "dftl/cost-benefit/pool/dac/mixture",
        mapping="dftl:entries=500,per_page=128", victim="cost-benefit", frontier="pool",
        placement="dac", workload=MIXTURE,
    )  # fmt: skip


def swapping() -> Iterator[Configuration]:
    """A page cache with virtual memory in front of the drive, with every scheme."""

    def swap(name: str, **changes: Any) -> Configuration:
        return counting(f"swap/{name}", **{**SWAPPING, **changes})

    for scheme in SCHEMES:
        yield swap(f"fast/{scheme}", mapping="fast:log_blocks=16,log_only=yes", vm_scheme=scheme)
    for scheme in ("du-gc", "da-gc", "ba-gc", "lda-gc2", "lda-gc4"):
        yield swap(f"page/{scheme}", victim="greedy", frontier="pool", vm_scheme=scheme)
    for scheme in ("du-gc", "da-gc", "lda-gc5"):
        yield swap(f"bast/{scheme}", mapping="bast:log_blocks=16", vm_scheme=scheme)
    yield swap(
        "dftl/du-gc", mapping="dftl:entries=500,per_page=128", victim="greedy", frontier="pool"
    )
    for policy in ("lru", "lru:parts=5", "3-region:initial=0.2,lru=0.6,resize=no", "3-region:g=1"):
        yield swap(
            f"fast/lda-gc5/{policy}",
            mapping="fast:log_blocks=16", vm_scheme="lda-gc5", page_policy=policy, runs=2,
        )  # fmt: skip
    for mapping in ("fast", "page"):
        yield swap(
            f"{mapping}/da-gc/empty",
            mapping=mapping, vm_scheme="da-gc", fill="empty", warmup="0", requests=200_000,
            frontier="pool" if mapping == "page" else None,
        )  # fmt: skip
    yield swap(
        "fast/lda-p/times",
        mapping="fast:log_blocks=16", vm_scheme="lda-p",
        times="read=25us,program=200us,erase=2ms,memory=500us",
    )  # fmt: skip
    for program, size in (("sqlite", "512KiB"), ("pdftoppm", "2MiB")):
        for mapping in ("fast", "page"):
            yield swap(
                f"{program}/{mapping}/da-gc",
                workload=f"data/memory/{program}.pages.zst", mapping=mapping, vm_scheme="da-gc",
                vm_page_cache=size, blocks=None, requests=None, passes=8, warmup=None,
                frontier="pool" if mapping == "page" else None,
            )  # fmt: skip


def configurations() -> Iterator[Configuration]:
    """All configurations of this module but those in ``CHANGED``."""
    for group in (log_blocks, maps_on_flash, swapping):
        yield from group()
