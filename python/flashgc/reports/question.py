"""The head of the page: what was simulated, and the outcome, in short."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath

from flashgc.reports.columns import Column, Rows
from flashgc.results.findings import rules
from flashgc.units import format_count, format_duration, format_size

#: The maximum number of values of an option that are all listed. Of more numbers, the first three
#: and the last are listed; of more words, the first ones.
LISTED = 12

#: The outcomes of a cell, in the words of the page.
STATUSES = {
    "result": "results",
    "failed": "failed",
    "cannot": "cannot run",
    "missing": "not run",
}


@dataclass(frozen=True)
class Question:
    """The head of the page, as texts and counts."""

    #: The number of cells with each status, in the words of the page.
    counts: dict[str, int]
    #: Options that vary, each with its values as texts, and their number.
    axes: list[tuple[str, list[str], int]]
    #: Options with the same value everywhere.
    same: list[tuple[str, str]]
    #: For cells without a result: the status, the number of cells, and the reason.
    reasons: list[tuple[str, int, str]]
    #: Findings that are more than notes: the number of results, the claim in general, and the id.
    findings: list[tuple[int, str, str]]
    #: The number of combinations of the varying values, and the number of those without a row.
    combinations: int
    absent: int
    #: Version and build of each engine, and the number of its cells.
    engines: list[tuple[str, str, int]]
    #: The period in which the results were made, and the total computing time.
    made: str
    seconds: str
    #: Files that the results were made from: name, size and digest.
    files: list[tuple[str, str, str]]


def question(
    rows: Rows, columns: Sequence[Column], files: Sequence[tuple[str, int, str]]
) -> Question:
    """Return the head of the page; ``files`` has name, bytes and digest of the files read."""
    options = [column for column in columns if column.role == "option"]
    axes = [column for column in options if column.varied]
    counts = Counter(str(row["status"]) for row in rows)
    reasons = Counter(
        (str(row["status"]), str(row["reason"])) for row in rows if row.get("reason") is not None
    )
    there = {tuple(str(row.get(column.name)) for column in axes) for row in rows}
    all_of_them = math.prod(len({str(value) for value in column.values}) for column in axes)
    return Question(
        counts={word: counts[status] for status, word in STATUSES.items() if counts[status]},
        axes=[_axis(column) for column in axes],
        same=[
            (option.title, option.texts(option.values[:1])[0])
            for option in options
            if not option.varied
        ],
        reasons=[
            (STATUSES[status], count, reason) for (status, reason), count in reasons.most_common()
        ],
        findings=_findings(rows),
        combinations=all_of_them,
        absent=all_of_them - len(there),
        engines=[
            (*engine, count)
            for engine, count in Counter(
                (str(row["version"]), str(row["engine"])) for row in rows if row.get("engine")
            ).most_common()
        ],
        made=_span([row["made"] for row in rows if row.get("made")]),
        seconds=format_duration(sum(row.get("seconds") or 0.0 for row in rows)),
        files=[(name, format_size(size), digest) for name, size, digest in files],
    )


def _findings(rows: Rows) -> list[tuple[int, str, str]]:
    claims = {rule.id: rule.claim for rule in rules()}
    counts = Counter(id_ for row in rows for id_ in (row.get("findings") or "").split())
    # A file may be of another version, with findings unknown to this one.
    return [(count, claims.get(id_, ""), id_) for id_, count in counts.most_common()]


def _axis(column: Column) -> tuple[str, list[str], int]:
    """Title, values as texts, and their number; numbers are in ascending order."""
    values = list(dict.fromkeys(column.values))
    if column.show != "text":
        values.sort(key=lambda value: -math.inf if value is None else value)
    words = column.texts(values)
    many = len(words)
    if many > LISTED:
        words = [*words[:3], "…", words[-1]] if column.show != "text" else [*words[:LISTED], "…"]
    return column.title, words, many


def _span(times: Sequence[float]) -> str:
    """The period from the first to the last of times in seconds since 1970.

    >>> _span([0.0, 60.0]), _span([0.0]), _span([])
    ('1970-01-01 00:00 to 1970-01-01 00:01 UTC', '1970-01-01 00:00 UTC', '')
    """
    words = [
        datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
        for at in (min(times, default=None), max(times, default=None))
        if at is not None
    ]
    return " to ".join(dict.fromkeys(words)) + (" UTC" if words else "")


def short_name(path: str) -> str:
    """A file's name, with the folder that contains it.

    >>> short_name("/a/b/c.csv")
    'b/c.csv'
    """
    return "/".join(PurePath(path).parts[-2:])


def cells(count: int) -> str:
    """Return a text with the number of cells.

    >>> cells(1), cells(10_000)
    ('1 cell', '10 000 cells')
    """
    return f"{format_count(count)} cell{'s' if count != 1 else ''}"
