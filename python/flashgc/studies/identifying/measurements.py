"""Measured write amplification from a CSV file, checked cell by cell. It simulates nothing."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flashgc._core import ConfigError, suggest
from flashgc.studies.identifying.workloads import Condition, condition
from flashgc.units import parse_share, parse_size

#: The columns of a published table that describe the workload.
PATTERN, DETAILS = "pattern", "details"
#: Other names for columns.
ALIASES = {"implied_write_amplification": "write_amplification"}
#: The details of two zones of a drive: their shares of the pages, and of the writes.
_ZONES = re.compile(r"s([\d.]+) f([\d.]+) s([\d.]+) f([\d.]+)")


def workload(pattern: str, details: str) -> str | None:
    """The workload of a pattern with its details; ``None`` if it is no point of a curve.

    Sequential writes are the reference for other workloads. If one zone gets all writes, the drive
    acts like one with more spare space, since the other zone is never written.

    >>> workload("uniform", ""), workload("zipf-shuffle", "0.800000")
    ('uniform', 'zipf:theta=0.8')
    >>> workload("zones-shuffle", "s0.95 f0.05 s0.05 f0.95")
    '95/5'
    >>> workload("zones-shuffle", "s0.6 f0.4 s0.4 f0.6"), workload("sequential", "")
    ('60/40', None)
    """
    if pattern == "uniform":
        return pattern
    if pattern == "zipf-shuffle":
        return f"zipf:theta={float(details):g}"
    zones = _ZONES.fullmatch(details)
    if pattern != "zones-shuffle" or zones is None:
        return None
    pages, writes = (round(100 * float(zones[at]), 6) for at in (3, 4))
    return f"{writes:g}/{pages:g}" if 0 < writes < 100 else None


#: The default relative error of a measurement.
ERROR = 0.02
#: The default capacity of a drive in bytes; only Zipf's law depends on it.
CAPACITY = 10**12
#: The maximum number of bytes of a file of measurements.
LONGEST = 2**20

AMPLIFICATION = "write_amplification"
HOST, MEDIA = "host_bytes_written", "media_bytes_written"
#: The columns, each with a description of its cells.
COLUMNS = {
    "workload": "uniform, 80/20, zipf:theta=0.8 or another generator",
    AMPLIFICATION: "a number from 1 on",
    HOST: "bytes that the host wrote while it was measured",
    MEDIA: "bytes that the flash was programmed with in that time",
    "drive": "a name; rows of one drive are one curve",
    "series": "a name; of a drive with several, rows of one series are one curve",
    "error": "relative error of the measurement, such as 2%",
    "capacity": "bytes that the host sees, such as 960GB",
    "writes": "length of the measurement in drive writes since the drive was filled, such as 5x",
    "warmup": "what of it is not measured, such as 60%",
    "note": "anything",
}
#: An unknown column counts as misspelt if its name resembles a known one at least this much (1:
#: equal).
_ALIKE = 0.8
#: A cell: in quotes, or without quotes and commas.
_CELL = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*|([^,"]*))(,|$)')


@dataclass(frozen=True)
class Point:
    """One measured write amplification."""

    condition: Condition
    write_amplification: float
    #: The relative standard error.
    error: float

    @property
    def workload(self) -> str:
        """The workload, as typed."""
        return self.condition.workload


@dataclass(frozen=True)
class Drive:
    """The measured curve of one drive."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Measurements:
    """The content of a file of measurements."""

    drives: tuple[Drive, ...]
    #: The file's columns that are not in :data:`COLUMNS`, and are ignored.
    left_out: tuple[str, ...] = ()
    #: The lines of a published table whose patterns are no point of a curve.
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Cell:
    text: str
    place: str


