"""The tables of results in the documents: the published, the literal and the chosen reading.

    .venv/bin/python scripts/docs/tables.py

writes the table below each ``<!-- table: NAME -->`` again, from the files in ``docs/results``. A
table that ``TABLES`` does not name is a copy of ``NAME.csv``. The others are computed from files
that ``flashgc reproduce CLAIM --out DIR`` writes to ``DIR/tables``, and by ``trace_tables.py``,
``gap_tables.py`` and ``sprandom_tables.py``. The tests fail if a document shows another table.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import gap_tables
import sprandom_tables
import trace_tables

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "docs" / "results"
PLACE = re.compile(r"^<!-- table: (?P<name>\S+) -->\n(?P<table>(?:\|.*\n)*)", re.M)
HOLDS = ("met", "met-in-kind", "fitted", "unsteady", "does-not-discriminate")

Rows = Mapping[str, Mapping[str, str]]


def migrations() -> list[Sequence[str]]:
    """BSGC's Figure 7: pages that a collection migrates, in percent of GA's."""
    under = rows_under("bsgc.fig7")
    names = ("CB", "CAT", "FIFO+EIGC", "LIF+EIGC", "FIFO+BSGC", "SFL+BSGC")
    table: list[Sequence[str]] = [("% of GA's", *names)]
    for trace in ("trace1", "trace2", "trace3"):
        published = [next(iter(under.values()))[f"{trace}, {name}"]["published"] for name in names]
        table.append((f"{trace}, published", *(f"{float(number):.1f}" for number in published)))
        for reading, rows in under.items():
            order = _pairs(rows[f"{trace}, order"]["why"])
            values = [_value(rows[f"{trace}, {name}"]) for name in names]
            table.append((f"{reading}: {order}", *values))
    return table


def rows_under(claim: str) -> dict[str, Rows]:
    """The rows of a claim by reading and label."""
    by_reading: dict[str, dict[str, Mapping[str, str]]] = {}
    for line in trace_tables.lines_of(RESULTS / f"{claim}.csv"):
        by_reading.setdefault(line["reading"], {})[line["label"]] = line
    return by_reading


def _pairs(why: str) -> str:
    """The number of pairs in the published order, from the reason of an order's verdict."""
    return why.partition(" as published")[0]


def statements() -> list[Sequence[str]]:
    """Zombie Chasing's section 5.2.2: four statements on each of two collectors."""
    table: list[Sequence[str]] = [
        ("gain, %", "published", "literal", "passing", "idle, the chosen one")
    ]
    under = rows_under("zombie.fig5")
    readings = [under[name] for name in ("literal", "passing", "idle")]
    held = [0] * len(readings)
    for less, more in (("ZGC-GD", "GC-GD"), ("ZGC-CB", "GC-CB")):
        cells: dict[tuple[str, str], list[str]] = {}
        for at, rows in enumerate(readings):
            row = {h: rows[f"{less} below {more} at h = {h}, %"] for h in (3, 6, 10, 20, 50)}
            gains = [row[h] for h in (6, 10, 20)]
            falls = rows[f"{less}, gain from h = 6 to 50, %"]
            at_6 = f"{float(gains[0]['published']):g}, a gain, a gain"
            judged = (
                ("h = 6, 10, 20", at_6, ", ".join(map(_value, gains)), all(map(_is_gain, gains))),
                ("h = 6 to 50", "falls", falls["measured"], falls["verdict"] in HOLDS),
                ("h = 50", row[50]["published"], _value(row[50]), row[50]["verdict"] in HOLDS),
                ("h = 3", "none", _value(row[3]), row[3]["verdict"] in HOLDS),
            )
            for what, printed, value, holds in judged:
                held[at] += holds
                cell = f"{value}: {'holds' if holds else 'does not'}"
                cells.setdefault((what, printed), []).append(cell)
        table += [
            (f"{less}, {what}", published, *each) for (what, published), each in cells.items()
        ]
    table.append(("statements that hold", "8 of 8", *(f"{count} of 8" for count in held)))
    return table


def _value(line: Mapping[str, str]) -> str:
    half = line["measured_ci95"]
    return f"{float(line['measured']):.1f}" + (f" ± {float(half):.1f}" if half else "")


def _is_gain(line: Mapping[str, str]) -> bool:
    return float(line["measured"]) > float(line["measured_ci95"] or 0)


def placed(table: Callable[[trace_tables.Cells], list[Sequence[str]]]) -> list[Sequence[str]]:
    """A table of every scheme on every public trace."""
    return table(trace_tables.cells(RESULTS / trace_tables.FILE))


def after_fills(
    table: Callable[[sprandom_tables.Rows], list[Sequence[str]]],
) -> list[Sequence[str]]:
    """A table of every policy after three fills."""
    return table(sprandom_tables.rows(RESULTS / sprandom_tables.FILE))


TABLES: Mapping[str, Callable[[], list[Sequence[str]]]] = {
    "bsgc-migrations": migrations,
    "gap-traces": lambda: gap_tables.endings(RESULTS / gap_tables.FILE),
    "placement-ranking": lambda: placed(trace_tables.stability),
    "placement-schemes": lambda: placed(trace_tables.schemes),
    "placement-workloads": lambda: placed(trace_tables.workloads),
    "sprandom-7": lambda: after_fills(lambda rows: sprandom_tables.lengths(rows, "7%")),
    "sprandom-15": lambda: after_fills(lambda rows: sprandom_tables.lengths(rows, "15%")),
    "sprandom-28": lambda: after_fills(lambda rows: sprandom_tables.lengths(rows, "28%")),
    "sprandom-first": lambda: after_fills(sprandom_tables.first),
    "sprandom-fio": lambda: after_fills(lambda rows: sprandom_tables.by_fio(rows, "15%")),
    "sprandom-summary": lambda: after_fills(sprandom_tables.summary),
    "zombie-statements": statements,
}


def markdown(cells: list[Sequence[str]]) -> str:
    """A Markdown table of these cells; the first line is the heading."""
    heading, *lines = (f"| {' | '.join(line)} |" for line in cells)
    rule = "|" + "---|" * len(cells[0])
    return "\n".join([heading, rule, *lines, ""])


def cells_of(name: str) -> list[Sequence[str]]:
    """The cells of a table; the first line is the heading."""
    if name in TABLES:
        return TABLES[name]()
    with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def renewed(text: str) -> str:
    """The text of a document with its tables written again."""

    def table(place: re.Match[str]) -> str:
        return f"<!-- table: {place['name']} -->\n{markdown(cells_of(place['name']))}"

    return PLACE.sub(table, text)


def documents() -> dict[Path, str]:
    """The documents that have such tables, and their texts."""
    texts = {
        path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))
    }
    return {path: text for path, text in texts.items() if PLACE.search(text)}


def main() -> None:
    """Writes the tables again."""
    for document, text in documents().items():
        if (written := renewed(text)) != text:
            document.write_text(written, encoding="utf-8")
            print(document.relative_to(ROOT))


if __name__ == "__main__":
    main()
