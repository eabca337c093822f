"""OpenMetrics 1.0: a drive's state as text, for Prometheus and compatible programs.

Values are in base units (bytes, seconds, ratios), whatever unit a standard uses. If the drive's own
count is finer than the field of a standard, the own count is used. Counts are since the drive was
made, latencies since it was opened.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from flashgc import _core
from flashgc.foreign import for_openmetrics

#: The content type of the text, for HTTP.
CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"

PREFIX = "flashgc_drive_"


@dataclass(frozen=True)
class Metric:
    """A number of the state: its path there, its name as a metric, and its scale."""

    #: Keys of the state, separated by dots.
    path: str
    #: The name without prefix and without ``_total``; its end is the unit.
    name: str
    kind: Literal["gauge", "counter"]
    help: str
    unit: str = ""
    scale: float = 1


#: New names for counts that have their unit in the middle of the name.
_NAMES = {
    "host_bytes_read": "host_read_bytes",
    "host_bytes_written": "host_written_bytes",
    "host_pages_written": "host_written_pages",
}


def _counts() -> Iterator[Metric]:
    """The declared counts of a drive; times in the state are in seconds."""
    for name, text, counted in json.loads(_core.device_counts()):
        unit = "seconds" if counted == "ns" else counted
        yield Metric(f"counters.{name}", _NAMES.get(name, name), "counter", text, unit)


def _metrics() -> Iterator[Metric]:
    with open(Path(__file__).with_suffix(".toml"), "rb") as file:
        tables = tomllib.load(file)
    for name, table in tables.items():
        yield from _counts() if name == "counts" else (Metric(name=name, **table),)


METRICS = tuple(_metrics())

#: Labels of ``flashgc_drive_info``.
LABELS = ("file", "uuid", "victim", "placement", "durability")

QUANTILES = {"p50": "0.5", "p90": "0.9", "p99": "0.99", "p999": "0.999"}


def openmetrics(stat: dict[str, Any]) -> str:
    """The result of :meth:`flashgc.device.source.Source.stat` as OpenMetrics text.

    Values that are missing or ``None`` are omitted.
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
    number: Any = stat
    for key in path.split("."):
        number = number.get(key)
        if number is None:
            return None
    value: float = number
    return value


def _number(value: float) -> str:
    """A number: integers in full, others with 12 significant digits."""
    return str(value) if isinstance(value, int) else f"{value:.12g}"
