"""``flashgc.report``: stored results as one page for a browser."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from flashgc import _files
from flashgc._core import ConfigError
from flashgc._documents import Json
from flashgc.reports.choice import SEED, Chosen, Row, Table
from flashgc.reports.columns import columns
from flashgc.reports.page import page
from flashgc.reports.question import question
from flashgc.results.intervals import half_width
from flashgc.store import Store
from flashgc.store.file import EMPTY
from flashgc.store.query import Condition, conditions
from flashgc.store.tidy import tidy
from flashgc.studies.sweep.outcome import Sweep

#: Kinds of pictures of the page, and the roles of options in each.
KINDS = {
    "lines": ("x", "by", "panels"), "heatmap": ("x", "by", "panels"), "pareto": ("by",),
}  # fmt: skip
#: The columns of a row of the page besides those of :func:`flashgc.store.tidy.tidy`.
_ADDED = ("made", "version", "engine")

#: The default extension of a page.
ENDING = ".html"
#: The permitted extensions. Others are refused, so that no grid and no table is overwritten by
#: mistake.
_ENDINGS = (ENDING, ".htm", "")

#: Called with the share done, what is being done, and the number of cells.
Progress = Callable[[float, str, int], None]


def report(
    results: str | PathLike[str] | Sweep,
    out: str | PathLike[str],
    *,
    where: Sequence[str] = (),
    progress: Progress | None = None,
) -> int:
    """Write stored results as one page for a browser, and return the number of cells on it.

    ``results`` is a file of results, of which the page shows all, or those that meet the conditions
    ``where`` (``"spare<10%"``). It may also be the result of :func:`flashgc.sweep`; then the page
    shows its cells, including those without a result. The page ``out`` needs no other file. It has
    the options of all cells, tables and pictures of all options and figures, and the command of
    each cell.

    Raises :class:`flashgc.ConfigError` and :class:`OSError`.

    >>> import tempfile
    >>> import flashgc
    >>> cells = {"drive": {"blocks": 64, "pages_per_block": 16, "spare": ["10%", "20%"]},
    ...          "run": {"writes": "2x"}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     swept = flashgc.sweep(cells, results=folder + "/grid.results")
    ...     report(swept, folder + "/page.html")
    2
    """
    return write_page(results, out, where=where, progress=progress)


def write_page(
    results: str | PathLike[str] | Sweep,
    out: str | PathLike[str],
    *,
    where: Sequence[str] = (),
    progress: Progress | None = None,
    names: tuple[str, str] = ("results", "out"),
) -> int:
    """Write the page of :func:`report`; in errors, ``results`` and ``out`` have these ``names``."""
    target, wanted = os.fspath(out), conditions(where)
    if target == "-":
        raise ConfigError(
            f"{names[1]}: found '-', expected a file; hint: /dev/stdout is standard output"
        )
    _files.check(target, names[1], "page.html")
    if isinstance(results, Sweep) and where:
        raise ConfigError("where: a sweep has no conditions; hint: give its file of results")
    kept = Path(results.results if isinstance(results, Sweep) else results)
    if os.path.exists(target) and kept.exists() and os.path.samefile(target, kept):
        raise ConfigError(f"{names[1]}: {target} is the file of results; hint: give page.html")
    path = Path(target)
    if path.suffix.lower() not in _ENDINGS:
        raise ConfigError(
            f"{names[1]}: {target}: found '{path.suffix}', expected {ENDING}; hint: name it "
            f"{path.with_suffix(ENDING)}"
        )
    with Store(kept, names[0], make=False) as store:
        rows, files = _rows(store, wanted, progress), _files_of(store)
    if isinstance(results, Sweep):
        rows = _of_sweep(rows, results)
    if not rows and where:
        text = " and ".join(where)
        raise ConfigError(f"{kept}: no result has {text}; hint: flashgc results list {kept}")
    if not rows:
        raise ConfigError(f"{kept}: it has no results; {EMPTY}")
    if progress is not None:
        progress(1.0, "making the page", len(rows))
    headings = columns(rows)
    document: dict[str, Json] = {
        "rows": len(rows),
        "columns": [column.document() for column in headings],
        "quantiles": _quantiles(rows),
        "usual": _usual(rows),
    }
    _files.write(target, page(kept.name, question(rows, headings, files), document, where))
    return len(rows)


def _rows(
    store: Store, wanted: Sequence[Condition], progress: Progress | None
) -> list[dict[str, Any]]:
    """The tidy rows, each with the time, the version and the build that made it."""
    about = {row["key"]: {name: row[name] for name in _ADDED} for row in store.rows(wanted)}

    def look(done: int) -> None:
        if progress is not None:
            progress(done / max(len(about), 1), "reading results", done)

    return [row | about[row["key"]] for row in tidy(store, wanted, look) if row["key"] in about]


def _quantiles(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """Student's quantiles for two values, three values, and so on, up to the number of seeds."""
    seeds = max(len({row.get(SEED) for row in rows}), 2)
    # The values n, 0, 0, ... have the standard deviation sqrt(n), so that half the interval of
    # their mean is the quantile.
    return [half_width([count, *([0.0] * (count - 1))]) or 0.0 for count in range(2, seeds + 1)]


def _usual(rows: Sequence[Mapping[str, Any]]) -> dict[str, Json]:
    """The columns that each kind of picture shows by default."""
    tidied: list[Row] = [{name: row[name] for name in row if name not in _ADDED} for row in rows]
    document: dict[str, Json] = {}
    with contextlib.suppress(ConfigError):  # Without a result there is nothing to draw.
        tables = {whole: Table(tidied, whole=whole) for whole in (False, True)}
        for kind, places in KINDS.items():
            heat, nothing = kind == "heatmap", dict.fromkeys(("x", "by", "panels"))
            document[kind] = Chosen(tables[heat], nothing, places, heat=heat).at
    return document


def _files_of(store: Store) -> list[tuple[str, int, str]]:
    """Name, bytes and digest of the files that were read, in their last known state."""
    last = {
        name: (changed, size, digest)
        for (name, size, changed), digest in sorted(
            store.contents().known.items(), key=lambda entry: entry[0][2]
        )
    }
    return [(name, size, digest) for name, (_, size, digest) in sorted(last.items())]


def _of_sweep(rows: Sequence[Mapping[str, Any]], swept: Sweep) -> list[dict[str, Any]]:
    """The rows of a sweep's cells, in order; a cell that is not stored has the reason."""
    kept = {row["key"]: row for row in rows}
    return [
        dict(kept[cell.key])
        if cell.key in kept
        else {
            **cell.columns, "status": cell.status, "reason": cell.reason or None,
        }
        for cell in swept
    ]  # fmt: skip
