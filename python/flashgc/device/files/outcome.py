"""The counts of a recording by the owners of its pages: whose pages are copied, and their place."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from flashgc import _core
from flashgc._core import ConfigError, DriveError
from flashgc.device.files.flash import REST, FlashMap, Layout
from flashgc.device.files.owners import AFTER, BEFORE, Owner, Owners, numbered
from flashgc.device.options_of import past_of
from flashgc.device.source import Blocks

#: The number of handles of the drive in the comparison: one for each of the largest owners, and one
#: for the rest.
HANDLES = 8


@dataclass(frozen=True)
class Handles:
    """A replay on a drive with a placement handle for each of the largest owners."""

    #: The owners with a handle of their own.
    owners: list[str]
    copied_pages: int
    #: Number of pages copied on the drive without handles.
    without: int
    #: The blocks of the drive with handles.
    map: FlashMap


@dataclass(frozen=True)
class ByFile:
    """The pages of a run by their owners, in descending order of copies.

    Pages written and copied add up to the command's own counts. Pages written before the command
    and after it have rows of their own.
    """

    owners: list[Owner]
    #: The blocks of the drive when it was unmounted.
    map: FlashMap
    #: ``None`` on a drive with a placement of its own, and on one that is too small for handles.
    handles: Handles | None

    @property
    def rows(self) -> list[Owner]:
        """The owners whose pages were written by the command, or copied while it ran."""
        return [owner for owner in self.owners if owner.written_pages or owner.copied_pages]


@dataclass(frozen=True)
class Period:
    """The part of a recording in which the command ran."""

    #: Number of pages that hosts had written at its begin and at its end.
    first: int
    end: int
    #: Number of pages copied in the period.
    copied: int

    @classmethod
    def between(cls, before: dict[str, Any], after: dict[str, Any]) -> Self:
        """The period between two states of a drive."""
        (first, was), (end, copied) = (
            (stat["counters"]["host_pages_written"], stat["counters"]["copied_pages"])
            for stat in (before, after)
        )
        return cls(first, end, copied - was)


def by_file(
    recordings: Sequence[Path],
    drive: dict[str, Any],
    owners: Owners,
    last: tuple[dict[str, Any], Blocks],
    period: Period,
    file: Path,
    folder: Path,
) -> ByFile:
    """The owners of the pages in ``recordings``: of the past, if there is one, and of the run.

    ``last`` is the state of the drive in ``file``, and its blocks, after the last request.
    ``period`` is that of the command. Raises :class:`flashgc.DriveError` if owners are unknown.
    """
    if lost := owners.lost():
        raise DriveError(f"--by-file: the kernel lost {lost} events; hint: a quieter machine")
    stat, blocks = last
    pages = int(drive["logical_pages"])
    # Times in the run's recording are relative to its beginning.
    names, changes = numbered(owners.changes(pages), stat["recorded_since_ns"], owners.groups)
    parts = [
        (recording, folder / f"part{at}.flashgc.zst") for at, recording in enumerate(recordings)
    ]
    tags = _core.trace_tag(parts, changes, pages, 4096)[: len(names)]
    tagged = parts[0][1]
    if len(parts) > 1:
        tagged = folder / "tagged.flashgc.zst"
        _core.trace_join(tagged, [part for _, part in parts])
    largest = sorted(
        (number for number, name in enumerate(names) if name not in (BEFORE, AFTER)),
        key=lambda number: -tags[number][0],
    )
    chosen = [names[number] for number in largest[: HANDLES - 1] if tags[number][0]]
    shown = [*chosen, BEFORE, REST]
    groups = [shown.index(name) if name in shown else len(shown) - 1 for name in names]
    past_written, _, _ = past_of(drive)
    # A drive with handles and no table of streams gets its streams from the host.
    is_named = drive["policies"]["placement"].startswith("fdp:") and not drive["streams_file"]
    own = list(recordings) if is_named else []
    counted = (period.first, period.end)
    lying = Layout.of(file, tagged, shown, groups, counted, recordings=own)
    outside = {
        name: written - (past_written if name == BEFORE else 0) if name in (BEFORE, AFTER) else 0
        for name, (written, *_) in zip(names, tags, strict=True)
    }
    rows = [
        Owner(
            name=name,
            written_pages=0 if name in (BEFORE, AFTER) else written,
            outside_pages=outside[name],
            copied_pages=lying.copied_of[number],
            trimmed_pages=trimmed,
            live_pages=written - ended,
            mean_life=lived / ended if ended else None,
        )
        for number, (name, (written, trimmed, ended, lived)) in enumerate(
            zip(names, tags, strict=True)
        )
        if written or lying.copied_of[number]
    ]
    written = stat["counters"]["host_pages_written"] - past_written
    check(rows, lying, blocks, written, period.copied)
    rows.sort(key=lambda owner: (-owner.copied_pages, -owner.written_pages))
    handles = None
    # A drive with its own placement needs no handles, and a small one has no room for them.
    if drive["policies"]["placement"] == "none":
        placement = (f"fdp:handles={HANDLES}", [*range(1, len(chosen) + 1), 0, 0])
        with contextlib.suppress(ConfigError):
            apart = Layout.of(file, tagged, shown, groups, counted, placement).map
            handles = Handles(chosen, sum(apart.copied), sum(lying.map.copied), apart)
    return ByFile(rows, lying.map, handles)


def check(
    owners: Sequence[Owner], lying: Layout, blocks: Blocks, written: int, copied: int
) -> None:
    """Check that sums over owners and cells equal the counts of the drive exactly.

    ``blocks`` are those of the drive. ``written`` is the number of pages written since its past,
    and ``copied`` the number copied during the command. Raises :class:`flashgc.DriveError` on a
    difference.
    """
    map_ = lying.map
    rows = {owner.name: owner.live_pages for owner in owners}
    of_owners = [*(rows.pop(name, 0) for name in map_.owners[:-1]), sum(rows.values())]
    for what, ours, its in (
        (
            "pages written",
            sum(owner.written_pages + owner.outside_pages for owner in owners),
            written,
        ),
        ("pages copied", sum(owner.copied_pages for owner in owners), copied),
        ("pages copied on the map", sum(map_.copied), copied),
        ("current pages", sum(of_owners), sum(blocks.valid)),
        (
            "current pages of each owner on the map",
            [sum(counts) for counts in map_.live],
            of_owners,
        ),
        ("current pages of each block", lying.valid, list(blocks.valid)),
        ("erases of each block", lying.erases, list(blocks.erases)),
    ):
        if ours != its:
            raise DriveError(
                f"--by-file: {what}: found {str(ours)[:80]}, expected {str(its)[:80]}: this is a "
                "fault of flashgc, please report it"
            )
