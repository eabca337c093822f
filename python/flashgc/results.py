"""What comes out: results, comparisons and trace statistics, typed, with ``to_json``."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flashgc._core import DriveError
from flashgc.timing import Timing


class _Json:
    """Something that the engine said in JSON and that goes back to the same JSON."""

    _raw: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain Python values, with the keys of the JSON document."""
        return self._raw

    def to_json(self, indent: int | None = 2) -> str:
        """All of it as one JSON document."""
        return dumps(self.to_dict(), indent)


def dumps(value: Any, indent: int | None = 2) -> str:
    """``value`` as strict JSON: what is not a number becomes null."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value


@dataclass(frozen=True)
class Result(_Json):
    """The result of all runs of one configuration.

    Counts are of pages of the measured part, summed over the runs.
    """

    #: Pages programmed per page written by the host, mean over the runs.
    write_amplification: float
    #: Half the width of its 95% confidence interval; ``None`` where it cannot be told.
    write_amplification_ci95: float | None
    #: Write amplification of each run.
    run_values: tuple[float, ...]
    #: Pages written by the host.
    host_pages: int
    #: Pages copied by collections.
    copied_pages: int
    #: Blocks erased.
    erases: int
    #: Blocks collected: picked by the victim policy, or to level wear.
    collections: int
    #: Pages that a TRIM found mapped.
    trimmed_pages: int
    #: Pages read by the host.
    reads: int
    #: What levelling wear cost, which the counts above hold too: ``collections`` and
    #: ``copied_pages``. ``None`` without it.
    levelling: Mapping[str, Any] | None
    #: Erase counts of the blocks since the drives were made, mean over the runs: ``mean``,
    #: ``deviation``, ``cv``, ``gini``, ``min``, ``max``; of the first run ``histogram`` (least
    #: erases of a bin, its blocks) and, where there is an endurance, ``series``: moments with
    #: ``drive_writes``, ``mean``, ``deviation``, ``gini`` and ``deciles`` (erases of the least worn
    #: block, those that 10% to 90% of the blocks do not exceed, those of the most worn one).
    #: ``None`` where no run began.
    wear: Mapping[str, Any] | None
    #: How long drives with an endurance lived: ``reserve_blocks``, ``first_failure`` and
    #: ``system_failure`` (``None`` where no run came to it), how many runs failed why
    #: (``reserve_used_up``, ``pool_ran_dry``), and of the first run ``failures`` (drive writes, bad
    #: blocks from then on). A failure has ``runs``, ``host_pages``,
    #: ``drive_writes``, ``drive_writes_ci95``, ``drive_writes_per_day`` (over five years),
    #: ``terabytes_written``, ``erases``, ``bad_blocks``, ``write_amplification``, ``busy_seconds``
    #: and ``run_values`` (drive writes of each run). ``None`` without an endurance.
    lifetime: Mapping[str, Any] | None
    #: What a host in front of the drive did in the measured part, in pages: ``reads`` and
    #: ``writes`` of the application, ``drive_reads``, ``drive_writes``, ``mean_dirty_pages``,
    #: ``mean_known_pages`` (dirty, and the drive had a hint of it), ``known_share``, and of
    #: ``hints`` how many were ``due``, ``sent``, ``overtaken`` (the page was written before its
    #: hint could leave), ``lost``, ``late`` (it was written before its hint came) and ``wrong``
    #: (another page, not dirty), and ``commands`` made for them alone. ``None`` without a host.
    host: Mapping[str, Any] | None
    #: What became of zombies in the measured part, in pages: ``marked``, ``overwritten``,
    #: ``trimmed``, ``copied``, and ``share_of_copies``. ``None`` where nothing asks for hints.
    zombies: Mapping[str, Any] | None
    #: How long the flash was busy: ``total_seconds``, ``host_seconds``, ``collection_seconds``,
    #: ``mean_collection_us``. ``None`` without times.
    busy: Mapping[str, Any] | None
    #: Bytes that a controller needs in its memory for the map.
    map_bytes: int
    #: How log blocks were merged: ``switch``, ``partial``, ``full``, ``dead`` (held nothing),
    #: ``picks`` (chosen by cost), ``weighed`` (to choose them). ``None`` for a mapping without any.
    merges: Mapping[str, int] | None
    #: What keeping the map on flash came to (DFTL): ``hits`` and ``misses`` of its cached entries,
    #: translation pages ``reads`` and ``writes``. ``None`` for a map in memory.
    map_traffic: Mapping[str, int] | None
    #: With a page cache: ``io_seconds`` (of collections and pages swapped out, mean over the runs),
    #: ``run_values`` (those of each run), ``collection_seconds``, ``swap_out_seconds``,
    #: ``swap_in_seconds``, ``mean_collection_us``, ``references``, ``writes``, ``hits``,
    #: ``swap_ins``, ``first_touches``, ``swap_outs``, ``clean_evictions``, ``made_dirty``,
    #: ``left_dirty``, ``flushed``, ``excluded_per_collection``. ``None`` without one.
    swap: Mapping[str, Any] | None
    #: Pages programmed a second of one core, warm-up included.
    page_programs_per_second: float
    #: Largest resident memory of the process so far, in bytes; ``None`` where the system does not
    #: tell (Windows).
    peak_memory_bytes: int | None
    #: Whether write amplification had stopped moving in the measured part.
    steady: bool
    #: Whether the runs were stopped before their end.
    interrupted: bool
    #: What a reader should know before using the figure.
    warnings: tuple[str, ...]
    #: How the first run went: drive writes done, and write amplification of the interval.
    series: tuple[tuple[float, float], ...]
    #: Drive writes of the first run before its measured part.
    measured_from: float
    #: Seed of the first run.
    seed: int
    #: Equal digests, equal runs: of the configuration, every decision and every count.
    digest: str
    #: The whole configuration, defaults and specs written out.
    config: Mapping[str, Any]
    #: Version of flashgc.
    version: str
    _raw: dict[str, Any] = dataclasses.field(repr=False, compare=False)

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> Result:
        """The result that :meth:`to_dict` gave."""
        values = {field.name: raw.get(field.name) for field in dataclasses.fields(cls)[:-1]}
        number = values["write_amplification"]
        values["write_amplification"] = math.nan if number is None else number
        for name in ("run_values", "warnings"):
            values[name] = tuple(values[name] or ())
        values["series"] = tuple((drive_writes, wa) for drive_writes, wa in values["series"] or ())
        return cls(**values, _raw=raw)  # type: ignore[arg-type]

    @property
    def copies_per_host_write(self) -> float:
        """Pages copied per page written by the host: write amplification less 1."""
        return self.copied_pages / self.host_pages if self.host_pages else math.nan

    @property
    def timing(self) -> Timing | None:
        """Response times and all else that only a drive with a clock has; ``None`` without one."""
        return Timing.from_dict(self._raw)

    @property
    def measured(self) -> bool:
        """Whether there is a figure: a run that was stopped in its warm-up has none."""
        if (timing := self.timing) is not None:
            return timing.latency_us["all"] is not None
        if self.swap is not None:
            return bool(self.swap["references"])
        return self.host_pages > 0 and math.isfinite(self.write_amplification)

    @property
    def mapping(self) -> str:
        """How pages are found, every parameter written out."""
        return str(self.config.get("mapping", "page"))

    @property
    def scheme(self) -> str | None:
        """What collections do about pages in memory; ``None`` without a page cache."""
        swap = self.config.get("swap")
        return None if swap is None else str(swap["scheme"])

    @property
    def policy(self) -> str:
        """The victim policy, every parameter written out; of other mappings, their name too."""
        victim = str(self.config["victim"])
        names = [] if self.mapping == "page" else [self.mapping]
        return " ".join([*names, *([] if victim == "none" else [victim])])

    @property
    def frontier(self) -> str:
        """The write frontier."""
        return str(self.config["frontier"])

    @property
    def allocation(self) -> str:
        """The block allocation of the pool."""
        return str(self.config.get("allocation", "fifo"))

    @property
    def wear_levelling(self) -> str:
        """How cold data are moved to level wear."""
        return str(self.config.get("wear_levelling", "none"))

    @property
    def placement(self) -> str:
        """Which open block pages go to."""
        return str(self.config.get("placement", "none"))

    @property
    def hosting(self) -> str:
        """The cache and the way of hinting of a host, in short; ``none`` without one."""
        from flashgc.registry import brief

        host = self.config.get("host")
        return "none" if host is None else f"{brief(host['cache'])}, {brief(host['hints'])}"

    @property
    def preemption(self) -> str:
        """How collections give way, on a drive with a clock."""
        return str(self.config.get("timed", {}).get("preemption", "none"))

    @property
    def workload(self) -> str:
        """The workload, without the shares of reads and TRIMs that are nothing."""
        return _short_workload(str(self.config["workload"]))


def _short_workload(workload: str) -> str:
    """``workload`` without the shares of reads and TRIMs that are nothing.

    >>> _short_workload("0.5*zipf:theta=1,read=0,trim=0 + 0.5*uniform:read=0,trim=0.1")
    '0.5*zipf:theta=1 + 0.5*uniform:trim=0.1'
    """
    return _NOTHING.sub("", workload)


_NOTHING = re.compile(r"[,:]read=0,trim=0(?![.0-9])|(?<=:)read=0,(?=trim)|,trim=0(?![.0-9])")


@dataclass(frozen=True)
class Rank:
    """One result's place among those it was compared with."""

    #: 1 for the least write amplification.
    place: int
    #: Write amplification over the least one's.
    ratio: float
    #: Write amplification minus the least one's.
    difference: float
    #: Half the 95% interval of the difference; ``None`` where it cannot be told.
    difference_ci95: float | None
    #: Whether the difference from the least is inside its interval.
    inside_noise: bool
    #: The result itself.
    result: Result


