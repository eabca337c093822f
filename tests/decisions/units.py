"""Configurations whose flash pages hold several mapping units, or whose writes are small."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from decisions.building import Configuration, counting, timed

#: Flash pages of 16 KiB hold four mapping units. A block has 32 units.
UNITS: dict[str, Any] = {"page_size": "16KiB", "mapping_unit": "4KiB", "pages_per_block": 8}
#: A buffer that loses its data with the power, and a host that flushes.
FLUSHED: dict[str, Any] = {"power_protection": "no", "flush_every": 7, "frontier": "pool:low=2"}


def configurations() -> Iterator[Configuration]:
    """Both drives, with and without power protection, and every size of request."""
    for frontier in ("single", "double", "pool:low=2", "mixed:low=2"):
        yield counting(f"units/{frontier}", victim="greedy", frontier=frontier, **UNITS)
    yield counting("units/flushed", victim="d-choices:d=10,c=1", **UNITS, **FLUSHED)
    yield counting("units/dac", victim="greedy", placement="dac", frontier="pool:low=2", **UNITS)
    yield counting("units/flushed/dftl", mapping="dftl:entries=800", **UNITS, **FLUSHED)
    yield counting(
        "units/worn", victim="greedy", endurance=40, until="system-failure", warmup=0,
        **{**UNITS, **FLUSHED}, writes=None, times="read=25us,program=200us,erase=1.5ms",
    )  # fmt: skip
    for size in ("512B", "1KiB", "8KiB", "64KiB"):
        yield counting(f"request_size={size}", request_size=size, workload="zipf:theta=0.9")
    yield counting("units/request_size=2KiB", request_size="2KiB", **UNITS)
    clocked = {key: value for key, value in FLUSHED.items() if key != "frontier"}
    yield timed("units", **UNITS)
    yield timed("units/flushed", **UNITS, **clocked)
    yield timed("units/flush_after", flush_after="2ms", arrivals="poisson:rate=900", **UNITS)
    yield timed(
        "units/parallel/pgc", preemption="pgc+merge+pipeline", channels=2, dies=2, planes=2,
        multi_plane="yes", arrivals="closed:threads=16", request_size="32KiB", **UNITS,
    )  # fmt: skip
    yield timed(
        "units/dynamic/write_cache", striping="dynamic", channels=2, dies=2, write_cache=64,
        request_size="1KiB", arrivals="closed:threads=8", **UNITS,
    )  # fmt: skip
    joined = {"superblock": "die", "channels": 2, "dies": 2, "planes": 4,
              "arrivals": "closed:threads=32", "blocks": 2048}  # fmt: skip
    wide = {"superblock": "dies=4,planes=2", "blocks": 2048, "frontier": "pool:low=2"}
    yield counting("superblock/dies", **wide)
    yield counting(
        "superblock/dies/parity/units", parity="1/8", placement="sepbit", **wide, **UNITS
    )
    yield timed("superblock", **joined)
    yield timed("superblock/one-shot/units", program="one-shot:pages=2", cache_commands="yes",
                **joined, **UNITS)  # fmt: skip
    yield timed("one-shot/suspend", program="one-shot:pages=4", preemption="suspend",
                suspend="20us,longest=1ms")  # fmt: skip
    yield timed("one-shot/flushed", program="one-shot:pages=4", power_protection="no",
                flush_every=7)  # fmt: skip
    yield timed("superblock/units/pgc", preemption="pgc+merge+pipeline", **joined, **UNITS)
    yield timed("superblock/flushed", power_protection="no", flush_every=7, **joined)
    yield timed("superblock/suspend", preemption="suspend", placement="sepbit", **joined)
    over = {**joined, "superblock": "dies=4,planes=4", "program": "one-shot:pages=2"}
    yield timed("superblock/dies", **over)
    yield timed("superblock/dies/parity/suspend", parity="1/4", preemption="suspend",
                scheduling="reads-first", placement="sepbit", **over, **UNITS)  # fmt: skip
    yield timed("superblock/dies/parity-of-planes", parity="1/16", **over, **UNITS)
    yield timed("superblock/dies/flushed/paced", power_protection="no", flush_every=7,
                preemption="pgc", write_pacing="yes", gc_low=3, cache_commands="yes",
                **{**over, "superblock": "dies=2,planes=4"})  # fmt: skip
    yield timed("superblock/slc", slc="static:blocks=10%,full=direct",
                slc_times="read=20us,program=100us,erase=1ms", **joined)  # fmt: skip
    yield timed("superblock/dftl/cache", mapping="dftl:entries=800", write_cache=64, **joined)
    yield timed("units/dftl", mapping="dftl:entries=800", **UNITS)
    yield timed("request_size=1KiB/write_cache", request_size="1KiB", write_cache=32)
