"""Builds configurations. Only this module names options of ``flashgc.run``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: The option of ``flashgc.run`` for each key of the lists of configurations. If an option is
#: renamed, only its line here must change.
OPTIONS: Mapping[str, str] = {
    key: key
    for key in (
        # The drive.
        "blocks", "pages_per_block", "page_size", "mapping_unit", "power_protection", "spare",
        "endurance", "times", "fill",
        # Garbage collection.
        "mapping", "victim", "frontier", "allocation", "wear_levelling", "placement", "scheme",
        # The host and its memory.
        "host_cache", "hints", "vm_page_cache", "page_policy", "vm_scheme",
        # The workload.
        "workload", "format", "alignment_offset", "on_bad_line", "paging", "numbering",
        "request_size", "flush_every",
        # The run.
        "warmup", "writes", "collections", "requests", "passes", "until", "runs", "seed", "jobs",
        # The timed drive.
        "kind", "device", "channels", "ways", "dies", "planes", "striping", "scheduling",
        "superblock", "program", "parity", "slc", "slc_times", "multi_plane", "cache_commands",
        "write_pacing", "write_cache", "queue_depth", "gc_domain", "gc_low", "gc_high", "gc_hard",
        "preemption", "suspend", "victim_search_time",
        "preemption_poll_time", "copy_back", "gc_holds_domain", "idle", "arrivals",
        "rate_scale", "disorder", "resolution", "flush_after",
    )
}  # fmt: skip


@dataclass(frozen=True)
class Configuration:
    """One run of the engine."""

    #: Its name in the record, such as ``counting/greedy/pool``. It never changes.
    id: str
    #: Keyword arguments of ``flashgc.run``.
    options: Mapping[str, Any]


#: The counting drive of the lists: 8160 logical pages, so that six drive writes are some thousands
#: of collections.
COUNTING: Mapping[str, Any] = {
    "workload": "hotcold:f=0.2,r=0.8",
    "blocks": 300,
    "pages_per_block": 32,
    "spare": "15%",
    "writes": "6x",
    "warmup": "1/3",
}
#: The timed drive of the lists.
TIMED: Mapping[str, Any] = {
    "kind": "timed",
    "times": "read=25us,program=200us,erase=1.5ms,transfer=10us",
    "workload": "uniform:read=0.4",
    "victim": "greedy",
    "blocks": 512,
    "pages_per_block": 16,
    "spare": "15%",
    "requests": 5000,
    "warmup": "2x",
}


def configuration(name: str, base: Mapping[str, Any], **changes: Any) -> Configuration:
    """``base`` with ``changes``; ``None`` leaves a key of the base out."""
    asked = {"seed": 1, "jobs": 1, **base, **changes}
    options = {OPTIONS[key]: value for key, value in asked.items() if value is not None}
    return Configuration(name, options)


def counting(name: str, **changes: Any) -> Configuration:
    """A configuration of the counting drive."""
    return configuration(f"counting/{name}", COUNTING, **changes)


def timed(name: str, **changes: Any) -> Configuration:
    """A configuration of the timed drive."""
    return configuration(f"timed/{name}", TIMED, **changes)
