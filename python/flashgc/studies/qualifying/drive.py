"""The drive of a qualification: its options, its size, and how deep its queues must be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flashgc import _core, _origins
from flashgc._core import ConfigError
from flashgc._origins import Places
from flashgc.configuration import configurations
from flashgc.experiment import experiment
from flashgc.options import OPTIONS
from flashgc.studies.qualifying.lives import KIB
from flashgc.studies.study import refuse

#: Options that the tests set themselves, or that have no meaning for them.
UNUSED = tuple(
    option.key
    for option in OPTIONS
    if option.section in ("workload", "host", "swap")
    or (option.section == "run" and option.key not in ("seed", "jobs"))
    or option.key in ("kind", "fill", "endurance")
)

#: Capacities are used in steps of this number of bytes, so that requests of every size fit.
_STEP = 1024 * KIB

#: The default number of requests under way in the IOPS test, and the least of other tests.
DEPTH, LEAST_DEPTH = 128, 256

#: The pages that are programmed together, by the first word of ``--program``.
_TOGETHER = {"page": 1, "one-shot": 3, "two-pass": 4}

#: The least number of mapping units of the part of a drive that a quick test simulates, if the
#: options do not give the size.
LEAST_UNITS = 1 << 20

#: Years of a data sheet's drive writes a day, and days in a year.
YEARS, DAYS = 5, 365


def checked(values: Mapping[str, Mapping[str, Any]], places: Places) -> dict[str, dict[str, Any]]:
    """The options of the drive, without a workload; refuses what the tests set themselves."""
    sections = {name: dict(keys) for name, keys in values.items()}
    refuse(UNUSED, sections, places, "is what the tests set themselves")
    sections.pop("workload", None)
    drive = sections.setdefault("drive", {})
    if "device" not in drive and "times" not in drive:
        raise ConfigError(
            f"{_origins.option(places, 'device')}: found neither a drive nor times, and the tests "
            "need a clock; hint: flashgc qualify tlc"
        )
    placement = sections.get("gc", {}).get("placement")
    if placement is None:
        placement = _with(sections, places, {"source": "uniform"}, {})["placement"]
    if str(placement).split(":")[0] == "fdp":
        raise ConfigError(
            f"{_origins.subject(places, 'gc.placement')}: found {placement}, and the tests come "
            f"from a host that names no handles; hint: "
            f"{_origins.written(places, 'gc.placement', 'none')}"
        )
    return sections


def _with(
    sections: Mapping[str, Mapping[str, Any]],
    places: Places,
    workload: Mapping[str, Any],
    run: Mapping[str, Any],
    **drive: Any,
) -> dict[str, Any]:
    values: dict[str, dict[str, Any]] = {
        **{name: dict(keys) for name, keys in sections.items()},
        "workload": dict(workload),
        "drive": {"kind": "timed", **sections["drive"], **drive},
        "run": {**sections.get("run", {}), **run},
    }
    values["run"].pop("jobs", None)
    configs = configurations(experiment(values, places), places)
    if len(configs) != 1:
        raise ConfigError(f"{len(configs)} drives, expected one; hint: one value of each option")
    return configs[0]


@dataclass(frozen=True)
class Drive:
    """The drive that the tests run on; ``scale`` and sizes are those of the simulated part."""

    #: The given options, by section.
    sections: Mapping[str, Mapping[str, Any]]
    places: Places
    #: The bytes that the host can address.
    logical_bytes: int
    #: The bytes that the tests use: whole MiB.
    capacity: int
    #: The bytes of a mapping unit.
    unit: int
    #: The bytes that all dies program at a time.
    together: int
    #: The requests of 4 KiB that the write cache takes.
    cached: int
    #: The share of the flash that is spare, beside parity.
    spare: float
    #: The simulated drive is one part of this number.
    parts: int
    seed: int

    def config(
        self, source: str, depth: int, *, fill: str = "empty", warmup: str = "0",
        request_size: int | None = None, requests: int | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """The configuration of a run with ``depth`` requests under way.

        ``source`` is a trace, which is replayed once, or a generator with a number of requests,
        whose size is ``request_size``, unless the generator gives sizes. The answers of a trace say
        what is under way, and ``depth`` is the most of it.
        """
        workload: dict[str, Any] = {"source": source, "arrivals": f"closed:threads={depth}"}
        run: dict[str, Any] = {"warmup": warmup, "runs": 1}
        if _core.is_trace(source):
            workload |= {"numbering": "given", "arrivals": "dependent"}
            run["passes"] = 1
        else:
            run["requests"] = requests
            if request_size is not None:
                workload["request_size"] = f"{request_size}B"
        more: dict[str, Any] = {"fill": fill}
        if "queue_depth" not in self.sections["drive"]:
            more["queue_depth"] = max(LEAST_DEPTH, depth)
        return _with(self.sections, self.places, workload, run, **more)

    def depth(self, size: int, least: int) -> int:
        """The requests of ``size`` bytes that keep all dies busy, and at least ``least``.

        They have twice the bytes that all dies program at a time.
        """
        return max(least, -(-2 * self.together // size))

    def writes(self, units: float) -> float:
        """The drive writes in bytes after ``units`` times as many writes of 4 KiB as mapping units.

        A write of 4 KiB programs a whole mapping unit, or several smaller ones.
        """
        return units * min(1, 4 * KIB / self.unit)

    @property
    def data_bytes(self) -> float:
        """The bytes of the whole drive's flash that hold data or are spare; parity is left out."""
        return self.parts * self.logical_bytes / (1 - self.spare)