@dataclass(frozen=True)
class Comparison(_Json):
    """Results on the same workload, least write amplification first."""

    ranking: tuple[Rank, ...]
    #: Results without a figure, which have no place: nothing was measured before they were stopped.
    unmeasured: tuple[Result, ...]
    _raw: dict[str, Any] = dataclasses.field(repr=False, compare=False)

    @classmethod
    def from_dicts(cls, ranks: list[dict[str, Any]], results: list[dict[str, Any]]) -> Comparison:
        """Puts the engine's ranks and results together."""
        made = [Result.from_dict(result) for result in results]
        measured = [rank for rank in ranks if made[rank["index"]].measured]
        others = [rank["index"] for rank in ranks if not made[rank["index"]].measured]
        ranking = tuple(
            Rank(
                place=rank["place"],
                ratio=math.nan if rank["ratio"] is None else rank["ratio"],
                difference=math.nan if rank["difference"] is None else rank["difference"],
                difference_ci95=rank["difference_ci95"],
                inside_noise=rank["inside_noise"],
                result=made[rank["index"]],
            )
            for rank in measured
        )
        raw = {
            "interrupted": any(result.interrupted for result in made),
            "ranking": [
                {
                    **{key: rank[key] for key in rank if key != "index"},
                    "result": results[rank["index"]],
                }
                for rank in measured
            ],
            "unmeasured": [results[index] for index in others],
        }
        return cls(ranking, tuple(made[index] for index in others), raw)

    def __iter__(self) -> Iterator[Rank]:
        return iter(self.ranking)

    def __len__(self) -> int:
        return len(self.ranking)

    @property
    def best(self) -> Result:
        """The result with the least write amplification.

        Raises :class:`flashgc.DriveError` where nothing was measured.
        """
        if not self.ranking:
            raise DriveError("nothing was measured; hint: let the runs go on for longer")
        return self.ranking[0].result

    @property
    def interrupted(self) -> bool:
        """Whether any of the runs was stopped before its end."""
        return bool(self._raw["interrupted"])

    @property
    def results(self) -> tuple[Result, ...]:
        """The results in their order, those without a figure last."""
        return (*(rank.result for rank in self.ranking), *self.unmeasured)


