"""The figures of a result as one row, for tables, pictures and pages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from flashgc._documents import Scalar
from flashgc.results.intervals import half_width, mean

#: Figures that every result has: the name of the column, with its unit, and the path in the result.
_ALWAYS = {
    "write_amplification": "write_amplification",
    "write_amplification_ci95": "write_amplification_ci95",
    "page_amplification": "page_amplification",
    "page_amplification_ci95": "page_amplification_ci95",
    "host_bytes": "bytes.host",
    "programmed_bytes": "bytes.programmed",
    "host_pages": "host_pages",
    "copied_pages": "copied_pages",
    "erases": "erases",
    "collected_blocks": "collections",
    "map_bytes": "map_bytes",
    "page_programs_per_second": "page_programs_per_second",
    "steady": "steady",
    "digest": "digest",
}
#: The figures of response times.
_OF_TIMES = ("mean", "p50", "p90", "p99", "p99_9", "p99_99", "max")
#: The figures of a tenant besides its response times.
_OF_TENANT = ("requests_per_second", "share", "read_bytes_per_second", "write_bytes_per_second")
#: Figures that only some results have.
_SOMETIMES = {
    "wear_mean_erases": "wear.mean",
    "wear_max_erases": "wear.max",
    "wear_cv": "wear.cv",
    "first_failure_drive_writes": "lifetime.first_failure.drive_writes",
    "first_failure_drive_writes_ci95": "lifetime.first_failure.drive_writes_ci95",
    "first_failure_terabytes": "lifetime.first_failure.terabytes_written",
    "system_failure_drive_writes": "lifetime.system_failure.drive_writes",
    "system_failure_drive_writes_ci95": "lifetime.system_failure.drive_writes_ci95",
    "system_failure_terabytes": "lifetime.system_failure.terabytes_written",
    "busy_seconds": "busy.total_seconds",
    **{
        f"{kind}_{figure}_us": f"latency_us.{kind}.{figure}"
        for kind in ("read", "write", "trim", "all")
        for figure in _OF_TIMES
    },
    "all_mean_us_ci95": "mean_us_ci95",
    "requests_per_second": "throughput.requests_per_second",
    "read_bytes_per_second": "throughput.read_bytes_per_second",
    "write_bytes_per_second": "throughput.write_bytes_per_second",
    "die_share": "utilisation.die",
    "bus_share": "utilisation.bus",
    "collection_share": "utilisation.collection",
}
#: The names of all figures, in the order of the columns.
NAMES = (*_ALWAYS, *_SOMETIMES)
#: The path of each figure in a result, as a list of keys.
_PATHS = {name: path.split(".") for name, path in (_ALWAYS | _SOMETIMES).items()}


def figures_of(result: Mapping[str, Any]) -> dict[str, Scalar]:
    """The figures of a result's document by name; optional figures only if the result has them.

    >>> figures_of({"write_amplification": 2.5, "wear": {"mean": 7.0}})["wear_mean_erases"]
    7.0
    >>> figures_of({"erases": 90, "by_run": {"erases": [40.0, 50.0]}})["erases_ci95"]
    127.06
    """
    fields = {name: _at(result, name) for name in _ALWAYS}
    some = ((name, _at(result, name)) for name in _SOMETIMES)
    fields |= {name: value for name, value in some if value is not None}
    for name, values in (result.get("by_run") or {}).items():
        if f"{name}_ci95" in fields or name not in fields:
            continue
        if isinstance(whole := fields[name], float):
            fields[f"{name}_ci95"] = half_of_runs(values, whole)
        elif (half := half_width(values)) is not None:
            # A count is the sum over the runs.
            fields[f"{name}_ci95"] = len(values) * half
    return fields | dict(_of_tenants(result.get("tenants") or ()))


def half_of_runs(values: Sequence[float], whole: float) -> float | None:
    """Half the 95% interval of a figure over all runs together, from its value in each run.

    A percentile of all requests differs from the mean of the runs' percentiles, so their distance
    is included.
    """
    half = half_width(values)
    return None if half is None else math.hypot(half, mean(values) - whole)


def _of_tenants(tenants: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Scalar]]:
    """The figures of each tenant, with names that contain the tenant's name.

    >>> dict(_of_tenants([{"name": "db", "share": 0.5, "read_us": {"p99": 70.0}}]))
    {'tenant_db_share': 0.5, 'tenant_db_read_p99_us': 70.0}
    """
    for tenant in tenants:
        name = f"tenant_{tenant['name']}"
        for key in _OF_TENANT:
            if key in tenant:
                yield f"{name}_{key}", tenant[key]
        for kind in ("read", "write", "all"):
            times = tenant.get(f"{kind}_us") or {}
            yield from (
                (f"{name}_{kind}_{figure}_us", times[figure])
                for figure in _OF_TIMES
                if figure in times
            )


def _at(document: Mapping[str, Any], name: str) -> Any:
    value: Any = document
    for part in _PATHS[name]:
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value