def probe(sections: Mapping[str, Mapping[str, Any]], places: Places) -> dict[str, Any]:
    """The configuration of one write, which shows the drive's size and what is wrong with it."""
    workload = {"source": "uniform", "arrivals": "closed:threads=1"}
    return _with(sections, places, workload, {"requests": 1, "warmup": "0"}, fill="empty")


def parts_of(config: Mapping[str, Any]) -> list[int]:
    """The numbers of parts that a quick test may simulate one of, the largest number first.

    The part has at least a million mapping units, of the whole drive of ``config``. Blocks of a
    part have a whole number of pages, or there are half as many, or a quarter, and so on.
    """
    pages, page = config["pages_per_block"], config.get("page_size") or 4 * KIB
    whole = config.get("capacity") or config["blocks"] * pages * page
    most = whole // ((config.get("mapping_unit") or page) * LEAST_UNITS)
    halves = {2**power for power in range(most.bit_length())}
    parts = halves | {part for part in range(1, pages + 1) if pages % part == 0}
    return sorted((part for part in parts if 1 < part <= most), reverse=True)


def drive_of(
    sections: Mapping[str, Mapping[str, Any]], places: Places, probed: Mapping[str, Any]
) -> Drive:
    """The drive that ``probed`` is a result of."""
    raw: dict[str, Any] = probed["config"]
    timed = raw["timed"]
    unit = int(raw.get("mapping_unit") or raw["page_size"])
    word, _, given = str(raw.get("program") or "page").partition(":pages=")
    dies = int(timed["channels"]) * int(timed["ways"]) * int(timed["dies"])
    logical = int(raw["logical_pages"]) * unit
    if logical < 16 * _STEP:
        raise ConfigError(
            f"the drive has {logical} bytes for its host, expected {16 * _STEP}; hint: a larger "
            f"{_origins.option(places, 'capacity')}"
        )
    return Drive(
        sections,
        places,
        logical,
        logical // _STEP * _STEP,
        unit,
        dies * int(timed["planes"]) * int(given or _TOGETHER[word]) * int(raw["page_size"]),
        int(timed["write_cache"]) * int(raw["page_size"]) // (4 * KIB),
        float(raw["spare_factor"]),
        int(str((raw.get("scaled") or {}).get("scale", "1")).removeprefix("1/")),
        int(raw["seed"]),
    )
