"""The columns of the page: titles, display of values, and a compact form for the data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashgc._documents import Json
from flashgc.options import find, known
from flashgc.reports.wording import label, more_is_better, text, texts
from flashgc.results.figures import NAMES
from flashgc.store.tidy import is_option, varied
from flashgc.units import format_count, format_duration, format_share, format_size

Rows = Sequence[Mapping[str, Any]]

#: The columns of each row beside options and figures, in order.
ABOUT = (
    "status", "reason", "findings", "work", "seconds", "made", "version", "engine", "key",
    "command",
)  # fmt: skip
#: Titles of columns that :func:`flashgc.reports.wording.label` does not know.
_TITLES = {
    "write_amplification_ci95": "± 95%",
    "seconds": "computed for",
    "work": "made by",
}


@dataclass(frozen=True)
class Column:
    """A column of the page."""

    name: str
    #: ``option``, ``figure`` or ``about``.
    role: str
    #: ``share``, ``size``, ``count``, ``number``, ``exact`` (four places), ``seconds``, ``time``,
    #: ``flag`` or ``text``.
    show: str
    #: True if its value differs between rows.
    varied: bool
    values: Sequence[Any]

    @property
    def title(self) -> str:
        """The title for people. Shares have no unit in it, since their values show ``%``.

        >>> Column("read_p99_9_us", "figure", "number", True, ()).title
        'read p99.9 (µs)'
        """
        return _TITLES.get(self.name) or label(self.name).removesuffix(" (%)")

    def texts(self, values: Sequence[Any]) -> list[str]:
        """Values for people; file names are shortened as far as they stay distinct.

        >>> Column("spare", "option", "share", True, ()).texts([0.0675])
        ['6.75%']
        """
        form = _SHOWN.get(self.show)
        if form is None:
            return texts(self.name, values)
        return [text(self.name, value) if value is None else form(value) for value in values]

    def document(self) -> dict[str, Json]:
        """The column for the page's programs; repeated values are indices into a list of words."""
        document: dict[str, Json] = {
            "name": self.name, "title": self.title, "role": self.role, "show": self.show,
            "varied": self.varied, "more_is_better": more_is_better(self.name),
        }  # fmt: skip
        values = [_with_type(value) for value in self.values]
        places = {value: place for place, value in enumerate(dict.fromkeys(values))}
        if 2 * len(places) > len(values) and not self.is_words:
            return document | {"values": list(self.values)}
        words = [word for _, word in places]
        labels = self.texts(words) if self.is_words else None
        return document | {
            "words": words, "places": [places[value] for value in values], "labels": labels
        }  # fmt: skip

    @property
    def is_words(self) -> bool:
        """True for an option whose values are words."""
        return self.role == "option" and self.show == "text"


_SHOWN = {
    "share": lambda value: format_share(value, 2),
    "size": format_size,
    "count": format_count,
    "seconds": format_duration,
}


def _with_type(value: Any) -> tuple[str, Any]:
    """A value with its type, since 1 equals true in Python."""
    return type(value).__name__, value


def columns(rows: Rows) -> list[Column]:
    """All columns: options that vary, figures, options with one value, other columns."""
    differing = varied(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    same = [name for name in names if is_option(name) and name not in differing]
    columns = [_column(rows, name, "option", varied=True) for name in differing]
    columns += [_column_of_figure(rows, name) for name in NAMES if name in names]
    columns += [_column(rows, name, "option", varied=False) for name in same]
    columns += [_column_of_figure(rows, name, "about") for name in ABOUT]
    return columns


def _column_of_figure(rows: Rows, name: str, role: str = "figure") -> Column:
    differing = len({row.get(name) for row in rows}) > 1
    return _column(rows, name, role, varied=differing)


def _column(rows: Rows, name: str, role: str, *, varied: bool) -> Column:
    values = [_finite(row.get(name)) for row in rows]
    return Column(name, role, _form(name, role, values), varied, values)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _form(name: str, role: str, values: Sequence[Any]) -> str:
    """Return how the values of a column are displayed."""
    there = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in there) and there:
        return "flag"
    if not there and role == "figure" and name != "digest":
        return "number"
    if not there or not all(isinstance(value, int | float) for value in there):
        return "text"
    if role == "about":
        return "time" if name == "made" else "seconds"
    if name.endswith(("_bytes", "_bytes_per_second")):
        return "size"
    if name.endswith("_share") or (known(name) and find(name).kind == "share"):
        return "share"
    if all(isinstance(value, int) for value in there):
        return "count"
    return "exact" if name.startswith("write_amplification") else "number"