def table(path: str | Path, *, error: float = ERROR) -> Measurements:
    """The drives in the file at ``path``, in the order of their first lines.

    A drive with several series gives several curves. ``error`` is the relative error of points that
    have none of their own. Raises :class:`flashgc.ConfigError`, which names ``file:line:column``.
    """
    rows = _rows(str(path), _text(str(path)))
    names = next(rows, None)
    if names is None:
        raise ConfigError(
            f"{path}:1:1: the file is empty; hint: begin with workload,write_amplification"
        )
    columns = _columns(names)
    is_published = PATTERN in columns and "workload" not in columns
    left_out = tuple(name for name in columns if name not in _known(is_published=is_published))
    skipped: list[str] = []
    points: dict[tuple[str, str], list[Point]] = {}
    for cells in rows:
        if len(cells) != len(columns):
            raise ConfigError(
                f"{cells[0].place}: found {len(cells)} cells, expected {len(columns)}; hint: a "
                'workload with commas needs quotes, "hotcold:f=0.2,r=0.8"'
            )
        row = {name: cell for name, cell in zip(columns, cells, strict=True) if cell.text}
        if is_published and not _with_workload(row, cells[0].place):
            skipped.append(cells[0].place.rsplit(":", 2)[-2])
            continue
        point = _point(row, cells[0].place, error)
        drive, series = (row[key].text if key in row else "" for key in ("drive", "series"))
        _refuse_twin(points.get((drive, series), []), point, row["workload"].place, left_out)
        points.setdefault((drive, series), []).append(point)
    if not points:
        raise ConfigError(f"{path}:2:1: found no row, expected one for each workload")
    return Measurements(_named(points), left_out, tuple(skipped))


def read(path: str | Path, *, error: float = ERROR) -> tuple[Drive, ...]:
    """The drives of :func:`table`."""
    return table(path, error=error).drives


def _known(*, is_published: bool) -> set[str]:
    return {*COLUMNS, *((PATTERN, DETAILS) if is_published else ())}


def _with_workload(row: dict[str, _Cell], place: str) -> bool:
    """Add the workload to a row of a published table; false if the pattern is no workload."""
    pattern = row.get(PATTERN, _Cell("", place))
    details = row.get(DETAILS, _Cell("", place)).text
    text = workload(pattern.text, details)
    if text is None:
        return False
    row["workload"] = _Cell(text, pattern.place)
    return True


def _named(points: Mapping[tuple[str, str], list[Point]]) -> tuple[Drive, ...]:
    """The curves; if a drive has several, the name of the series is added."""
    drives = [drive for drive, _ in points]
    return tuple(
        Drive(
            (drive or "the drive") + (f" ({series})" if drives.count(drive) > 1 else ""),
            tuple(rows),
        )
        for (drive, series), rows in points.items()
    )


def chosen(drives: tuple[Drive, ...], names: Sequence[str]) -> tuple[Drive, ...]:
    """The drives with these names, or all if none is given; raises :class:`flashgc.ConfigError`."""
    known = [drive.name for drive in drives]
    for name in names:
        if name not in known:
            raise ConfigError(f"drive: unknown drive '{name}'; hint: {suggest(name, known)}")
    return tuple(drive for drive in drives if not names or drive.name in names)


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            content = file.read(LONGEST + 1)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; hint: give a CSV file") from None
    if len(content) > LONGEST:
        raise ConfigError(f"{path}: above 1 MiB, too long; hint: a row for each measured workload")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: byte {error.start} is not UTF-8; hint: give a CSV file"
        ) from None
    return text


