"""Measured write amplification from a CSV file, checked cell by cell. It simulates nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flashgc._core import ConfigError, suggest
from flashgc.studies.identify.workloads import Condition, condition
from flashgc.units import parse_share, parse_size

#: Relative error of a measurement where nobody says otherwise.
ERROR = 0.02
#: Bytes of a drive whose capacity nobody says; only Zipf's law depends on it.
CAPACITY = 10**12
#: Bytes of the longest file that is read.
LONGEST = 2**20

AMPLIFICATION = "write_amplification"
HOST, MEDIA = "host_bytes_written", "media_bytes_written"
#: The columns, and what a cell is.
COLUMNS = {
    "workload": "uniform, 80/20, zipf:theta=0.8 or another generator",
    AMPLIFICATION: "a number from 1 on",
    HOST: "bytes that the host wrote while it was measured",
    MEDIA: "bytes that the flash was programmed with in that time",
    "drive": "a name; rows of one drive are one curve",
    "error": "relative error of the measurement, such as 2%",
    "capacity": "bytes that the host sees, such as 960GB",
    "writes": "length of the measurement in drive writes since the drive was filled, such as 5x",
    "warmup": "what of it is not measured, such as 60%",
    "note": "anything",
}
#: A cell: in quotes, or without quotes and commas.
_CELL = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*|([^,"]*))(,|$)')


@dataclass(frozen=True)
class Point:
    """One measured write amplification."""

    condition: Condition
    write_amplification: float
    #: Relative standard error.
    error: float

    @property
    def workload(self) -> str:
        """The workload as it was typed."""
        return self.condition.workload


@dataclass(frozen=True)
class Drive:
    """The measured curve of one drive."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class _Cell:
    text: str
    place: str


def read(path: str | Path, *, error: float = ERROR) -> tuple[Drive, ...]:
    """The drives of the file at ``path``, in the order in which they first appear.

    ``error`` is the relative error of points that have none of their own. Raises
    :class:`flashgc.ConfigError` with ``file:line:column``.
    """
    rows = _rows(str(path), _text(str(path)))
    names = next(rows, None)
    if names is None:
        raise ConfigError(
            f"{path}:1:1: the file is empty; hint: begin with workload,write_amplification"
        )
    columns = _columns(names)
    points: dict[str, list[Point]] = {}
    for cells in rows:
        if len(cells) != len(columns):
            raise ConfigError(
                f"{cells[0].place}: found {len(cells)} cells, expected {len(columns)}; hint: a "
                'workload with commas needs quotes, "hotcold:f=0.2,r=0.8"'
            )
        row = {name: cell for name, cell in zip(columns, cells, strict=True) if cell.text}
        point = _point(row, cells[0].place, error)
        name = row["drive"].text if "drive" in row else ""
        _refuse_twin(points.get(name, []), point, row["workload"].place)
        points.setdefault(name, []).append(point)
    if not points:
        raise ConfigError(f"{path}:2:1: found no row, expected one for each workload")
    return tuple(Drive(name or "the drive", tuple(found)) for name, found in points.items())


def chosen(drives: tuple[Drive, ...], names: Sequence[str]) -> tuple[Drive, ...]:
    """The drives with these names, or all without any; raises :class:`flashgc.ConfigError`."""
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
            found = plain.strip() if quoted is None else quoted.replace('""', '"').strip()
            cells.append(_Cell(found, place))
            at, more = match.end(), comma == ","
        yield cells


def _columns(names: list[_Cell]) -> list[str]:
    found: list[str] = []
    for cell in names:
        if cell.text not in COLUMNS:
            hint = suggest(cell.text, list(COLUMNS))
            raise ConfigError(f"{cell.place}: unknown column '{cell.text}'; hint: {hint}")
        if cell.text in found:
            raise ConfigError(f"{cell.place}: a second column '{cell.text}'; hint: remove one")
        found.append(cell.text)
    place = names[0].place
    if "workload" not in found:
        raise ConfigError(f"{place}: no column 'workload'; hint: uniform, 80/20, zipf:theta=0.8")
    if AMPLIFICATION not in found and not {HOST, MEDIA} <= set(found):
        raise ConfigError(
            f"{place}: found neither a column '{AMPLIFICATION}' nor both of '{HOST}' and "
            f"'{MEDIA}'; hint: add one or the other"
        )
    return found


def _point(row: Mapping[str, _Cell], place: str, error: float) -> Point:
    if "workload" not in row:
        raise ConfigError(f"{place}: the workload is empty; hint: {COLUMNS['workload']}")
    workload = row["workload"]
    size = _number_in(row, "capacity", parse_size) if "capacity" in row else CAPACITY
    if size < 2**20:
        raise ConfigError(f"{row['capacity'].place}: found {size} bytes; hint: such as 960GB")
    words = {key: row[key].text if key in row else None for key in ("writes", "warmup")}
    try:
        made = condition(workload.text, int(size), words["writes"], words["warmup"])
    except ConfigError as fault:
        at = next(
            (row[key] for key in words if key in row and str(fault).startswith(key)), workload
        )
        raise ConfigError(f"{at.place}: {str(fault).removeprefix('source: ')}") from None
    own = _number_in(row, "error", parse_share) if "error" in row else error
    if not 0 < own < 1:
        raise ConfigError(f"{row['error'].place}: found {own:g}, expected above 0% and below 100%")
    return Point(made, _amplification(row, place), own)


def _amplification(row: Mapping[str, _Cell], place: str) -> float:
    """As measured; relative to another workload it may be below 1."""
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
    """Return a size in bytes; a plain number, as counters are, is one already."""
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


def _refuse_twin(before: list[Point], point: Point, place: str) -> None:
    if any(other.condition == point.condition for other in before):
        raise ConfigError(
            f"{place}: a second row of {point.workload}; hint: give the mean of both, or name "
            "them as two drives in a column 'drive'"
        )
