"""OpenMetrics 1.0: a drive's state as text, for Prometheus and what reads its format.

Values are in base units (bytes, seconds, ratios), whatever unit a standard has for them. Where the
drive counts more finely than a standard's field, it is the finer count. Counts are since the drive
was made, latencies since it was opened.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from flashgc import _core
from flashgc.foreign import for_openmetrics

#: The type of the text, for HTTP.
CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"

PREFIX = "flashgc_drive_"


@dataclass(frozen=True)
class Metric:
    """A number of a stat: where it stands, what it is called, and what it is times ``scale``."""

    #: Keys of the stat, separated by dots.
    path: str
    #: The name without prefix, with the unit as its end and without ``_total``.
    name: str
    kind: Literal["gauge", "counter"]
    help: str
    unit: str = ""
    scale: float = 1


#: Names of counts whose name in the stat has the unit before its end.
_NAMES = {
    "host_bytes_read": "host_read_bytes",
    "host_bytes_written": "host_written_bytes",
    "host_pages_written": "host_written_pages",
}


def _counts() -> Iterator[Metric]:
    """The declared counts of a drive; the stat has times in seconds."""
    for name, text, counted in json.loads(_core.device_counts()):
        unit = "seconds" if counted == "ns" else counted
        yield Metric(f"counters.{name}", _NAMES.get(name, name), "counter", text, unit)


METRICS = (
    Metric(
        "uptime_seconds", "uptime_seconds", "gauge", "Time since the drive was opened.", "seconds"
    ),
    Metric("capacity_bytes", "capacity_bytes", "gauge", "Size that hosts see.", "bytes"),
    Metric("blocks", "blocks", "gauge", "Blocks of flash, bad blocks included."),
    Metric("pages_per_block", "block_pages", "gauge", "Pages per block."),
    Metric("page_bytes", "page_bytes", "gauge", "Size of a page.", "bytes"),
    Metric("free_blocks", "free_blocks", "gauge", "Erased blocks."),
    Metric("mapped_pages", "mapped_pages", "gauge", "Logical pages that have data."),
    Metric("zombie_pages", "zombie_pages", "gauge", "Pages that the host will overwrite soon."),
    Metric(
        "write_amplification", "write_amplification_ratio", "gauge",
        "Bytes programmed for each byte that hosts wrote, since the drive was made.", "ratio",
    ),
    *_counts(),
    Metric("faults.met", "injected_faults", "counter", "Commands that met a fault set by hand."),
    Metric("counters.host_pages_read", "host_read_pages", "counter", "Pages hosts read."),
    Metric(
        "smart.critical_warning", "critical_warning", "gauge",
        "Critical warning of the SMART log, as bits.",
    ),
    Metric(
        "smart.available_spare", "available_spare_ratio", "gauge",
        "Share of the first spare blocks that is left.", "ratio", 0.01,
    ),
    Metric(
        "smart.available_spare_threshold", "available_spare_threshold_ratio", "gauge",
        "Share of spare blocks below which the drive warns.", "ratio", 0.01,
    ),
    Metric(
        "smart.percentage_used", "used_ratio", "gauge",
        "Share of the rated endurance that is used; it may exceed 1.", "ratio", 0.01,
    ),
    Metric(
        "smart.power_cycles", "power_cycles", "counter",
        "Number of times that the drive was opened.",
    ),
    Metric(
        "smart.unsafe_shutdowns", "unsafe_shutdowns", "counter",
        "Openings of the drive after it was not closed.",
    ),
    Metric("smart.media_errors", "media_errors", "counter", "Damaged pages found."),
    Metric(
        "ocp.physical_media_units_written", "flash_written_bytes", "counter",
        "Bytes programmed, for hosts and by collections.", "bytes",
    ),
    Metric(
        "ocp.physical_media_units_read", "flash_read_bytes", "counter",
        "Bytes read from flash, for hosts and by collections.", "bytes",
    ),
    Metric("ocp.bad_user_nand_blocks", "bad_blocks", "gauge", "Blocks that are worn out."),
    Metric(
        "ocp.user_data_erase_count_max", "block_erases_max", "gauge",
        "Largest number of erases of a block.",
    ),
    Metric(
        "ocp.user_data_erase_count_min", "block_erases_min", "gauge",
        "Smallest number of erases of a block.",
    ),
    Metric(
        "ocp.nand_avg_erase_count", "block_erases_mean", "gauge",
        "Mean number of erases of a block.",
    ),
)  # fmt: skip

#: Labels of ``flashgc_drive_info``.
LABELS = ("file", "uuid", "victim", "placement", "durability")

QUANTILES = {"p50": "0.5", "p90": "0.9", "p99": "0.99", "p999": "0.999"}


def openmetrics(stat: dict[str, Any]) -> str:
    """The result of :meth:`flashgc.device.source.Source.stat` as OpenMetrics text.

    What the stat does not have, or has as ``None``, is left out.
    """
    return "".join(f"{line}\n" for line in _lines(stat))


def _lines(stat: dict[str, Any]) -> Iterator[str]:
    drive = PREFIX.removesuffix("_")
    yield from _head(drive, "info", "The drive.")
    labels = ",".join(f'{name}="{for_openmetrics(str(stat[name]))}"' for name in LABELS)
    yield f"{drive}_info{{{labels}}} 1"
    for metric in METRICS:
        value = _at(stat, metric.path)
        if value is not None:
            name = PREFIX + metric.name
            yield from _head(name, metric.kind, metric.help, metric.unit)
            suffix = "_total" if metric.kind == "counter" else ""
            yield f"{name}{suffix} {_number(value * metric.scale)}"
    name = f"{PREFIX}read_only"
    yield from _head(name, "gauge", "1 if the drive takes no more writes.")
    yield f"{name} {int(stat['read_only'] is not None)}"
    yield from _latencies(stat["latency_us"])
    yield "# EOF"


def _latencies(latencies: dict[str, dict[str, float]]) -> Iterator[str]:
    name = f"{PREFIX}latency_seconds"
    yield from _head(name, "summary", "Time from a command to its end.", "seconds")
    for operation, of in latencies.items():
        label = f'operation="{operation}"'
        if of["count"]:
            for key, quantile in QUANTILES.items():
                yield f'{name}{{{label},quantile="{quantile}"}} {_number(of[key] * 1e-6)}'
        yield f"{name}_count{{{label}}} {_number(of['count'])}"
        yield f"{name}_sum{{{label}}} {_number(of['mean'] * of['count'] * 1e-6)}"
    name = f"{PREFIX}latency_max_seconds"
    yield from _head(name, "gauge", "Longest time from a command to its end.", "seconds")
    for operation, of in latencies.items():
        yield f'{name}{{operation="{operation}"}} {_number(of["max"] * 1e-6)}'


def _head(name: str, kind: str, text: str, unit: str = "") -> Iterator[str]:
    yield f"# TYPE {name} {kind}"
    if unit:
        yield f"# UNIT {name} {unit}"
    yield f"# HELP {name} {for_openmetrics(text)}"


def _at(stat: dict[str, Any], path: str) -> float | None:
    found: Any = stat
    for key in path.split("."):
        found = found.get(key)
        if found is None:
            return None
    value: float = found
    return value


def _number(value: float) -> str:
    """A number in all its digits; counts as integers."""
    return str(value) if isinstance(value, int) else f"{value:.12g}"
