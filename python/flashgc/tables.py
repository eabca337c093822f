"""Tidy tables in files, whose format is given by the extension."""

from __future__ import annotations

import csv
import importlib
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from flashgc import _core, _files
from flashgc._core import ConfigError
from flashgc.foreign import for_markdown, one_line

Rows = Sequence[Mapping[str, Any]]


def columns(rows: Rows) -> list[str]:
    """The names of all columns, in the order of their first appearance in the rows.

    >>> columns([{"a": 1}, {"b": 2, "a": 3}])
    ['a', 'b']
    """
    return list(dict.fromkeys(name for row in rows for name in row))


def to_csv(rows: Rows) -> str:
    """The table as CSV with a header; numbers have all digits, and missing values are empty.

    >>> print(to_csv([{"spare": 0.07, "victim": "greedy"}]), end="")
    spare,victim
    0.07,greedy
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = columns(rows)
    writer.writerow(names)
    writer.writerows([_plain(row.get(name)) for name in names] for row in rows)
    return text.getvalue()


def to_json(rows: Rows) -> str:
    """The table as a JSON list of objects."""
    return (
        json.dumps(
            [{name: _finite(value) for name, value in row.items()} for row in rows], indent=1
        )
        + "\n"
    )


def to_markdown(rows: Rows) -> str:
    """The table in Markdown; numbers are right-aligned.

    >>> print(to_markdown([{"victim": "greedy", "spare": 0.07}]), end="")
    | victim | spare |
    | --- | ---: |
    | greedy | 0.07 |
    """
    names = columns(rows)
    sides = ["---:" if _numeric(rows, name) else "---" for name in names]
    lines = [
        [for_markdown(name) for name in names],
        sides,
        *([for_markdown(short(row.get(name))) for name in names] for row in rows),
    ]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


#: Characters with a special meaning in LaTeX.
_TEX = {char: f"\\{char}" for char in "&%$#_{}"} | {
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "\\": "\\textbackslash{}",
    "±": "$\\pm$",
    "µ": "\\textmu{}",
    "≈": "$\\approx$",
}


def to_tex(rows: Rows) -> str:
    r"""The table for LaTeX, with the rules of the package booktabs.

    >>> print(to_tex([{"victim": "greedy", "spare": 0.07}]), end="")
    \begin{tabular}{lr}
    \toprule
    victim & spare \\
    \midrule
    greedy & 0.07 \\
    \bottomrule
    \end{tabular}
    """
    names = columns(rows)
    sides = "".join("r" if _numeric(rows, name) else "l" for name in names)
    body = [_tex_line([short(row.get(name)) for name in names]) for row in rows]
    return (
        "\n".join(
            [
                f"\\begin{{tabular}}{{{sides}}}",
                "\\toprule",
                _tex_line(names),
                "\\midrule",
                *body,
                "\\bottomrule",
                "\\end{tabular}",
            ]
        )
        + "\n"
    )


def for_tex(text: str) -> str:
    r"""A text for LaTeX, on one line.

    >>> for_tex("a_b, 50% ± 1")
    'a\\_b, 50\\% $\\pm$ 1'
    """
    return "".join(_TEX.get(char, char) for char in one_line(text))


def _tex_line(cells: Sequence[str]) -> str:
    escaped = (for_tex(cell) for cell in cells)
    return " & ".join(escaped) + " \\\\"


def to_parquet(rows: Rows) -> bytes:
    """The table as Parquet. Raises :class:`flashgc.ConfigError` without the package ``pyarrow``."""
    parquet = package("pyarrow.parquet", "pyarrow", "a file .parquet")
    sink = io.BytesIO()
    parquet.write_table(to_arrow(rows), sink)
    return sink.getvalue()


def to_arrow(rows: Rows) -> Any:
    """The table as a ``pyarrow.Table``."""
    arrow = package("pyarrow", "pyarrow", "a table of Arrow")
    names = columns(rows)
    return arrow.table({name: [row.get(name) for row in rows] for name in names})


def to_frame(rows: Rows, library: str = "pandas") -> Any:
    """The table as a data frame of ``pandas`` or ``polars``.

    Raises :class:`flashgc.ConfigError` if the package is not installed.
    """
    if library not in ("pandas", "polars"):
        raise ConfigError(
            f"unknown library '{library}'; hint: {_core.suggest(library, ['pandas', 'polars'])}"
        )
    frames = package(library, library, "a data frame")
    names = columns(rows)
    return frames.DataFrame({name: [row.get(name) for row in rows] for name in names})


#: The writer of each format, by extension.
FORMS: dict[str, Callable[[Rows], str | bytes]] = {
    ".csv": to_csv, ".json": to_json, ".md": to_markdown, ".parquet": to_parquet, ".tex": to_tex,
}  # fmt: skip


def check(name: str, option: str) -> None:
    """Raise :class:`flashgc.ConfigError` if no table can be written to the file ``name``."""
    _form(name, option)
    _files.check(name, option, "table.csv")


def save(rows: Rows, name: str, option: str = "--out") -> None:
    """Write the table, completely or not at all, in the format of the file's extension."""
    _files.write(name, FORMS[_form(name, option)](rows))


def _form(name: str, option: str) -> str:
    ending = Path(name).suffix.lower()
    if ending not in FORMS:
        raise ConfigError(
            f"{option}: {name} ends in no form of a table; hint: end it in {', '.join(FORMS)}"
        )
    if ending == ".parquet":
        package("pyarrow.parquet", "pyarrow", f"{option} {name}")
    return ending


def package(module: str, name: str, what: str) -> Any:
    """A module of an optional package; ``what`` names its use in errors."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ConfigError(f"{what} needs the package {name}; hint: pip install {name}") from None


def _numeric(rows: Rows, name: str) -> bool:
    values = [row[name] for row in rows if row.get(name) is not None]
    return bool(values) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in values
    )


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if _finite(value) is None else value


def short(value: Any) -> str:
    """A value with six digits for people; empty if missing."""
    return (
        f"{value:.6g}" if isinstance(value, float) and math.isfinite(value) else str(_plain(value))
    )
