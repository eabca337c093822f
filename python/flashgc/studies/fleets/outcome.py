"""The outcome of a fleet: a cell per volume and policy, and the distribution of each policy."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashgc import _core, tables
from flashgc._documents import Document, Json, Scalar, plain
from flashgc._summaries import Column, Shown, figure, short
from flashgc.results import Finding
from flashgc.results.config import together_of
from flashgc.store import Kept
from flashgc.studies.fleets.volumes import Volume


def at_rank(values: Sequence[float], share: float) -> float:
    """The nearest-rank quantile: at least a ``share`` of the values are not above it.

    >>> at_rank([4, 1, 3, 2], 0.5), at_rank([4, 1, 3, 2], 0.95), at_rank([4, 1, 3, 2], 0)
    (2, 4, 1)
    """
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered) - 1e-9), 1) - 1]


@dataclass(frozen=True)
class Signs:
    """The number of volumes on which a policy writes less, as much, and more than another."""

    less: int
    same: int
    more: int
    #: The p value of the two-sided sign test: the probability of such an uneven split, or a more
    #: uneven one, if both were equally likely.
    p: float


#: Write amplifications that differ relatively by less than this count as equal.
_SAME = 1e-9


def signs(values: Sequence[float], others: Sequence[float]) -> Signs:
    """Compare two policies volume by volume; both lists have the same volumes in the same order.

    The sign test assumes nothing about the distribution of the figures. As usual, equal volumes are
    omitted (Dixon and Mood 1946).

    >>> signs([1.0, 1.0, 1.0, 1.0, 1.0], [1.5, 1.5, 1.5, 1.5, 1.0])
    Signs(less=4, same=1, more=0, p=0.125)
    """
    less = more = 0
    for value, other in zip(values, others, strict=True):
        if abs(value - other) > _SAME * other:
            less += value < other
            more += value > other
    return Signs(less, len(values) - less - more, more, sign_test(less, more))


def sign_test(less: int, more: int) -> float:
    """The two-sided sign test, exact.

    >>> sign_test(8, 1), sign_test(0, 0)
    (0.0390625, 1.0)
    """
    count = less + more
    term = tail = 1
    for k in range(min(less, more)):
        term = term * (count - k) // (k + 1)  # From one binomial coefficient to the next.
        tail += term
    return min(1.0, 2 * tail / (1 << count))


#: Figures that a cell copies from a result.
_FIGURES = ("write_amplification", "write_amplification_ci95", "host_pages", "copied_pages",
            "erases", "steady", "digest")  # fmt: skip
#: A drive counts as rounded up if its spare factor is at least this many times the one given.
ROUNDED = 1.5


@dataclass(frozen=True, slots=True)
class FleetCell:
    """The outcome of one volume under one policy."""

    #: The volume's number in the trace, or the path of its file.
    volume: int | str
    #: The name of the policy in the fleet.
    policy: str
    #: ``result``; ``idle`` (nothing was collected); ``cannot`` (impossible); ``failed`` (may be
    #: tried again); ``missing`` (was not run).
    status: str
    #: The reason why there is no result; empty if there is one.
    reason: str = ""
    #: Bytes programmed per byte that the host writes, and half its 95% interval.
    write_amplification: float | None = None
    write_amplification_ci95: float | None = None
    #: Drive writes per mean erase of a block. Multiplied by the rated endurance, it is the number
    #: of drive writes that wear out the average block.
    life: float | None = None
    #: Bytes that the trace writes to the volume.
    bytes_written: float = 0.0
    #: Physical blocks, logical capacity in bytes, and spare factor (1 - U/N) of the drive.
    blocks: int | None = None
    logical_bytes: int | None = None
    spare_factor: float | None = None
    #: Counts of the measured part, as in a result of ``run``.
    host_pages: int | None = None
    copied_pages: int | None = None
    erases: int | None = None
    #: True if write amplification no longer changed.
    steady: bool | None = None
    digest: str | None = None

    def row(self) -> dict[str, Scalar]:
        """The cell as a row of the tidy table."""
        row = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**row, "reason": self.reason or None}


def cell_of(volume: Volume, policy: str, kept: Kept | None) -> FleetCell:
    """A cell with its outcome."""
    if kept is None:
        return FleetCell(volume.name, policy, "missing")
    if kept.result is None:
        return FleetCell(volume.name, policy, kept.status, kept.reason)
    result: Mapping[str, Any] = kept.result
    config, written, erases = result["config"], result["bytes"]["host"], int(result["erases"])
    logical = config["logical_pages"] * (config.get("mapping_unit") or config["page_size"])
    figures = {name: result.get(name) for name in _FIGURES}
    # What is erased as one, and counted as one erase.
    superblocks = int(config["blocks"]) // together_of(config.get("superblock", "plane"))
    status, reason, life = "result", "", None
    if not written:
        status, reason = "idle", "the host wrote nothing in the measured part"
    elif not erases:
        status = "idle"
        reason = f"{result['host_pages']} pages were written and no block was erased"
    else:
        life = written / logical / (erases / superblocks)
    pass_of = result["trace"] or {}
    share = pass_of.get("page_writes", 0) / max(result["host_pages"], 1)
    return FleetCell(
        volume.name,
        policy,
        status,
        reason,
        life=life,
        bytes_written=written * share,
        blocks=config["blocks"],
        logical_bytes=logical,
        spare_factor=config["spare_factor"],
        **figures,
    )


@dataclass(frozen=True)
class FleetPolicy:
    """A policy, and the distribution of its figures over the volumes that have a result."""

    name: str
    #: Volumes with a result.
    volumes: int
    #: Write amplification: the median, the 95th percentile, and the largest.
    median: float
    p95: float
    worst: float
    #: The volume with the largest write amplification.
    worst_volume: int | str | None
    #: Bytes programmed per byte that the trace writes, over all volumes with a result.
    per_byte: float
    #: Drive writes per mean erase of a block: the value that half of the volumes exceed, the one
    #: that 95% exceed, and the least.
    life_median: float
    life_p95: float
    life_worst: float
    #: Drive writes per erase of a block, if the drives of all volumes with a result were a single
    #: drive with even wear.
    life_per_byte: float
    #: A comparison with the first policy, on volumes with a result of both; ``None`` for the first
    #: policy.
    against_first: Signs | None
    #: The ratio of :attr:`per_byte` to that of the first policy, on volumes with a result of both,
    #: and the same ratio of :attr:`life_per_byte`.
    ratio: float | None = None
    life_ratio: float | None = None
    #: True if it differs from the first policy beyond chance: p of the sign test, times the number
    #: of such comparisons, is below 5%.
    differs: bool | None = None


@dataclass(frozen=True, repr=False)
class Fleet(Document):
    """The volumes of a trace under several policies."""

    #: The trace, and the kind of volume (``volume`` or ``file``).
    workload: str
    by: str
    #: Each policy, in the order given.
    policies: tuple[FleetPolicy, ...]
    #: A cell for each volume and policy, ordered by volume, then by policy.
    cells: tuple[FleetCell, ...]
    #: The number of volumes of the trace, and of those that are never written.
    volumes: int
    never_written: int
    #: The number of cells that this call has run, and of those found in the file of results.
    ran: int
    found: int
    #: True if it was stopped before its end.
    interrupted: bool
    #: The file of results.
    results: str
    #: The largest size of the spool on the disk, in bytes.
    spool_bytes: int
    #: Notes for people on how the trace was interpreted.
    notes: tuple[str, ...]
    #: The number of volumes whose drive has much more spare space than given, because blocks are
    #: whole.
    rounded: int
    #: The findings: how the policies compare, which volumes have no result, and the findings of
    #: results. Findings of results that differ only in numbers are merged.
    findings: tuple[Finding, ...] = ()

    def __iter__(self) -> Iterator[FleetCell]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)

    def of(self, status: str) -> tuple[FleetCell, ...]:
        """The cells with this status."""
        return tuple(cell for cell in self.cells if cell.status == status)

    def _shown(self) -> Shown:
        line = f"{self.volumes} volumes of {short(self.workload)}"
        headings = ("volumes", "median", "95%", "worst", "per byte", "median life")
        columns = [Column("policy"), *(Column(heading, is_figure=True) for heading in headings)]
        rows = [
            [
                policy.name,
                str(policy.volumes),
                *map(
                    figure,
                    (policy.median, policy.p95, policy.worst, policy.per_byte, policy.life_median),
                ),
            ]
            for policy in self.policies
        ]
        notes = [finding.text for finding in self.findings]
        return Shown(line + ", interrupted" * self.interrupted, rows, columns, notes)

    def rows(self) -> list[dict[str, Scalar]]:
        """A tidy table with one row per volume and policy, including those without a result."""
        return [cell.row() for cell in self.cells]

    def to_frame(self, library: str = "pandas") -> object:
        """The tidy table as a data frame of ``pandas`` or ``polars``.

        Raises :class:`flashgc.ConfigError` if the package is not installed.
        """
        return tables.to_frame(self.rows(), library)

    def to_dict(self) -> dict[str, Json]:
        """All of it as plain Python values, with the keys of the JSON document."""
        fields = {**vars(self)}
        policies = fields.pop("policies")
        del fields["cells"]
        head = {"version": _core.version(), "findings": self.findings, "rounded": self.rounded}
        return dict(plain({**head, **fields, "policies": policies, "cells": self.rows()}))


def policies_of(names: Sequence[str], cells: Sequence[FleetCell]) -> tuple[FleetPolicy, ...]:
    """The distribution of each policy; ``cells`` are ordered by volume, then as ``names``."""
    columns = [cells[at :: len(names)] for at in range(len(names))]
    first = columns[0] if columns else []
    comparisons = max(len(names) - 1, 1)
    return tuple(
        _policy(name, column, None if at == 0 else first, comparisons)
        for at, (name, column) in enumerate(zip(names, columns, strict=True))
    )


def _policy(
    name: str, column: Sequence[FleetCell], first: Sequence[FleetCell] | None, comparisons: int
) -> FleetPolicy:
    measured = [cell for cell in column if cell.status == "result"]
    if not measured:
        nan = math.nan
        return FleetPolicy(name, 0, nan, nan, nan, None, nan, nan, nan, nan, nan, None)
    figures = [cell.write_amplification or math.nan for cell in measured]
    lives = [cell.life or math.nan for cell in measured]
    worst = max(measured, key=lambda cell: cell.write_amplification or 0.0)
    policy = FleetPolicy(
        name=name,
        volumes=len(measured),
        median=statistics.median(figures),
        p95=at_rank(figures, 0.95),
        worst=worst.write_amplification or math.nan,
        worst_volume=worst.volume,
        per_byte=_per_byte(measured),
        life_median=statistics.median(lives),
        life_p95=-at_rank([-life for life in lives], 0.95),
        life_worst=min(lives),
        life_per_byte=_life_per_byte(measured),
        against_first=None,
    )
    if first is None:
        return policy
    both = [
        (mine, other)
        for mine, other in zip(column, first, strict=True)
        if mine.status == other.status == "result"
    ]
    if not both:
        return policy
    mine, others = [cell for cell, _ in both], [other for _, other in both]
    tally = signs(
        [cell.write_amplification or math.nan for cell in mine],
        [cell.write_amplification or math.nan for cell in others],
    )
    return dataclasses.replace(
        policy,
        against_first=tally,
        ratio=_per_byte(mine) / _per_byte(others),
        life_ratio=_life_per_byte(mine) / _life_per_byte(others),
        differs=tally.p * comparisons < 0.05,
    )


def _per_byte(cells: Sequence[FleetCell]) -> float:
    """Write amplification of the fleet; each volume has the weight of the bytes written to it."""
    programmed = math.fsum((cell.write_amplification or 0.0) * cell.bytes_written for cell in cells)
    return programmed / math.fsum(cell.bytes_written for cell in cells)


def _life_per_byte(cells: Sequence[FleetCell]) -> float:
    """Drive writes of all drives together per mean erase of their blocks."""
    written = math.fsum(cell.bytes_written for cell in cells)
    logical = sum(cell.logical_bytes or 0 for cell in cells)
    # The number of block erases that a pass of the trace causes on a volume.
    erases = math.fsum(
        cell.bytes_written / (cell.logical_bytes or 1) / (cell.life or math.inf)
        * (cell.blocks or 0)
        for cell in cells
    )  # fmt: skip
    return written / logical / (erases / sum(cell.blocks or 0 for cell in cells))


def rounded(cells: Sequence[FleetCell], spares: Mapping[str, float]) -> int:
    """The number of volumes whose drives have much more spare space than given for the policy."""
    return len(
        {
            cell.volume
            for cell in cells
            if cell.status == "result"
            if (cell.spare_factor or 0.0) >= ROUNDED * spares[cell.policy]
        }
    )
