"""The counts of a recording by the owners of its pages: whose pages are copied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flashgc import _core
from flashgc._core import DriveError
from flashgc.device.files.owners import AFTER, BEFORE, Owner, Owners, numbered
from flashgc.device.options_of import options_of, past_of
from flashgc.results import Result

#: The handles of the drive that is tried: one for each of the largest owners, and one for the rest.
HANDLES = 8


@dataclass(frozen=True)
class Handles:
    """A replay on a drive with a placement handle for each of the largest owners."""

    #: The owners with a handle of their own.
    owners: list[str]
    copied_pages: int
    #: Pages copied on the drive without handles.
    without: int


@dataclass(frozen=True)
class ByFile:
    """The pages of a run by their owners, those with most copies first.

    Pages written before the command and when it was over have rows of their own, so the columns'
    sums are the drive's counts since it was made, without those of its past.
    """

    owners: list[Owner]
    handles: Handles | None


def by_file(
    recordings: Sequence[Path],
    drive: dict[str, Any],
    owners: Owners,
    since_ns: int,
    counters: dict[str, int],
    folder: Path,
) -> ByFile:
    """The owners of what ``recordings`` have: of the past, if there is one, and of the run.

    ``since_ns`` is the moment from which the times of the run's recording are counted, and
    ``counters`` are the drive's own. Raises :class:`flashgc.DriveError` where owners are unknown.
    """
    if lost := owners.lost():
        raise DriveError(f"--by-file: the kernel lost {lost} events; hint: a quieter machine")
    pages = int(drive["logical_pages"])
    names, changes = numbered(owners.changes(pages), since_ns)
    tagged, told = _tagged(recordings, changes, pages, folder)
    result = _replayed(tagged, drive, drive["policies"]["placement"])
    copied = {one.stream: one.copied_pages for one in result.streams}
    found = [
        Owner(
            name=name,
            written_pages=written,
            copied_pages=copied.get(number, 0),
            trimmed_pages=trimmed,
            mean_life=lived / ended if ended else None,
        )
        for number, (name, (written, trimmed, ended, lived)) in enumerate(
            zip(names, told, strict=False)
        )
        if written or copied.get(number)
    ]
    _check(found, result, counters)
    past_written, past_copied, _ = past_of(drive)
    found = [
        replace(
            one,
            written_pages=one.written_pages - past_written,
            copied_pages=one.copied_pages - past_copied,
        )
        if one.name == BEFORE
        else one
        for one in found
    ]
    found.sort(key=lambda one: (-one.copied_pages, -one.written_pages))
    written_pages = counters["host_pages_written"]
    handles = _with_handles(recordings, drive, found, (names, changes, written_pages), folder)
    return ByFile(found, handles)


def _tagged(
    recordings: Sequence[Path],
    changes: list[tuple[int, int, int, int]],
    pages: int,
    folder: Path,
) -> tuple[Path, list[tuple[int, int, int, int]]]:
    """The recordings in one, with owners; and the counts of each owner."""
    parts: list[Path] = []
    told: list[tuple[int, int, int, int]] = []
    for number, recording in enumerate(recordings):
        part = folder / f"part{number}.flashgc.zst"
        is_run = number == len(recordings) - 1
        part_told = _core.trace_tag(recording, part, changes if is_run else [], pages, 4096)
        told = [_sum(*pair) for pair in zip(told, part_told, strict=True)] if told else part_told
        parts.append(part)
    if len(parts) == 1:
        return parts[0], told
    whole = folder / "tagged.flashgc.zst"
    _core.trace_join(whole, parts)
    return whole, told


def _sum(
    one: tuple[int, int, int, int], other: tuple[int, int, int, int]
) -> tuple[int, int, int, int]:
    return (one[0] + other[0], one[1] + other[1], one[2] + other[2], one[3] + other[3])


def _replayed(
    trace: Path, drive: dict[str, Any], placement: str, written: int | None = None
) -> Result:
    """The replay since the drive was made, or with the pages ``written`` since its past."""
    from flashgc.simulation import run

    return run(str(trace), **{**options_of(drive, written), "placement": placement})


def _check(found: Sequence[Owner], result: Result, counters: dict[str, int]) -> None:
    """The sums are the drive's own counts, to the digit."""
    sums = (
        sum(one.written_pages for one in found),
        sum(one.copied_pages for one in found),
        result.copied_pages,
    )
    host, copied = counters["host_pages_written"], counters["copied_pages"]
    if sums != (host, copied, copied):
        raise DriveError(
            f"--by-file: owners wrote and copied {sums}, the drive {(host, copied)}: this is a "
            "fault of flashgc, please report it"
        )


def _with_handles(
    recordings: Sequence[Path],
    drive: dict[str, Any],
    found: Sequence[Owner],
    timeline: tuple[Sequence[str], list[tuple[int, int, int, int]], int],
    folder: Path,
) -> Handles | None:
    """The worth of handles; ``None`` for a drive that separates its data already."""
    if drive["policies"]["placement"] != "none":
        return None
    names, changes, written = timeline
    largest = sorted(
        (one for one in found if one.name not in (BEFORE, AFTER)),
        key=lambda one: -one.written_pages,
    )
    chosen = [one.name for one in largest[: HANDLES - 1]]
    handle = {number: chosen.index(name) + 1 if name in chosen else 0
              for number, name in enumerate(names)}  # fmt: skip
    moved = [(at, first, count, handle[owner]) for at, first, count, owner in changes]
    inside = folder / "handles"
    inside.mkdir()
    tagged, _ = _tagged(recordings, moved, int(drive["logical_pages"]), inside)
    result = _replayed(tagged, drive, f"fdp:handles={HANDLES}", written)
    without = sum(one.copied_pages for one in found)
    return Handles(chosen, result.copied_pages, without)
