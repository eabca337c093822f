"""Traces: statistics, conversion, and traces made by generators."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from flashgc import _core, _origins
from flashgc._core import ConfigError, Control
from flashgc._documents import Document, Json
from flashgc._engine import Progress, interruptible
from flashgc._origins import Places
from flashgc.frames import Table, file_of, is_table
from flashgc.results import TraceStat
from flashgc.units import parse_page_size

Path: TypeAlias = str | os.PathLike[str]
#: The rules for the pages of a request under which no page of the trace is left out.
AllPages: TypeAlias = Literal["covered", "rounded"]
#: The smallest and the largest value of each number for a synthetic trace.
_SYNTHESIZED = {
    "pages": (1, 2**32 - 1),
    "requests": (1, 2**63),
    "interval_ns": (0, 2**63),
    "seed": (0, 2**64 - 1),
}


@dataclass(frozen=True, repr=False)
class Converted(Document):
    """The counts of a file that :func:`trace_convert` wrote."""

    #: Requests written.
    requests: int
    #: The number of bad lines that were skipped.
    skipped: int
    #: The format of the source.
    format: str
    #: Notes for people on how the file was interpreted, and in what the copy differs.
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Json]:
        """All of it as plain Python values."""
        return {**vars(self), "notes": list(self.notes)}


def _reading(given: Mapping[str, Any], places: Places) -> str:
    """Return the options on how a trace is read, as the engine takes them."""
    read = {key: value for key, value in given.items() if value is not None}
    if "devices" in read:
        read["devices"] = str(read["devices"])
    for key in ("relations", "layout"):
        if key in read:
            read[key] = os.fspath(read[key])
    if "alignment_offset" in read:
        key = "alignment_offset"
        read[key] = _core.option_number(key, read[key], _origins.subject(places, key))
    return json.dumps(read)


def _page_size(given: int | str, places: Places) -> int:
    return parse_page_size(given, _origins.subject(places, "drive.page_size"))


def trace_stat(
    path: Path,
    *,
    format: str | None = None,  # noqa: A002 - the option's name
    page_size: int | str | None = None,
    alignment_offset: int | str = 0,
    paging: AllPages = "covered",
    on_bad_line: Literal["stop", "skip"] = "stop",
    devices: int | str | None = None,
    blkparse_action: Literal["D", "Q", "C", "I", "G"] | None = None,
    columns: str | None = None,
    layout: Path | None = None,
    disorder: Literal["refuse", "sort"] | None = None,
    relations: Path | None = None,
    progress: Progress | None = None,
    control: Control | None = None,
) -> TraceStat:
    """Read the trace at ``path`` to its end, and return statistics.

    ``page_size`` and ``alignment_offset`` are bytes, or texts with a unit (``"4KiB"``); the default
    page is 4 KiB, and for memory references the page of the recording. ``paging`` gives the pages
    of a read or write that does not begin and end at page boundaries: every page that it touches
    (``"covered"``), or as many pages as its size needs, beginning with the page in which it starts
    (``"rounded"``), as Van Houdt counts the traces of the d-choices paper. ``devices``,
    ``blkparse_action``, ``columns``, ``layout``, ``disorder`` and ``relations`` are those of
    :class:`flashgc.Trace`. It takes one pass over the file, and about 15 to 25 bytes of memory per
    distinct page, for any length. Raises :class:`flashgc.TraceError`, which names the wrong line or
    byte.
    """
    given = {
        "format": format,
        "on_bad_line": on_bad_line,
        "devices": devices,
        "blkparse_action": blkparse_action,
        "columns": columns,
        "layout": layout,
        "disorder": disorder,
        "relations": relations,
        "alignment_offset": alignment_offset,
    }
    return counted(
        path, given, page_size=page_size, paging=paging, progress=progress, control=control
    )


def counted(
    path: Path,
    given: Mapping[str, Any],
    places: Places | None = None,
    *,
    page_size: int | str | None = None,
    paging: str | None = None,
    progress: Progress | None = None,
    control: Control | None = None,
) -> TraceStat:
    """:func:`trace_stat` for a trace read with the options ``given``, by key."""
    control, places = control or Control(), places or {}
    with interruptible(control):
        text = _core.trace_stat(
            os.fspath(path),
            control,
            _reading(given, places),
            page_size=None if page_size is None else _page_size(page_size, places),
            paging=paging,
            poll=None if progress is None else (lambda: progress(control)),
            places=places,
        )
    return TraceStat.from_dict(json.loads(text))


def evidence(
    path: Path,
    given: Mapping[str, Any],
    places: Places | None = None,
    *,
    control: Control | None = None,
) -> tuple[str, ...]:
    """Return the evidence for and against each format of a trace, one sentence each."""
    places = places or {}
    reading = _reading(given, places)
    text = _core.trace_evidence(os.fspath(path), control or Control(), reading, places=places)
    return tuple(json.loads(text))


def trace_convert(
    source: Path,
    target: Path,
    *,
    format: str | None = None,  # noqa: A002 - the option's name
    on_bad_line: Literal["stop", "skip"] = "stop",
    devices: int | str | None = None,
    blkparse_action: Literal["D", "Q", "C", "I", "G"] | None = None,
    columns: str | None = None,
    layout: Path | None = None,
    disorder: Literal["refuse", "sort"] | None = None,
    relations: Path | None = None,
    native_devices: bool = False,
    as_dirty: bool = False,
    leave_out: str | None = None,
    page_size: int | str | None = None,
    filter: int | None = None,  # noqa: A002 - the option's name
    progress: Progress | None = None,
    control: Control | None = None,
) -> Converted:
    """Copy a trace of any format into the normalised CSV or a compact binary format.

    The name of ``target`` chooses: ``.csv``, ``.flashgc`` or, for references to memory, ``.pages``,
    optionally followed by ``.zst`` or ``.gz``. A copy in the first two has every request, including
    flushes and events. A copy in ``.pages`` has pages instead of addresses, and omits some of the
    references in a row to one page; a note gives the numbers before and after. ``page_size`` and
    ``filter`` are those of :func:`flashgc.trace_record`, for ``.pages``: by default 2 KiB and 0, or
    those of a ``.pages`` source. ``native_devices`` keeps the trace's own device numbers; otherwise
    they are ranked. ``as_dirty`` turns every write into a dirty event: the host has changed the
    page in its cache and will write it later. ``devices``, ``blkparse_action``, ``columns``,
    ``layout``, ``disorder`` and ``relations`` are those of :class:`flashgc.Trace`.

    A copy is refused with a :exc:`flashgc.TraceError` if the format of ``target`` cannot hold the
    size of the recorded drive, or the fact that requests are memory references. ``leave_out``
    allows it: ``"drive-size"``, ``"references"``, or both with a comma.

    If ``target`` cannot be written to its end, for example on a full disk, :exc:`OSError` is
    raised.
    """
    given = {
        "format": format,
        "on_bad_line": on_bad_line,
        "devices": devices,
        "blkparse_action": blkparse_action,
        "columns": columns,
        "layout": layout,
        "disorder": disorder,
        "relations": relations,
    }
    return converted(
        source,
        target,
        given,
        native_devices=native_devices,
        as_dirty=as_dirty,
        leave_out=leave_out,
        page_size=page_size,
        filter=filter,
        progress=progress,
        control=control,
    )


def converted(
    source: Path,
    target: Path,
    given: Mapping[str, Any],
    places: Places | None = None,
    *,
    native_devices: bool = False,
    as_dirty: bool = False,
    leave_out: str | None = None,
    page_size: int | str | None = None,
    filter: int | None = None,  # noqa: A002 - the option's name
    progress: Progress | None = None,
    control: Control | None = None,
) -> Converted:
    """:func:`trace_convert` for a trace read with the options ``given``, by key."""
    control, places = control or Control(), places or {}
    with interruptible(control):
        text = _core.trace_convert(
            os.fspath(source),
            os.fspath(target),
            control,
            _reading(given, places),
            native_devices=native_devices,
            as_dirty=as_dirty,
            leave_out=leave_out,
            page_size=None if page_size is None else _page_size(page_size, places),
            filter=filter,
            poll=None if progress is None else (lambda: progress(control)),
            places=places,
        )
    raw = json.loads(text)
    return Converted(raw["requests"], raw["skipped"], raw["format"], tuple(raw["notes"]))


def trace_synth(
    workload: str,
    target: Path,
    *,
    pages: int,
    requests: int,
    page_size: int | str = 4096,
    interval_ns: int = 1000,
    seed: int = 1,
    progress: Progress | None = None,
    control: Control | None = None,
) -> None:
    """Write a trace of ``requests`` page commands of a generator on ``pages`` pages.

    There is one command every ``interval_ns`` nanoseconds. The name of ``target`` selects the
    format, as in :func:`trace_convert`. A workload that needs a certain page size must get it as
    ``page_size``; otherwise a :exc:`ConfigError` is raised.
    """
    numbers = {"pages": pages, "requests": requests, "interval_ns": interval_ns, "seed": seed}
    synthesized(workload, target, numbers, page_size=page_size, progress=progress, control=control)


def synthesized(
    workload: str,
    target: Path,
    numbers: Mapping[str, int],
    places: Places | None = None,
    *,
    page_size: int | str,
    progress: Progress | None = None,
    control: Control | None = None,
) -> None:
    """:func:`trace_synth` with the ``numbers`` of pages, requests and nanoseconds, and the seed."""
    control, places = control or Control(), places or {}
    for name, value in numbers.items():
        low, high = _SYNTHESIZED[name]
        if not low <= value <= high:
            at = _origins.subject(places, name)
            raise ConfigError(f"{at}: found {value}, expected {low} to {high}")
    with interruptible(control):
        _core.trace_synth(
            workload,
            os.fspath(target),
            control,
            **numbers,
            page_size=_page_size(page_size, places),
            poll=None if progress is None else (lambda: progress(control)),
            places=places,
        )


def as_given(workload: str | Trace | Table) -> str | Trace:
    """Return a workload given by name, or the trace that is made from a table."""
    return Trace(cast(Table, workload)) if is_table(workload) else cast("str | Trace", workload)


@dataclass(frozen=True)
class Trace:
    """A trace file, or a table in memory, and how to read it.

    It can be given as a workload: ``flashgc.run(Trace("trace.csv.gz", on_bad_line="skip"))``.

    A table has named columns: a dict of arrays, a numpy array with fields, a pandas or polars data
    frame, an Arrow table. Each name gives role and unit, as in the first line of a text file:
    ``time_us``, ``op``, ``offset_bytes``, ``size_bytes``, and optionally ``device`` and ``stream``.
    Times may be numpy's ``datetime64``. Other columns are ignored. The table becomes a trace file
    of this process at once, with its path in ``path``; ``int64`` columns in nanoseconds and bytes
    are read without a copy, others are converted.

    >>> table = {"time_us": [0, 10], "op": ["W", "R"], "offset_bytes": [0, 0]}
    >>> table["size_bytes"] = [4096, 512]
    >>> Trace(table).stat().writes
    1
    >>> Trace({**table, "size_bytes": [4096, -1]})
    Traceback (most recent call last):
    ...
    flashgc.TraceError: table: row 1, column 'size_bytes': found -1, expected a number from 0 to \