@dataclass(frozen=True)
class TraceStat(_Json):
    """What a trace consists of. Pages are counted after splitting requests at page boundaries."""

    #: Requests of all kinds, and reads, writes and discards (TRIM) among them.
    requests: int
    reads: int
    writes: int
    discards: int
    #: Writes over requests.
    write_share: float
    #: Distinct pages written, read, and either.
    pages_written: int
    pages_read: int
    pages: int
    #: Page writes and page reads.
    page_writes: int
    page_reads: int
    #: Page writes over distinct pages written.
    overwrite: float
    #: Page writes and page reads together, and the percentage of writes among them.
    page_requests: int
    page_write_percent: float
    #: Distinct pages that are only read, in percent of all distinct pages.
    read_only_percent: float
    #: The smallest part of the distinct pages, in percent, that gets 20, 40, 60 and 80% of the
    #: page requests.
    locality_percent: tuple[float, float, float, float]
    #: Time from the earliest to the latest request, in seconds.
    duration_seconds: float
    #: Bad lines that were left out.
    skipped_lines: int
    #: The format that was read.
    format: str
    #: What a person should know about how the file was read.
    notes: tuple[str, ...]
    _raw: dict[str, Any] = dataclasses.field(repr=False, compare=False)

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> TraceStat:
        """The statistics that the engine gave."""
        values = {field.name: raw[field.name] for field in dataclasses.fields(cls)[:-1]}
        for name in ("notes", "locality_percent"):
            values[name] = tuple(values[name])
        return cls(**values, _raw=raw)