def _rows(path: str, text: str) -> Iterator[list[_Cell]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells, at, more = [], 0, True
        while more:
            match = _CELL.match(line, at)
            place = f"{path}:{number}:{at + 1}"
            if match is None:
                raise ConfigError(f"{place}: a quote is not closed; hint: two quotes or none")
            quoted, plain, comma = match.groups()
            cell = plain.strip() if quoted is None else quoted.replace('""', '"').strip()
            cells.append(_Cell(cell, place))
            at, more = match.end(), comma == ","
        yield cells


def _columns(names: list[_Cell]) -> list[str]:
    """The names of the columns, including those that are ignored."""
    cells: list[str] = []
    missing = [name for name in COLUMNS if name not in {cell.text for cell in names}]
    is_published = PATTERN in {cell.text for cell in names} and "workload" in missing
    for cell in names:
        if is_published and cell.text in ALIASES:
            cells.append(ALIASES[cell.text])
            continue
        if cell.text in cells and cell.text:
            raise ConfigError(f"{cell.place}: a second column '{cell.text}'; hint: remove one")
        meant = difflib.get_close_matches(_plain(cell.text), missing, 1, _ALIKE)
        if cell.text not in COLUMNS and meant:
            raise ConfigError(
                f"{cell.place}: unknown column '{cell.text}'; hint: did you mean '{meant[0]}'?"
            )
        cells.append(cell.text)
    place = names[0].place
    others = ", ".join(f"'{name}'" for name in cells if name not in COLUMNS)
    rename = f", or call one of {others} so" if others else ""
    if "workload" not in cells and not is_published:
        raise ConfigError(
            f"{place}: no column 'workload'; hint: add one with uniform, 80/20 or "
            f"zipf:theta=0.8{rename}"
        )
    if AMPLIFICATION not in cells and not {HOST, MEDIA} <= set(cells):
        raise ConfigError(
            f"{place}: found neither a column '{AMPLIFICATION}' nor both of '{HOST}' and "
            f"'{MEDIA}'; hint: add one or the other{rename}"
        )
    return cells


def _plain(name: str) -> str:
    """A column's name in the form used here.

    >>> _plain("Write Amplification")
    'write_amplification'
    """
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def _point(row: Mapping[str, _Cell], place: str, error: float) -> Point:
    if "workload" not in row:
        raise ConfigError(f"{place}: the workload is empty; hint: {COLUMNS['workload']}")
    workload = row["workload"]
    size = _number_in(row, "capacity", parse_size) if "capacity" in row else CAPACITY
    if size < 2**20:
        raise ConfigError(f"{row['capacity'].place}: found {size} bytes; hint: such as 960GB")
    words = {key: row[key].text if key in row else None for key in ("writes", "warmup")}
    try:
        point = condition(workload.text, int(size), words["writes"], words["warmup"])
    except ConfigError as fault:
        at = next(
            (row[key] for key in words if key in row and str(fault).startswith(key)), workload
        )
        raise ConfigError(f"{at.place}: {str(fault).removeprefix('source: ')}") from None
    own = _number_in(row, "error", parse_share) if "error" in row else error
    if not 0 < own < 1:
        raise ConfigError(f"{row['error'].place}: found {own:g}, expected above 0% and below 100%")
    return Point(point, _amplification(row, place), own)


def _amplification(row: Mapping[str, _Cell], place: str) -> float:
    """The measured value; if it is relative to another workload, it may be below 1."""
    if AMPLIFICATION in row:
        value = _number_in(row, AMPLIFICATION, float)
        if not 0 < value < 1e6:
            raise ConfigError(
                f"{row[AMPLIFICATION].place}: found {row[AMPLIFICATION].text}, expected a number "
                "above 0; hint: bytes programmed over bytes written"
            )
        return value
    for column in (HOST, MEDIA):
        if column not in row:
            raise ConfigError(f"{place}: '{column}' is empty; hint: {COLUMNS[column]}")
    host, media = _number_in(row, HOST, _bytes), _number_in(row, MEDIA, _bytes)
    if not 0 < host <= media:
        raise ConfigError(
            f"{row[MEDIA].place}: found {media:g} bytes programmed for {host:g} written, expected "
            "as many at least; hint: both are differences over the measurement"
        )
    return media / host


def _bytes(text: str) -> float:
    """Return a size in bytes; a plain number, as from counters, is in bytes."""
    return float(int(text) if text.isdecimal() else parse_size(text))


def _number_in(row: Mapping[str, _Cell], column: str, parse: Callable[[str], float]) -> float:
    cell = row[column]
    try:
        return float(parse(cell.text))
    except ConfigError as fault:
        raise ConfigError(f"{cell.place}: {fault}") from None
    except ValueError:
        raise ConfigError(
            f"{cell.place}: found '{cell.text}', expected {COLUMNS[column]}; hint: such as 2.5"
        ) from None


def _refuse_twin(before: list[Point], point: Point, place: str, left_out: tuple[str, ...]) -> None:
    if any(other.condition == point.condition for other in before):
        text = f"; of the columns left out, one may be it: {', '.join(left_out)}"
        raise ConfigError(
            f"{place}: a second row of {point.workload}; hint: give the mean of both, or tell them "
            f"apart in a column 'drive' or 'series'{text if left_out else ''}"
        )