9223372036854775807; hint: rows count from 0
    """

    #: The path of the file; a table is replaced by the path of its file.
    path: Path | Table
    #: The format; with ``None`` it is detected.
    format: str | None = None
    #: Bytes added to every offset before offsets become page numbers.
    alignment_offset: int | str = 0
    #: The action at a bad line: stop, or skip the line.
    on_bad_line: Literal["stop", "skip"] = "stop"
    #: The devices whose requests are read, by the trace's numbers (``"0,3"``) or, for a Linux
    #: trace, as ``"MAJOR:MINOR"``; ``None`` for all.
    devices: int | str | None = None
    #: The action of a Linux block trace that is read; with ``None`` the reader chooses it.
    blkparse_action: Literal["D", "Q", "C", "I", "G"] | None = None
    #: The columns of its lines, instead of a format, such as
    #: ``"time=1:ms,op=5:0=write/1=read,offset=3:sector,size=4:sector,device=2"``.
    columns: str | None = None
    #: The layout of its lines, instead of a format: the name of an included layout, or a file.
    layout: Path | None = None
    #: The action if times go back: ``"refuse"``, or ``"sort"`` by time. By default the order is
    #: that of the file, which a drive with a clock refuses.
    disorder: Literal["refuse", "sort"] | None = None
    #: A table of the places of a database's relations on its disk, for a log of ``pg_waldump``.
    relations: Path | None = None

    def __post_init__(self) -> None:
        if is_table(self.path):
            object.__setattr__(self, "path", file_of(self.path))
        if not isinstance(self.path, str | os.PathLike):
            raise ConfigError(
                f"Trace: found {self.path!r}, expected the path of a file, or a table"
            )

    @property
    def _file(self) -> Path:
        """The path of the file; a table has one too."""
        return cast(Path, self.path)

    def __str__(self) -> str:
        path = os.fspath(self._file)
        # A file may have the same name as a generator.
        return path if _core.is_trace(path) else os.path.join(os.curdir, path)

    def _reading(self) -> dict[str, Any]:
        """Return the options on how it is read, as keywords of :func:`trace_stat`."""
        return {key: value for key, value in vars(self).items() if key != "path"}

    def stat(self, page_size: int | str | None = None) -> TraceStat:
        """The statistics of the trace."""
        return trace_stat(self._file, page_size=page_size, **self._reading())

    def convert(self, target: Path) -> Converted:
        """Copy it into one of flashgc's formats; see :func:`trace_convert`.

        The copy has the offsets of the trace, so an ``alignment_offset`` is refused.
        """
        reading = self._reading()
        if reading.pop("alignment_offset") != 0:
            raise ConfigError(
                f"alignment_offset: found {self.alignment_offset!r}, but the copy has the offsets "
                "of the trace; hint: leave it out here, and give it with the copy"
            )
        return trace_convert(self._file, target, **reading)
